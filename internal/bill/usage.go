package bill

import (
	"cmp"
	"math"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/token"
	"fairlead.dev/internal/wire"
)

const (
	// maxTokenBytes is the length of the longest token in any vocabulary.
	maxTokenBytes = 128
	// addedTokens is the maximum number of tokens that a provider may add to a prompt for system prompts and tool
	// framing.
	addedTokens = 20_000
)

// UsageCounter collects the usage, the finish reason and the model of a response from its events.
type UsageCounter struct {
	Reported        *llm.Usage
	Finish          string
	Model           string
	ASCII, NonASCII int64  // number of ASCII and non-ASCII bytes in the text
	Pending         string // provider id of a response that is generated in the background; empty for other responses
}

// Add counts one event.
func (c *UsageCounter) Add(ev *llm.Event) {
	c.ASCII += int64(ev.ASCIIBytes)
	c.NonASCII += int64(ev.NonASCIIBytes)
	if ev.Usage != nil {
		c.Reported = ev.Usage
	}
	if ev.Finish != "" {
		c.Finish = ev.Finish
	}
	if ev.Model != "" {
		c.Model = ev.Model
	}
	if ev.Pending != "" {
		c.Pending = ev.Pending
	}
}

// Valid reports whether the provider reported a usage that is plausible for the call and has enough output tokens for
// the received text.
func (c *UsageCounter) Valid(call *provider.Call) bool {
	return c.Reported != nil && Plausible(*c.Reported, call) && c.Reported.Output*maxTokenBytes >= c.ASCII+c.NonASCII
}

// Plausible reports whether a reported usage is possible for a call. It rejects negative counts, a prompt without
// tokens, and more prompt or output tokens than the call allows.
func Plausible(u llm.Usage, c *provider.Call) bool {
	req, m := c.Request, c.Target.Model
	if min(u.Input, u.CacheRead, u.CacheWrite, u.Output, u.Reasoning, u.CacheWriteLong, u.AudioInput, u.AudioOutput, u.Searches) < 0 || u.Searches > maxSearches {
		return false
	}
	if u.Prompt() == 0 && len(req.Body) > 0 || u.Prompt() < minPrompt(req, m) {
		return false
	}
	maxInput := model(m).Bound(token.PromptOf(req)) + addedTokens
	if req.Unsized > 0 {
		maxInput = max(maxInput, maxPrompt(req, m))
	}
	if req.Hosted { // after each tool call, the model reads the prompt and the results again
		const rounds = 10
		maxInput = max(maxInput, maxPrompt(req, m)*rounds)
	}
	// Add one token per choice, because some providers count the stop token.
	return u.Prompt() <= maxInput && u.Output <= maxOutputOf(req, c.MaxOutput, m)+int64(max(req.Choices, 1))
}

// minPrompt returns the minimum number of prompt tokens. It is at most the context window, because a provider may truncate the prompt, and
// at most smallContext if the window is unknown. It is 0 if the provider may drop parts of the prompt, such as tool results.
func minPrompt(req *llm.Request, m *catalog.Model) int64 {
	if req.Hosted || wire.EditsContext(req) {
		return 0
	}
	const smallContext = 512
	return min(int64(req.ASCIIBytes+req.NonASCIIBytes-req.ExtraBytes)/maxTokenBytes, cmp.Or(m.Context, smallContext), cmp.Or(m.MaxInput, math.MaxInt64))
}
