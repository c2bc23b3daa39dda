// Package wire says what every client-facing API shape can do. The formats live in folders of their own.
package wire

import (
	"context"
	"io"
	"iter"

	"fairlead/internal/llm"
)

// Format reads requests and frames answers of one client-facing API shape.
type Format interface {
	// Name is the format's short name, such as "chat".
	Name() string
	// DecodeRequest checks the body strictly and describes it. The request keeps body: the caller must not change it.
	// Errors are *llm.Error of kind InvalidJSON or InvalidRequest, with every problem found in Details["problems"], or of
	// kind ClientCancelled when ctx ends before the body is decoded.
	DecodeRequest(ctx context.Context, op llm.Op, body []byte) (*llm.Request, error)
	// WriteEvent frames one event of a stream.
	WriteEvent(w io.Writer, ev llm.Event) error
	// WriteEnd ends a stream that is complete.
	WriteEnd(w io.Writer) error
	// WriteError ends an incomplete stream after that many events. body is the error object in the shape the client gets.
	WriteError(w io.Writer, body []byte, after int) error
	// Attach adds a top-level member to an answer or event. value is JSON.
	Attach(data []byte, name string, value []byte) []byte

	// Conversation reads a checked chat request into our own words, for a provider that speaks another format. It returns
	// ClientCancelled when ctx ends meanwhile.
	Conversation(ctx context.Context, req *llm.Request) (*llm.Conversation, error)
	// EncodeResponse writes a response in this format: many events for a stream, one otherwise. model is the name that the
	// client sees. An error among the deltas is passed on and ends the events.
	EncodeResponse(req *llm.Request, model string, deltas iter.Seq2[llm.Delta, error]) iter.Seq2[llm.Event, error]
}

// ErrorFormat is implemented by formats whose clients expect an error object of their own shape.
type ErrorFormat interface {
	// ErrorBody converts the flat error object, keeping its code and details.
	ErrorBody(body []byte) []byte
}

// Resumer is a format whose interrupted streams can be continued: the events that were sent stay, and the rest follows as if
// the stream had not stopped.
type Resumer interface {
	// Prefill returns the request with text added to its conversation as how the assistant's answer begins. most bounds what
	// may follow it, where the request itself sets a bound; 0 leaves that as it is.
	Prefill(ctx context.Context, req *llm.Request, text string, most int64) (*llm.Request, error)
	// Resume reads the events that were sent, one JSON document per line. ok is false when they cannot be continued: the
	// response has ended, or has content other than text.
	Resume(req *llm.Request, sent []byte) (rest Continuation, ok bool)
}

// Continuation is an answer on its way that has stopped.
type Continuation struct {
	Text string // text that was sent
	// EncodeResponse writes what follows, as Format.EncodeResponse writes a whole: with the id, the date, the model and the numbering of what
	// has gone out. It is called once.
	Encode func(deltas iter.Seq2[llm.Delta, error]) iter.Seq2[llm.Event, error]
}
