package converse

import (
	"bufio"
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
	"fairlead/internal/wire/strict"
)

// Defaults of DeltaOptions.
const (
	DefaultMaxAnswer  = 64 << 20
	DefaultMaxMessage = 16 << 20
)

// DeltaOptions says how an answer is to be read.
type DeltaOptions struct {
	Plan       Plan   // of the conversation that is answered
	ID         string // the provider's name for the answer; may be empty
	Provider   string // whose seals the thinking bears
	MaxMessage int    // bytes of one message of a stream; 0 means DefaultMaxMessage
	MaxAnswer  int64  // bytes of the whole answer; 0 means DefaultMaxAnswer

	// Warn hears of what was left out. It may be nil.
	Warn func(string)
}

// Deltas reads a 2xx answer, whole or streamed: what arrives decides how it is read. The last pair may hold an *llm.Error,
// or an error that wraps the end of the request's context.
func Deltas(r io.Reader, o DeltaOptions) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		if o.MaxAnswer <= 0 {
			o.MaxAnswer = DefaultMaxAnswer
		}
		if o.MaxMessage <= 0 {
			o.MaxMessage = DefaultMaxMessage
		}
		a := &answer{o: o, yield: yield, open: map[int]*part{}}
		buffered := bufio.NewReader(&bounded{r: r, left: o.MaxAnswer})
		first, err := buffered.Peek(1)
		switch {
		case errors.Is(err, io.EOF):
			a.fail(malformed("The provider sent an empty answer."))
		case err != nil:
			a.fail(readError(err))
		case isText(first[0]):
			a.whole(buffered)
		default:
			a.stream(buffered)
		}
	}
}

// isText tells JSON from a stream. A stream begins with the length of its first message, whose first byte is small.
func isText(first byte) bool { return first >= '\t' }

// answer is the state of reading one answer.
type answer struct {
	o     DeltaOptions
	yield func(llm.Delta, error) bool
	begun bool
	over  bool // nothing may be yielded any more

	open     map[int]*part // blocks that have not ended, by their index
	calls    int           // calls of the caller's tools so far
	held     bytes.Buffer  // text before it is known whether the answer comes by a tool
	answered bool          // the answer came by the tool
	finished bool
	lost     bool
}

// say yields a piece. The first of an answer is its beginning.
func (a *answer) say(p llm.Delta) {
	if !a.begun {
		a.begun = true
		a.say(llm.Delta{Kind: llm.BeginDelta, ID: a.o.ID})
	}
	if !a.over && !a.yield(p, nil) {
		a.over = true
	}
}

// fail ends the pieces with an error.
func (a *answer) fail(err error) {
	if !a.over {
		a.over = true
		a.yield(llm.Delta{}, err)
	}
}

// finish ends the answer as the reason says.
func (a *answer) finish(reason, stopSequence string) {
	finish, known := finishes[reason]
	switch {
	case reason == "malformed_model_output", reason == "malformed_tool_use":
		a.fail(&llm.Error{Kind: llm.UpstreamServer, Message: "The model wrote something that its provider could not read.", UpstreamCode: reason})
		return
	case !known:
		finish = "stop"
	}
	switch {
	case a.calls > 0 && finish == "stop":
		finish = "tool_calls"
	case a.calls == 0 && finish == "tool_calls":
		finish = "stop" // the answer itself came by a tool
	}
	for _, i := range slices.Sorted(maps.Keys(a.open)) { // blocks whose end was not told
		a.stopBlock(i)
	}
	a.flush()
	a.finished = true
	a.say(llm.Delta{Kind: llm.FinishDelta, Finish: finish, StopSequence: stopSequence})
}

var finishes = map[string]string{
	"end_turn": "stop", "stop_sequence": "stop", "max_tokens": "length", "model_context_window_exceeded": "length",
	"tool_use": "tool_calls", "guardrail_intervened": "content_filter", "content_filtered": "content_filter",
}

func (a *answer) count(u *usage, tier *serviceTier) {
	if counted := u.counts(tier); counted != nil {
		a.say(llm.Delta{Kind: llm.UsageDelta, Usage: counted})
	}
}

// leaveOut tells once that a part of the answer has no place with the caller.
func (a *answer) leaveOut() {
	if !a.lost && a.o.Warn != nil {
		a.o.Warn("left out a part of the answer that is neither text, thinking nor a tool call")
	}
	a.lost = true
}

// wholeAnswer is an answer that is not streamed.
type wholeAnswer struct {
	Output struct {
		Message *struct {
			Content []wholeBlock `json:"content"`
		} `json:"message"`
	} `json:"output"`
	StopReason  string       `json:"stopReason"`
	Usage       *usage       `json:"usage"`
	ServiceTier *serviceTier `json:"serviceTier"`
	Additional  additional   `json:"additionalModelResponseFields"`
}

type wholeBlock struct {
	Text      *string    `json:"text"`
	ToolUse   *toolUse   `json:"toolUse"`
	Reasoning *reasoning `json:"reasoningContent"`
	Citations *struct {
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
	} `json:"citationsContent"`
}

// additional is read leniently: models put what they like there.
type additional struct{ raw json.RawMessage }

func (f *additional) UnmarshalJSON(b []byte) error {
	f.raw = bytes.Clone(b)
	return nil
}

// stopSequence is the stop text that was met, where the model tells.
func (f additional) stopSequence() string {
	var fields struct {
		StopSequence string `json:"stop_sequence"`
	}
	if json.Unmarshal(f.raw, &fields) != nil {
		return ""
	}
	return fields.StopSequence
}

func (a *answer) whole(r io.Reader) {
	body, err := io.ReadAll(r)
	if err != nil {
		a.fail(readError(err))
		return
	}
	if err := strict.CheckResponse(body, 0); err != nil {
		a.fail(err)
		return
	}
	var w wholeAnswer
	if err := json.Unmarshal(body, &w); err != nil {
		a.fail(&llm.Error{Kind: llm.UpstreamMalformed, Message: "The provider's answer is not a JSON object of the Converse API.", Err: err})
		return
	}
	if w.Output.Message == nil {
		a.fail(noMessage(body))
		return
	}
	if w.StopReason == "" {
		a.fail(cut(nil))
		return
	}
	for i, b := range w.Output.Message.Content {
		a.block(i, b)
	}
	a.finish(w.StopReason, w.Additional.stopSequence())
	a.count(w.Usage, w.ServiceTier)
}

// noMessage judges an answer without a message: it may hold an error of the service's.
func noMessage(body []byte) error {
	var said struct{ Message, Error json.RawMessage }
	if json.Unmarshal(body, &said) == nil && (len(said.Message) > 0 || len(said.Error) > 0) {
		return fault.Inside(body)
	}
	return malformed("The provider's answer holds no message.")
}

// block says a whole block as a stream would.
func (a *answer) block(i int, b wholeBlock) {
	switch {
	case b.Text != nil:
		a.text(*b.Text)
	case b.ToolUse != nil:
		a.startCall(i, b.ToolUse.ID, b.ToolUse.Name)
		a.arguments(i, string(b.ToolUse.Input))
		a.stopBlock(i)
	case b.Reasoning != nil:
		if t := b.Reasoning.Text; t != nil {
			a.thinking(i, t.Text)
			a.sign(i, t.Signature)
		}
		a.redact(i, b.Reasoning.Redacted)
		a.stopBlock(i)
	case b.Citations != nil:
		for _, c := range b.Citations.Content {
			a.text(c.Text)
		}
	default:
		a.leaveOut()
	}
}

func malformed(message string) *llm.Error {
	return &llm.Error{Kind: llm.UpstreamMalformed, Message: message}
}

func cut(err error) *llm.Error {
	return &llm.Error{Kind: llm.StreamInterrupted, Message: "The provider's stream ended before the answer was complete.", Err: err}
}

var errTooLarge = errors.New("answer is larger than allowed")

// bounded reads no more than it may.
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
		return 0, errTooLarge
	}
	n, err := b.r.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

// readError passes on the end of our own context and what the caller has classified; everything else is a cut.
func readError(err error) error {
	_, classified := errors.AsType[*llm.Error](err)
	switch {
	case errors.Is(err, errTooLarge):
		return malformed("The provider's answer is larger than allowed.")
	case classified, errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("read answer: %w", err)
	}
	return &llm.Error{Kind: llm.StreamInterrupted, Message: "The connection to the provider broke before the answer was complete.", Err: err}
}
