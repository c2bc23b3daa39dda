// Package chat is the wire format of OpenAI's chat completions, embeddings, bare prompts and moderations, in both
// directions: it checks what clients send, edits it for a provider that speaks the same format, and reads what such a
// provider answers. The bytes pass through; only checked fields change.
package chat

import (
	"bytes"
	"io"
	"time"

	"fairlead/internal/llm"
	"fairlead/internal/wire"
	"fairlead/internal/wire/sse"
)

// Name is the format's short name.
const Name = "chat"

// Format reads requests of these kinds and frames their answers.
type Format struct {
	// Now dates the answers that are translated from another format; they have no date when it is nil.
	Now func() time.Time
}

var _ wire.Format = Format{}

var done = []byte("[DONE]")

// Name is the format's short name.
func (Format) Name() string { return Name }

// WriteEvent frames one event of a stream.
func (Format) WriteEvent(w io.Writer, ev llm.Event) error { return sse.WriteData(w, ev.Data) }

// WriteEnd ends a stream that is complete.
func (Format) WriteEnd(w io.Writer) error { return sse.WriteData(w, done) }

// WriteError ends a stream that is not complete. Nothing follows it: [DONE] would say that the answer is whole.
func (Format) WriteError(w io.Writer, body []byte, _ int) error { return sse.WriteData(w, body) }

// Attach adds a top-level member at the end of an answer or event. value is JSON. What is no object comes back as it is.
func (Format) Attach(data []byte, name string, value []byte) []byte {
	trimmed := bytes.TrimRight(data, " \t\r\n")
	if len(trimmed) < 2 || trimmed[len(trimmed)-1] != '}' {
		return data
	}
	inside := bytes.TrimRight(trimmed[:len(trimmed)-1], " \t\r\n")
	out := make([]byte, 0, len(data)+len(name)+len(value)+8)
	out = append(out, inside...)
	if inside[len(inside)-1] != '{' {
		out = append(out, ',')
	}
	out = AppendString(out, name)
	out = append(out, ':')
	out = append(out, value...)
	return append(out, '}')
}
