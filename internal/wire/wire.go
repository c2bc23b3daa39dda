// Package wire defines the interfaces of a client-facing API format. Each format has its own package.
package wire

import (
	"context"
	"io"
	"iter"

	"fairlead.dev/internal/llm"
)

// Format decodes requests and encodes responses of one client-facing API.
type Format interface {
	// Name returns the format's short name, such as "chat".
	Name() string
	// DecodeRequest validates the body strictly and returns the request. The result refers to body, so the caller must not change body. Errors are *llm.Error of kind InvalidJSON or InvalidRequest, with every problem in Details["problems"], or of kind
	// ClientCancelled when ctx is cancelled before the body is decoded.
	DecodeRequest(ctx context.Context, op llm.Op, body []byte) (*llm.Request, error)
	// Framing returns the framing of streams in this format.
	Framing() Framing
	// EncodeResponse encodes a response in this format, as many events if it is streamed, otherwise as one event. model is the model name
	// that the client sees. If the deltas contain an error, EncodeResponse yields the error and stops.
	EncodeResponse(req *llm.Request, model string, deltas iter.Seq2[llm.Delta, error]) iter.Seq2[llm.Event, error]
}

// Framing writes the events of a stream as bytes.
type Framing interface {
	// WriteEvent writes one event.
	WriteEvent(w io.Writer, ev llm.Event) error
	// WriteEnd ends a complete stream.
	WriteEnd(w io.Writer) error
	// WriteError ends an incomplete stream after the given number of events. body is the error object in the client's
	// form.
	WriteError(w io.Writer, body []byte, after int) error
}

// ErrorFormat is implemented by formats whose clients expect a specific error object.
type ErrorFormat interface {
	// ErrorBody encodes the error in this format. The object also contains the code and the details of the gateway's own error object.
	ErrorBody(e *llm.Error, requestID string) []byte
}

// InputFormat is implemented by formats whose embeddings can be cached by input.
type InputFormat interface {
	// Inputs returns the inputs of a validated embeddings request, each as JSON.
	Inputs(req *llm.Request) [][]byte
	// WithInputs returns the request with its inputs replaced. All fields that DecodeRequest does not set are empty.
	WithInputs(ctx context.Context, req *llm.Request, inputs [][]byte) (*llm.Request, error)
	// Vectors returns the vectors of a response, each as JSON, in the order of the inputs.
	Vectors(data []byte) [][]byte
	// Document returns an embeddings response with the given vectors, in order. tokens is the total length of the inputs in tokens.
	Document(model string, vectors [][]byte, tokens int64) []byte
}

// Resumer is implemented by formats whose interrupted streams can be continued: the remaining events follow the sent
// ones as if the stream had not been interrupted.
type Resumer interface {
	// Prefill returns the request with text appended to its conversation as the beginning of the assistant's response. If the
	// request limits its output, maxOutput replaces that limit; 0 keeps it.
	Prefill(ctx context.Context, req *llm.Request, text string, maxOutput int64) (*llm.Request, error)
	// Resume parses the events that were sent to the client, one JSON document per line. ok is false if the stream cannot be continued,
	// because the response has ended or has content other than text.
	Resume(req *llm.Request, sent []byte) (rest Continuation, ok bool)
}

// Continuation is an interrupted response that can be continued.
type Continuation struct {
	Text string // text sent so far
	// Encode encodes the remaining events with the ID, creation time, model and numbering of the sent events. It must
	// be called at most once.
	Encode func(deltas iter.Seq2[llm.Delta, error]) iter.Seq2[llm.Event, error]
}
