package upstream

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire/show"
	"fairlead.dev/internal/wire/sse"
	"fairlead.dev/internal/wire/strict"
)

// DefaultMaxResponse is the default of Reading.MaxResponse.
const DefaultMaxResponse = 64 << 20

// Reading holds the settings for reading a provider's response.
type Reading struct {
	Stream      bool   // whether the request asked for a stream
	ContentType string // content type of the response
	MaxLine     int    // maximum length of a stream line in bytes; 0 for sse.DefaultMaxLine
	MaxResponse int64  // maximum size of the response in bytes; 0 for DefaultMaxResponse
	SizeHint    int64  // Content-Length of the response, if known

	// Warn receives warnings about corrected and dropped content. It may be nil.
	Warn func(string)
}

// Source reads a response, which is a stream of events or one JSON document. It handles framing and limits, not the meaning of events.
type Source struct {
	Options  Reading
	size     int64
	Finished bool // whether the stop reason has arrived
}

// NewSource returns a source. Unset options get their defaults.
func NewSource(o Reading) *Source {
	if o.MaxResponse <= 0 {
		o.MaxResponse = DefaultMaxResponse
	}
	return &Source{Options: o}
}

// Warn reports a warning, if a callback is set.
func (s *Source) Warn(format string, args ...any) {
	if s.Options.Warn != nil {
		s.Options.Warn(fmt.Sprintf(format, args...))
	}
}

// Malformed returns an error of kind llm.UpstreamMalformed.
func Malformed(format string, args ...any) *llm.Error {
	return llm.Errorf(llm.UpstreamMalformed, format, args...)
}

// AddSize counts bytes of the response. It returns an error when the response is too large.
func (s *Source) AddSize(n int) error {
	s.size += int64(n)
	if s.size > s.Options.MaxResponse {
		return Malformed("The provider's response is larger than %d bytes.", s.Options.MaxResponse)
	}
	return nil
}

// Bytes reads a response that should be one JSON object, and checks that it does not exceed the limits for decoding.
func (s *Source) Bytes(r io.Reader) ([]byte, error) {
	data, err := s.Append(nil, r)
	if err != nil {
		return nil, err
	}
	return data, strict.CheckResponse(data, 0)
}

// Append reads a response that should be one JSON object into buf. buf must be empty and grows if necessary. Append
// does not validate the response.
func (s *Source) Append(buf []byte, r io.Reader) ([]byte, error) {
	buf, err := ReadAll(r, buf, s.Options.MaxResponse, s.Options.SizeHint)
	if err != nil {
		return nil, err
	}
	buf = bytes.TrimSpace(bytes.TrimPrefix(buf, []byte("\xef\xbb\xbf")))
	if len(buf) == 0 {
		return nil, Malformed("The provider sent an empty response.")
	}
	return buf, nil
}

// NotObject returns the error for a response that is not a JSON object.
func (s *Source) NotObject() error {
	kind := ""
	if s.Options.ContentType != "" {
		kind = " but " + show.Cut(show.OneLine(s.Options.ContentType), 60)
	}
	return Malformed("The provider's response is not a JSON object%s.", kind)
}

// NextData returns the next event with data. The data is put on one line. NextData returns false when the provider has closed the stream.
func (s *Source) NextData(events *sse.Reader) (sse.Event, bool, error) {
	for {
		in, err := events.Next()
		if errors.Is(err, io.EOF) || err != nil && s.Finished {
			return sse.Event{}, false, nil // an error after the stop reason is ignored
		}
		if err != nil {
			return sse.Event{}, false, Failure(err)
		}
		if err := s.AddSize(len(in.Data)); err != nil {
			return sse.Event{}, false, err
		}
		in.Data = bytes.TrimSpace(in.Data)
		if len(in.Data) == 0 || string(in.Data) == "[DONE]" { // skip the end marker of the chat format, which some compatible servers send
			continue
		}
		// Line ends between JSON tokens become spaces, because many clients parse a stream line by line.
		for _, end := range []byte("\r\n") {
			rest := in.Data
			for i := bytes.IndexByte(rest, end); i >= 0; i = bytes.IndexByte(rest, end) {
				rest[i] = ' '
				rest = rest[i+1:]
			}
		}
		return in, true, nil
	}
}

// Unreadable returns the error for an event that is not a JSON object. Such an event must not be skipped, because it may contain text. The
// exceptions are an event that was truncated by the end of the stream and an event after the stop reason; for these, Unreadable returns
// nil. more reports whether to continue reading.
func (s *Source) Unreadable(in sse.Event) (more bool, err error) {
	switch {
	case in.Unterminated:
		return true, nil // the event was truncated by the end of the stream
	case s.Finished:
		return false, nil // the text is complete, so the invalid event is ignored
	}
	return false, Malformed("The provider sent an event that cannot be decoded.")
}

// Interrupted returns the error for a stream that ends without a stop reason.
func Interrupted() *llm.Error {
	return &llm.Error{Kind: llm.StreamInterrupted, Message: "The provider's stream ended before the response was complete."}
}
