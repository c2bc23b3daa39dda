package upstream

import (
	"unicode/utf8"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/token"
)

// cautious selects the tokenizer for estimates during a response. It counts fewer tokens than the other tokenizers, so clients do not pay
// for tokens that were not generated.
var cautious = token.Model{Vendor: "Anthropic", Name: "claude-3"}

// RunningUsage returns the usage of an unfinished response: the reported input and an estimate of the output. It returns nil if u is nil.
func RunningUsage(u *llm.Usage, ascii, other int) *llm.Usage {
	if u == nil {
		return nil
	}
	soFar := *u
	soFar.Output = max(soFar.Output, cautious.Output(int64(ascii), int64(other), llm.Text{}))
	soFar.Estimated = true
	return &soFar
}

// CountText returns the number of ASCII bytes and the number of non-ASCII bytes in a string.
func CountText(s string) (ascii, other int) {
	for i := range len(s) {
		if s[i] < utf8.RuneSelf {
			ascii++
		}
	}
	return ascii, len(s) - ascii
}
