package conversation

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	politeClause  = 90 // bytes of a clause that may be polite
	politeClauses = 3  // clauses removed at each end
)

// withoutCourtesy removes greetings, thanks and polite clauses at both ends of a text, and white space that has no
// meaning. A text that consists of them alone is returned as it is.
func withoutCourtesy(text string) string {
	text = squeeze(text)
	if len(text) <= politeClause && isPolite(strings.TrimRight(text, clauseEnds)) {
		return text
	}
	rest := text
	for range politeClauses {
		at := strings.IndexAny(head(rest, politeClause), clauseEnds)
		if at < 0 || !isPolite(rest[:at]) {
			break
		}
		_, size := utf8.DecodeRuneInString(rest[at:])
		rest = strings.TrimLeftFunc(rest[at+size:], isFiller)
	}
	for range 2 {
		word, after, _ := strings.Cut(rest, " ")
		if lexicon[strings.ToLower(word)]&(greeting|polite) == 0 || after == "" {
			break
		}
		rest = strings.TrimLeftFunc(after, isFiller)
	}
	for range politeClauses {
		end := strings.TrimRight(rest, clauseEnds+" ") // the last clause may end with punctuation
		from := max(0, len(end)-politeClause)
		at := strings.LastIndexAny(end[from:], clauseEnds)
		if at < 0 {
			break
		}
		_, size := utf8.DecodeRuneInString(end[from+at:])
		at += from + size
		if !isPolite(end[at:]) {
			break
		}
		rest = strings.TrimRightFunc(rest[:at], unicode.IsSpace)
	}
	if rest == "" {
		return text
	}
	return rest
}

func isFiller(r rune) bool {
	return unicode.IsSpace(r) || r == '!' || r == ',' || r == ':' || r == '-' || r == '–'
}

// clauseEnds end a clause.
const clauseEnds = ".!?,:;。！？，：；、।؟،\n"

// isPolite reports whether a clause consists of greetings, thanks and polite requests.
func isPolite(clause string) bool {
	clause = strings.TrimSpace(clause)
	if clause == "" || len(clause) > politeClause {
		return false
	}
	found := false
	if !isASCII(clause) {
		for _, phrase := range scriptPhrases[polite] {
			if strings.Contains(clause, phrase) {
				clause, found = strings.ReplaceAll(clause, phrase, " "), true
			}
		}
	}
	count := 0
	for word := range wordsOf(clause) {
		count++
		switch use := lexicon[word]; {
		case use&(greeting|polite) != 0:
			found = true
		case use&filler == 0:
			return false
		}
	}
	return found && count <= 10
}

// squeeze trims a text and its lines, and reduces blank lines to one. Indentation is kept, because it matters in code.
func squeeze(text string) string {
	text = strings.TrimSpace(text)
	if !strings.Contains(text, "\n\n\n") && !strings.Contains(text, " \n") && !strings.Contains(text, "\r") {
		return text
	}
	var out strings.Builder
	out.Grow(len(text))
	blank := 0
	for line := range strings.Lines(text) {
		line = strings.TrimRightFunc(line, unicode.IsSpace)
		if line == "" {
			blank++
			continue
		}
		if out.Len() > 0 {
			out.WriteString("\n\n"[:min(2, blank+1)])
		}
		blank = 0
		out.WriteString(line)
	}
	return out.String()
}

func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// wordsOf yields the words of a text in lower case, without punctuation.
func wordsOf(text string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for word := range strings.FieldsFuncSeq(text, func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsDigit(r) && r != '\'' && r != '’' && r != '-'
		}) {
			word = strings.ToLower(strings.Trim(word, "'’-"))
			if word != "" && !yield(word) {
				return
			}
		}
	}
}
