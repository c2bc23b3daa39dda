package scribe

import (
	"encoding"
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strconv"
	"time"
	"unsafe"
)

// pointer is where a value lies. That a type's encoder only ever sees pointers to values of the type is what makes this
// safe: encoderOf pairs them, and nothing else makes them.
type pointer = unsafe.Pointer

// encoder appends the value at a place. The text is handed through from one to the next, and not kept in the writer: that
// leaves it in registers.
type encoder func(w *writer, out []byte, p pointer) []byte

// Appender is a value that appends its own JSON, where encoding/json would have it marshal itself.
type Appender interface {
	AppendJSON(to []byte) ([]byte, error)
}

var (
	appenderType     = reflect.TypeFor[Appender]()
	textAppenderType = reflect.TypeFor[encoding.TextAppender]()
	marshalerType    = reflect.TypeFor[json.Marshaler]()
	timeType         = reflect.TypeFor[time.Time]()
)

// encoderOf works out how a type is written.
func encoderOf(t reflect.Type) encoder {
	switch {
	case t == timeType:
		return writeTime
	case t.Kind() == reflect.Pointer:
		return pointerEncoder(t)
	case t.Implements(appenderType):
		return appenderEncoder(t)
	case t.Implements(textAppenderType):
		return textEncoder(t)
	case t.Implements(marshalerType), reflect.PointerTo(t).Implements(marshalerType):
		return marshalerEncoder(t)
	}
	switch t.Kind() {
	case reflect.String:
		return func(_ *writer, out []byte, p pointer) []byte { return appendText(out, *(*string)(p)) }
	case reflect.Bool:
		return func(_ *writer, out []byte, p pointer) []byte { return strconv.AppendBool(out, *(*bool)(p)) }
	case reflect.Int, reflect.Int64:
		return func(_ *writer, out []byte, p pointer) []byte { return strconv.AppendInt(out, *(*int64)(p), 10) }
	case reflect.Int32:
		return func(_ *writer, out []byte, p pointer) []byte { return strconv.AppendInt(out, int64(*(*int32)(p)), 10) }
	case reflect.Float64:
		return func(w *writer, out []byte, p pointer) []byte { return w.float(out, *(*float64)(p)) }
	case reflect.Struct:
		return structEncoder(t)
	case reflect.Slice:
		if t.Elem().Kind() != reflect.Uint8 { // bytes are written in base 64
			return sliceEncoder(t)
		}
	case reflect.Array:
		return arrayEncoder(t)
	case reflect.Map:
		if t == reflect.TypeFor[map[string]string]() {
			return writeTexts
		}
	default:
	}
	return anyEncoder(t)
}

// anyEncoder leaves a type that is rare in records to encoding/json.
func anyEncoder(t reflect.Type) encoder {
	return func(w *writer, out []byte, p pointer) []byte {
		data, err := json.Marshal(reflect.NewAt(t, p).Interface())
		if err != nil {
			w.fail("write %s: %w", t, err)
		}
		return append(out, data...)
	}
}

// appenderEncoder has a value append itself. Records are made of our own types, whose JSON needs no checking.
func appenderEncoder(t reflect.Type) encoder {
	return func(w *writer, out []byte, p pointer) []byte {
		more, err := reflect.NewAt(t, p).Interface().(Appender).AppendJSON(out)
		if err != nil {
			w.fail("write %s: %w", t, err)
			return out
		}
		return more
	}
}

// marshalerEncoder has a value write itself.
func marshalerEncoder(t reflect.Type) encoder {
	return func(w *writer, out []byte, p pointer) []byte {
		data, err := reflect.NewAt(t, p).Interface().(json.Marshaler).MarshalJSON()
		if err != nil {
			w.fail("write %s: %w", t, err)
		}
		return append(out, data...)
	}
}

// textEncoder has a value append its text, which must need no escapes.
func textEncoder(t reflect.Type) encoder {
	return func(w *writer, out []byte, p pointer) []byte {
		more, err := reflect.NewAt(t, p).Interface().(encoding.TextAppender).AppendText(append(out, '"'))
		if err != nil {
			w.fail("write %s: %w", t, err)
			return out
		}
		return append(more, '"')
	}
}

func pointerEncoder(t reflect.Type) encoder {
	of := encoderOf(t.Elem())
	return func(w *writer, out []byte, p pointer) []byte {
		if at := *(*pointer)(p); at != nil {
			return of(w, out, at)
		}
		return append(out, "null"...)
	}
}

// sliceHeader is how a slice of any type lies in memory.
type sliceHeader struct {
	data pointer
	len  int
	_    int // capacity
}

func sliceEncoder(t reflect.Type) encoder {
	of, size := encoderOf(t.Elem()), t.Elem().Size()
	return func(w *writer, out []byte, p pointer) []byte {
		h := (*sliceHeader)(p)
		if h.data == nil {
			return append(out, "null"...)
		}
		return w.list(out, of, h.data, h.len, size)
	}
}

func arrayEncoder(t reflect.Type) encoder {
	of, n, size := encoderOf(t.Elem()), t.Len(), t.Elem().Size()
	return func(w *writer, out []byte, p pointer) []byte { return w.list(out, of, p, n, size) }
}

func (w *writer) list(out []byte, of encoder, at pointer, n int, size uintptr) []byte {
	out = append(out, '[')
	for i := range n {
		if i > 0 {
			out = append(out, ',')
		}
		out = of(w, out, unsafe.Add(at, uintptr(i)*size))
	}
	return append(out, ']')
}

func writeTexts(_ *writer, out []byte, p pointer) []byte {
	m := *(*map[string]string)(p)
	if m == nil {
		return append(out, "null"...)
	}
	var room [8]string // most maps have few
	names := room[:0]
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	out = append(out, '{')
	for i, name := range names {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(appendText(out, name), ':')
		out = appendText(out, m[name])
	}
	return append(out, '}')
}

func writeTime(w *writer, out []byte, p pointer) []byte {
	more, err := (*time.Time)(p).AppendText(append(out, '"'))
	if err != nil {
		w.fail("write a time: %w", err)
		return out
	}
	return append(more, '"')
}

// float writes as encoding/json does: without an exponent where that is not long.
func (w *writer) float(out []byte, f float64) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		w.fail("JSON has no number %v", f)
		return out
	}
	if short, ok := appendShort(out, f); ok {
		return short
	}
	format := byte('f')
	if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	return strconv.AppendFloat(out, f, format, -1, 64)
}

// appendShort writes a number with at most six decimals, which most of ours have, and tells whether it is one. Up to fifteen
// digits no other text of that length stands for the same number, so that it is the shortest one.
func appendShort(out []byte, f float64) ([]byte, bool) {
	const decimals, most = 1e6, 1e15
	scaled := math.Round(f * decimals)
	if math.Abs(scaled) >= most || scaled/decimals != f || scaled == 0 { // minus nought has a sign
		return out, false
	}
	n := int64(scaled)
	if n < 0 {
		out = append(out, '-')
		n = -n
	}
	out = strconv.AppendInt(out, n/decimals, 10)
	rest := n % decimals
	if rest == 0 {
		return out, true
	}
	out = append(out, ".000000"...)
	for i := len(out) - 1; rest > 0; i-- {
		out[i] = byte('0' + rest%10)
		rest /= 10
	}
	for out[len(out)-1] == '0' {
		out = out[:len(out)-1]
	}
	return out, true
}
