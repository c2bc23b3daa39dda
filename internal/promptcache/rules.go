package promptcache

import (
	"strings"
	"time"

	"fairlead/internal/catalog"
)

// Granularity describes which prefixes of a prompt a provider caches.
type Granularity uint8

// The granularities.
const (
	NoCache   Granularity = iota // no cache, or no discount for cached tokens
	Blocks                       // every prefix, in steps of a fixed number of tokens
	PromptEnd                    // the whole prompt and marked prefixes
	Marks                        // marked prefixes only
)

// Rules describe a provider's prompt cache for a model. The zero value disables the cache.
type Rules struct {
	Granularity Granularity
	Minimum     int64         // shortest cached prefix, in tokens
	Step        int64         // cached reads are a multiple of Step tokens; 0 for no rounding
	Lifetime    time.Duration // time since the last use
	Long        time.Duration // lifetime of prefixes marked for one hour; 0 if not offered
	Extendable  bool          // the request can ask for a longer lifetime
	Lookback    int           // how many messages before a mark a cached prefix is found; 0 for no limit
	Writes      bool          // cache writes are billed separately
	HitRate     float64       // prior for the share of an expected read that happens
}

// How providers cache prompts. Lifetimes are the lower end of the documented range: a wrong expectation prevents a
// useful switch, a missed hit costs little.
var (
	// OpenAI up to gpt-5.5 and Azure: automatic from 1,024 tokens in steps of 128, cleared after 5 to 10 minutes
	// without use; prompt_cache_retention asks for up to 24 hours.
	openAI = Rules{Granularity: Blocks, Minimum: 1024, Step: 128, Lifetime: 5 * time.Minute, Extendable: true, HitRate: 0.85}
	// OpenAI since gpt-5.6: a breakpoint at the end of the prompt and at marks, kept at least 30 minutes; writes are
	// billed.
	openAIEnds = Rules{Granularity: PromptEnd, Minimum: 1024, Lifetime: 30 * time.Minute, Extendable: true, Writes: true, HitRate: 0.95}
	// Claude at every provider: prefixes marked with cache_control, 5 minutes or one hour since the last use, found
	// up to 20 blocks before a mark.
	claude = Rules{Granularity: Marks, Minimum: 1024, Lifetime: 5 * time.Minute, Long: time.Hour, Lookback: 20, Writes: true, HitRate: 0.97}
	// Gemini: implicit; the lifetime is documented only as "a few minutes".
	gemini = Rules{Granularity: Blocks, Minimum: 1024, Lifetime: 4 * time.Minute, HitRate: 0.7}
	// DeepSeek: on disk, in units of 64 tokens, for hours to days.
	deepSeek = Rules{Granularity: Blocks, Minimum: 64, Step: 64, Lifetime: 2 * time.Hour, HitRate: 0.9}
	// Groq: automatic, expires after 2 hours without use; best effort.
	groq = Rules{Granularity: Blocks, Minimum: 1024, Step: 128, Lifetime: 2 * time.Hour, HitRate: 0.7}
	// Other providers with a price for cached tokens: automatic and in memory, like common inference servers.
	automatic = Rules{Granularity: Blocks, Minimum: 1024, Step: 64, Lifetime: 5 * time.Minute, HitRate: 0.75}
	// The simulator's cache has no time limit.
	simulator = Rules{Granularity: Blocks, Minimum: 1024, Step: 128, Lifetime: time.Hour, HitRate: 0.99}
)

// row assigns rules to a vendor and a model name prefix. Empty fields match everything.
type row struct {
	vendor, model string
	rules         Rules
}

// table is searched from the top; the first matching row applies.
var table = []row{
	{"", "claude-3-haiku", claude.withMinimum(2048)},
	{"", "claude-3-5-haiku", claude.withMinimum(2048)},
	{"", "claude-haiku-", claude.withMinimum(4096)},
	{"", "claude-opus-4-1", claude},
	{"", "claude-opus-4-0", claude},
	{"", "claude-opus-4-", claude.withMinimum(4096)}, // 4-5 and later
	{"", "claude-opus-5", claude.withMinimum(4096)},
	{"", "claude-sonnet-4-6", claude.withMinimum(2048)},
	{"", "claude-sonnet-5", claude.withMinimum(2048)},
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
	{"", "gpt-", openAI}, // through OpenRouter and other resellers
	{"", "gemini-", gemini},
	{"", "deepseek-", automatic}, // at hosts other than DeepSeek
	{"", "qwen", automatic},
}

// For returns the rules of a model at a vendor with this price. Without a rate for cached tokens it returns no cache,
// because a hit would not save anything.
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
	if rules.Granularity == Blocks && rules.Extendable && price.CacheWrite != nil {
		return openAIEnds // only the newer models bill writes
	}
	if rules.Granularity == Marks && price.CacheWrite == nil {
		rules.Writes = false
	}
	return rules
}

// withMinimum returns the rules with another minimum.
func (r Rules) withMinimum(minimum int64) Rules {
	r.Minimum = minimum
	return r
}

// ttl returns how long a link stays cached after its last use.
func (r Rules) ttl(fp Fingerprint, mark Mark) time.Duration {
	switch {
	case mark == LongMark && r.Long > 0:
		return r.Long
	case r.Extendable:
		return max(r.Lifetime, fp.Retention)
	}
	return r.Lifetime
}
