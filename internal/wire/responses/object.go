package responses

import (
	"strconv"

	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/wire/strict"
)

// value is a JSON value in the request. It shares memory with requestReader.source.
type value struct {
	rawjson.Value
	text rawjson.String // position and length of a string value
}

// value reads the next value.
func (r *requestReader) value() value {
	var v value
	kind, from := r.Kind(), r.Pos
	if kind == '"' {
		v.text = r.ReadString()
	} else {
		r.Skip()
	}
	if r.Err == nil {
		v.Value = rawjson.Value{Kind: rawjson.KindOf(kind), Raw: r.source[from:r.Pos], Index: from}
	}
	return v
}

// object holds the known members of an object, which are read in one pass.
type object struct {
	at     place
	names  []string
	values [maxNames]value // values of the members, in the order of names
}

// maxNames is the maximum length of object.names.
const maxNames = 11

// get returns the value of a member, or the zero value if the object does not have the member.
func (o *object) get(name string) value {
	for i, known := range o.names {
		if name == known {
			return o.values[i]
		}
	}
	return value{}
}

// member reads the value of the current member if its name is known. The scanner skips the value of an unknown member.
func (r *requestReader) member(o *object, key []byte) {
	for i, known := range o.names {
		if string(key) == known {
			o.values[i] = r.value()
			return
		}
	}
	if _, found := strict.LookAlike("", string(key), o.names...); found { // the path is expensive
		r.RejectLookAlikes(o.at.String()+".", string(key), o.names...)
	}
}

// str returns a member that must be a string.
func (r *requestReader) str(o *object, name string) string {
	if v := r.textOf(o, name); v.Kind == rawjson.Text {
		return v.String()
	}
	return ""
}

// textOf returns a member that must be a string or null, without decoding the string. For any other type, it records a problem and returns
// the zero value.
func (r *requestReader) textOf(o *object, name string) value {
	v := o.get(name)
	if v.Kind != rawjson.Text && v.Kind != rawjson.Null {
		r.text(o.at.member(name), v.Value) // records the problem
		return value{}
	}
	return v
}

// reread moves to the beginning of a value that was already read and validated, calls read, and then restores the position.
func (r *requestReader) reread(v rawjson.Value, read func()) {
	pos, isStrict := r.Pos, r.Strict
	r.Pos, r.Strict = v.Index, false
	read()
	r.Pos, r.Strict = pos, isStrict
}

// place is the path of a list element, such as input[3], or of an element in a nested list, such as input[3].content[0]. It is formatted
// only when a problem is recorded.
type place struct {
	list  string
	n     int
	inner string // name of the inner list; empty for none
	m     int    // index in the inner list
}

func (p place) String() string {
	path := p.list + "[" + strconv.Itoa(p.n) + "]"
	if p.inner != "" {
		path += "." + p.inner + "[" + strconv.Itoa(p.m) + "]"
	}
	return path
}

func (p place) member(name string) string { return p.String() + "." + name }
