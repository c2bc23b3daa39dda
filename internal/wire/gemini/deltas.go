package gemini

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"

	"fairlead/internal/llm"
	"fairlead/internal/wire/fault"
	"fairlead/internal/wire/show"
	"fairlead/internal/wire/sse"
	"fairlead/internal/wire/strict"
	"fairlead/internal/wire/upstream"
)

// Limits of a response.
const (
	DefaultMaxResponse = 64 << 20
	maxChoices         = 128
)

// DeltaOptions holds the settings for decoding a provider's response.
type DeltaOptions struct {
	Stream      bool   // the request asked for a stream
	ContentType string // content type of the response
	Search      bool   // the request asked for web search
	Provider    string // owner of the signatures
	Request     []byte // body of the request; makes call IDs unique across turns when the response has no ID
	ServiceTier string // service tier from the response headers; may be empty
	MaxLine     int    // maximum bytes of one line of a stream; 0 means sse.DefaultMaxLine
	MaxResponse int64  // maximum bytes of the response; 0 means DefaultMaxResponse
	SizeHint    int64  // Content-Length of the response, if known

	// Custom reports whether a tool accepts free text. It may be nil.
	Custom func(name string) bool
	// Warn receives corrections and dropped content. It may be nil.
	Warn func(string)
	// Document receives every document of the response after its deltas, for a client of the same format. An error ends the
	// response. It may be nil.
	Document func(document []byte) error
}

// Deltas decodes a provider's 2xx response, streamed or not, according to its content. A response ends with its finish
// reason and, if reported, its usage. A response without a finish reason is an error. The last pair may contain an
// *llm.Error, or an error that wraps the end of the request's context.
func Deltas(r io.Reader, o DeltaOptions) iter.Seq2[llm.Delta, error] {
	if o.MaxResponse <= 0 {
		o.MaxResponse = DefaultMaxResponse
	}
	return func(yield func(llm.Delta, error) bool) {
		a := &answer{o: o, yield: yield, choices: map[int]*choice{}}
		a.end(a.read(r))
	}
}

// errStopped is returned when the consumer has stopped.
var errStopped = errors.New("consumer stopped")

// answer is the state of decoding one response.
type answer struct {
	o     DeltaOptions
	yield func(llm.Delta, error) bool

	size     int64
	streamed bool
	lost     bool // warned about dropped content
	began    bool
	seed     string // seed of the call IDs
	blocked  bool
	choices  map[int]*choice
	usage    *llm.Usage
	counted  bool // whether usage includes the output so far
	summed   bool // whether usage includes the total
	queries  map[string]bool
}

// choice is one candidate of the response.
type choice struct {
	calls  int
	finish string // empty until the provider reports it

	text      strings.Builder // kept for requests with web search, whose sources refer to byte ranges
	starts    []int           // offset in text at which each part of a non-streamed response starts
	grounding *grounding
}

func malformed(format string, args ...any) *llm.Error {
	return llm.Errorf(llm.UpstreamMalformed, format, args...)
}

func (a *answer) read(r io.Reader) error {
	events := sse.NewReader(r, a.o.MaxLine)
	first, err := events.First()
	switch {
	case errors.Is(err, io.EOF):
		return malformed("The provider sent an empty response.")
	case err != nil:
		return upstream.Failure(err)
	case first == '{' || first == '[':
		return a.whole(events.Rest())
	case !a.o.Stream:
		return malformed("The provider's response is not a JSON object%s.", a.contentType())
	}
	return a.stream(events)
}

func (a *answer) contentType() string {
	if a.o.ContentType == "" {
		return ""
	}
	return " but " + show.Quote(a.o.ContentType)
}

// whole decodes a response that is one document: one object, or the list of events that the API sends without alt=sse.
func (a *answer) whole(r io.Reader) error {
	data, err := upstream.ReadAll(r, nil, a.o.MaxResponse, a.o.SizeHint)
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
			return &llm.Error{Kind: llm.UpstreamMalformed, Message: "The provider's response is not JSON" + a.contentType() + ".", Err: err}
		}
	}
	for _, document := range documents {
		var got response
		if err := json.Unmarshal(document, &got); err != nil {
			return &llm.Error{Kind: llm.UpstreamMalformed, Message: "The provider's response is not a JSON object" + a.contentType() + ".", Err: err}
		}
		if err := a.pass(document, &got); err != nil {
			return err
		}
	}
	return a.complete()
}

// stream decodes events until the connection ends, because the API has no end marker.
func (a *answer) stream(events *sse.Reader) error {
	a.streamed = true
	for {
		in, err := events.Next()
		if errors.Is(err, io.EOF) {
			return a.complete()
		}
		if err != nil {
			return upstream.Failure(err)
		}
		if a.size += int64(len(in.Data)); a.size > a.o.MaxResponse {
			return malformed("The provider's response is larger than %d bytes.", a.o.MaxResponse)
		}
		data := bytes.TrimSpace(in.Data)
		if len(data) == 0 || string(data) == "[DONE]" { // added by other gateways
			continue
		}
		if err := strict.CheckResponse(data, 0); err != nil {
			return err
		}
		var got response
		if err := json.Unmarshal(data, &got); err != nil {
			if in.Unterminated {
				continue // incomplete event; the end of the stream follows
			}
			if string(in.Name) == "error" || data[0] == '[' {
				return fault.Inside(data)
			}
			// Never skip an invalid event: it may contain text, even after a finish reason, because models may set one in
			// every event.
			return &llm.Error{Kind: llm.UpstreamMalformed, Message: "The provider sent an event that cannot be decoded.", Err: err}
		}
		if err := a.pass(data, &got); err != nil {
			return err
		}
	}
}

// pass yields the deltas of one event and passes the event on.
func (a *answer) pass(data []byte, got *response) error {
	if len(got.Error) > 0 && string(got.Error) != "null" {
		return fault.Inside(data)
	}
	if usage, ok := got.Usage.usage(); ok {
		a.usage, a.counted = &usage, got.Usage.Candidates != nil // counts are cumulative
		a.summed = got.Usage.Total > 0
	} else if got.Usage != nil && (got.Usage.Prompt != nil || got.Usage.Candidates != nil) {
		a.warn("dropped implausible usage")
	}
	blocked := got.Feedback != nil && got.Feedback.Reason != "" && got.Feedback.Reason != "BLOCK_REASON_UNSPECIFIED"
	if !a.began && (len(got.Candidates) > 0 || blocked) {
		a.began, a.seed = true, got.ID
		if a.seed == "" {
			sum := sha256.Sum256(a.o.Request)
			a.seed = string(sum[:])
		}
		if err := a.tell(llm.Delta{Kind: llm.BeginDelta, ID: got.ID, Model: got.Model}); err != nil {
			return err
		}
	}
	for i := range got.Candidates {
		if err := a.candidate(&got.Candidates[i]); err != nil {
			return err
		}
	}
	if blocked && len(got.Candidates) == 0 {
		a.blocked = true
	}
	if a.o.Document != nil {
		return a.o.Document(data)
	}
	return nil
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

// complete returns nil if every candidate has a finish reason.
func (a *answer) complete() error {
	if len(a.choices) == 0 && a.blocked {
		return nil
	}
	if len(a.choices) == 0 {
		return malformed("The provider's response has no candidates.")
	}
	for _, c := range a.choices {
		if c.finish == "" {
			return &llm.Error{Kind: llm.StreamInterrupted, Message: "The provider's response ended before it was complete."}
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
			if a.cite(n, a.choices[n]) != nil {
				return
			}
			if a.tell(llm.Delta{Kind: llm.FinishDelta, Choice: n, Finish: a.choices[n].finish}) != nil {
				return
			}
		}
	}
	// Output that was not reported or was interrupted is not free, so no usage is sent and the gateway estimates it.
	if a.usage != nil && a.began && (a.counted || err == nil && (a.summed || a.blocked)) {
		if a.usage.ServiceTier == "" {
			a.usage.ServiceTier = Tier(a.o.ServiceTier)
		}
		a.usage.Searches = int64(len(a.queries))
		if a.tell(llm.Delta{Kind: llm.UsageDelta, Usage: a.usage}) != nil {
			return
		}
	}
	if err != nil {
		a.yield(llm.Delta{}, err)
	}
}
