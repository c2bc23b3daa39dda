package vendors

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"fairlead.dev/internal/simulator"
)

// responsesRules lists rules that the types of the Responses API cannot express. A rule returns the vendor's error message, or "".
var responsesRules = []func(q *request) string{
	responsesBounds, responsesReasoning, responsesVerbosity, responsesItems, responsesPairs, responsesCalls, responsesTools, responsesChoice, responsesFormat,
}

// responsesLimits lists limits of numbers by path.
var responsesLimits = []struct {
	path     string
	min, max float64
}{
	{"temperature", 0, 2}, {"top_p", 0, 1}, {"top_logprobs", 0, 20}, {"max_output_tokens", 16, 1 << 31}, {"max_tool_calls", 1, 1 << 31},
}

func responsesBounds(q *request) string {
	for _, l := range responsesLimits {
		if v := q.root.Get(l.path); v.Type == gjson.Number && (v.Float() < l.min || v.Float() > l.max) {
			return fmt.Sprintf("Invalid '%s': expected a value from %v to %v, but got %s instead.", l.path, l.min, l.max, v.Raw)
		}
	}
	switch {
	case !q.root.Get("input").Exists() && !q.root.Get("previous_response_id").Exists():
		return "Missing required parameter: 'input'."
	case q.root.Get("input").IsArray() && len(q.root.Get("input").Array()) == 0:
		return "Invalid 'input': expected at least one item."
	case q.root.Get("stream_options").IsObject() && !q.root.Get("stream").Bool():
		return "The 'stream_options' parameter is only allowed when 'stream' is enabled."
	case len(q.root.Get("safety_identifier").String()) > 128:
		return "Invalid 'safety_identifier': string too long. Expected a string with maximum length 128."
	}
	return ""
}

func responsesReasoning(q *request) string {
	effort := q.root.Get("reasoning.effort").String()
	includes := q.root.Get("include").String()
	for _, name := range []string{"temperature", "top_p", "top_logprobs"} {
		value := q.root.Get(name)
		standard := value.Type == gjson.Null || name != "top_logprobs" && value.Float() == 1
		if !q.traits.samples(effort) && !standard {
			return fmt.Sprintf("Unsupported parameter: '%s' is not supported with this model.", name)
		}
	}
	switch {
	case !q.traits.samples(effort) && strings.Contains(includes, "message.output_text.logprobs"):
		return "Unsupported parameter: logprobs are not supported with reasoning models."
	case !q.traits.reasons() && q.root.Get("reasoning").IsObject() && len(q.root.Get("reasoning").Map()) > 0:
		return "Unsupported parameter: 'reasoning.effort' is not supported with this model."
	case !q.traits.reasons() && strings.Contains(includes, "reasoning.encrypted_content"):
		return "Encrypted content is not supported with this model."
	case effort != "" && !slices.Contains(q.traits.efforts, effort):
		return q.effortMessage("reasoning.effort", effort)
	}
	return ""
}

func responsesVerbosity(q *request) string { return q.verbosity("text.verbosity") }

// responsesItems checks the content of messages. Each role allows different parts.
func responsesItems(q *request) string {
	for i, item := range q.root.Get("input").Array() {
		at := fmt.Sprintf("input[%d]", i)
		if item.Get("role").Exists() {
			wrote := item.Get("role").String() == "assistant"
			for j, part := range item.Get("content").Array() {
				kind := part.Get("type").String()
				if part.IsObject() && wrote != (kind == "output_text" || kind == "refusal") {
					return fmt.Sprintf("Invalid value: '%s' at '%s.content[%d]'.", kind, at, j)
				}
			}
		}
		if item.Get("type").String() == "reasoning" {
			if sealed := item.Get("encrypted_content"); sealed.Type == gjson.String && !simulator.Sealed(q.c.Model, sealed.String()) {
				return "The encrypted content could not be verified. Reason: Encrypted content could not be decrypted or parsed."
			}
			if !q.traits.reasons() {
				return "Reasoning input items can only be provided to a reasoning or computer use model."
			}
		}
	}
	return ""
}

var callItem = regexp.MustCompile(`^(?:fc|ctc)_([0-9a-f]{24})\d+$`)

// responsesPairs checks that the client sends reasoning together with the calls that followed it, if it sends item IDs.
func responsesPairs(q *request) string {
	items := q.root.Get("input").Array()
	seen := map[string]bool{}
	for i, item := range items {
		kind, id := item.Get("type").String(), item.Get("id").String()
		if kind == "reasoning" {
			seen[id] = true
			switch next := i + 1; {
			case id != "" && item.Get("encrypted_content").String() == "" && q.root.Get("store").Raw == "false":
				return fmt.Sprintf("Item with id '%s' not found. Items are not persisted when `store` is set to false. "+
					"Try again with `store` set to true, or remove this item from your input.", id)
			case next == len(items) || strings.HasSuffix(items[next].Get("type").String(), "_output") || items[next].Get("role").String() == "user":
				return fmt.Sprintf("Item '%s' of type 'reasoning' was provided without its required following item.", id)
			}
		}
		if found := callItem.FindStringSubmatch(id); found != nil && simulator.FollowsReasoning(item.Get("call_id").String()) && !seen["rs_"+found[1]+"0"] {
			return fmt.Sprintf("Item '%s' of type '%s' was provided without its required 'reasoning' item: 'rs_%s0'.", id, kind, found[1])
		}
	}
	return ""
}

var callID = regexp.MustCompile(`^.{1,64}$`)

// responsesCalls checks that calls and their outputs match.
func responsesCalls(q *request) string {
	open := map[string]string{}
	for i, item := range q.root.Get("input").Array() {
		kind, id := item.Get("type").String(), item.Get("call_id").String()
		if (kind == "function_call" || kind == "custom_tool_call" || strings.HasSuffix(kind, "_output")) && !callID.MatchString(id) {
			return fmt.Sprintf("Invalid 'input[%d].call_id': string too long. Expected a string with maximum length 64.", i)
		}
		switch kind {
		case "function_call":
			if !toolName.MatchString(item.Get("name").String()) {
				return fmt.Sprintf("Invalid 'input[%d].name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.", i)
			}
			open[id] = "function_call_output"
		case "custom_tool_call":
			open[id] = "custom_tool_call_output"
		case "function_call_output", "custom_tool_call_output":
			if open[id] != kind && !q.root.Get("previous_response_id").Exists() {
				return "No tool call found for " + strings.ReplaceAll(kind, "_", " ") + " with call_id " + id + "."
			}
			delete(open, id)
		}
	}
	for id, kind := range open {
		return "No tool output found for " + strings.ReplaceAll(strings.TrimSuffix(kind, "_output"), "_", " ") + " " + id + "."
	}
	return ""
}

var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

func responsesTools(q *request) string {
	names := map[string]bool{}
	for i, t := range q.root.Get("tools").Array() {
		kind, name := t.Get("type").String(), t.Get("name").String()
		if kind != "function" && kind != "custom" {
			continue
		}
		schema := t.Get("parameters")
		switch {
		case !toolName.MatchString(name):
			return fmt.Sprintf("Invalid 'tools[%d].name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.", i)
		case names[name]:
			return "Duplicate tool names: " + name
		case kind == "custom" && t.Get("format.type").String() == "grammar" && t.Get("format.definition").String() == "":
			return fmt.Sprintf("Invalid 'tools[%d].format.definition': the grammar is empty.", i)
		case kind == "function" && schema.IsObject() && schema.Get("type").String() != "object":
			return fmt.Sprintf("Invalid schema for function '%s': schema must be a JSON Schema of 'type: \"object\"'.", name)
		case kind == "function" && t.Get("strict").Bool() && openObject(schema):
			return fmt.Sprintf("Invalid schema for function '%s': 'additionalProperties' is required to be supplied and to be false.", name)
		}
		names[name] = true
	}
	return ""
}

func responsesChoice(q *request) string {
	choice := q.root.Get("tool_choice")
	tools := q.root.Get("tools").Array()
	offered := func(name string) bool {
		return slices.ContainsFunc(tools, func(t gjson.Result) bool { return t.Get("name").String() == name })
	}
	switch {
	case len(tools) == 0 && choice.Exists() && choice.String() != "auto" && choice.String() != "none":
		return "Tool choices other than 'auto' require 'tools'."
	case choice.Get("name").Exists() && !offered(choice.Get("name").String()):
		return "Tool choice '" + choice.Get("name").String() + "' not found in 'tools' parameter."
	}
	for _, t := range choice.Get("tools").Array() {
		if name := t.Get("name"); name.Exists() && !offered(name.String()) {
			return "Tool choice '" + name.String() + "' not found in 'tools' parameter."
		}
	}
	return ""
}

func responsesFormat(q *request) string {
	format := q.root.Get("text.format")
	switch format.Get("type").String() {
	case "json_object":
		if !strings.Contains(strings.ToLower(q.root.Get("input").Raw+q.root.Get("instructions").Raw), "json") {
			return "Response input messages must contain the word 'json' in some form to use 'text.format' of type 'json_object'."
		}
	case "json_schema":
		switch {
		case !toolName.MatchString(format.Get("name").String()):
			return "Invalid 'text.format.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'."
		case format.Get("strict").Bool() && openObject(format.Get("schema")):
			return "Invalid schema for response_format: 'additionalProperties' is required to be supplied and to be false."
		}
	}
	return ""
}
