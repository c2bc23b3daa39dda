package openai

import (
	"unicode/utf8"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/wire/show"
	"fairlead.dev/internal/wire/validate"
)

// preview returns the beginning of a raw JSON string on one line, without control characters.
func preview(raw []byte) string {
	raw = trimBlank(raw)
	var buffer [llm.PreviewBytes + 2*utf8.UTFMax]byte
	text := rawjson.Unescape(buffer[:0], raw, llm.PreviewBytes+utf8.UTFMax)
	return show.Cut(show.OneLine(string(text)), llm.PreviewBytes)
}

// lookahead is the number of bytes after the preview that are also passed to the edit function. Without these bytes, the function could
// miss a match that begins in the preview and ends after it.
const lookahead = 4096

// Preview returns the beginning of the last user message or, for an operation other than chat, of the first input. It passes the text to
// the function edit before it truncates the text. ok is false when the body is not a valid request.
func Preview(op llm.Op, body []byte, edit func(string) string) (text string, ok bool) {
	d := decoder{Reader: validate.Reader{Scanner: rawjson.Scanner{Data: body, Strict: true}}, req: &llm.Request{Op: op, Payload: llm.Payload{Body: body}}}
	if d.decode(op) != nil {
		return "", false
	}
	if d.previewText.Empty() {
		return "", true
	}
	raw := trimBlank(d.Data[d.previewText.Start:d.previewText.End])
	whole := rawjson.Unescape(make([]byte, 0, min(len(raw), lookahead)), raw, llm.PreviewBytes+lookahead)
	return show.Cut(show.OneLine(edit(string(whole))), llm.PreviewBytes), true
}

// trimBlank removes leading white space, escaped or not, from a raw JSON string.
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
