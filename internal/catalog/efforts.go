package catalog

import (
	"slices"

	"fairlead.dev/internal/llm"
)

type effortRow struct {
	providers []string
	model     string
	efforts   []string
}

// EffortsFor returns the efforts that a model accepts at a provider, lowest first. It returns nil if they are unknown.
func EffortsFor(provider, model string) []string {
	r, _ := embeddedRules() // Default reports the error
	for i := range r.efforts {
		if row := &r.efforts[i]; row.model == model && slices.Contains(row.providers, provider) {
			return row.efforts
		}
	}
	return nil
}

func (r *rules) addEfforts(row record) {
	e := effortRow{providers: row.list("providers"), model: row.text("model")}
	for _, level := range row.list("levels") {
		if n := len(e.efforts); n > 0 && llm.EffortLength(level) <= llm.EffortLength(e.efforts[n-1]) {
			row.fail("effort %q is out of order", level)
		}
		if level != "none" && llm.EffortLength(level) == 0 {
			row.fail("unknown effort %q", level)
		}
		e.efforts = append(e.efforts, level)
	}
	if len(e.efforts) < 2 {
		row.fail("%s has fewer than two efforts", e.model)
	}
	r.efforts = append(r.efforts, e)
}
