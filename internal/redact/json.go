package redact

import (
	"encoding/json"
	"sort"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// JSON returns a document in which marks stand in the place of what the rules find inside of string values. All other
// bytes stay as they are. What is not a JSON document is taken for plain text. The result may be the body itself.
func (p *Pass) JSON(body []byte) []byte {
	if len(p.rules) == 0 || len(body) == 0 {
		return body
	}
	if !json.Valid(body) {
		if text := p.Text(string(body)); !p.stopped {
			return []byte(text)
		}
		return nil
	}
	e := edit{from: string(body)}
	for i := 0; i < len(e.from); i++ {
		if e.from[i] != '"' {
			continue
		}
		start := i + 1
		end := stringEnd(e.from, start)
		i = end // on the closing quote
		if isKey(e.from, end+1) {
			continue
		}
		p.value(&e, start, end)
		if p.stopped {
			return nil
		}
	}
	if e.at == 0 {
		return body
	}
	return e.done()
}

// stringEnd is where the closing quote of a valid string is.
func stringEnd(s string, i int) int {
	for ; s[i] != '"'; i++ {
		if s[i] == '\\' {
			i++
		}
	}
	return i
}

// isKey reports whether a colon comes next, which in a valid document follows keys only.
func isKey(s string, i int) bool {
	for ; i < len(s); i++ {
		switch s[i] {
		case ' ', '\t', '\r', '\n':
		default:
			return s[i] == ':'
		}
	}
	return false
}

// value redacts the inside of one string, from start to end.
func (p *Pass) value(e *edit, start, end int) {
	raw := e.from[start:end]
	if !strings.Contains(raw, `\`) {
		if media(raw) {
			return
		}
		for _, f := range p.search(raw) {
			e.replace(start+f.start, start+f.end, Mark(f.rule))
		}
		return
	}
	text, places := unescape(raw)
	if media(text) {
		return
	}
	for _, f := range p.search(text) {
		e.replace(start+places.raw(f.start), start+places.raw(f.end), Mark(f.rule))
	}
}

// edit copies a text with some pieces replaced, in order.
type edit struct {
	from string
	into []byte
	at   int // how much of from is copied; 0 while nothing was replaced
}

func (e *edit) replace(start, end int, by string) {
	if e.into == nil {
		e.into = make([]byte, 0, len(e.from)+len(by))
	}
	e.into = append(e.into, e.from[e.at:start]...)
	e.into = append(e.into, by...)
	e.at = end
}

func (e *edit) done() []byte { return append(e.into, e.from[e.at:]...) }

// place says that what comes at text in the decoded string is at raw in the encoded one.
type place struct{ text, raw int }

// places holds one for the end of each escape; in between both go on in step.
type places []place

func (ps places) raw(text int) int {
	n := sort.Search(len(ps), func(i int) bool { return ps[i].text > text })
	if n == 0 {
		return text
	}
	return ps[n-1].raw + text - ps[n-1].text
}

// unescape decodes the inside of a valid JSON string.
func unescape(raw string) (string, places) {
	out := make([]byte, 0, len(raw))
	var ps places
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
		ps = append(ps, place{len(out), i})
	}
	return string(out), ps
}

// escape reads the escape that a text begins with. Halves of a pair without the other are no character.
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

// unit is the number of a \uXXXX.
func unit(s string) rune {
	n, err := strconv.ParseUint(s[2:6], 16, 32)
	if err != nil {
		return utf8.RuneError // does not come to that: the document is valid
	}
	return rune(n)
}
