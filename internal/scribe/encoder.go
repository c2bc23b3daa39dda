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

// encoder writes the value at a place.
type encoder func(*writer, pointer)

var (
	marshalerType = reflect.TypeFor[json.Marshaler]()
	appenderType  = reflect.TypeFor[encoding.TextAppender]()
	timeType      = reflect.TypeFor[time.Time]()
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
	case t.Implements(marshalerType), reflect.PointerTo(t).Implements(marshalerType):
		return marshalerEncoder(t)
	}
	switch t.Kind() {
	case reflect.String:
		return func(w *writer, p pointer) { w.text(*(*string)(p)) }
	case reflect.Bool:
		return func(w *writer, p pointer) { w.out = strconv.AppendBool(w.out, *(*bool)(p)) }
	case reflect.Int, reflect.Int64:
		return func(w *writer, p pointer) { w.out = strconv.AppendInt(w.out, *(*int64)(p), 10) }
	case reflect.Int32:
		return func(w *writer, p pointer) { w.out = strconv.AppendInt(w.out, int64(*(*int32)(p)), 10) }
	case reflect.Float64:
		return func(w *writer, p pointer) { w.float(*(*float64)(p)) }
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
	return func(w *writer, p pointer) {
		data, err := json.Marshal(reflect.NewAt(t, p).Interface())
		if err != nil {
			w.fail("write %s: %w", t, err)
			return
		}
		w.out = append(w.out, data...)
	}
}

// marshalerEncoder has a value write itself. Records are made of our own types, whose JSON needs no checking.
func marshalerEncoder(t reflect.Type) encoder {
	return func(w *writer, p pointer) {
		data, err := reflect.NewAt(t, p).Interface().(json.Marshaler).MarshalJSON()
		if err != nil {
			w.fail("write %s: %w", t, err)
			return
		}
		w.out = append(w.out, data...)
	}
}

// appenderEncoder has a value append its text, which must need no escapes.
func appenderEncoder(t reflect.Type) encoder {
	return func(w *writer, p pointer) {
		w.out = append(w.out, '"')
		out, err := reflect.NewAt(t, p).Interface().(encoding.TextAppender).AppendText(w.out)
		if err != nil {
			w.fail("write %s: %w", t, err)
			return
		}
		w.out = out
		w.out = append(w.out, '"')
	}
}

func pointerEncoder(t reflect.Type) encoder {
	of := encoderOf(t.Elem())
	return func(w *writer, p pointer) {
		if at := *(*pointer)(p); at != nil {
			of(w, at)
			return
		}
		w.out = append(w.out, "null"...)
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
	return func(w *writer, p pointer) {
		h := (*sliceHeader)(p)
		if h.data == nil {
			w.out = append(w.out, "null"...)
			return
		}
		w.list(of, h.data, h.len, size)
	}
}

func arrayEncoder(t reflect.Type) encoder {
	of, n, size := encoderOf(t.Elem()), t.Len(), t.Elem().Size()
	return func(w *writer, p pointer) { w.list(of, p, n, size) }
}

func (w *writer) list(of encoder, at pointer, n int, size uintptr) {
	w.out = append(w.out, '[')
	for i := range n {
		if i > 0 {
			w.out = append(w.out, ',')
		}
		of(w, unsafe.Add(at, uintptr(i)*size))
	}
	w.out = append(w.out, ']')
}

func writeTexts(w *writer, p pointer) {
	m := *(*map[string]string)(p)
	if m == nil {
		w.out = append(w.out, "null"...)
		return
	}
	var room [8]string // most maps have few
	names := room[:0]
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	w.out = append(w.out, '{')
	for i, name := range names {
		if i > 0 {
			w.out = append(w.out, ',')
		}
		w.text(name)
		w.out = append(w.out, ':')
		w.text(m[name])
	}
	w.out = append(w.out, '}')
}

func writeTime(w *writer, p pointer) {
	w.out = append(w.out, '"')
	out, err := (*time.Time)(p).AppendText(w.out)
	if err != nil {
		w.fail("write a time: %w", err)
		return
	}
	w.out = out
	w.out = append(w.out, '"')
}

// float writes as encoding/json does: without an exponent where that is not long.
func (w *writer) float(f float64) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		w.fail("JSON has no number %v", f)
		return
	}
	if w.short(f) {
		return
	}
	format := byte('f')
	if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	w.out = strconv.AppendFloat(w.out, f, format, -1, 64)
}

// short writes a number with at most six decimals, which most of ours have, and tells whether it is one. Up to fifteen digits
// no other text of that length stands for the same number, so that it is the shortest one.
func (w *writer) short(f float64) bool {
	const decimals, most = 1e6, 1e15
	scaled := math.Round(f * decimals)
	if math.Abs(scaled) >= most || scaled/decimals != f || scaled == 0 { // minus nought has a sign
		return false
	}
	n := int64(scaled)
	if n < 0 {
		w.out = append(w.out, '-')
		n = -n
	}
	w.out = strconv.AppendInt(w.out, n/decimals, 10)
	rest := n % decimals
	if rest == 0 {
		return true
	}
	w.out = append(w.out, ".000000"...)
	for i := len(w.out) - 1; rest > 0; i-- {
		w.out[i] = byte('0' + rest%10)
		rest /= 10
	}
	for w.out[len(w.out)-1] == '0' {
		w.out = w.out[:len(w.out)-1]
	}
	return true
}
