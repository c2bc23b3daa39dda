package redact

import (
	"encoding/json"
	"sort"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"fairlead.dev/internal/rawjson"
)

// JSON returns the document with every match in a string value replaced with a mark. All other bytes are unchanged. A body that is not JSON
// is treated as plain text. The result may be the body itself. It is nil if the pass ran out of time.
func (p *Pass) JSON(body []byte) []byte {
	if len(p.rules) == 0 || len(body) == 0 {
		return body
	}
	// rawjson takes an eighth of the time of encoding/json but rejects deeply nested documents, which encoding/json may accept.
	if !rawjson.Valid(body) && !json.Valid(body) {
		if text := p.Text(string(body)); !p.stopped {
			return []byte(text)
		}
		return nil
	}
	return p.JSONPart(body)
}

// JSONPart is like JSON for a part of a valid document. The part must begin and end between two tokens.
func (p *Pass) JSONPart(part []byte) []byte {
	if len(p.rules) == 0 || len(part) == 0 {
		return part
	}
	e := edit{from: string(part)}
	for i := 0; i < len(e.from); i++ {
		if e.from[i] != '"' {
			continue
		}
		start, end := i+1, i+1
		for ; e.from[end] != '"'; end++ {
			if e.from[end] == '\\' {
				end++
			}
		}
		i = end // position of the closing quote
		if strings.HasPrefix(strings.TrimLeft(e.from[end+1:], " \t\r\n"), ":") {
			continue // the string is a key: in a valid document, colons follow only keys
		}
		p.value(&e, start, end)
		if p.stopped {
			return nil
		}
	}
	if e.at == 0 {
		return part
	}
	return append(e.into, e.from[e.at:]...)
}

// value redacts the string content between start and end.
func (p *Pass) value(e *edit, start, end int) {
	raw := e.from[start:end]
	if !strings.Contains(raw, `\`) {
		if isMedia(raw) {
			return
		}
		for _, f := range p.search(raw) {
			e.replace(start+f.start, start+f.end, Mark(f.rule))
		}
		return
	}
	text, places := unescape(raw)
	if isMedia(text) {
		return
	}
	for _, f := range p.search(text) {
		e.replace(start+places.raw(f.start), start+places.raw(f.end), Mark(f.rule))
	}
}

// edit copies a string and replaces ranges of the string, in order.
type edit struct {
	from string
	into []byte
	at   int // index in from up to which bytes are copied; 0 if nothing was replaced
}

func (e *edit) replace(start, end int, by string) {
	if e.into == nil {
		e.into = make([]byte, 0, len(e.from)+len(by))
	}
	e.into = append(e.into, e.from[e.at:start]...)
	e.into = append(e.into, by...)
	e.at = end
}

// offset maps a position in the decoded string to a position in the encoded string.
type offset struct{ text, raw int }

// offsets has one entry for the end of each escape. Between entries, both positions advance together.
type offsets []offset

func (ps offsets) raw(text int) int {
	n := sort.Search(len(ps), func(i int) bool { return ps[i].text > text })
	if n == 0 {
		return text
	}
	return ps[n-1].raw + text - ps[n-1].text
}

// unescape decodes the content of a valid JSON string. Unlike rawjson.Unescape and encoding/json, it also returns the
// positions of the escapes, which map a match back to the document. Scanning and decoding take half the time of reading
// tokens with a json.Decoder.
func unescape(raw string) (string, offsets) {
	out := make([]byte, 0, len(raw))
	var ps offsets
	for i := 0; i < len(raw); {
		if raw[i] != '\\' {
			next := strings.IndexByte(raw[i:], '\\')
			if next < 0 {
				next = len(raw) - i
			}
			out = append(out, raw[i:i+next]...)
			i += next
			continue
		}
		r, size := escape(raw[i:])
		out = utf8.AppendRune(out, r)
		i += size
		ps = append(ps, offset{len(out), i})
	}
	return string(out), ps
}

// escape decodes the escape sequence at the start of s. It returns the replacement character for an unpaired
// surrogate.
func escape(s string) (r rune, size int) {
	if s[1] != 'u' {
		switch s[1] {
		case 'b':
			return '\b', 2
		case 'f':
			return '\f', 2
		case 'n':
			return '\n', 2
		case 'r':
			return '\r', 2
		case 't':
			return '\t', 2
		}
		return rune(s[1]), 2
	}
	r = unit(s)
	if !utf16.IsSurrogate(r) {
		return r, 6
	}
	if len(s) >= 12 && s[6] == '\\' && s[7] == 'u' {
		if pair := utf16.DecodeRune(r, unit(s[6:])); pair != utf8.RuneError {
			return pair, 12
		}
	}
	return utf8.RuneError, 6
}

// unit returns the code unit of a \\uXXXX escape.
func unit(s string) rune {
	n, err := strconv.ParseUint(s[2:6], 16, 32)
	if err != nil {
		return utf8.RuneError // unreachable: the document is valid
	}
	return rune(n)
}
