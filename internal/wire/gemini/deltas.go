package gemini

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"

	"fairlead/internal/llm"
	"fairlead/internal/wire/fault"
	"fairlead/internal/wire/show"
	"fairlead/internal/wire/sse"
	"fairlead/internal/wire/strict"
)

// Bounds of an answer.
const (
	DefaultMaxAnswer = 64 << 20
	maxChoices       = 128
)

// DeltaOptions says how a provider's answer is to be read.
type DeltaOptions struct {
	Stream      bool   // the request asked for a stream
	ContentType string // of the answer, as received
	Provider    string // whose seals these are
	ServiceTier string // that the answer's headers tell, where they do
	MaxLine     int    // bytes of one line of a stream; 0 means sse.DefaultMaxLine
	MaxAnswer   int64  // bytes of the whole answer; 0 means DefaultMaxAnswer
	SizeHint    int64  // the answer's Content-Length, where there is one

	// Custom reports the tools that take free text. It may be nil.
	Custom func(name string) bool
	// Warn receives corrections and dropped content. It may be nil.
	Warn func(string)
}

// Deltas reads a provider's 2xx answer, whole or streamed: what arrives decides. An answer ends with its finish and, where
// told, its usage; one that ends without a finish is an error. The last pair may hold an *llm.Error, or an error that
// wraps the end of the request's context.
func Deltas(r io.Reader, o DeltaOptions) iter.Seq2[llm.Delta, error] {
	if o.MaxAnswer <= 0 {
		o.MaxAnswer = DefaultMaxAnswer
	}
	return func(yield func(llm.Delta, error) bool) {
		a := &answer{o: o, yield: yield, choices: map[int]*choice{}}
		a.end(a.read(r))
	}
}

// errStopped means that the consumer has stopped.
var errStopped = errors.New("reading was stopped")

// answer is the state of reading one answer.
type answer struct {
	o     DeltaOptions
	yield func(llm.Delta, error) bool

	size    int64
	lost    bool // warned about dropped content
	began   bool
	id      string
	blocked bool
	choices map[int]*choice
	usage   *llm.Usage
	counted bool // usage reports the output so far
	summed  bool // usage reports the total
}

// choice is one of the answers.
type choice struct {
	calls  int
	finish string // empty until the provider says why it ended
}

func malformed(format string, args ...any) *llm.Error {
	return llm.Errorf(llm.UpstreamMalformed, format, args...)
}

func (a *answer) read(r io.Reader) error {
	events := sse.NewReader(r, a.o.MaxLine)
	first, err := events.First()
	switch {
	case errors.Is(err, io.EOF):
		return malformed("The provider sent an empty answer.")
	case err != nil:
		return readError(err)
	case first == '{' || first == '[':
		return a.whole(events.Rest())
	case !a.o.Stream:
		return malformed("The provider's answer is not a JSON object%s.", a.contentType())
	}
	return a.stream(events)
}

func (a *answer) contentType() string {
	if a.o.ContentType == "" {
		return ""
	}
	return " but " + show.Quote(a.o.ContentType)
}

// readError passes on the end of our own context and what the caller has classified; everything else is a cut.
func readError(err error) error {
	_, classified := errors.AsType[*llm.Error](err)
	switch {
	case errors.Is(err, sse.ErrTooLong):
		return &llm.Error{Kind: llm.UpstreamMalformed, Message: "The provider sent a line longer than allowed.", Err: err}
	case classified, errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("read answer: %w", err)
	}
	return &llm.Error{Kind: llm.StreamInterrupted, Message: "The connection to the provider broke before the answer was complete.", Err: err}
}

// whole reads an answer in one document: one object, or a list of events as the API streams without alt=sse.
func (a *answer) whole(r io.Reader) error {
	data, err := readAll(r, a.o.MaxAnswer, a.o.SizeHint)
	if err != nil {
		return err
	}
	data = bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")))
	if err := strict.CheckResponse(data, 0); err != nil {
		return err
	}
	documents := []json.RawMessage{data}
	if len(data) > 0 && data[0] == '[' {
		if err := json.Unmarshal(data, &documents); err != nil {
			return &llm.Error{Kind: llm.UpstreamMalformed, Message: "The provider's answer is not JSON" + a.contentType() + ".", Err: err}
		}
	}
	for _, document := range documents {
		var got response
		if err := json.Unmarshal(document, &got); err != nil {
			return &llm.Error{Kind: llm.UpstreamMalformed, Message: "The provider's answer is not a JSON object" + a.contentType() + ".", Err: err}
		}
		if err := a.take(document, &got); err != nil {
			return err
		}
	}
	return a.complete()
}

// readAll reads a document of at most limit bytes.
func readAll(r io.Reader, limit, hint int64) ([]byte, error) {
	var out bytes.Buffer
	if hint > 0 && hint < limit {
		out.Grow(int(hint) + bytes.MinRead)
	}
	n, err := out.ReadFrom(io.LimitReader(r, limit+1))
	switch {
	case err != nil:
		return nil, readError(err)
	case n > limit:
		return nil, malformed("The provider's answer is larger than %d bytes.", limit)
	}
	return out.Bytes(), nil
}

// stream reads events until the connection ends: the API has no other mark of the end.
func (a *answer) stream(events *sse.Reader) error {
	for {
		in, err := events.Next()
		if errors.Is(err, io.EOF) {
			return a.complete()
		}
		if err != nil {
			return readError(err)
		}
		if a.size += int64(len(in.Data)); a.size > a.o.MaxAnswer {
			return malformed("The provider's answer is larger than %d bytes.", a.o.MaxAnswer)
		}
		if err := a.event(in); err != nil {
			return err
		}
	}
}

func (a *answer) event(in sse.Event) error {
	data := bytes.TrimSpace(in.Data)
	if len(data) == 0 || string(data) == "[DONE]" { // gateways in between add the latter
		return nil
	}
	if err := strict.CheckResponse(data, 0); err != nil {
		return err
	}
	var got response
	if err := json.Unmarshal(data, &got); err != nil {
		if in.Unterminated {
			return nil // half an event: the end of the stream comes next
		}
		if string(in.Name) == "error" || data[0] == '[' {
			return fault.Inside(data)
		}
		// Never skipped: it may hold text, also after a finish, because some events of this format each have one.
		return &llm.Error{Kind: llm.UpstreamMalformed, Message: "The provider sent an event that cannot be read.", Err: err}
	}
	return a.take(data, &got)
}

// take hands on what one event says.
func (a *answer) take(data []byte, got *response) error {
	if len(got.Error) > 0 && string(got.Error) != "null" {
		return fault.Inside(data)
	}
	if usage, ok := got.Usage.usage(); ok {
		a.usage, a.counted = &usage, got.Usage.Candidates != nil // totals: the latest count
		a.summed = got.Usage.Total > 0
	} else if got.Usage != nil && (got.Usage.Prompt != nil || got.Usage.Candidates != nil) {
		a.warn("left out usage figures that cannot be true")
	}
	blocked := got.Feedback != nil && got.Feedback.Reason != "" && got.Feedback.Reason != "BLOCK_REASON_UNSPECIFIED"
	if len(got.Candidates) == 0 && !blocked {
		return nil
	}
	if err := a.begin(got); err != nil {
		return err
	}
	for i := range got.Candidates {
		if err := a.candidate(&got.Candidates[i]); err != nil {
			return err
		}
	}
	if blocked && len(got.Candidates) == 0 {
		a.blocked = true
	}
	return nil
}

func (a *answer) begin(got *response) error {
	if a.began {
		return nil
	}
	a.began, a.id = true, got.ID
	return a.tell(llm.Delta{Kind: llm.BeginDelta, ID: got.ID, Model: got.Model})
}

func (a *answer) tell(p llm.Delta) error {
	if !a.yield(p, nil) {
		return errStopped
	}
	return nil
}

func (a *answer) warn(what string) {
	if a.o.Warn != nil {
		a.o.Warn(what)
	}
}

// complete is nil when the answer may end here: everything that began has a finish.
func (a *answer) complete() error {
	if len(a.choices) == 0 && a.blocked {
		return nil
	}
	if len(a.choices) == 0 {
		return malformed("The provider's answer holds no candidates.")
	}
	for _, c := range a.choices {
		if c.finish == "" {
			return &llm.Error{Kind: llm.StreamInterrupted, Message: "The provider's answer ended before it was complete."}
		}
	}
	return nil
}

// end sends the finish reasons, unless err is set, and the usage.
func (a *answer) end(err error) {
	if errors.Is(err, errStopped) {
		return
	}
	if err == nil {
		if len(a.choices) == 0 {
			a.choices[0] = &choice{finish: contentFilter}
		}
		for _, n := range slices.Sorted(maps.Keys(a.choices)) {
			if a.tell(llm.Delta{Kind: llm.FinishDelta, Choice: n, Finish: a.choices[n].finish}) != nil {
				return
			}
		}
	}
	// An answer whose output was not counted, or that broke off before it was, is not free: our own count is better than none.
	if a.usage != nil && a.began && (a.counted || err == nil && (a.summed || a.blocked)) {
		if a.usage.ServiceTier == "" {
			a.usage.ServiceTier = Tier(a.o.ServiceTier)
		}
		if a.tell(llm.Delta{Kind: llm.UsageDelta, Usage: a.usage}) != nil {
			return
		}
	}
	if err != nil {
		a.yield(llm.Delta{}, err)
	}
}
