// Package wire says what every client-facing API shape can do. The formats live in folders of their own.
package wire

import (
	"io"
	"iter"

	"fairlead/internal/llm"
)

// Format reads requests and frames answers of one client-facing API shape.
type Format interface {
	// Name is the format's short name, such as "chat".
	Name() string
	// DecodeRequest checks the body strictly and describes it. The request keeps body: the caller must not change it.
	// Errors are *llm.Error of kind InvalidJSON or InvalidRequest, with every problem found in Details["problems"].
	DecodeRequest(op llm.Op, body []byte) (*llm.Request, error)
	// WriteEvent frames one event of a stream.
	WriteEvent(w io.Writer, ev llm.Event) error
	// WriteEnd ends a stream that is complete.
	WriteEnd(w io.Writer) error
	// WriteError ends a stream that is not: body is the error object as JSON.
	WriteError(w io.Writer, body []byte) error
	// Attach adds a top-level member to an answer or event. value is JSON.
	Attach(data []byte, name string, value []byte) []byte

	// Conversation reads a checked chat request into our own words, for a provider that speaks another format.
	Conversation(req *llm.Request) (*llm.Conversation, error)
	// Answer writes an answer given in our own words as this format does: many events for a stream, one for a whole answer.
	// model is the name the client is told. An error among the pieces is passed on and ends the events.
	Answer(req *llm.Request, model string, pieces iter.Seq2[llm.Piece, error]) iter.Seq2[llm.Event, error]
}
