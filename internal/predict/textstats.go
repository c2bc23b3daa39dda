package predict

import (
	"math"
	"strings"
)

// optionBytes is the maximum number of bytes read from an option.
const optionBytes = 256

// textStats counts properties of a prompt. Its normal form does not preserve most of them.
type textStats struct {
	bytes                                       [128]int // number of occurrences of each ASCII punctuation character
	upper, lines, bullets, numbered, indented   int
	options, optionMax, optionBytes, optionSums int // statistics of multiple-choice options; optionSums counts options that start with a number or a formula
	letters, digitRuns, digitMax, bigNumbers    int
	words, longWords, shortWords                int
	latin, cyrillic, han, arabic, indic, others int
}

// line checks the start of a line for list markers, numbers and option letters.
func (s *textStats) line(text string) {
	if len(text) < 3 {
		return
	}
	if text[0] == ' ' && text[1] == ' ' || text[0] == '\t' {
		s.indented++
	}
	for len(text) > 3 && (text[0] == ' ' || text[0] == '\t') {
		text = text[1:]
	}
	if text[0] == '-' || text[0] == '*' || text[0] == '#' {
		s.bullets++
		text = text[1:]
		for len(text) > 3 && (text[0] == ' ' || text[0] == '-' || text[0] == '#') {
			text = text[1:]
		}
	}
	if text[0] >= '1' && text[0] <= '9' && (text[1] == '.' || text[1] == ')' || len(text) > 3 && text[2] == '.') {
		s.numbered++
	}
	s.option(text)
}

// option recognises "(A) …", "A) …", "A. …" and "A: …".
func (s *textStats) option(text string) {
	if text[0] == '(' {
		text = text[1:]
	}
	if len(text) < 2 || text[0] < 'A' || text[0] > 'J' || text[1] != ')' && text[1] != '.' && text[1] != ':' {
		return
	}
	s.options++
	s.optionMax = max(s.optionMax, int(text[0]-'A')+1)
	text, _, _ = strings.Cut(strings.TrimLeft(text[2:min(len(text), 2+optionBytes)], " "), "\n")
	s.optionBytes += len(text)
	if text != "" && (text[0] >= '0' && text[0] <= '9' || strings.IndexByte("-$\\(+.", text[0]) >= 0) {
		s.optionSums++
	}
}

// rune increments the counter for the script of a character.
func (s *textStats) rune(r rune) {
	switch {
	case r < 0x250:
		s.latin++
	case r >= 0x400 && r < 0x530:
		s.cyrillic++
	case r >= 0x3040 && r < 0xA000, r >= 0xAC00 && r < 0xD7B0:
		s.han++
	case r >= 0x590 && r < 0x780:
		s.arabic++
	case r >= 0x900 && r < 0x1100:
		s.indic++
	default:
		s.others++
	}
}

// word counts a word or a number with the given size in bytes.
func (s *textStats) word(class uint8, size int) {
	if class == byteDigit {
		s.digitRuns++
		s.digitMax = max(s.digitMax, size)
		if size >= 3 {
			s.bigNumbers++
		}
		return
	}
	s.words++
	s.letters += size
	switch {
	case size >= 9:
		s.longWords++
	case size <= 2:
		s.shortWords++
	}
}

// The dense features that are not counts of word kinds.
const (
	denseLength = iota
	denseWords
	denseLines
	denseSentences
	denseWordLength
	denseLongWords
	denseShortWords
	denseUpper
	denseNumbers
	denseNumberShare
	denseNumberSize
	denseBigNumbers
	denseBullets
	denseNumbered
	denseOptions
	denseOptionMax
	denseOptionLength
	denseOptionSums
	denseQuestion // length of the prompt without the options
	denseIndented
	denseQuestions
	denseExclaims
	denseCommas
	denseColons
	denseSemicolons
	denseParens
	denseBrackets
	denseBraces
	denseBackslashes
	denseDollars
	denseCarets
	denseUnderscores
	denseEquals
	denseArithmetic
	denseSlashes
	denseLess
	densePercents
	denseQuotes
	denseTicks
	denseSigns
	denseLatin
	denseCyrillic
	denseHan
	denseArabic
	denseIndic
	denseOthers
	denseKinds                           // first of kindCount features with the logarithms of the word counts by kind
	denseShares = denseKinds + kindCount // first of kindCount features with the word counts as shares of all words
	denseCount  = denseShares + kindCount
)

// fill turns the counts into features of similar magnitude, mostly logarithms.
func (x *extractor) fill(s *textStats, length int) {
	d, b := &x.dense, &s.bytes
	d[denseLength] = math.Log1p(float64(length))
	d[denseWords] = logCount(s.words)
	d[denseLines] = logCount(s.lines)
	d[denseSentences] = logCount(b['.'] + b['?'] + b['!'])
	d[denseWordLength] = share(s.letters, s.words)
	d[denseLongWords] = share(s.longWords, s.words)
	d[denseShortWords] = share(s.shortWords, s.words)
	d[denseUpper] = share(s.upper, s.letters)
	d[denseNumbers] = logCount(s.digitRuns)
	d[denseNumberShare] = share(s.digitRuns, s.digitRuns+s.words)
	d[denseNumberSize] = logCount(s.digitMax)
	d[denseBigNumbers] = logCount(s.bigNumbers)
	d[denseBullets] = logCount(s.bullets)
	d[denseNumbered] = logCount(s.numbered)
	d[denseOptions] = logCount(s.options)
	d[denseOptionMax] = logCount(s.optionMax)
	d[denseOptionLength] = math.Log1p(share(s.optionBytes, s.options))
	d[denseOptionSums] = share(s.optionSums, s.options)
	d[denseQuestion] = math.Log1p(float64(max(0, length-s.optionBytes)))
	d[denseIndented] = logCount(s.indented)
	d[denseQuestions] = logCount(b['?'])
	d[denseExclaims] = logCount(b['!'])
	d[denseCommas] = logCount(b[','])
	d[denseColons] = logCount(b[':'])
	d[denseSemicolons] = logCount(b[';'])
	d[denseParens] = logCount(b['('])
	d[denseBrackets] = logCount(b['['])
	d[denseBraces] = logCount(b['{'])
	d[denseBackslashes] = logCount(b['\\'])
	d[denseDollars] = logCount(b['$'])
	d[denseCarets] = logCount(b['^'])
	d[denseUnderscores] = logCount(b['_'])
	d[denseEquals] = logCount(b['='])
	d[denseArithmetic] = logCount(b['+'] + b['*'] + b['-'])
	d[denseSlashes] = logCount(b['/'])
	d[denseLess] = logCount(b['<'] + b['>'])
	d[densePercents] = logCount(b['%'])
	d[denseQuotes] = logCount(b['"'] + b['\''])
	d[denseTicks] = logCount(b['`'])
	signs := 0
	for c, n := range b {
		if normals[c].class == byteSign {
			signs += n
		}
	}
	d[denseSigns] = share(signs, length)
	all := s.letters + 1
	d[denseLatin] = share(s.latin, all)
	d[denseCyrillic] = share(s.cyrillic, all)
	d[denseHan] = share(s.han, all)
	d[denseArabic] = share(s.arabic, all)
	d[denseIndic] = share(s.indic, all)
	d[denseOthers] = share(s.others, all)
	for k, n := range x.counts {
		d[denseKinds+k] = logCount(n)
		d[denseShares+k] = share(n, s.words)
	}
}
