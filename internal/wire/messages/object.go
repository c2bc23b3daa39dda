package messages

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// Writer writes JSON in the order in which it is told, with text as it is.
type Writer struct{ Out []byte }

func (w *Writer) Open()  { w.next(); w.Out = append(w.Out, '{') }
func (w *Writer) Close() { w.Out = append(w.Out, '}') }

func (w *Writer) OpenList(name string) {
	w.Key(name)
	w.Out = append(w.Out, '[')
}

func (w *Writer) CloseList() { w.Out = append(w.Out, ']') }

// next puts a comma between the elements of a list. No value ends in one of these bytes.
func (w *Writer) next() {
	if n := len(w.Out); n > 0 && w.Out[n-1] != '[' && w.Out[n-1] != '{' && w.Out[n-1] != ':' {
		w.Out = append(w.Out, ',')
	}
}

func (w *Writer) Key(name string) {
	w.next()
	w.Out = append(AppendString(w.Out, name), ':')
}

func (w *Writer) Str(name, value string) {
	w.Key(name)
	w.Out = AppendString(w.Out, value)
}

func (w *Writer) Int(name string, value int64) {
	w.Key(name)
	w.Out = strconv.AppendInt(w.Out, value, 10)
}

func (w *Writer) Bool(name string, value bool) {
	w.Key(name)
	w.Out = strconv.AppendBool(w.Out, value)
}

func (w *Writer) Raw(name string, value []byte) {
	w.Key(name)
	w.Out = append(w.Out, value...)
}

// Element adds a raw value to a list.
func (w *Writer) Element(value []byte) {
	w.next()
	w.Out = append(w.Out, value...)
}

// Trim drops white space at the end, so that next sees the last token.
func (w *Writer) Trim() {
	for n := len(w.Out); n > 0; n-- {
		switch w.Out[n-1] {
		case ' ', '\t', '\r', '\n':
			w.Out = w.Out[:n-1]
		default:
			return
		}
	}
}

// AppendString appends s as a JSON string. What is not UTF-8 becomes U+FFFD.
func AppendString(dst []byte, s string) []byte {
	dst, _ = jsontext.AppendQuote(dst, s) // the error only says that something was replaced
	return dst
}
