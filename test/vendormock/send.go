package vendormock

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"unicode/utf8"
)

// send writes the frames of an answer and lets go wrong what should. Every frame goes out in two pieces, cut inside a
// sign of several bytes where there is one: readers must not take a read for an event or for whole text.
func (v *Request) send(contentType string, frames [][]byte, f fault) {
	v.Writer.Header().Set("Content-Type", contentType)
	v.Writer.WriteHeader(http.StatusOK)
	control := http.NewResponseController(v.Writer)
	_ = control.Flush() // a writer that cannot flush shows as a slow test
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
		at := seam(frame)
		for _, piece := range [][]byte{frame[:at], frame[at:]} {
			if _, err := v.Writer.Write(piece); err != nil {
				return // the caller left
			}
			_ = control.Flush()
		}
	}
	if f.cut {
		panic(http.ErrAbortHandler) // breaks the connection
	}
}

// seam is where to cut a frame.
func seam(frame []byte) int {
	for i, b := range frame {
		if b >= utf8.RuneSelf && i+1 < len(frame) {
			return i + 1
		}
	}
	return len(frame) / 2
}

// Pieces cuts a text into what a stream sends at a time: a few signs, so that there are several.
func Pieces(text string) []string {
	const signs = 9
	runes := []rune(text)
	var list []string
	for len(runes) > signs {
		list = append(list, string(runes[:signs]))
		runes = runes[signs:]
	}
	if len(runes) > 0 {
		list = append(list, string(runes))
	}
	return list
}

// Encode writes a value of our own as JSON, as vendors do: without escaping <, > and &.
func Encode(value any) []byte {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		panic("vendormock: encode an answer: " + err.Error()) // the types are ours: a defect
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

// DropNulls removes members that are null, for vendors to whom they are not there.
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

// Blank reports whether there is nothing to read in a text.
func Blank(text string) bool { return strings.TrimSpace(text) == "" }

// Object is a JSON object of an answer.
type Object = map[string]any
