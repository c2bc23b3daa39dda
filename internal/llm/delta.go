package llm

import "encoding/json"

// DeltaKind says which fields of a Delta count.
type DeltaKind string

// The kinds of pieces, in the order in which an answer has them. Text, thinking and calls may take turns.
const (
	BeginDelta     DeltaKind = "begin"     // ID, Model
	TextDelta      DeltaKind = "text"      // Text
	ThinkingDelta  DeltaKind = "thinking"  // Text
	SignatureDelta DeltaKind = "seal"      // Thinking: ends the current block; its Text is not repeated
	RefusalDelta   DeltaKind = "refusal"   // Text
	CallDelta      DeltaKind = "call"      // Index, Call: begins a tool call; its Arguments may be there already
	ArgumentsDelta DeltaKind = "arguments" // Index, Text: adds to the arguments of call Index
	FinishDelta    DeltaKind = "finish"    // Finish, StopSequence
	UsageDelta     DeltaKind = "usage"     // Usage: totals, the latest counts
)

// Delta is a part of an answer in our own words, on its way from a provider of one format to a caller of another. A whole
// answer is a short stream of pieces. An answer without a FinishDelta for every choice is not complete.
type Delta struct {
	Kind   DeltaKind
	Choice int // which answer it belongs to, where several were asked for

	ID    string // the provider's name for the answer; may be empty
	Model string // the model that the provider says it runs; may be empty

	Text     string
	Thinking *Thinking

	Index int // of the tool call among those of its choice, from 0
	Call  *ToolCall

	Finish       string // stop, length, tool_calls, content_filter
	StopSequence string // stop sequence that was generated, if reported
	Usage        *Usage
}

// Vectors is the answer to an embeddings request in our own words.
type Vectors struct {
	Data  []json.RawMessage // one JSON list of numbers for each input, in order, as the provider wrote them
	Usage *Usage            // nil when the provider reports none
	Model string
}
