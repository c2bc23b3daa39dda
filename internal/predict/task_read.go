package predict

import "strings"

// read adds the cues in a part of the prompt, multiplied by weight.
func (t *taskScores) read(text string, weight float64) {
	var word [longestWord]byte
	t.sentenceStart = true
	t.bytes += len(text)
	for i := 0; i < len(text); {
		if length, foreign := foldWord(&word, text[i:]); length > 0 {
			t.foreign = t.foreign || foreign
			t.word(word[:min(length, longestWord)], length, weight)
			i += length
			continue
		}
		if text[i] != ' ' {
			t.mark(text, i, text[i], weight)
		}
		i++
	}
	if !t.foreign {
		return
	}
	for _, p := range phrases {
		if strings.Contains(text, p.text) {
			t.sum[p.kind] += weight * p.weight
		}
	}
}

func isSpace(b byte) bool { return b == ' ' || b == '\n' || b == '\t' || b == '\r' }

// word adds the cues of one word.
func (t *taskScores) word(w []byte, length int, weight float64) {
	fresh := t.sentenceStart
	t.sentenceStart = fresh && length <= 3 // a short first word keeps the sentence start: "In which year" is also a question
	if length == 1 && w[0] != '_' {
		if w[0] >= '0' && w[0] <= '9' {
			t.numbers++
		}
		return
	}
	if w[0] >= '0' && w[0] <= '9' {
		t.numbers++
		return
	}
	if w[0] == '_' && length < 4 {
		t.blank = true
	}
	if length > longestWord || length < 2 {
		return
	}
	s, ok := taskCues.find(w)
	if !ok {
		return
	}
	switch {
	case s.amount:
		t.amount++
	case s.asks && !fresh:
		return // "which" in the middle of a sentence is not a question
	case s.asks:
		t.isQuestion = true
	}
	t.sum[s.kind] += weight * s.weight
}

// mark adds the cue of a character between words.
func (t *taskScores) mark(text string, i int, b byte, weight float64) {
	switch b {
	case '{', '}', ';', '=', '<', '>', '[', ']', '|', '&':
		t.marks++
	case '`':
		if strings.HasPrefix(text[i:], "```") {
			t.sum[kindCode] += weight
		}
	case '\\':
		t.sum[kindMaths] += 0.4 * weight // a LaTeX command
	case '$':
		if i+1 < len(text) && !isSpace(text[i+1]) && strings.IndexByte(text[i+1:min(len(text), i+60)], '$') >= 0 {
			t.sum[kindMaths] += 0.5 * weight
		} else {
			t.amount++ // an amount of money
		}
	case '^':
		t.sum[kindMaths] += 0.3 * weight
	case '%':
		t.amount++
	case '.', '?', '!', ',', ':':
		t.sentenceStart = true
	case '\n':
		t.sentenceStart = true
		// An option starts with "A.", "(b)", "- (C)" or "D:".
		line := strings.TrimLeft(text[i+1:min(len(text), i+9)], " -*(")
		if len(line) > 2 && (line[0] >= 'A' && line[0] <= 'J' || line[0] >= 'a' && line[0] <= 'e') && strings.IndexByte(".):", line[1]) >= 0 {
			t.options++
		}
	}
}
