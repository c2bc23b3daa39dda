package llm

// MinThinkingBudget is the smallest thinking budget in tokens that models accept.
const MinThinkingBudget = 1024

// effortBudgets are the effort levels, lowest first, with the thinking budgets for models that take tokens instead of a level.
// Every host of a model uses these, so that a request has the same effect everywhere.
var effortBudgets = [...]struct {
	level  string
	tokens int64
}{
	{"minimal", MinThinkingBudget}, {"low", 4 << 10}, {"medium", 12 << 10}, {"high", 24 << 10}, {"xhigh", 32 << 10}, {"max", 48 << 10},
}

// DefaultEffort is the level of a request that leaves the amount of thinking to the model.
const DefaultEffort = "medium"

// ThinkingBudget returns the thinking budget in tokens. It is part of the output limit maxOutput, which is 0 when unknown. It
// returns 0 when the limit is too small to think.
func (e Effort) ThinkingBudget(maxOutput int64) int64 {
	if maxOutput > 0 && maxOutput <= MinThinkingBudget {
		return 0
	}
	budget, limit := e.Budget, maxOutput-1
	if budget == 0 {
		limit = max(maxOutput*4/5, MinThinkingBudget) // the text needs output tokens too
		for _, row := range effortBudgets {
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

// PortableLevel returns the level, or for a budget one of the levels that every provider knows: low, medium or high. It is empty
// when the request sets neither.
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
