package config

// policies describes the list; the fields are those of policy.Policy.
func (s *schemaWriter) policies() map[string]any {
	s.defs["Policy"] = policySchema()
	s.defs["Selector"] = selectorSchema()
	return map[string]any{"type": []string{"array", "null"}, "items": map[string]any{"$ref": "#/$defs/Policy"}}
}

func policySchema() map[string]any {
	text := func(doc string) map[string]any { return described(doc, "string") }
	selector := func(doc string) map[string]any {
		return map[string]any{"description": doc, "$ref": "#/$defs/Selector"}
	}
	name := text("Name of the policy, in lower case; it stands in decisions and errors.")
	name["pattern"] = `^[a-z0-9][a-z0-9._-]{0,63}$`
	maxCost := described("Most dollars that one request may be expected to cost.", "number")
	maxCost["minimum"] = 0
	maxOutput := described("Most output tokens of one answer.", "integer")
	maxOutput["minimum"], maxOutput["maximum"] = 1, 10_000_000
	logBodies := described("false keeps the texts of request and answer out of the log.", "boolean")
	logBodies["enum"] = []bool{false}
	return map[string]any{
		"type": "object", "additionalProperties": false, "required": []string{"name"},
		"properties": map[string]any{
			"name":              name,
			"description":       text("What it is for."),
			"enabled":           described("false leaves the policy out; default true.", "boolean"),
			"when":              text("Condition in CEL over request, key, workspace and time; always when left out."),
			"deny":              text("Refuse the request, with this message to the caller. It stands alone."),
			"pin":               text("Use this model, or this provider/model, and nothing else."),
			"allow":             selector("Leave only what is named here in the running."),
			"exclude":           selector("Take what is named here out of the running."),
			"prefer":            textList("Patterns of models or provider/model to try first, best first."),
			"objective":         described("What auto aims for: cost, quality, speed, or a number from 0 (cheapest) to 1 (best).", "string", "number"),
			"max_cost_usd":      maxCost,
			"max_output_tokens": maxOutput,
			"baseline":          text("Model that savings are measured against."),
			"log_bodies":        logBodies,
		},
	}
}

func selectorSchema() map[string]any {
	return map[string]any{
		"type": "object", "additionalProperties": false,
		"properties": map[string]any{
			"models":    textList("Names of models, or provider/model; a star at the end stands for any ending."),
			"providers": textList("Names of providers."),
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
