package compatible

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/wire/openai"
)

// chatEdit returns the changes to the request that the vendor and the model require, and warns about dropped members.
func (r *Row) chatEdit(c *provider.Call) openai.Edit {
	a := adaptation{row: r, call: c, edit: openai.Edit{Model: c.Target.Upstream, Rename: map[string]string{}}}
	a.streamUsage()
	a.edit.Prefix = c.Prefilled && r.Prefill == MarkedPrefill
	if r.Asks.NineCharCallIDs {
		a.edit.CallID = openai.NineCharID
	}
	a.outputLimit()
	a.sampling(a.parameters())
	a.shape()
	a.members()
	a.values()
	a.cacheKey()
	return a.edit
}

// cacheKey sets prompt_cache_key. The gateway provides a key only if the client sends none.
func (a *adaptation) cacheKey() {
	if key := a.call.Cache.Key; key != "" {
		a.edit.Set = append(a.edit.Set, openai.Member{Name: "prompt_cache_key", Value: rawjson.AppendString(nil, key)})
	}
}

// shape drops fields that the vendor or the model does not accept. Requests with unsupported tools or response formats
// reach this function only if the client set best_effort.
func (a *adaptation) shape() {
	lost := a.call.Request.Needs & a.call.Target.Lacks
	if model := a.call.Target.Model; !model.Assumed {
		lost |= model.Abilities.Missing(llm.Reasoning)
	}
	for _, part := range []struct {
		of    llm.Abilities
		names []string
	}{
		{llm.JSONMode | llm.JSONSchema, []string{"response_format"}},
		{llm.Tools, []string{"tools", "tool_choice", "parallel_tool_calls", "functions", "function_call"}},
		{llm.Reasoning, []string{reasoningEffort, "reasoning", "thinking"}},
	} {
		for _, name := range part.names {
			if lost&part.of != 0 && a.value(name) != nil {
				a.edit.Drop = append(a.edit.Drop, name)
				if a.call.Request.Needs&part.of == 0 {
					continue // the member has no effect in this request, so no warning is needed
				}
				a.call.Warn("%s was dropped: %s does not accept it for %s.", name, a.row.Title, a.call.Target.Model.Name)
			}
		}
	}
}

// promptEdit is like chatEdit, but for legacy completions, whose output limit is always named max_tokens.
func (r *Row) promptEdit(c *provider.Call) openai.Edit {
	a := adaptation{row: r, call: c, edit: openai.Edit{Model: c.Target.Upstream, Rename: map[string]string{}}}
	a.streamUsage()
	if c.MaxOutput > 0 {
		a.setLimit(maxTokens)
	}
	a.sampling("")
	a.members()
	return a.edit
}

type adaptation struct {
	row  *Row
	call *provider.Call
	edit openai.Edit
}

// streamUsage requests usage in a stream, if the vendor supports it.
func (a *adaptation) streamUsage() {
	a.edit.IncludeUsage = a.call.Request.Stream && !a.row.Asks.NoStreamOptions
	if a.row.Asks.NoStreamOptions {
		a.edit.Drop = append(a.edit.Drop, "stream_options")
	}
}

const (
	maxTokens           = "max_tokens"
	maxCompletionTokens = "max_completion_tokens"
	reasoningEffort     = "reasoning_effort"
)

// effort returns the effort of the target, or else the effort that the client requested, as JSON. The model may not support the effort.
func (a *adaptation) effort() string {
	if effort := a.call.Target.Effort; effort != "" {
		return `"` + effort + `"`
	}
	return string(a.value(reasoningEffort))
}

// outputLimit renames the output limit to the name that the vendor supports. A client may have sent both names, one of them with the value
// null, or no limit although a budget requires one.
func (a *adaptation) outputLimit() {
	if a.call.MaxOutput > 0 {
		name, other := maxTokens, maxCompletionTokens
		if a.call.Target.Model.CompletionTokens && !a.row.Asks.MaxTokensOnly {
			name, other = other, name
		}
		a.edit.Drop = append(a.edit.Drop, other) // the value of this member can only be null
		a.setLimit(name)
		return
	}
	var from, to string
	switch {
	case a.row.Asks.MaxTokensOnly:
		from, to = maxCompletionTokens, maxTokens
	case a.call.Target.Model.CompletionTokens:
		from, to = maxTokens, maxCompletionTokens
	default:
		return
	}
	given := a.value(from)
	if given == nil {
		return
	}
	if a.value(to) == nil {
		a.edit.Rename[from] = to
		return
	}
	a.edit.Drop = append(a.edit.Drop, from)
	if !isNull(given) {
		a.edit.Set = append(a.edit.Set, openai.Member{Name: to, Value: given})
	}
}

func (a *adaptation) setLimit(name string) {
	a.edit.Set = append(a.edit.Set, openai.Member{Name: name, Value: strconv.AppendInt(nil, a.call.MaxOutput, 10)})
	a.call.WarnBound(name)
}

// parameters drops members that the vendor rejects for the model and replaces an unsupported reasoning effort. It returns the effort of the
// adapted request.
func (a *adaptation) parameters() (effort string) {
	rule := parameterRule(a.call.Target)
	for _, name := range rule.Rejects {
		if value := a.value(name); value != nil && !isNull(value) && string(value) != `"medium"` {
			a.edit.Drop = append(a.edit.Drop, name)
			if name != "verbosity" { // a hint about the style of the response, which agents always send
				a.call.Warn("%s was dropped: %s does not support it.", name, a.call.Target.Model.Name)
			}
		}
	}
	if chosen := a.call.Target.Effort; chosen != "" {
		a.edit.Set = append(a.edit.Set, openai.Member{Name: reasoningEffort, Value: rawjson.AppendString(nil, chosen)})
		return chosen
	}
	effort = rawjson.Parse(a.value(reasoningEffort)).String()
	if nearest := llm.NearestEffort(effort, rule.Efforts); effort != "" && nearest != effort {
		a.edit.Set = append(a.edit.Set, openai.Member{Name: reasoningEffort, Value: rawjson.AppendString(nil, nearest)})
		a.call.Warn("%s was sent as %s: %s does not support %s.", reasoningEffort, nearest, a.call.Target.Model.Name, effort)
		return nearest
	}
	return effort
}

// parameterRule returns the catalog's parameter rule for a target's model.
func parameterRule(t *provider.Target) catalog.ParameterRule {
	return catalog.ParameterRuleFor(t.Vendor, t.Model.Name)
}

const noSampling = "%s was dropped: %s does not support sampling settings."

// sampling drops sampling settings for a model with fixed sampling, which accepts them only if reasoning is disabled.
func (a *adaptation) sampling(effort string) {
	model := a.call.Target.Model
	if !model.FixedSampling || effort == "none" {
		return
	}
	for _, name := range a.call.Request.Sampling {
		a.edit.Drop = append(a.edit.Drop, name)
		if !llm.IsDefaultSampling(name, json.Number(a.value(name))) {
			a.call.Warn(noSampling, name, model.Name)
		}
	}
}

// members drops and renames members according to the vendor's rules.
func (a *adaptation) members() {
	asks, dropped := a.row.Asks, a.edit.Drop // the loop need not update dropped, because member names are unique
	for _, f := range a.call.Request.Fields {
		if slices.Contains(dropped, f.Name) || isGatewayOption(f.Name) {
			continue
		}
		refused := slices.Contains(asks.Drop, f.Name) || (asks.Accepts != nil && !slices.Contains(asks.Accepts, f.Name))
		if refused {
			a.edit.Drop = append(a.edit.Drop, f.Name)
			if !isNull(a.call.Request.Body[f.Value:f.End]) {
				a.call.Warn("%s was dropped: %s does not support it.", displayName(f.Name), a.row.Title)
			}
			continue
		}
		if to := asks.Rename[f.Name]; to != "" {
			a.edit.Rename[f.Name] = to
		}
	}
}

// values replaces values that have another name at the vendor, and unsupported values that have a weaker replacement.
func (a *adaptation) values() {
	for _, f := range a.call.Request.Fields {
		if a.row.Asks.Values[f.Name] == nil && a.row.Asks.Weaker[f.Name] == nil || slices.Contains(a.edit.Drop, f.Name) {
			continue
		}
		value := a.call.Request.Body[f.Value:f.End]
		if same, ok := a.row.Asks.Values[f.Name][string(value)]; ok {
			a.edit.Set = append(a.edit.Set, openai.Member{Name: f.Name, Value: []byte(same)})
		}
		if weaker, ok := a.row.Asks.Weaker[f.Name][string(value)]; ok {
			a.edit.Set = append(a.edit.Set, openai.Member{Name: f.Name, Value: []byte(weaker)})
			a.call.Warn("%s was sent as %s: %s does not support %s.", f.Name, weaker, a.row.Title, value)
		}
	}
}

// value returns the bytes of a top-level member, or nil if it is missing.
func (a *adaptation) value(name string) []byte {
	i := slices.IndexFunc(a.call.Request.Fields, func(f llm.Field) bool { return f.Name == name })
	if i < 0 {
		return nil
	}
	f := a.call.Request.Fields[i]
	return a.call.Request.Body[f.Value:f.End]
}

func isNull(value []byte) bool { return string(value) == "null" }

// isGatewayOption reports whether a member is a gateway option, which is never forwarded.
func isGatewayOption(name string) bool {
	return name == "models" || name == "provider" || name == "session_id"
}

// displayName formats a member name for a message. Names of letters, digits and common separators are unchanged; others are quoted and
// truncated.
func displayName(name string) string {
	odd := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-' && r != '.' && r != ' '
	}
	if len(name) <= 40 && name != "" && !bytes.ContainsFunc([]byte(name), odd) {
		return name
	}
	return fmt.Sprintf("%+q", name[:min(len(name), 40)])
}
