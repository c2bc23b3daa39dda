package bedrock

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"iter"
	"maps"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire/fault"
	"fairlead.dev/internal/wire/strict"
	"fairlead.dev/internal/wire/upstream"
)

// Defaults for the limits in DeltaOptions.
const (
	DefaultMaxResponse = 64 << 20
	DefaultMaxMessage  = 16 << 20
)

// DeltaOptions holds the settings for decoding a response.
type DeltaOptions struct {
	Plan        Plan   // plan of the conversation
	ID          string // provider's ID of the response; may be empty
	Provider    string // provider that is recorded as the signer of thinking
	MaxMessage  int    // maximum size of a stream message in bytes; 0 for DefaultMaxMessage
	MaxResponse int64  // maximum size of the response in bytes; 0 for DefaultMaxResponse

	// Stop returns the request's stop sequence, or "" if the request does not have exactly one. It is called when a model stops at a stop
	// sequence and does not report which one. It may be nil.
	Stop func() string
	// Warn receives warnings about dropped content. It may be nil.
	Warn func(string)
}

// Deltas decodes a 2xx response. It detects from the first byte whether the response is streamed. The last pair may contain an *llm.Error,
// or an error that wraps the error of the request's context.
func Deltas(r io.Reader, o DeltaOptions) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		if o.MaxResponse <= 0 {
			o.MaxResponse = DefaultMaxResponse
		}
		if o.MaxMessage <= 0 {
			o.MaxMessage = DefaultMaxMessage
		}
		dec := &responseDecoder{o: o, yield: yield, open: map[int]*part{}}
		buffered := bufio.NewReader(&bounded{r: r, left: o.MaxResponse})
		first, err := buffered.Peek(1)
		switch {
		case errors.Is(err, io.EOF):
			dec.fail(malformed("The provider sent an empty response."))
		case err != nil:
			dec.fail(upstream.Failure(err))
		case first[0] >= '\t': // the response is JSON: a stream begins with the length of its first message, whose first byte is smaller
			dec.readDocument(buffered)
		default:
			dec.readStream(buffered)
		}
	}
}

// responseDecoder holds the state of decoding one response.
type responseDecoder struct {
	o     DeltaOptions
	yield func(llm.Delta, error) bool
	begun bool
	over  bool // whether the sequence has ended, by an error or because the consumer stopped

	open           map[int]*part // open blocks by index
	calls          int           // number of calls to the client's tools
	held           bytes.Buffer  // text that is held until the model calls a tool or the response ends
	usedOutputTool bool          // whether the model called the output tool, whose input is the response
	finished       bool
	lost           bool
}

// emit yields a delta. Before the first delta, it yields a BeginDelta.
func (dec *responseDecoder) emit(p llm.Delta) {
	if !dec.begun {
		dec.begun = true
		dec.emit(llm.Delta{Kind: llm.BeginDelta, ID: dec.o.ID})
	}
	if !dec.over && !dec.yield(p, nil) {
		dec.over = true
	}
}

// fail yields an error and ends the sequence. It does nothing if the sequence has already ended.
func (dec *responseDecoder) fail(err error) {
	if !dec.over {
		dec.over = true
		dec.yield(llm.Delta{}, err)
	}
}

// finish yields the finish reason.
func (dec *responseDecoder) finish(reason, stopSequence string) {
	finish := "stop"
	switch reason {
	case "malformed_model_output", "malformed_tool_use":
		dec.fail(&llm.Error{Kind: llm.UpstreamServer, Message: "The model wrote output that its provider could not parse.", UpstreamCode: reason})
		return
	case "max_tokens", "model_context_window_exceeded":
		finish = "length"
	case "tool_use":
		finish = "tool_calls"
	case "guardrail_intervened", "content_filtered":
		finish = "content_filter"
	}
	switch {
	case dec.calls > 0 && finish == "stop":
		finish = "tool_calls"
	case dec.calls == 0 && finish == "tool_calls":
		finish = "stop" // the model called only the output tool, whose input is the response
	}
	if reason == "stop_sequence" && stopSequence == "" && dec.o.Stop != nil {
		stopSequence = dec.o.Stop()
	}
	for _, i := range slices.Sorted(maps.Keys(dec.open)) { // end blocks for which the provider sent no stop event
		dec.stopBlock(i)
	}
	dec.flush()
	dec.finished = true
	dec.emit(llm.Delta{Kind: llm.FinishDelta, Finish: finish, StopSequence: stopSequence})
}

func (dec *responseDecoder) count(u *usage, tier *serviceTier) {
	if counted := u.counts(tier); counted != nil {
		dec.emit(llm.Delta{Kind: llm.UsageDelta, Usage: counted})
	}
}

// warnDropped warns about a part of the response that the client's format cannot express. It warns only once.
func (dec *responseDecoder) warnDropped() {
	if !dec.lost && dec.o.Warn != nil {
		dec.o.Warn("dropped a part of the response that is neither text, thinking nor a tool call")
	}
	dec.lost = true
}

// stopSequence returns the matched stop sequence, if the model reports it. The additional fields depend on the model, so
// they are decoded leniently.
func stopSequence(additional jsontext.Value) string {
	var fields struct {
		StopSequence string `json:"stop_sequence"`
	}
	if decode(additional, &fields) != nil {
		return ""
	}
	return fields.StopSequence
}

func (dec *responseDecoder) readDocument(r io.Reader) {
	body, err := io.ReadAll(r)
	if err != nil {
		dec.fail(upstream.Failure(err))
		return
	}
	if err := strict.CheckResponse(body, 0); err != nil {
		dec.fail(err)
		return
	}
	var w wholeResponse
	if err := decode(body, &w); err != nil {
		dec.fail(&llm.Error{Kind: llm.UpstreamMalformed, Message: "The provider's response is not a JSON object of the Converse API.", Err: err})
		return
	}
	if w.Output.Message == nil {
		var parsed struct {
			Message jsontext.Value `json:"message"`
			Error   jsontext.Value `json:"error"`
		}
		if decode(body, &parsed) == nil && (len(parsed.Message) > 0 || len(parsed.Error) > 0) {
			dec.fail(fault.Inside(body)) // the service reported an error
			return
		}
		dec.fail(malformed("The provider's response has no message."))
		return
	}
	if w.StopReason == "" {
		dec.fail(cut(nil))
		return
	}
	for i, b := range w.Output.Message.Content {
		dec.block(i, b)
	}
	dec.finish(w.StopReason, stopSequence(w.Additional))
	dec.count(w.Usage, w.ServiceTier)
}

// block yields a complete block as the deltas of a stream.
func (dec *responseDecoder) block(i int, b block) {
	switch {
	case b.ToolUse != nil:
		dec.startCall(i, b.ToolUse.ID, b.ToolUse.Name)
		dec.arguments(i, string(b.ToolUse.Input))
		dec.stopBlock(i)
	case b.Reasoning != nil:
		if t := b.Reasoning.Text; t != nil {
			dec.thinking(i, t.Text)
			dec.sign(i, t.Signature)
		}
		dec.redact(i, b.Reasoning.Redacted)
		dec.stopBlock(i)
	case b.Citations != nil:
		for _, c := range b.Citations.Content {
			dec.text(c.Text)
		}
	case b.Unknown != nil || b.Image != nil || b.Document != nil || b.Audio != nil:
		dec.warnDropped()
	default:
		dec.text(b.Text)
	}
}

func malformed(message string) *llm.Error {
	return &llm.Error{Kind: llm.UpstreamMalformed, Message: message}
}

func cut(err error) *llm.Error {
	return &llm.Error{Kind: llm.StreamInterrupted, Message: "The provider's stream ended before the response was complete.", Err: err}
}

// bounded is a reader that limits the number of bytes read.
type bounded struct {
	r    io.Reader
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		var one [1]byte
		if n, err := b.r.Read(one[:]); n == 0 {
			return 0, err
		}
		return 0, malformed("The provider's response is larger than allowed.")
	}
	n, err := b.r.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}
