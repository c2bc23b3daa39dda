package chat

import (
	"unicode/utf8"

	"fairlead/internal/wire/show"
)

// preview makes one harmless line of the beginning of a raw JSON string.
func preview(raw []byte, limit int) string {
	raw = trimBlank(raw)
	text := unescape(make([]byte, 0, limit+utf8.UTFMax), raw, limit+utf8.UTFMax)
	return show.Cut(show.OneLine(string(text)), limit)
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
