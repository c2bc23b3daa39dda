package rawjson

import (
	"strconv"
	"strings"
	"unsafe"
)

// Kind is the type of a Value.
type Kind byte

// Kinds of values. A missing value is Null.
const (
	Null Kind = iota
	False
	True
	Number
	Text
	List
	Object
)

// Value is a JSON value inside a document. Every lookup scans the JSON again, so use Value only for validated documents whose members are
// read a few times. In malformed input, lookups find nothing. The zero value represents a missing value.
type Value struct {
	Kind  Kind
	Raw   string // encoded value
	Index int    // position of Raw in the document passed to Parse
}

// Parse returns the value at the beginning of data. It copies data.
func Parse(data []byte) Value { return ParseString(string(data)) }

// ParseString returns the value at the beginning of s.
func ParseString(s string) Value {
	v, _ := valueAt(s, skipSpace(s, 0), 0)
	return v
}

// Get looks up a member of the value at the beginning of data.
func Get(data []byte, path string) Value { return Parse(data).Get(path) }

// Valid reports whether data is one JSON document.
func Valid(data []byte) bool {
	s := Scanner{Data: data}
	s.Skip()
	s.End()
	return s.Err == nil
}

// Exists reports whether the value is present in the document. A null value is present.
func (v Value) Exists() bool { return v.Raw != "" }

// IsObject reports whether the value is an object.
func (v Value) IsObject() bool { return v.Kind == Object }

// IsList reports whether the value is a list.
func (v Value) IsList() bool { return v.Kind == List }

// IsBool reports whether the value is true or false.
func (v Value) IsBool() bool { return v.Kind == True || v.Kind == False }

// Bool reports whether the value is true.
func (v Value) Bool() bool { return v.Kind == True }

// String returns the decoded content of a string, an empty string for null, and the JSON of any other value.
func (v Value) String() string {
	switch v.Kind {
	case Null:
		return ""
	case Text:
		inner := v.Raw[1 : len(v.Raw)-1]
		if strings.IndexByte(inner, '\\') < 0 {
			return inner
		}
		raw := unsafe.Slice(unsafe.StringData(inner), len(inner)) // safe, because Unescape does not modify the bytes
		text := Unescape(make([]byte, 0, len(inner)), raw, len(inner))
		return unsafe.String(unsafe.SliceData(text), len(text)) // safe, because nothing else refers to text
	default:
		return v.Raw
	}
}

// Float returns the value of a number, or 0 if the value is not a number.
func (v Value) Float() float64 {
	if v.Kind != Number {
		return 0
	}
	f, _ := strconv.ParseFloat(v.Raw, 64) // a number out of range becomes ±Inf
	return f
}

// Int returns the value of an integer, or 0 if the value is not an integer.
func (v Value) Int() int64 {
	if v.Kind != Number {
		return 0
	}
	n, _ := ParseInteger([]byte(v.Raw))
	return n
}

// Get looks up a member by its name or an element by its index. Dots separate the steps of a path: "choices.0.message".
// The step # applies the rest of the path to every element and collects the results in a list: "tools.#.name".
func (v Value) Get(path string) Value {
	for path != "" && v.Exists() {
		step, rest, _ := strings.Cut(path, ".")
		path = rest
		if step == "#" && v.Kind == List {
			var list Writer
			list.Out = append(list.Out, '[')
			for _, element := range v.List() {
				if found := element.Get(rest); found.Exists() {
					list.Element([]byte(found.Raw))
				}
			}
			list.CloseList()
			return Parse(list.Out)
		}
		var found Value
		n := 0
		v.ForEach(func(key, value Value) bool {
			if v.Kind == Object && key.String() == step || v.Kind == List && strconv.Itoa(n) == step {
				found = value
				return false
			}
			n++
			return true
		})
		v = found
	}
	return v
}

// List returns the elements of the list, or nil if the value is not a list.
func (v Value) List() []Value {
	if v.Kind != List {
		return nil
	}
	var list []Value
	v.ForEach(func(_, element Value) bool {
		list = append(list, element)
		return true
	})
	return list
}

// ForEach calls the given function for every member of an object or every element of a list, in order, until the function returns false.
// For elements, key is the zero Value.
func (v Value) ForEach(each func(key, value Value) bool) {
	if v.Kind != Object && v.Kind != List {
		return
	}
	s := v.Raw
	i := skipSpace(s, 1)
	for i < len(s) && s[i] != '}' && s[i] != ']' {
		var key Value
		if v.Kind == Object {
			if s[i] != '"' {
				return
			}
			if key, i = valueAt(s, i, v.Index); key.Kind != Text {
				return
			}
			if i = skipSpace(s, i); i >= len(s) || s[i] != ':' {
				return
			}
			i = skipSpace(s, i+1)
		}
		var value Value
		if value, i = valueAt(s, i, v.Index); !value.Exists() || !each(key, value) {
			return
		}
		if i = skipSpace(s, i); i < len(s) && s[i] == ',' {
			i = skipSpace(s, i+1)
		}
	}
}

func skipSpace(s string, i int) int {
	for i < len(s) && isSpace(s[i]) {
		i++
	}
	return i
}

// valueAt returns the value at position i of s and the position after it. offset is the position of s in its document.
func valueAt(s string, i, offset int) (Value, int) {
	if i >= len(s) {
		return Value{}, i
	}
	kind, end := Null, i
	switch c := s[i]; c {
	case '"':
		kind = Text
		if end = skipString(s, i); end > len(s) {
			return Value{}, len(s)
		}
	case '{', '[':
		kind = List
		if c == '{' {
			kind = Object
		}
		if end = skipContainer(s, i); end > len(s) {
			return Value{}, len(s)
		}
	default:
		for end < len(s) && !isSpace(s[end]) && strings.IndexByte(`,:{}[]"`, s[end]) < 0 {
			end++
		}
		switch {
		case c == '-' || c >= '0' && c <= '9':
			kind = Number
		case s[i:end] == "true":
			kind = True
		case s[i:end] == "false":
			kind = False
		case s[i:end] != "null":
			return Value{}, end
		}
	}
	return Value{Kind: kind, Raw: s[i:end], Index: offset + i}, end
}

// skipString returns the position after the string that begins at i, or len(s)+1 if it is not closed.
func skipString(s string, i int) int {
	return stringEnd(unsafe.Slice(unsafe.StringData(s), len(s)), i+1) + 1 // safe, because stringEnd does not modify the bytes
}

// skipContainer returns the position after the object or list that begins at i, or len(s)+1 if it is not closed.
func skipContainer(s string, i int) int {
	for depth := 0; i < len(s); i++ {
		switch s[i] {
		case '"':
			i = skipString(s, i) - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(s) + 1
}
