package gemini

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire/upstream"
)

// RewriteOptions describes the provider and model that receive a request of the same format.
type RewriteOptions struct {
	Traits        Traits
	MaxOutput     int64  // output limit for a request without one; 0 for none
	ModelMax      int64  // maximum output of the model in tokens; 0 when unknown
	FixedSampling bool   // whether the model rejects sampling settings
	Effort        string // reasoning effort that the router chose; empty to keep the client's
}

// Passes reports whether a model with the given traits accepts a request of this format after Rewrite. If it returns false, the
// conversation of the request must be encoded.
func Passes(req *llm.Request, t Traits) bool {
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
	var out members
	configured := false
	for _, f := range req.Fields {
		value := jsontext.Value(req.Body[f.Value:f.End])
		switch camelCase(f.Name) {
		case "model", "models", "provider", "sessionId":
			continue
		case "generationConfig":
			if config, ok := readMembers(value); ok {
				configured = true
				if config, warnings, ok = adaptSettings(config, req, o); ok {
					value = config.encode()
				}
			}
		case "contents":
			value = adaptContents(value, o.Traits.NeedsSignatures)
		}
		out = append(out, member{name: f.Name, value: value})
	}
	if !configured {
		if config, lost, ok := adaptSettings(nil, req, o); ok {
			out, warnings = append(out, member{name: "generationConfig", value: config.encode()}), lost
		}
	}
	return out.encode(), warnings
}

// adaptSettings changes settings that the client may have written for another model. changed is false if the model supports all of them.
func adaptSettings(config members, req *llm.Request, o RewriteOptions) (adapted members, warnings []string, changed bool) {
	set := func(name string, value jsontext.Value) { config, changed = config.with(name, value), true }
	switch asked, limit := req.MaxOutput, o.ModelMax; {
	case asked == 0 && o.MaxOutput > 0:
		set("maxOutputTokens", strconv.AppendInt(nil, o.MaxOutput, 10))
	case limit > 0 && asked > limit:
		warnings = append(warnings, "maxOutputTokens was set to "+strconv.FormatInt(limit, 10)+", the maximum of the model")
		set("maxOutputTokens", strconv.AppendInt(nil, limit, 10))
	}
	for _, name := range []string{"temperature", "topP", "topK", "presencePenalty", "frequencyPenalty"} {
		value, penalty := config.get(name), strings.HasSuffix(name, "Penalty")
		if !isGiven(value) || !o.FixedSampling && (!penalty || o.Traits.Penalties) {
			continue
		}
		set(name, nil)
		if n, _ := strconv.ParseFloat(string(value), 64); !penalty || n != 0 {
			warnings = append(warnings, name+" was dropped: this model does not support it.")
		}
	}
	asked, given := readMembers(config.get("thinkingConfig"))
	if o.Effort != "" || given && !acceptsThinking(o.Traits.Thinking, asked) {
		effort := req.Conversation.Effort
		if o.Effort != "" {
			effort = llm.Effort{Level: o.Effort, Hide: effort.Hide}
		}
		value, lost := thinkingConfig(o.Traits, effort)
		set("thinkingConfig", value)
		warnings = append(warnings, lost...)
	}
	return config, warnings, changed
}

// acceptsThinking reports whether a model accepts thinking settings.
func acceptsThinking(t Thinking, config members) bool {
	level, budget := config.get("thinkingLevel"), config.get("thinkingBudget")
	if t.Most == 0 || isGiven(level) && !slices.Contains(t.Levels, strings.ToLower(upstream.Text(level))) {
		return false
	}
	n, _ := strconv.ParseFloat(string(budget), 64)
	return !isGiven(budget) || n < 0 || n == 0 && t.Off || n >= float64(max(t.Least, 1)) && n <= float64(t.Most)
}

var emptyText = regexp.MustCompile(`"text"\s*:\s*""`)

// adaptContents removes empty text parts without a signature: streams end with such a part, clients send it back in the chat history, and
// Google rejects it. If the model requires signatures, adaptContents adds a placeholder to the first call of each turn if this call has
// none, which means that another model made it. Contents without parts are removed, unless all are.
func adaptContents(contents jsontext.Value, needsSignatures bool) jsontext.Value {
	needsSignatures = needsSignatures && (bytes.Contains(contents, []byte(`"functionCall"`)) || bytes.Contains(contents, []byte(`"function_call"`)))
	if !needsSignatures && !emptyText.Match(contents) {
		return contents
	}
	var out []jsontext.Value
	for _, raw := range readList(contents) {
		content, _ := readMembers(raw)
		parts, changed := adaptParts(content.get("parts"), needsSignatures && upstream.Text(content.get("role")) == roleModel)
		switch {
		case !changed:
			out = append(out, raw)
		case len(parts) > 0:
			out = append(out, content.with("parts", encodeList(parts)).encode())
		}
	}
	if len(out) == 0 {
		return contents
	}
	return encodeList(out)
}

// adaptParts returns the parts without empty texts, and with a signature on the first call if sign is true.
func adaptParts(list jsontext.Value, sign bool) (parts []jsontext.Value, changed bool) {
	all := readList(list)
	if list.Kind() == '{' {
		all = []jsontext.Value{list}
	}
	for _, raw := range all {
		part, _ := readMembers(raw)
		signed := isGiven(part.get("thoughtSignature"))
		switch {
		case string(part.get("text")) == `""` && !signed:
			changed = true
			continue
		case sign && part.get("functionCall").Kind() == '{':
			sign = false
			if !signed {
				changed = true
				raw = part.with("thoughtSignature", jsontext.Value(`"`+foreignSignature+`"`)).encode()
			}
		}
		parts = append(parts, raw)
	}
	return parts, changed
}

// with returns the members with another value for the one with the given name; nil removes it.
func (m members) with(name string, value jsontext.Value) members {
	list := slices.Clone(m)
	at := slices.IndexFunc(list, func(m member) bool { return camelCase(m.name) == name })
	switch {
	case at < 0 && value == nil:
	case at < 0:
		list = append(list, member{name: name, value: value})
	case value == nil:
		list = slices.Delete(list, at, at+1)
	default:
		list[at].value = value
	}
	return list
}

// encode returns an object whose values keep their bytes.
func (m members) encode() jsontext.Value {
	out := jsontext.Value{'{'}
	for i, one := range m {
		if i > 0 {
			out = append(out, ',')
		}
		out, _ = jsontext.AppendQuote(out, one.name) // the name was decoded from valid JSON
		out = append(append(out, ':'), one.value...)
	}
	return append(out, '}')
}

// encodeList returns a list whose elements keep their bytes.
func encodeList(elements []jsontext.Value) jsontext.Value {
	out := jsontext.Value{'['}
	for i, one := range elements {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, one...)
	}
	return append(out, ']')
}
