package catalog

import "slices"

// ParameterRule describes which parameters of a request a provider accepts for a model. The zero value accepts everything.
type ParameterRule struct {
	Efforts     []string // accepted reasoning efforts, lowest first; nil when unknown
	Rejects     []string // members of a chat request that the provider rejects
	Breakpoints bool     // whether the provider accepts explicit prompt cache breakpoints
}

type parameterRow struct {
	providers []string
	model     pattern
	rule      ParameterRule
}

// ParameterRuleFor returns the rule of a model at a provider.
func ParameterRuleFor(provider, model string) ParameterRule {
	r, _ := embeddedRules() // Default reports the error
	for i := range r.parameters {
		if row := &r.parameters[i]; row.model.matches(model) && slices.Contains(row.providers, provider) {
			return row.rule
		}
	}
	return ParameterRule{}
}

func (r *rules) addParameter(row record) {
	rule := ParameterRule{Efforts: row.list("efforts"), Rejects: row.list("rejects"), Breakpoints: row.boolean("breakpoints")}
	providers := row.list("providers")
	if len(providers) == 0 {
		row.fail("a parameter rule needs a provider")
	}
	r.parameters = append(r.parameters, parameterRow{providers, newPattern(row.text("model")), rule})
}
