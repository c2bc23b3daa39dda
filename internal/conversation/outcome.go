package conversation

import (
	"fairlead/internal/rawjson"
	"fairlead/internal/turncache"
)

// outcome is what the text of a tool result says.
type outcome struct {
	failed, passed bool
	text           uint64 // signature of the text, for equal errors
}

// outcomeOf reads the output of a tool.
func outcomeOf(output rawjson.Value) (o outcome) {
	text := contentText(output, resultHead)
	if output.IsObject() {
		text = head(output.Raw, resultHead)
	}
	o.failed, o.passed = judge(text)
	o.text = errorSignature(text)
	return o
}

// outcomes remembers the results of tools that earlier turns of the conversation have read, by the hash of the output.
type outcomes struct {
	turn    *turncache.Turn
	earlier map[uint64]outcome
	read    map[uint64]outcome // by this turn
}

// of returns the outcome of an output.
func (o *outcomes) of(output rawjson.Value) outcome {
	if o.turn == nil {
		return outcomeOf(output)
	}
	hash := o.turn.Hash(output.Raw)
	one, known := o.earlier[hash]
	if !known {
		one = outcomeOf(output)
	}
	if o.read == nil {
		o.read = make(map[uint64]outcome, maxResults)
	}
	o.read[hash] = one
	return one
}
