package messages

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// object writes JSON in the order in which it is told, with text as it is.
type object struct{ out []byte }

func (w *object) open()  { w.next(); w.out = append(w.out, '{') }
func (w *object) close() { w.out = append(w.out, '}') }

func (w *object) openList(name string) {
	w.key(name)
	w.out = append(w.out, '[')
}

func (w *object) closeList() { w.out = append(w.out, ']') }

// next puts a comma between the elements of a list. No value ends in one of these bytes.
func (w *object) next() {
	if n := len(w.out); n > 0 && w.out[n-1] != '[' && w.out[n-1] != '{' && w.out[n-1] != ':' {
		w.out = append(w.out, ',')
	}
}

func (w *object) key(name string) {
	w.next()
	w.out = append(quoted(w.out, name), ':')
}

func (w *object) str(name, value string) {
	w.key(name)
	w.out = quoted(w.out, value)
}

func (w *object) int(name string, value int64) {
	w.key(name)
	w.out = strconv.AppendInt(w.out, value, 10)
}

func (w *object) bool(name string, value bool) {
	w.key(name)
	w.out = strconv.AppendBool(w.out, value)
}

func (w *object) raw(name string, value []byte) {
	w.key(name)
	w.out = append(w.out, value...)
}

// element adds a raw value to a list.
func (w *object) element(value []byte) {
	w.next()
	w.out = append(w.out, value...)
}

// trim drops white space at the end, so that next sees the last token.
func (w *object) trim() {
	for n := len(w.out); n > 0; n-- {
		switch w.out[n-1] {
		case ' ', '\t', '\r', '\n':
			w.out = w.out[:n-1]
		default:
			return
		}
	}
}

// quoted appends s as a JSON string. What is not UTF-8 becomes U+FFFD.
func quoted(dst []byte, s string) []byte {
	dst, _ = jsontext.AppendQuote(dst, s) // the error only says that something was replaced
	return dst
}
