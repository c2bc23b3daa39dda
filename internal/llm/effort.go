package llm

import "slices"

// MinThinkingBudget is the smallest thinking budget in tokens that models accept.
const MinThinkingBudget = 1024

// effortLevels lists the effort levels, lowest first. tokens is the thinking budget for models that accept tokens
// instead of a level. The same budget is used for every provider, so that a request has the same effect everywhere.
// length is the typical number of reasoning tokens relative to medium.
var effortLevels = [...]effortLevel{
	{"minimal", MinThinkingBudget, 0.1},
	{"low", 4 << 10, 0.5},
	{"medium", 12 << 10, 1},
	{"high", 24 << 10, 2},
	{"xhigh", 32 << 10, 3},
	{"max", 48 << 10, 4.5},
}

type effortLevel struct {
	level  string
	tokens int64
	length float64
}

// EffortLevels returns the effort levels, lowest first.
func EffortLevels() []string {
	names := make([]string, len(effortLevels))
	for i, row := range effortLevels {
		names[i] = row.level
	}
	return names
}

// EffortLength returns the typical number of reasoning tokens at an effort level, relative to medium. It returns 0 for
// "none" and for unknown levels.
func EffortLength(level string) float64 {
	for _, row := range effortLevels {
		if row.level == level {
			return row.length
		}
	}
	return 0
}

// CustomEffort is the effort of a request that controls reasoning by means other than a level.
const CustomEffort = "custom"

// DefaultEffort is the level assumed for a request that lets the model decide how much to think.
const DefaultEffort = "medium"

// ThinkingBudget returns the thinking budget in tokens, which counts towards the output limit maxOutput (0 when unknown). It returns 0
// when the limit is too small for thinking.
func (e Effort) ThinkingBudget(maxOutput int64) int64 {
	if maxOutput > 0 && maxOutput <= MinThinkingBudget {
		return 0
	}
	budget, limit := e.Budget, maxOutput-1
	if budget == 0 {
		limit = max(maxOutput*4/5, MinThinkingBudget) // leave output tokens for the text
		for _, row := range effortLevels {
			if row.level == e.Level || budget == 0 && row.level == DefaultEffort {
				budget = row.tokens
			}
		}
	}
	budget = max(budget, MinThinkingBudget)
	if maxOutput > 0 {
		budget = min(budget, limit)
	}
	return budget
}

// PortableLevel returns the effort level. For a budget, it returns a level that every provider supports: low, medium or
// high. It returns "" when the request sets neither.
func (e Effort) PortableLevel() string {
	switch {
	case e.Level != "" || e.Budget == 0:
		return e.Level
	case e.Budget <= 2<<10:
		return "low"
	case e.Budget <= 8<<10:
		return "medium"
	}
	return "high"
}

// NearestEffort returns the accepted level closest to level: the next lower one, or else the lowest. It never turns
// reasoning off, and it returns unknown levels unchanged. accepted is ordered, lowest first; nil accepts every level.
func NearestEffort(level string, accepted []string) string {
	if len(accepted) == 0 || slices.Contains(accepted, level) {
		return level
	}
	at := slices.IndexFunc(effortLevels[:], func(row effortLevel) bool { return row.level == level })
	if at < 0 && level != "none" {
		return level
	}
	for ; at >= 0; at-- {
		if slices.Contains(accepted, effortLevels[at].level) {
			return effortLevels[at].level
		}
	}
	if accepted[0] == "none" && len(accepted) > 1 {
		return accepted[1]
	}
	return accepted[0]
}
