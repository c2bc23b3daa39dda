package llm

import "encoding/json"

// DeltaKind determines which fields of a Delta are set.
type DeltaKind string

// Kinds of deltas, in the order in which they occur in a response, with the fields that they set. Text, thinking and calls may alternate.
const (
	BeginDelta     DeltaKind = "begin"     // sets ID and Model
	TextDelta      DeltaKind = "text"      // sets Text
	ThinkingDelta  DeltaKind = "thinking"  // sets Text
	SignatureDelta DeltaKind = "seal"      // sets Thinking; ends the current thinking block without repeating its text
	RefusalDelta   DeltaKind = "refusal"   // sets Text
	CitationDelta  DeltaKind = "citation"  // sets Citation to a source of text that was sent before
	CallDelta      DeltaKind = "call"      // sets Index and Call; begins a tool call, which may already have Arguments
	ArgumentsDelta DeltaKind = "arguments" // sets Index and Text; appends Text to the arguments of call Index
	FinishDelta    DeltaKind = "finish"    // sets Finish and StopSequence
	UsageDelta     DeltaKind = "usage"     // sets Usage to the totals so far; the last one applies
)

// Delta is one increment of a response, independent of the wire format. It is used to translate between formats. A response that is not
// streamed is represented as a short stream of deltas. A response without a FinishDelta for every choice is incomplete.
type Delta struct {
	Kind   DeltaKind
	Choice int // index of the response, if several were requested

	ID    string // the provider's ID of the response; may be empty
	Model string // model name that the provider reported; may be empty

	Text     string
	Thinking *Thinking
	Citation *Citation

	Index int // index of the tool call in its choice, starting at 0
	Call  *ToolCall

	Finish       string // finish reason: stop, length, tool_calls or content_filter
	StopSequence string // stop sequence that was generated, if reported
	Usage        *Usage
}

// Citation is a web source that the model cites.
type Citation struct {
	URL   string
	Title string // page title; may be empty
	Quote string // quoted source text; may be empty
	// Start and End delimit the range of the choice's text that the source supports, in characters (code points).
	// Refusals and thinking are not part of the text.
	Start, End int
}

// Vectors is the response to an embeddings request, independent of the wire format.
type Vectors struct {
	Data  []json.RawMessage // one JSON list of numbers per input, as the provider wrote it
	Usage *Usage            // nil when the provider reports none
	Model string
}
