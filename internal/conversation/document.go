package conversation

import (
	"slices"
	"strings"
	"unicode"
)

const (
	longTurn       = 4 << 10 // bytes above which a turn consists of a document and an instruction
	maxInstruction = 900     // bytes of an instruction before or after a document
	minInstruction = 6       // letters of an instruction
)

// instruction returns the instruction in a turn. A long turn is usually a document with an instruction before or after it, so the
// length of the turn does not indicate its difficulty. A turn without a recognisable instruction is returned whole.
func instruction(text string) string {
	if len(text) <= longTurn {
		return text
	}
	// The first and the last paragraph, or line if the paragraph is too long for an instruction.
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

// instructs reports whether a paragraph looks like an instruction or a question. opening is true for the first paragraph,
// which has to introduce the document or ask; documents begin with headings and sentences too.
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
		for word := range wordsOf(sentence) { // the first word decides: an imperative or a question
			return lexicon[word]&(order|polite) != 0 || hasPrefixAny(lower, scriptPhrases[order]) || strings.HasSuffix(paragraph, ":") || strings.HasSuffix(paragraph, "：")
		}
		return false
	}
	for word := range wordsOf(head(lower, 160)) {
		if lexicon[word]&order != 0 {
			return true
		}
	}
	return !isASCII(lower) && slices.ContainsFunc(scriptPhrases[order], func(phrase string) bool { return strings.Contains(lower, phrase) })
}
