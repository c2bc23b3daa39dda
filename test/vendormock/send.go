package vendormock

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"unicode/utf8"
)

// send writes the frames of a response and applies a fault. Every frame is sent in two pieces, split inside a
// multi-byte character if there is one, because readers must not assume that one read returns a complete event or complete characters.
func (v *Request) send(contentType string, frames [][]byte, f fault) {
	v.Writer.Header().Set("Content-Type", contentType)
	v.Writer.WriteHeader(http.StatusOK)
	control := http.NewResponseController(v.Writer)
	_ = control.Flush() // a writer that cannot flush only makes the test slow
	if f.slow && !pause(v.HTTP.Context(), v.Server.Options.Slow) {
		return
	}
	if f.cut || f.inStream {
		last := frames[len(frames)/2]
		frames = append(frames[:len(frames)/2:len(frames)/2], last[:len(last)/2])
		if f.inStream {
			frames[len(frames)-1] = v.Server.Dialect.Broken(v)
		}
	}
	for _, frame := range frames {
		at := splitPoint(frame)
		for _, piece := range [][]byte{frame[:at], frame[at:]} {
			if _, err := v.Writer.Write(piece); err != nil {
				return // the client has disconnected
			}
			_ = control.Flush()
		}
	}
	if f.cut {
		panic(http.ErrAbortHandler) // breaks the connection
	}
}

// splitPoint returns the offset at which a frame is split.
func splitPoint(frame []byte) int {
	for i, b := range frame {
		if b >= utf8.RuneSelf && i+1 < len(frame) {
			return i + 1
		}
	}
	return len(frame) / 2
}

// Pieces splits a text into pieces for a stream. The pieces are short, so that most texts have several.
func Pieces(text string) []string {
	const length = 9
	runes := []rune(text)
	var list []string
	for len(runes) > length {
		list = append(list, string(runes[:length]))
		runes = runes[length:]
	}
	if len(runes) > 0 {
		list = append(list, string(runes))
	}
	return list
}

// Encode encodes a value as JSON. Like vendors, it does not escape <, > and &.
func Encode(value any) []byte {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		panic("vendormock: encode a response: " + err.Error()) // unreachable: the mock's types always encode
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

// WriteJSON writes value as a JSON response.
func WriteJSON(w http.ResponseWriter, status int, contentType string, value any) {
	writeRaw(w, status, contentType, Encode(value))
}

func writeRaw(w http.ResponseWriter, status int, contentType string, body []byte) {
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	w.Write(body)
}

// DropNulls removes members that are null, for vendors that treat them as absent.
func DropNulls(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for name, member := range v {
			if member == nil {
				delete(v, name)
				continue
			}
			DropNulls(member)
		}
	case []any:
		for _, item := range v {
			DropNulls(item)
		}
	}
	return value
}

// Blank reports whether a text is empty or only white space.
func Blank(text string) bool { return strings.TrimSpace(text) == "" }

// Object is a JSON object in a response.
type Object = map[string]any
