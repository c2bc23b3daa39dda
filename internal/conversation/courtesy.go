package conversation

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	politeClause  = 150 // maximum length of a polite clause in bytes
	politeWords   = 18  // maximum number of words in a polite clause
	politeClauses = 5   // maximum number of clauses removed at each end
	wordsOfName   = 3   // maximum number of words in a name in a greeting or a signature
)

// withoutCourtesy removes greetings, thanks, polite clauses and signatures at both ends of text, and unneeded white
// space. If text has no other content, its polite clauses are kept.
func withoutCourtesy(text string) string {
	text = squeeze(text)
	if len(text) <= politeClause && isPolite(strings.TrimRight(text, clauseEnds)) {
		return text
	}
	rest := withoutClosing(withoutOpening(text))
	if !strings.ContainsFunc(rest, isWordRune) {
		return text
	}
	return rest
}

// withoutOpening removes polite clauses at the beginning of text.
func withoutOpening(text string) string {
	rest, next, marks := text, text, greeting|polite|appeal
	for range politeClauses {
		at := strings.IndexAny(head(next, politeClause), clauseEnds)
		if at < 0 {
			break
		}
		tone := toneOf(next[:at], marks)
		if tone == aboutTask && !greetsName(next[:at]) {
			break
		}
		_, size := utf8.DecodeRuneInString(next[at:])
		next = strings.TrimLeftFunc(next[at+size:], isFiller)
		if tone == neutral {
			marks = polite | appeal // after a neutral clause, a greeting word no longer marks a polite clause, because it may have another meaning
		} else if strings.ContainsFunc(next, isWordRune) {
			rest = next
		}
	}
	for range 2 {
		word, after, _ := strings.Cut(rest, " ")
		if lexicon[strings.ToLower(word)]&(greeting|polite) == 0 || after == "" {
			break
		}
		rest = strings.TrimLeftFunc(after, isFiller)
	}
	return rest
}

// withoutClosing removes polite clauses and a signature at the end of text. It also removes neutral clauses next to a polite clause,
// and symbols after a removed clause.
func withoutClosing(text string) string {
	rest, end := text, withoutSignature(text)
	for range politeClauses {
		before, clause := cutClause(end)
		tone := toneOf(clause, polite|appeal)
		symbols := !strings.ContainsFunc(clause, isWordRune)
		if tone == aboutTask || tone == neutral && !symbols && strings.Count(clause, " ") < 2 { // a short clause may be a heading: "Answer:"
			break
		}
		if tone == courteous || len(rest) < len(text) && !symbols {
			rest = strings.TrimRightFunc(before, unicode.IsSpace)
		}
		end = before
	}
	return rest
}

// withoutSignature returns text without the name after its last polite clause.
func withoutSignature(text string) string {
	before, name := cutClause(text)
	if !isName(name) {
		return text
	}
	if _, clause := cutClause(before); toneOf(clause, polite|appeal) != courteous {
		return text
	}
	return before
}

// cutClause splits text before its last clause. If text is a single clause, or if its last clause has more than politeClause bytes,
// before is empty and clause is the whole text.
func cutClause(text string) (before, clause string) {
	end := strings.TrimRight(text, clauseEnds+" ") // the last clause may end with punctuation
	from := max(0, len(end)-politeClause)
	at := strings.LastIndexAny(end[from:], clauseEnds)
	if at < 0 {
		return "", end
	}
	_, size := utf8.DecodeRuneInString(end[from+at:])
	return end[:from+at+size], end[from+at+size:]
}

// greetsName reports whether a clause greets a person by name, as in "Dear Mr Miller".
func greetsName(clause string) bool {
	word, name, _ := strings.Cut(strings.TrimSpace(clause), " ")
	return lexicon[strings.ToLower(word)]&opener != 0 && isName(name) && !strings.EqualFold(name, "world")
}

// isName reports whether text consists of at most wordsOfName capitalised words that are not in the lexicon.
func isName(text string) bool {
	words := 0
	for word := range strings.FieldsSeq(text) {
		first, _ := utf8.DecodeRuneInString(word)
		if words++; !unicode.IsUpper(first) || lexicon[strings.ToLower(word)] != 0 || strings.ContainsFunc(word, func(r rune) bool { return !unicode.IsLetter(r) && r != '-' && r != '\'' }) {
			return false
		}
	}
	return words > 0 && words <= wordsOfName
}

func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

func isFiller(r rune) bool {
	return unicode.IsSpace(r) || r == '!' || r == ',' || r == ':' || r == '-' || r == '–'
}

// clauseEnds are the characters that end a clause.
const clauseEnds = ".!?,:;。！？，：；、।؟،\n"

// isPolite reports whether a clause consists of greetings, thanks and polite requests.
func isPolite(clause string) bool {
	for word := range wordsOf(clause) {
		if use := lexicon[word]; use&common != 0 && use&(greeting|polite|filler) == 0 {
			return false
		}
	}
	return toneOf(clause, greeting|polite) == courteous
}

// tone classifies a clause at the beginning or the end of text.
type tone int

const (
	aboutTask tone = iota
	neutral        // the clause has only words that also occur in polite clauses, but is not marked as polite
	courteous      // the clause has no meaning for the task
)

// toneOf returns the tone of a clause. A courteous clause consists only of greetings, thanks and requests for help, and at least one of its
// words has one of the uses in marks.
func toneOf(clause string, marks wordUse) tone {
	clause = strings.ToLower(strings.TrimSpace(clause))
	if len(clause) > politeClause || strings.ContainsAny(clause, `[]{}<>="`) {
		return aboutTask
	}
	words, marked, appeals := 0, false, false
	if !isASCII(clause) {
		for _, phrase := range scriptPhrases[polite] {
			if strings.Contains(clause, phrase) {
				clause, marked = strings.ReplaceAll(clause, phrase, " "), true
			}
		}
	}
	for word := range wordsOf(clause) {
		words++
		use := lexicon[word]
		if use&(greeting|polite|filler|appeal|common) == 0 {
			return aboutTask
		}
		marked = marked || use&marks&(greeting|polite) != 0
		appeals = appeals || use&appeal != 0
	}
	if !marked && marks&appeal != 0 && words > 1 { // a single word may be a heading
		marked = appeals || turnPhrases.has(clause, pleasantry)
	}
	switch {
	case words > politeWords:
		return aboutTask
	case marked:
		return courteous
	default:
		return neutral
	}
}

// squeeze trims text and its lines, and replaces consecutive blank lines with one. Indentation is kept, because it matters in code.
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

// wordsOf yields the words of text in lower case, without punctuation.
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
