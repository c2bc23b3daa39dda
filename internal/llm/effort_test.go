package llm

import "testing"

func TestThinkingBudgetDependsOnEffortAndOutputLimit(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		effort    Effort
		maxOutput int64
		want      int64
	}{
		"minimal":                        {Effort{Level: "minimal"}, 0, 1024},
		"low":                            {Effort{Level: "low"}, 64000, 4096},
		"medium":                         {Effort{Level: "medium"}, 64000, 12288},
		"high":                           {Effort{Level: "high"}, 64000, 24576},
		"xhigh":                          {Effort{Level: "xhigh"}, 64000, 32768},
		"max":                            {Effort{Level: "max"}, 64000, 49152},
		"the model decides":              {Effort{Adaptive: true}, 64000, 12288},
		"an unknown level":               {Effort{Level: "huge"}, 64000, 12288},
		"a level leaves tokens for text": {Effort{Level: "high"}, 10000, 8000},
		"a level and a small limit":      {Effort{Level: "high"}, 1200, 1024},
		"a budget":                       {Effort{Budget: 5000}, 64000, 5000},
		"a budget without a limit":       {Effort{Budget: 5000}, 0, 5000},
		"a budget above the limit":       {Effort{Budget: 5000}, 4000, 3999},
		"a budget below the minimum":     {Effort{Budget: 5}, 4000, 1024},
		"a limit too small to think":     {Effort{Level: "high"}, 1024, 0},
	} {
		if got := tc.effort.ThinkingBudget(tc.maxOutput); got != tc.want {
			t.Errorf("%s: ThinkingBudget = %d, want %d", name, got, tc.want)
		}
	}
}

func TestPortableLevelIsKnownToEveryProvider(t *testing.T) {
	t.Parallel()
	for want, effort := range map[string]Effort{
		"": {Adaptive: true}, "low": {Budget: 2000}, "medium": {Budget: 5000}, "high": {Budget: 1 << 20}, "xhigh": {Level: "xhigh", Budget: 1},
	} {
		if got := effort.PortableLevel(); got != want {
			t.Errorf("PortableLevel of %+v = %q, want %q", effort, got, want)
		}
	}
}

func TestNearestEffortKeepsReasoningOnOrOff(t *testing.T) {
	t.Parallel()
	older, newer := []string{"minimal", "low", "medium", "high"}, []string{"none", "low", "medium", "high", "xhigh"}
	for _, tc := range []struct {
		level    string
		accepted []string
		want     string
	}{
		{"medium", older, "medium"},
		{"none", older, "minimal"},
		{"xhigh", older, "high"},
		{"max", newer, "xhigh"},
		{"minimal", newer, "low"},
		{"none", newer, "none"},
		{"low", []string{"high"}, "high"},
		{"minimal", nil, "minimal"},
		{"turbo", newer, "turbo"},
	} {
		if got := NearestEffort(tc.level, tc.accepted); got != tc.want {
			t.Errorf("NearestEffort(%q, %v) = %q, want %q", tc.level, tc.accepted, got, tc.want)
		}
	}
}
