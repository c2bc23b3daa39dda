package messages

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"fairlead/internal/llm"
	"fairlead/internal/rawjson"
	"fairlead/internal/wire/fault"
	"fairlead/internal/wire/show"
	"fairlead/internal/wire/sse"
	"fairlead/internal/wire/strict"
)

// DefaultMaxAnswer is the default of Reading.MaxAnswer.
const DefaultMaxAnswer = 64 << 20

// Reading says how a provider's answer arrives.
type Reading struct {
	Stream      bool   // the request asked for a stream
	ContentType string // of the answer, as received
	MaxLine     int    // bytes of one line of a stream; 0 means sse.DefaultMaxLine
	MaxAnswer   int64  // bytes of the whole answer; 0 means DefaultMaxAnswer

	// Warn hears of what was mended or left out. It may be nil.
	Warn func(string)
}

// source reads an answer frame by frame. It knows how answers come, not what they mean.
type source struct {
	o        Reading
	size     int64
	finished bool // the reason why the answer ended has come
}

func newSource(o Reading) *source {
	if o.MaxAnswer <= 0 {
		o.MaxAnswer = DefaultMaxAnswer
	}
	return &source{o: o}
}

func (s *source) warn(format string, args ...any) {
	if s.o.Warn != nil {
		s.o.Warn(fmt.Sprintf(format, args...))
	}
}

func malformed(format string, args ...any) *llm.Error {
	return llm.Errorf(llm.UpstreamMalformed, format, args...)
}

// failure passes on the end of our own context and what the caller has classified; everything else is a cut.
func failure(err error) error {
	_, classified := errors.AsType[*llm.Error](err)
	switch {
	case errors.Is(err, sse.ErrTooLong):
		return &llm.Error{Kind: llm.UpstreamMalformed, Message: "The provider sent a line longer than allowed.", Err: err}
	case classified, errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("read answer: %w", err)
	}
	return &llm.Error{Kind: llm.StreamInterrupted, Message: "The connection to the provider broke before the answer was complete.", Err: err}
}

func (s *source) addSize(n int) error {
	s.size += int64(n)
	if s.size > s.o.MaxAnswer {
		return malformed("The provider's answer is larger than %d bytes.", s.o.MaxAnswer)
	}
	return nil
}

// integer reads an answer that is one message.
func (s *source) whole(r io.Reader) (rawjson.Value, []byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, s.o.MaxAnswer+1))
	if err != nil {
		return rawjson.Value{}, nil, failure(err)
	}
	if err := s.addSize(len(data)); err != nil {
		return rawjson.Value{}, nil, err
	}
	data = bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")))
	if err := strict.CheckResponse(data, 0); err != nil {
		return rawjson.Value{}, nil, err
	}
	message := rawjson.Parse(data)
	switch {
	case len(data) == 0:
		return rawjson.Value{}, nil, malformed("The provider sent an empty answer.")
	case !message.IsObject() || !rawjson.Valid(data):
		kind := ""
		if s.o.ContentType != "" {
			kind = " but " + show.Cut(show.OneLine(s.o.ContentType), 60)
		}
		return rawjson.Value{}, nil, malformed("The provider's answer is not a JSON object%s.", kind)
	case isFault(message):
		return rawjson.Value{}, nil, fault.Inside(data)
	case !message.Get("content").IsList():
		return rawjson.Value{}, nil, malformed("The provider's answer holds no content.")
	}
	return message, data, nil
}

func isFault(v rawjson.Value) bool {
	return v.Get("type").String() == "error" || v.Get("error").IsObject()
}

// errUnreadable marks an event that is not a JSON object. It is never skipped: it may hold text.
var errUnreadable = errors.New("event is not a JSON object")

// frame is one event of a stream.
type frame struct {
	name string
	data []byte
	v    rawjson.Value
}

// frames hands every event that is a JSON object to take, until take reports false. The error says why the stream
// stopped; it is nil when the provider closed it.
func (s *source) frames(events *sse.Reader, take func(frame) (bool, error)) error {
	for {
		f, ok, err := s.next(events)
		if err != nil || !ok {
			return err
		}
		if more, err := take(f); err != nil || !more {
			return err
		}
	}
}

// next reads on to the next event that is a JSON object; false when the provider has closed the stream.
func (s *source) next(events *sse.Reader) (frame, bool, error) {
	for {
		in, err := events.Next()
		if errors.Is(err, io.EOF) || err != nil && s.finished {
			return frame{}, false, nil // a break after the last word takes nothing from the answer
		}
		if err != nil {
			return frame{}, false, failure(err)
		}
		if err := s.addSize(len(in.Data)); err != nil {
			return frame{}, false, err
		}
		f, ok, err := s.frame(in)
		if s.finished && errors.Is(err, errUnreadable) {
			return frame{}, false, nil // the text is complete: like a connection that breaks after the finish
		}
		if err != nil || ok {
			return f, ok, err
		}
	}
}

// frame reads one event; false for one that says nothing.
func (s *source) frame(in sse.Event) (frame, bool, error) {
	data := bytes.TrimSpace(in.Data)
	if len(data) == 0 || string(data) == "[DONE]" { // some imitations of the format end like chat
		return frame{}, false, nil
	}
	f := frame{name: string(in.Name), data: data, v: rawjson.Parse(data)}
	if !f.v.IsObject() || !rawjson.Valid(data) {
		if in.Unterminated {
			return frame{}, false, nil // half an event: the end of the stream comes next
		}
		return frame{}, false, &llm.Error{Kind: llm.UpstreamMalformed, Message: "The provider sent an event that cannot be read.", Err: errUnreadable}
	}
	if kind := f.v.Get("type").String(); kind != "" {
		f.name = kind
	}
	if f.name == "error" || isFault(f.v) {
		return frame{}, false, fault.Inside(data)
	}
	oneLine(data)
	return f, true, nil
}

// oneLine turns line ends between the tokens of JSON into spaces: many clients read a stream line by line.
func oneLine(data []byte) {
	for i, c := range data {
		if c == '\n' || c == '\r' {
			data[i] = ' '
		}
	}
}

// finishReason names the reason as the chat format does, whose list is closed: a reason that is new to us is an end like others.
func finishReason(reason string) string {
	switch reason {
	case "":
		return ""
	case "max_tokens", "model_context_window_exceeded":
		return "length"
	case "tool_use":
		return "tool_calls"
	case "refusal":
		return "content_filter"
	default: // end_turn, stop_sequence, pause_turn
		return "stop"
	}
}

// stopReason is the inverse of finishReason.
func stopReason(finish, stopSequence string) string {
	switch {
	case finish == "stop" && stopSequence != "":
		return "stop_sequence"
	case finish == "length":
		return "max_tokens"
	case finish == "tool_calls":
		return "tool_use"
	case finish == "content_filter":
		return "refusal"
	default:
		return "end_turn"
	}
}

func interrupted() *llm.Error {
	return &llm.Error{Kind: llm.StreamInterrupted, Message: "The provider's stream ended before the answer was complete."}
}
