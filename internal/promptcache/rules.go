package promptcache

import (
	"strings"
	"time"

	"fairlead/internal/catalog"
)

// Granularity is which beginnings of a prompt a provider keeps.
type Granularity uint8

// The reaches.
const (
	Nothing Granularity = iota // it keeps none, or gives no discount for it
	Blocks                     // every beginning, in steps of so many tokens
	Ends                       // the whole prompt, and what is marked in it
	Marks                      // what is marked, and nothing without a mark
)

// Rules say how a provider's prompt cache works for a model. The zero value is one that keeps nothing.
type Rules struct {
	Reach    Granularity
	Minimum  int64         // tokens: shorter beginnings are not kept
	Step     int64         // tokens: a read is a multiple of it; 0 for the beginning as it is
	Lifetime time.Duration // from the last use on
	Long     time.Duration // of what is marked to be kept long; 0 when there is no such choice
	Extends  bool          // keeps things longer where the request asks for it
	Lookback int           // how many messages before a mark an earlier one is looked for; 0 for all
	Writes   bool          // writing has a price of its own
	Chance   float64       // the share of an expected read that comes true, until the target's own answers tell
}

// The ways in which providers keep prompts. Minutes are the lower end of what they promise: an expectation that fails
// costs a switch that was not made, one that is missed costs little.
var (
	// OpenAI up to gpt-5.5, Azure: automatic from 1,024 tokens in steps of 128, cleared after 5 to 10 minutes without use;
	// prompt_cache_retention asks for up to 24 hours.
	openAI = Rules{Reach: Blocks, Minimum: 1024, Step: 128, Lifetime: 5 * time.Minute, Extends: true, Chance: 0.85}
	// OpenAI from gpt-5.6 on: a break point at the end of the prompt and at marks, kept at least 30 minutes, writes are paid.
	openAIEnds = Rules{Reach: Ends, Minimum: 1024, Lifetime: 30 * time.Minute, Extends: true, Writes: true, Chance: 0.95}
	// Anthropic, wherever Claude runs: what cache_control marks, 5 minutes or an hour from the last use, found up to 20
	// blocks before a mark.
	claude = Rules{Reach: Marks, Minimum: 1024, Lifetime: 5 * time.Minute, Long: time.Hour, Lookback: 20, Writes: true, Chance: 0.97}
	// Gemini: implicit; the time is not documented beyond "a few minutes".
	gemini = Rules{Reach: Blocks, Minimum: 1024, Lifetime: 4 * time.Minute, Chance: 0.7}
	// DeepSeek: on disk, in units of 64 tokens, for hours to days.
	deepSeek = Rules{Reach: Blocks, Minimum: 64, Step: 64, Lifetime: 2 * time.Hour, Chance: 0.9}
	// Groq: automatic, expires after 2 hours without use; best effort.
	groq = Rules{Reach: Blocks, Minimum: 1024, Step: 128, Lifetime: 2 * time.Hour, Chance: 0.7}
	// Everybody else with a price for cached tokens: automatic, in memory, as the usual inference servers do it.
	automatic = Rules{Reach: Blocks, Minimum: 1024, Step: 64, Lifetime: 5 * time.Minute, Chance: 0.75}
	// The simulator never forgets by time.
	simulator = Rules{Reach: Blocks, Minimum: 1024, Step: 128, Lifetime: time.Hour, Chance: 0.99}
)

// row says which rules hold at a vendor for models whose names begin so; an empty name matches all.
type row struct {
	vendor, model string
	rules         Rules
}

// table is searched from the top; the first row that matches holds.
var table = []row{
	{"", "claude-3-haiku", claude.from(2048)},
	{"", "claude-3-5-haiku", claude.from(2048)},
	{"", "claude-haiku-", claude.from(4096)},
	{"", "claude-opus-4-1", claude},
	{"", "claude-opus-4-0", claude},
	{"", "claude-opus-4-", claude.from(4096)}, // 4-5 and later
	{"", "claude-opus-5", claude.from(4096)},
	{"", "claude-sonnet-4-6", claude.from(2048)},
	{"", "claude-sonnet-5", claude.from(2048)},
	{"", "claude-", claude},
	{"bedrock", "", claude}, // Nova and others: cache points, as with Claude
	{"anthropic", "", claude},
	{"openai", "", openAI},
	{"azure", "", openAI},
	{"gemini", "", gemini},
	{"vertex", "", gemini},
	{"deepseek", "", deepSeek},
	{"groq", "", groq},
	{"simulator", "", simulator},
	{"", "gpt-", openAI}, // through OpenRouter and the like
	{"", "gemini-", gemini},
	{"", "deepseek-", automatic}, // at other hosts than DeepSeek itself
	{"", "qwen", automatic},
}

// For returns the rules of a model at a vendor with a price. A price without a rate for cached tokens makes the cache
// worth nothing to the caller, whether there is one or not.
func For(vendor, model string, price *catalog.Price) Rules {
	if price == nil || price.CacheRead == nil {
		return Rules{}
	}
	rules := automatic
	for _, one := range table {
		if (one.vendor == "" || one.vendor == vendor) && strings.HasPrefix(model, one.model) {
			rules = one.rules
			break
		}
	}
	if rules.Reach == Blocks && rules.Extends && price.CacheWrite != nil {
		return openAIEnds // paid writes are what tells the newer models apart
	}
	if rules.Reach == Marks && price.CacheWrite == nil {
		rules.Writes = false
	}
	return rules
}

// from returns the rules with another minimum.
func (r Rules) from(minimum int64) Rules {
	r.Minimum = minimum
	return r
}

// keeps is how long a link stays warm from its last use on.
func (r Rules) keeps(d Fingerprint, mark Mark) time.Duration {
	switch {
	case mark == LongMark && r.Long > 0:
		return r.Long
	case r.Extends:
		return max(r.Lifetime, d.Keep)
	}
	return r.Lifetime
}
