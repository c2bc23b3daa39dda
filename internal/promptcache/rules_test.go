package promptcache

import (
	"time"

	"fairlead.dev/internal/catalog"
)

// Rules of the tests, one for each granularity.
var (
	openAI     = catalog.CacheRule{Granularity: catalog.CacheBlocks, Minimum: 1024, Step: 128, Lifetime: 5 * time.Minute, Extendable: true, HitRate: 0.85}
	openAIEnds = catalog.CacheRule{Granularity: catalog.CachePromptEnd, Minimum: 1024, Lifetime: 30 * time.Minute, Extendable: true, Writes: true, HitRate: 0.95}
	claude     = catalog.CacheRule{Granularity: catalog.CacheMarks, Minimum: 1024, Lifetime: 5 * time.Minute, Long: time.Hour, Lookback: 20, Writes: true, HitRate: 0.97}
	gemini     = catalog.CacheRule{Granularity: catalog.CacheBlocks, Minimum: 1024, Lifetime: 4 * time.Minute, HitRate: 0.7}
)

// claudeWithMinimum returns the rule of Claude with another minimum.
func claudeWithMinimum(minimum int64) catalog.CacheRule {
	rule := claude
	rule.Minimum = minimum
	return rule
}
