package catalog

import (
	"slices"
	"strconv"
	"strings"

	"fairlead.dev/internal/llm"
)

// Effort is a reasoning effort that a model accepts.
type Effort struct {
	Level string  `json:"level"`
	Logit float64 `json:"logit"` // change in the logit of the success probability, relative to the model's benchmark scores
}

type effortRow struct {
	providers []string
	model     string
	efforts   []Effort
}

// EffortsFor returns the efforts that a model accepts at a provider, lowest first. It returns nil if they are unknown.
func EffortsFor(provider, model string) []Effort {
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
	if source := row.text("source"); source != "aa" && source != "prior" {
		row.fail("unknown source %q", source)
	}
	for _, cell := range row.list("levels") {
		level, number, _ := strings.Cut(cell, ":")
		logit, err := strconv.ParseFloat(number, 64)
		if err != nil {
			row.fail("effort %q is not LEVEL:NUMBER", cell)
		}
		if n := len(e.efforts); n > 0 && (llm.EffortLength(level) <= llm.EffortLength(e.efforts[n-1].Level) || logit < e.efforts[n-1].Logit) {
			row.fail("effort %q is out of order", cell)
		}
		if level != "none" && llm.EffortLength(level) == 0 {
			row.fail("unknown effort %q", level)
		}
		e.efforts = append(e.efforts, Effort{Level: level, Logit: logit})
	}
	if len(e.efforts) < 2 {
		row.fail("%s has fewer than two efforts", e.model)
	}
	r.efforts = append(r.efforts, e)
}
