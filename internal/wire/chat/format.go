// Package chat is the client side of OpenAI's format for chat completions, embeddings, legacy completions and moderations. It
// validates requests and edits them for providers that use the same format. chatconv converts to other formats, and
// chatstream reads responses.
package chat

import (
	"context"
	"io"
	"iter"
	"time"

	"fairlead/internal/llm"
	"fairlead/internal/rawjson"
	"fairlead/internal/wire"
	"fairlead/internal/wire/chatconv"
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

// Attach implements wire.Format.
func (Format) Attach(data []byte, name string, value []byte) []byte {
	return rawjson.AppendMember(data, name, value)
}

// Conversation implements wire.Format.
func (Format) Conversation(ctx context.Context, req *llm.Request) (*llm.Conversation, error) {
	return chatconv.Conversation(ctx, req)
}

// EncodeResponse implements wire.Format.
func (f Format) EncodeResponse(req *llm.Request, model string, deltas iter.Seq2[llm.Delta, error]) iter.Seq2[llm.Event, error] {
	return chatconv.Encode(req, model, f.Now, deltas)
}
