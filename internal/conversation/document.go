package conversation

import (
	"slices"
	"strings"
	"unicode"
)

const (
	longTurn       = 4 << 10 // length in bytes above which a turn is assumed to be a document with an instruction
	maxInstruction = 900     // maximum length in bytes of an instruction before or after a document
	minInstruction = 6       // minimum number of letters in an instruction
)

// instruction returns the instruction in a turn. A long turn is usually a document with an instruction before or after it, so the
// length of the turn does not indicate its difficulty. A turn without a recognisable instruction is returned whole.
func instruction(text string) string {
	if len(text) <= longTurn {
		return text
	}
	// The instruction may be the first or the last paragraph, or the first or the last line of a paragraph that is too long.
	first, _, _ := strings.Cut(text, "\n\n")
	if len(first) > maxInstruction {
		first, _, _ = strings.Cut(text, "\n")
	}
	last := text[strings.LastIndex(text, "\n\n")+1:]
	if len(last) > maxInstruction {
		last = text[strings.LastIndexByte(text, '\n')+1:]
	}
	askedFirst, askedLast := len(first) <= maxInstruction, len(last) <= maxInstruction
	first, last = strings.TrimSpace(first), strings.TrimSpace(last)
	askedFirst, askedLast = askedFirst && instructs(first, true), askedLast && instructs(last, false)
	switch {
	case askedFirst && askedLast && first != last:
		return first + "\n" + last
	case askedLast:
		return last
	case askedFirst:
		return first
	}
	return text
}

// instructs reports whether a paragraph looks like an instruction or a question. opening is true for the first paragraph. It must
// begin with an instruction word, or end with a colon or question mark, because a document also begins with a paragraph.
func instructs(paragraph string, opening bool) bool {
	letters := 0
	for _, r := range paragraph {
		if unicode.IsLetter(r) {
			letters++
		}
	}
	if letters < minInstruction {
		return false
	}
	if end := strings.TrimRight(paragraph, " \n\"'”’)*_`"); strings.ContainsAny(tail(end, 3), "?？؟") {
		return true
	}
	lower := strings.ToLower(paragraph)
	if opening {
		sentence, _, _ := strings.Cut(lower, ". ")
		for word := range wordsOf(sentence) { // only the first word is checked; it must begin an instruction or a question
			return orders[word] || slices.ContainsFunc(scriptOrders, func(phrase string) bool { return strings.HasPrefix(lower, phrase) }) || strings.HasSuffix(paragraph, ":") || strings.HasSuffix(paragraph, "：")
		}
		return false
	}
	for word := range wordsOf(head(lower, 160)) {
		if orders[word] {
			return true
		}
	}
	return !isASCII(lower) && slices.ContainsFunc(scriptOrders, func(phrase string) bool { return strings.Contains(lower, phrase) })
}
