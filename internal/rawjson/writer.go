package rawjson

import "strconv"

// Writer appends JSON to Out. It writes members and elements in call order and adds commas.
type Writer struct{ Out []byte }

// Open begins an object.
func (w *Writer) Open() { w.comma(); w.Out = append(w.Out, '{') }

// Close ends an object.
func (w *Writer) Close() { w.Out = append(w.Out, '}') }

// OpenList begins a member that is a list.
func (w *Writer) OpenList(name string) {
	w.Key(name)
	w.Out = append(w.Out, '[')
}

// CloseList ends a list.
func (w *Writer) CloseList() { w.Out = append(w.Out, ']') }

// comma writes a comma unless the output ends in '[', '{', ':' or ','. Values never end in one of these bytes, so checking the last byte
// is sufficient.
func (w *Writer) comma() {
	if n := len(w.Out); n > 0 && w.Out[n-1] != '[' && w.Out[n-1] != '{' && w.Out[n-1] != ':' && w.Out[n-1] != ',' {
		w.Out = append(w.Out, ',')
	}
}

// Key writes the name of a member.
func (w *Writer) Key(name string) {
	w.comma()
	w.Out = append(AppendString(w.Out, name), ':')
}

// Raw writes a member whose value is already encoded as JSON.
func (w *Writer) Raw(name string, value []byte) {
	w.Key(name)
	w.Out = append(w.Out, value...)
}

// Str writes a member that is a string.
func (w *Writer) Str(name, value string) {
	w.Key(name)
	w.Out = AppendString(w.Out, value)
}

// OptionalStr writes a member that is a string, unless the string is empty.
func (w *Writer) OptionalStr(name, value string) {
	if value != "" {
		w.Str(name, value)
	}
}

// Int writes a member that is a number.
func (w *Writer) Int(name string, value int64) {
	w.Key(name)
	w.Out = strconv.AppendInt(w.Out, value, 10)
}

// Bool writes a member that is true or false.
func (w *Writer) Bool(name string, value bool) {
	w.Key(name)
	w.Out = strconv.AppendBool(w.Out, value)
}

// Element adds a JSON value to a list.
func (w *Writer) Element(value []byte) {
	w.comma()
	w.Out = append(w.Out, value...)
}

// AppendMember returns a JSON object with a member added at the end. A value that is not an object is returned
// unchanged.
func AppendMember(object []byte, name string, value []byte) []byte {
	end := len(object)
	for end > 0 && isSpace(object[end-1]) {
		end--
	}
	if end < 2 || object[end-1] != '}' {
		return object
	}
	for end--; end > 0 && isSpace(object[end-1]); end-- {
	}
	w := Writer{Out: append(make([]byte, 0, len(object)+len(name)+len(value)+8), object[:end]...)}
	w.Raw(name, value)
	w.Close()
	return w.Out
}

// Join joins values with commas.
func Join(values [][]byte) []byte {
	var w Writer
	for _, value := range values {
		w.Element(value)
	}
	return w.Out
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }
