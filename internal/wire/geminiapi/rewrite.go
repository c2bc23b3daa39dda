package geminiapi

import (
	"bytes"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/wire/gemini"
)

// RewriteOptions describes the provider and model that receive a request of the same format.
type RewriteOptions struct {
	Traits        gemini.Traits
	MaxOutput     int64  // output limit for a request without one; 0 for none
	ModelMax      int64  // maximum output of the model in tokens; 0 when unknown
	FixedSampling bool   // whether the model rejects sampling settings
	Effort        string // reasoning effort that the router chose; empty to keep the client's
}

// Passes reports whether a model with the given traits accepts a request of this format after Rewrite. If it returns false, the request
// must be converted to a conversation and encoded again.
func Passes(req *llm.Request, t gemini.Traits) bool {
	if req.Format != Name || t.NoSystem {
		return false
	}
	json := req.Needs&(llm.JSONMode|llm.JSONSchema) != 0
	if json && req.Needs.Has(llm.Tools) && !t.JSONAndTools {
		return false
	}
	return t.JSONSchema || !json && !req.Needs.Has(llm.Tools) ||
		!bytes.Contains(req.Body, []byte("JsonSchema")) && !bytes.Contains(req.Body, []byte("_json_schema"))
}

// Rewrite returns the body for a provider of the same format, without the gateway's own members and with settings that the model supports.
// It removes empty text parts from contents and adds the placeholder signatures that the model requires. All other members keep their bytes
// and their order. warnings describes the changed settings.
func Rewrite(req *llm.Request, o RewriteOptions) (body []byte, warnings []string) {
	a := adaptation{req: req, o: o, edits: edits{set: map[string][]byte{}}}
	var config rawjson.Value
	for _, f := range req.Fields {
		if canonical(f.Name) == "generationConfig" {
			config = rawjson.Parse(req.Body[f.Value:f.End])
		}
	}
	a.settings(config)
	w := rawjson.Writer{Out: make([]byte, 0, len(req.Body)+64)}
	w.Open()
	for _, f := range req.Fields {
		value := req.Body[f.Value:f.End]
		switch name := canonical(f.Name); {
		case slices.Contains(silent, name):
			continue
		case name == "generationConfig" && config.IsObject():
			value = edited(config, a.edits)
		case name == "contents":
			if emptyText.Match(value) {
				value = withoutEmptyTexts(value)
			}
			calls := bytes.Contains(value, []byte(`"functionCall"`)) || bytes.Contains(value, []byte(`"function_call"`))
			if o.Traits.NeedsSignatures && calls {
				value = signed(rawjson.Parse(value))
			}
		}
		w.Raw(f.Name, value)
	}
	if !config.IsObject() && len(a.set) > 0 {
		w.Raw("generationConfig", edited(config, a.edits))
	}
	w.Close()
	return w.Out, a.warnings
}

// adaptation collects the changes to the settings of a request, which the client may have written for another model.
type adaptation struct {
	edits
	req      *llm.Request
	o        RewriteOptions
	warnings []string
}

func (a *adaptation) settings(config rawjson.Value) {
	limit := a.o.ModelMax
	switch asked := a.req.MaxOutput; {
	case asked == 0 && a.o.MaxOutput > 0:
		a.set["maxOutputTokens"] = strconv.AppendInt(nil, a.o.MaxOutput, 10)
	case limit > 0 && asked > limit:
		a.warnings = append(a.warnings, "maxOutputTokens was set to "+strconv.FormatInt(limit, 10)+", the maximum of the model")
		a.set["maxOutputTokens"] = strconv.AppendInt(nil, limit, 10)
	}
	members(config, func(name string, v rawjson.Value) {
		fixed := a.o.FixedSampling && slices.Contains([]string{"temperature", "topP", "topK"}, name)
		penalty := (name == "presencePenalty" || name == "frequencyPenalty") && (a.o.FixedSampling || !a.o.Traits.Penalties)
		if fixed || penalty {
			a.drop = append(a.drop, name)
			if fixed || v.Float() != 0 {
				a.warnings = append(a.warnings, name+" was dropped: this model does not support it.")
			}
		}
	})
	a.thinking(get(config, "thinkingConfig"))
}

// thinking sets the effort that the router chose, or converts thinking settings that the model does not support.
func (a *adaptation) thinking(config rawjson.Value) {
	if a.o.Effort == "" && (!config.IsObject() || supports(a.o.Traits.Thinking, config)) {
		return
	}
	effort := effortOf(config)
	if a.o.Effort != "" {
		effort = llm.Effort{Level: a.o.Effort, Hide: effort.Hide}
	}
	value, warnings := gemini.ThinkingConfig(a.o.Traits, effort)
	a.warnings = append(a.warnings, warnings...)
	if value == nil {
		a.drop = append(a.drop, "thinkingConfig")
		return
	}
	a.set["thinkingConfig"] = value
}

// supports reports whether a model accepts thinking settings.
func supports(t gemini.Thinking, config rawjson.Value) bool {
	if t.Most == 0 {
		return false
	}
	level, budget := get(config, "thinkingLevel"), get(config, "thinkingBudget")
	if level.Exists() && !slices.Contains(t.Levels, strings.ToLower(level.String())) {
		return false
	}
	n := budget.Int()
	return !budget.Exists() || n < 0 || n == 0 && t.Off || n >= max(t.Least, 1) && n <= t.Most
}

// edits holds changes to the members of an object. Members are identified by their canonical name.
type edits struct {
	set  map[string][]byte // new values, as JSON
	drop []string
}

// edited returns the object v with the edits applied. New members follow the existing members. If v does not exist, edited starts with an
// empty object.
func edited(v rawjson.Value, e edits) []byte {
	rest := maps.Clone(e.set)
	var w rawjson.Writer
	w.Open()
	if v.IsObject() {
		v.ForEach(func(key, value rawjson.Value) bool {
			name := canonical(key.String())
			if slices.Contains(e.drop, name) {
				return true
			}
			raw := []byte(value.Raw)
			if set, ok := e.set[name]; ok {
				raw = set
				delete(rest, name)
			}
			w.Raw(key.String(), raw)
			return true
		})
	}
	for _, name := range slices.Sorted(maps.Keys(rest)) {
		w.Raw(name, rest[name])
	}
	w.Close()
	return w.Out
}

var emptyText = regexp.MustCompile(`"text"\s*:\s*""`)

// withoutEmptyTexts removes empty text parts without a signature. Streams end with such a part, clients send it back in the chat history,
// and Google rejects it. An element of contents that has no other parts is removed. If no element would remain, contents is returned
// unchanged.
func withoutEmptyTexts(contents []byte) []byte {
	out := rawjson.Writer{Out: []byte{'['}}
	rawjson.Parse(contents).ForEach(func(_, content rawjson.Value) bool {
		parts := content.Get("parts")
		if !parts.IsList() || !emptyText.MatchString(parts.Raw) {
			out.Element([]byte(content.Raw))
			return true
		}
		kept := rawjson.Writer{Out: []byte{'['}}
		parts.ForEach(func(_, part rawjson.Value) bool {
			if text := part.Get("text"); text.Raw != `""` || get(part, "thoughtSignature").Exists() {
				kept.Element([]byte(part.Raw))
			}
			return true
		})
		kept.CloseList()
		if len(kept.Out) > len(`[]`) {
			at := parts.Index - content.Index
			out.Element(slices.Concat([]byte(content.Raw[:at]), kept.Out, []byte(content.Raw[at+len(parts.Raw):])))
		}
		return true
	})
	out.CloseList()
	if len(out.Out) == len(`[]`) {
		return contents
	}
	return out.Out
}

// signed adds a placeholder signature to the first call of each turn if this call has no signature, which means that another model made
// it. Newer models reject a turn whose first call has no signature.
func signed(contents rawjson.Value) []byte {
	out := rawjson.Writer{Out: []byte{'['}}
	contents.ForEach(func(_, content rawjson.Value) bool {
		raw := []byte(content.Raw)
		var first rawjson.Value // first part that is a call
		if content.Get("role").String() == "model" {
			list(content.Get("parts"), func(part rawjson.Value) bool {
				if get(part, "functionCall").IsObject() {
					first = part
				}
				return !first.Exists()
			})
		}
		if first.IsObject() && !get(first, "thoughtSignature").Exists() {
			at, with := first.Index-content.Index, rawjson.AppendMember([]byte(first.Raw), "thoughtSignature", []byte(`"`+gemini.ForeignSignature+`"`))
			raw = slices.Concat(raw[:at], with, raw[at+len(first.Raw):])
		}
		out.Element(raw)
		return true
	})
	out.CloseList()
	return out.Out
}
