package chat

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"fairlead/internal/llm"
)

// preview makes one harmless line of the beginning of a raw JSON string.
func preview(raw []byte, limit int) string {
	raw = trimBlank(raw)
	text := unescape(make([]byte, 0, limit+utf8.UTFMax), raw, limit+utf8.UTFMax)
	return cut(oneLine(string(text)), limit)
}

// lookahead is how much of a text is edited beyond what a preview shows, so that something to be edited which begins in
// the preview is seen whole.
const lookahead = 4096

// Preview is how the last user message of a request begins, or the first text of an embeddings request, with the text
// edited before it is shortened. ok is false when the body is not such a request.
func Preview(op llm.Op, body []byte, edited func(string) string) (text string, ok bool) {
	d := decoder{scanner: scanner{b: body, strict: true}, req: &llm.Request{Op: op, Body: body}}
	if d.request(op); d.err != nil {
		return "", false
	}
	if d.finish(op); len(d.problems) > 0 {
		return "", false
	}
	if d.previewText.empty() {
		return "", true
	}
	raw := trimBlank(d.b[d.previewText.start:d.previewText.end])
	whole := unescape(make([]byte, 0, min(len(raw), lookahead)), raw, llm.PreviewBytes+lookahead)
	return cut(oneLine(edited(string(whole))), llm.PreviewBytes), true
}

// trimBlank drops white space, escaped or not, from the front of a raw JSON string.
func trimBlank(raw []byte) []byte {
	for len(raw) > 0 {
		switch {
		case raw[0] == ' ':
			raw = raw[1:]
		case raw[0] == '\\' && (raw[1] == 'n' || raw[1] == 'r' || raw[1] == 't'):
			raw = raw[2:]
		default:
			return raw
		}
	}
	return raw
}

// oneLine puts a space in the place of every harmful character.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if harmful(r) {
			return ' '
		}
		return r
	}, s)
}

// harmful reports characters that would break or forge a line on a page or in a terminal: controls, line and paragraph
// separators, and those that turn the direction of text.
func harmful(r rune) bool {
	return unicode.IsControl(r) || r == 0x2028 || r == 0x2029 ||
		r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}

// cut shortens s to at most limit bytes without splitting a rune.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}

// quote shows a value of the caller's in a sentence: short and on one line.
func quote(s string) string {
	const most = 60
	clean := oneLine(s)
	if len(clean) > most {
		clean = cut(clean, most) + "…"
	}
	return `"` + clean + `"`
}
