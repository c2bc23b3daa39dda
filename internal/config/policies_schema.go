package config

// policySchema describes the fields of policy.Policy.
func policySchema() map[string]any {
	text := func(doc string) map[string]any { return described(doc, "string") }
	selector := func(doc string) map[string]any {
		return map[string]any{"description": doc, "$ref": "#/$defs/Selector"}
	}
	name := text("Name of the policy, in lower case. Shown in decisions and errors.")
	name["pattern"] = `^[a-z0-9][a-z0-9._-]{0,63}$`
	maxCost := described("Maximum expected cost of a request in US dollars.", "number")
	maxCost["minimum"] = 0
	maxOutput := described("Maximum number of output tokens.", "integer")
	maxOutput["minimum"], maxOutput["maximum"] = 1, 10_000_000
	maxEscalation := described("Maximum number of escalation steps when a task is stuck; 0 disables escalation.", "integer")
	maxEscalation["minimum"], maxEscalation["maximum"] = 0, 3
	logBodies := described("false disables storing request and response bodies.", "boolean")
	logBodies["enum"] = []bool{false}
	cacheMarks := described("false disables the prompt-cache markers that Fairlead sets.", "boolean")
	cacheMarks["enum"] = []bool{false}
	return map[string]any{
		"type": "object", "additionalProperties": false, "required": []string{"name"},
		"properties": map[string]any{
			"name":              name,
			"description":       text("Purpose of the policy."),
			"enabled":           described("false disables the policy. Default: true.", "boolean"),
			"when":              text("CEL condition over request, key, workspace and time. Always true if omitted."),
			"deny":              text("Reject the request with this message. Cannot be combined with other effects."),
			"pin":               text("Use only this model or provider/model."),
			"allow":             selector("Consider only these models, providers and tags."),
			"exclude":           selector("Exclude these models, providers and tags."),
			"prefer":            textList("Models or provider/model to try first, best first. Wildcards are allowed: gpt-4.1*"),
			"objective":         described("Objective of auto: cost, quality, speed, or a number from 0 (cheapest) to 1 (best).", "string", "number"),
			"max_cost_usd":      maxCost,
			"max_output_tokens": maxOutput,
			"max_escalation":    maxEscalation,
			"session_budget":    sessionBudgetSchema(),
			"baseline":          text("Baseline model for savings."),
			"response_cache":    text("Serve identical requests from the response cache up to this age, such as 10m or 24h. off disables the response cache."),
			"cache_marks":       cacheMarks,
			"log_bodies":        logBodies,
		},
	}
}

func sessionBudgetSchema() map[string]any {
	amount := described("Budget of each session in dollars.", "string", "number")
	warn := described("Share of the budget in percent from which downgrade applies. Default: 80.", "integer")
	warn["minimum"], warn["maximum"] = 1, 99
	return map[string]any{
		"description": "Budget of each session.", "type": "object", "additionalProperties": false, "required": []string{"amount_usd"},
		"properties": map[string]any{
			"amount_usd": amount, "warn_percent": warn,
			"downgrade": described("Serve requests with auto:cost once warn_percent is spent.", "boolean"),
		},
	}
}

func selectorSchema() map[string]any {
	return map[string]any{
		"type": "object", "additionalProperties": false,
		"properties": map[string]any{
			"models":    textList("Models or provider/model. Wildcards are allowed: gpt-4.1*"),
			"providers": textList("Providers."),
			"tags":      textList("Tags of providers, such as eu, zdr, local or open_weights."),
		},
	}
}

func described(doc string, types ...string) map[string]any {
	return map[string]any{"description": doc, "type": types}
}

func textList(doc string) map[string]any {
	return map[string]any{"description": doc, "type": "array", "items": map[string]any{"type": "string"}}
}
