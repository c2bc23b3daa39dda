package gemini

import (
	"encoding/json"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire/show"
)

// customInput is the name of the argument that contains the text of a free-text tool. Such a tool is sent as a function, because the
// format supports only functions.
const customInput = "input"

// tools encodes the tool declarations.
func (r *renderer) tools() error {
	var declared []function
	choice := r.conv.ToolChoice
	restricted, chosen := choice.Mode == llm.ChoiceAuto && len(choice.Names) > 0, choice.Includes()
	var search *llm.Search
	for _, t := range r.conv.Tools {
		if t.Search != nil {
			search = t.Search
			continue
		}
		if t.Hosted != "" {
			r.warn("the tool %s was dropped: it runs at another provider.", show.Quote(t.Hosted))
			continue
		}
		if restricted && !chosen(t.Name) {
			continue // send only the allowed tools, because the format can list allowed tools only if a call is required
		}
		f, err := r.function(t)
		if err != nil {
			return err
		}
		declared = append(declared, f)
	}
	if search != nil {
		r.search(search, len(declared) > 0)
	}
	if len(declared) == 0 {
		return nil
	}
	r.out.Tools = []tools{{Functions: declared}}
	switch choice.Mode {
	case llm.ChoiceAuto:
		r.out.Choice = &toolConfig{calling{Mode: "AUTO"}}
	case llm.ChoiceMust:
		r.out.Choice = &toolConfig{calling{Mode: "ANY", Names: choice.Names}}
	case llm.ChoiceNone:
		r.out.Choice = &toolConfig{calling{Mode: "NONE"}}
	case llm.ChoiceUnset:
	}
	if p := r.conv.ParallelTools; p != nil && !*p {
		r.warn("parallel_tool_calls was dropped: Gemini may call several tools in parallel.")
	}
	return nil
}

// search requests web search. If the request also has functions, search is dropped with a warning, because Gemini does not support both.
func (r *renderer) search(s *llm.Search, functions bool) {
	switch {
	case !r.o.Traits.Search:
		r.leftOut("web search")
		return
	case functions:
		r.warn("web search was dropped: Gemini does not support it together with functions.")
		return
	}
	r.out.Tools = []tools{{Search: &struct{}{}}}
	for _, option := range []struct {
		name  string
		given bool
	}{
		{"allowed_domains", len(s.Allowed) > 0},
		{"blocked_domains", len(s.Blocked) > 0},
		{"max_uses", s.MaxUses > 0},
		{"search_context_size", s.ContextSize != ""},
		{"user_location", s.Place != (llm.Place{})},
	} {
		if option.given {
			r.leftOut(option.name)
		}
	}
}

func (r *renderer) function(t llm.Tool) (function, error) {
	f := function{Name: t.Name, Description: t.Description}
	schema := t.Schema
	if t.Custom {
		schema = json.RawMessage(`{"type":"object","properties":{"` + customInput + `":{"type":"string"}},"required":["` + customInput + `"]}`)
		f.Description = t.DescribeGrammar()
	}
	if noArguments(schema) {
		return f, nil
	}
	if r.o.Traits.JSONSchema {
		f.JSONSchema = schema
		return f, nil
	}
	subset, err := r.subset("tools", schema, false)
	f.Parameters = subset
	return f, err
}

// subset converts a schema for models that support only the OpenAPI subset.
func (r *renderer) subset(param string, schema json.RawMessage, ordered bool) (json.RawMessage, error) {
	out, lost, err := convertSchema(schema, ordered, r.schemas)
	if err != nil {
		return nil, invalid(param, "A schema cannot be converted for this model: %v.", err)
	}
	for _, what := range lost {
		r.warn("a schema was simplified: %s.", what)
	}
	return out, nil
}
