package gemini

import (
	"strings"

	"fairlead.dev/internal/llm"
)

// usage converts the counts into token classes that do not overlap. Google's prompt count includes cached tokens, but not the prompt
// tokens of Google's own tools. Its output count does not include thoughts. usage returns false if counts are missing or invalid.
func (m *usageMetadata) usage() (llm.Usage, bool) {
	if m == nil || m.Prompt == nil && m.Candidates == nil {
		return llm.Usage{}, false
	}
	var given, written count
	if m.Prompt != nil {
		given = *m.Prompt
	}
	if m.Candidates != nil {
		written = *m.Candidates
	}
	for _, c := range []count{given, written, m.Cached, m.Thoughts, m.ToolUse, m.Total} {
		if c < 0 {
			return llm.Usage{}, false
		}
	}
	if m.Candidates == nil && m.Total > 0 { // some responses report only the total
		written = max(0, m.Total-given-m.ToolUse-m.Thoughts)
	}
	prompt := given + m.ToolUse
	u := llm.Usage{
		CacheRead: int64(min(m.Cached, prompt)), Output: int64(written + m.Thoughts), Reasoning: int64(m.Thoughts),
		AudioOutput: min(audioTokens(m.AnswerDetails), int64(written)), ServiceTier: Tier(m.Tier),
	}
	switch m.Traffic {
	case "ON_DEMAND_PRIORITY":
		u.ServiceTier = "priority"
	case "ON_DEMAND_FLEX":
		u.ServiceTier = "flex"
	}
	u.Input = int64(prompt) - u.CacheRead
	u.AudioInput = min(max(0, audioTokens(m.PromptDetails)-audioTokens(m.CacheDetails)), u.Input)
	return u, true
}

// countSearches records the queries of a web search. Google charges each distinct query once and does not charge empty ones. An event of a
// stream may repeat the queries of earlier events.
func (dec *responseDecoder) countSearches(queries []string) {
	const maxQueries = 1000 // limits the memory used per response
	for _, query := range queries {
		if query == "" || len(dec.queries) >= maxQueries {
			continue
		}
		if dec.queries == nil {
			dec.queries = map[string]bool{}
		}
		dec.queries[query] = true
	}
}

func audioTokens(details []modality) int64 {
	var n count
	for _, d := range details {
		if d.Kind == "AUDIO" && d.Count > 0 {
			n += d.Count
		}
	}
	return int64(n)
}

// Tier converts the service tier reported in a response to the name that the price list uses.
func Tier(tier string) string {
	name := strings.TrimPrefix(strings.ToLower(tier), "service_tier_")
	if name == "standard" || name == "unspecified" {
		return "default"
	}
	return name
}
