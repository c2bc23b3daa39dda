package compatible

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"

	"fairlead/internal/llm"
	"fairlead/internal/provider"
	"fairlead/internal/wire/chat"
)

// chatEdit says what must change in a conversation so that the vendor and its model take it, and warns of what is lost.
func (r *Row) chatEdit(c *provider.Call) chat.Edit {
	a := adaptation{row: r, call: c, edit: chat.Edit{Model: c.Target.Upstream, Rename: map[string]string{}}}
	a.streamUsage()
	a.edit.Prefix = c.Prefilled && r.Prefill == MarkedPrefill
	if r.Asks.NineCharCallIDs {
		a.edit.CallID = chat.NineCharID
	}
	a.outputLimit()
	a.sampling()
	a.shape()
	a.members()
	a.values()
	return a.edit
}

// shape leaves out the fields that the vendor or the model does not accept. Tools and formats of the response get here only
// from a caller who asked for best effort.
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
		{llm.Reasoning, []string{"reasoning_effort", "reasoning", "thinking"}},
	} {
		for _, name := range part.names {
			if lost&part.of != 0 && a.value(name) != nil {
				a.edit.Drop = append(a.edit.Drop, name)
				if a.call.Request.Needs&part.of == 0 {
					continue // it asked for nothing
				}
				a.warn("%s was left out: %s does not accept it for %s.", name, a.row.Title, a.call.Target.Model.Name)
			}
		}
	}
}

// embedEdit is chatEdit for embeddings.
func (r *Row) embedEdit(c *provider.Call) chat.Edit {
	a := adaptation{row: r, call: c, edit: chat.Edit{Model: c.Target.Upstream, Rename: map[string]string{}}}
	if r.Asks.NoBase64 {
		a.edit.Drop = append(a.edit.Drop, "encoding_format") // without it every vendor sends numbers
	}
	a.members()
	return a.edit
}

// promptEdit is chatEdit for bare prompts. Whatever the model, their limit is called max_tokens.
func (r *Row) promptEdit(c *provider.Call) chat.Edit {
	a := adaptation{row: r, call: c, edit: chat.Edit{Model: c.Target.Upstream, Rename: map[string]string{}}}
	a.streamUsage()
	if c.MaxOutput > 0 {
		a.setLimit(maxTokens)
	}
	a.sampling()
	a.members()
	return a.edit
}

// moderateEdit is chatEdit for moderations.
func (r *Row) moderateEdit(c *provider.Call) chat.Edit {
	a := adaptation{row: r, call: c, edit: chat.Edit{Model: c.Target.Upstream, Rename: map[string]string{}}}
	a.members()
	return a.edit
}

type adaptation struct {
	row  *Row
	call *provider.Call
	edit chat.Edit
}

func (a *adaptation) warn(format string, args ...any) { a.call.Warn(format, args...) }

// streamUsage asks a stream for its usage, where the vendor lets us.
func (a *adaptation) streamUsage() {
	a.edit.IncludeUsage = a.call.Request.Stream && !a.row.Asks.NoStreamOptions
	if a.row.Asks.NoStreamOptions {
		a.edit.Drop = append(a.edit.Drop, "stream_options")
	}
}

const (
	maxTokens           = "max_tokens"
	maxCompletionTokens = "max_completion_tokens"
)

// outputLimit gives the limit the name that is known. A caller may have sent both names, one of them null, or none
// where a budget needs one.
func (a *adaptation) outputLimit() {
	if a.call.MaxOutput > 0 {
		a.setOutputLimit()
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
		a.edit.Set = append(a.edit.Set, chat.Member{Name: to, Value: given})
	}
}

// setOutputLimit bounds the answer of a caller who set no bound.
func (a *adaptation) setOutputLimit() {
	name, other := maxTokens, maxCompletionTokens
	if a.call.Target.Model.CompletionTokens && !a.row.Asks.MaxTokensOnly {
		name, other = other, name
	}
	a.edit.Drop = append(a.edit.Drop, other) // at most a null
	a.setLimit(name)
}

func (a *adaptation) setLimit(name string) {
	a.edit.Set = append(a.edit.Set, chat.Member{Name: name, Value: strconv.AppendInt(nil, a.call.MaxOutput, 10)})
	a.call.WarnBound(name)
}

// sampling leaves out what a model with fixed sampling refuses. With reasoning turned off such a model takes it, and one
// that cannot turn it off refuses that itself.
func (a *adaptation) sampling() {
	model := a.call.Target.Model
	if !model.FixedSampling || bytes.Equal(a.value("reasoning_effort"), []byte(`"none"`)) {
		return
	}
	for _, name := range a.call.Request.Sampling {
		a.edit.Drop = append(a.edit.Drop, name)
		a.warn("%s was left out: %s takes no sampling settings.", name, model.Name)
	}
}

// members leaves out what the vendor refuses and renames what it knows by another name.
func (a *adaptation) members() {
	asks, dropped := a.row.Asks, a.edit.Drop // every name comes once, so what is dropped below need not be looked for
	for _, f := range a.call.Request.Fields {
		if slices.Contains(dropped, f.Name) || ours(f.Name) {
			continue
		}
		refused := slices.Contains(asks.Drop, f.Name) || (asks.Accepts != nil && !slices.Contains(asks.Accepts, f.Name))
		if refused {
			a.edit.Drop = append(a.edit.Drop, f.Name)
			if !isNull(a.call.Request.Body[f.Value:f.End]) {
				a.warn("%s was left out: %s does not take it.", plain(f.Name), a.row.Title)
			}
			continue
		}
		if to := asks.Rename[f.Name]; to != "" {
			a.edit.Rename[f.Name] = to
		}
	}
}

// values writes the values that the vendor knows otherwise.
func (a *adaptation) values() {
	for _, f := range a.call.Request.Fields {
		if a.row.Asks.Values[f.Name] == nil && a.row.Asks.Weaker[f.Name] == nil || slices.Contains(a.edit.Drop, f.Name) {
			continue
		}
		value := a.call.Request.Body[f.Value:f.End]
		if same, ok := a.row.Asks.Values[f.Name][string(value)]; ok {
			a.edit.Set = append(a.edit.Set, chat.Member{Name: f.Name, Value: []byte(same)})
		}
		if weaker, ok := a.row.Asks.Weaker[f.Name][string(value)]; ok {
			a.edit.Set = append(a.edit.Set, chat.Member{Name: f.Name, Value: []byte(weaker)})
			a.warn("%s was sent as %s: %s does not know %s.", f.Name, weaker, a.row.Title, value)
		}
	}
}

// value returns the bytes of a top-level member, or nil when the caller did not send it.
func (a *adaptation) value(name string) []byte {
	i := slices.IndexFunc(a.call.Request.Fields, func(f llm.Field) bool { return f.Name == name })
	if i < 0 {
		return nil
	}
	f := a.call.Request.Fields[i]
	return a.call.Request.Body[f.Value:f.End]
}

func isNull(value []byte) bool { return string(value) == "null" }

// ours reports the members that are meant for us and never travel.
func ours(name string) bool { return name == "models" || name == "provider" || name == "session_id" }

// plain shows a member's name in a sentence: as it is when it is a word or several, else quoted and cut.
func plain(name string) string {
	odd := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-' && r != '.' && r != ' '
	}
	if len(name) <= 40 && name != "" && !bytes.ContainsFunc([]byte(name), odd) {
		return name
	}
	return fmt.Sprintf("%+q", name[:min(len(name), 40)])
}
