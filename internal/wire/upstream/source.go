package upstream

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/wire/fault"
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

// Document reads a response that is one JSON object. It returns an error if the object reports a failure.
func (s *Source) Document(r io.Reader) (rawjson.Value, []byte, error) {
	message, data, err := s.Object(r)
	if err == nil && IsFault(message) {
		return rawjson.Value{}, nil, fault.Inside(data)
	}
	return message, data, err
}

// Object reads a response that is one JSON object. It returns an error for any other content.
func (s *Source) Object(r io.Reader) (rawjson.Value, []byte, error) {
	data, err := s.Bytes(r)
	if err != nil {
		return rawjson.Value{}, nil, err
	}
	message := rawjson.Parse(data)
	if !message.IsObject() || !rawjson.Valid(data) {
		return rawjson.Value{}, nil, s.NotObject()
	}
	return message, data, nil
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

// IsFault reports whether an event or a complete response reports an error.
func IsFault(v rawjson.Value) bool {
	return v.Get("type").String() == "error" || v.Get("error").IsObject()
}

// Frame is one event of a stream.
type Frame struct {
	Name  string
	Data  []byte
	Value rawjson.Value
}

// Frames calls take for every event that is a JSON object, until take returns false. It returns the error that stopped
// the stream, or nil when the provider closed it.
func (s *Source) Frames(events *sse.Reader, take func(Frame) (bool, error)) error {
	for {
		f, ok, err := s.NextFrame(events)
		if err != nil || !ok {
			return err
		}
		if more, err := take(f); err != nil || !more {
			return err
		}
	}
}

// NextFrame returns the next event that is a JSON object. It returns false when the provider has closed the stream.
func (s *Source) NextFrame(events *sse.Reader) (Frame, bool, error) {
	for {
		in, ok, err := s.NextData(events)
		if err != nil || !ok {
			return Frame{}, false, err
		}
		f := Frame{Name: string(in.Name), Data: in.Data, Value: rawjson.Parse(in.Data)}
		if !f.Value.IsObject() || !rawjson.Valid(in.Data) {
			if more, err := s.Unreadable(in); !more {
				return Frame{}, false, err
			}
			continue
		}
		kind, failed := "", false
		f.Value.ForEach(func(key, v rawjson.Value) bool {
			switch key.String() {
			case "type":
				kind = cmp.Or(kind, v.String())
			case "error":
				failed = failed || v.IsObject()
			}
			return true
		})
		f.Name = cmp.Or(kind, f.Name)
		if f.Name == "error" || failed {
			return Frame{}, false, fault.Inside(in.Data)
		}
		return f, true, nil
	}
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
