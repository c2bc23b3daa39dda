package vendors

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"fairlead.dev/internal/simulator"
)

// claude describes what a family of models accepts.
type claude struct {
	names    *regexp.Regexp
	budget   bool // whether reasoning with a token budget is accepted
	adaptive bool // whether adaptive reasoning is accepted
	schema   bool // whether output_config.format is accepted
	sampling string
	prefill  bool
	omits    bool // whether the text of the reasoning is returned only on request
	inPlace  bool // whether messages with the role system are accepted
}

// Rules for sampling parameters: sampleAny accepts all, sampleOne rejects temperature together with top_p, and sampleNone rejects all.
const (
	sampleAny  = "any"
	sampleOne  = "one"
	sampleNone = "none"
)

// claudes lists the families. A model belongs to the first row whose pattern matches its name.
var claudes = []claude{
	{names: regexp.MustCompile(`^claude-3-7-`), budget: true, sampling: sampleAny, prefill: true},
	{names: regexp.MustCompile(`^claude-3-`), sampling: sampleAny, prefill: true},
	{names: regexp.MustCompile(`^claude-(opus|sonnet)-4(-0|-1)?(-\d{8})?$`), budget: true, sampling: sampleAny, prefill: true},
	{names: regexp.MustCompile(`^claude-(opus|sonnet|haiku)-4-5`), budget: true, schema: true, sampling: sampleOne, prefill: true},
	{names: regexp.MustCompile(`^claude-(opus|sonnet)-4-6`), budget: true, adaptive: true, schema: true, sampling: sampleOne},
	{names: regexp.MustCompile(`^claude-opus-4-7`), adaptive: true, schema: true, sampling: sampleNone, omits: true},
	{names: regexp.MustCompile(`^claude-[a-z]+-[4-9]`), inPlace: true, adaptive: true, schema: true, sampling: sampleNone, omits: true},
}

// claudeRequest is a request to the Messages API with a valid shape.
type claudeRequest struct {
	root   gjson.Result
	traits *claude
	c      *simulator.Conversation
}

// claudeRules lists rules that the shapes cannot express. A rule returns the vendor's error message, or "".
var claudeRules = []func(q *claudeRequest) string{
	claudeSystem, claudeRoles, claudeContent, claudeTools, claudeChoice, claudeResults, claudeThinking, claudeSignatures, claudeSampling,
	claudeFormat, claudeCaching,
}

// claudeSystem checks the position of messages with the role system. They must follow a user message, and must be last or
// before an assistant message.
func claudeSystem(q *claudeRequest) string {
	list := q.root.Get("messages").Array()
	for i, m := range list {
		switch {
		case m.Get("role").String() != "system":
		case !q.traits.inPlace:
			return fmt.Sprintf("messages.%d.role: role 'system' is not supported on this model", i)
		case i == 0 || list[i-1].Get("role").String() != "user" || i+1 < len(list) && list[i+1].Get("role").String() != "assistant":
			return fmt.Sprintf("messages.%d.role: role 'system' must follow a 'user' message and precede an 'assistant' message", i)
		}
	}
	return ""
}

func claudeRoles(q *claudeRequest) string {
	turns := q.c.Turns
	if turns[0].Assistant {
		return `messages: first message must use the "user" role`
	}
	for i := 1; i < len(turns); i++ {
		if turns[i].Assistant == turns[i-1].Assistant {
			return `messages: roles must alternate between "user" and "assistant", but found multiple "` +
				q.root.Get(fmt.Sprintf("messages.%d.role", i)).String() + `" roles in a row`
		}
	}
	last := turns[len(turns)-1]
	switch {
	case !last.Assistant:
	case !q.traits.prefill:
		return "This model does not support assistant message prefill. The conversation must end with a user message."
	case q.c.Think:
		return "When thinking is enabled, the final message must not be from the assistant."
	case len(last.Parts) > 0 && strings.TrimRight(last.Parts[len(last.Parts)-1].Text, " \t\r\n") != last.Parts[len(last.Parts)-1].Text:
		return "messages: final assistant content cannot end with trailing whitespace"
	}
	return ""
}

func claudeContent(q *claudeRequest) string {
	for i, t := range q.c.Turns {
		if len(t.Parts) == 0 {
			return fmt.Sprintf("messages.%d: all messages must have non-empty content except for the optional final assistant message", i)
		}
		for _, p := range t.OfKind(simulator.TextPart) {
			if p.Text == "" {
				return "messages: text content blocks must be non-empty"
			}
			if blank(p.Text) {
				return "messages: text content blocks must contain non-whitespace text"
			}
		}
		for j, p := range t.Parts {
			wrong := t.Assistant && (p.Kind == simulator.ResultPart || p.Kind == simulator.MediaPart) || !t.Assistant && (p.Kind == simulator.CallPart || p.Kind == simulator.ThinkingPart || p.Kind == simulator.RedactedPart)
			if wrong {
				kind := q.root.Get(fmt.Sprintf("messages.%d.content.%d.type", i, j)).String()
				return fmt.Sprintf("messages.%d: `%s` blocks are not allowed in messages of this role", i, kind)
			}
		}
	}
	for _, b := range q.root.Get("system").Array() {
		if b.IsObject() && b.Get("text").String() == "" {
			return "system: text content blocks must be non-empty"
		}
	}
	return ""
}

func claudeTools(q *claudeRequest) string {
	names := map[string]bool{}
	for i, t := range q.root.Get("tools").Array() {
		if names[t.Get("name").String()] {
			return "tools: Tool names must be unique."
		}
		names[t.Get("name").String()] = true
		if bad := badSchemaType(t.Get("input_schema")); bad != "" {
			return fmt.Sprintf("tools.%d.custom.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12: %s", i, bad)
		}
	}
	return ""
}

var schemaTypes = []string{"string", "number", "integer", "boolean", "array", "object", "null"}

// badSchemaType returns a type that does not exist in JSON Schema.
func badSchemaType(schema gjson.Result) string {
	bad := ""
	if t := schema.Get("type"); t.Type == gjson.String && !slices.Contains(schemaTypes, t.String()) {
		return "type " + t.String()
	}
	schema.Get("properties").ForEach(func(_, member gjson.Result) bool {
		bad = badSchemaType(member)
		return bad == ""
	})
	return bad
}

func claudeChoice(q *claudeRequest) string {
	choice := q.root.Get("tool_choice")
	switch {
	case choice.Exists() && len(q.c.Tools) == 0:
		return "tool_choice: tool_choice may only be specified while providing tools."
	case q.c.Only != "" && !q.c.Offers(q.c.Only):
		return fmt.Sprintf("Tool '%s' not found in provided tools", q.c.Only)
	case q.c.Must && q.c.Think:
		return "Thinking may not be enabled when tool_choice forces tool use."
	}
	return ""
}

// claudeResults checks that all results of a turn are in the next message, before any other content.
func claudeResults(q *claudeRequest) string {
	used := map[string]bool{}
	for i, t := range q.c.Turns {
		calls := t.OfKind(simulator.CallPart)
		if (len(calls) > 0 || len(t.OfKind(simulator.ResultPart)) > 0) && len(q.c.Tools) == 0 {
			return "Requests which have `tool_use` or `tool_result` blocks in their messages must define tools."
		}
		for _, call := range calls {
			if used[call.ID] {
				return fmt.Sprintf("messages.%d: `tool_use` ids must be unique", i)
			}
			used[call.ID] = true
		}
		if lost := unanswered(calls, q.c.Turns, i); len(lost) > 0 {
			return fmt.Sprintf("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s. "+
				"Each `tool_use` block must have a corresponding `tool_result` block in the next message.", i, strings.Join(lost, ", "))
		}
		for j, p := range t.Parts {
			if p.Kind != simulator.ResultPart {
				continue
			}
			if i == 0 || !slices.ContainsFunc(q.c.Turns[i-1].OfKind(simulator.CallPart), func(call simulator.Part) bool { return call.ID == p.ID }) {
				return fmt.Sprintf("messages.%d.content.%d: unexpected `tool_use_id` found in `tool_result` blocks: %s. "+
					"Each `tool_result` block must have a corresponding `tool_use` block in the previous message.", i, j, p.ID)
			}
		}
	}
	return ""
}

func claudeThinking(q *claudeRequest) string {
	switch kind := q.root.Get("thinking.type").String(); {
	case kind == "enabled" && !q.traits.budget, kind == "adaptive" && !q.traits.adaptive:
		if kind == "enabled" && q.traits.adaptive {
			return `"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.`
		}
		return kind + " thinking is not supported on this model"
	case kind == "enabled" && q.root.Get("max_tokens").Exists() && q.root.Get("thinking.budget_tokens").Int() >= q.root.Get("max_tokens").Int():
		return "`max_tokens` must be greater than `thinking.budget_tokens`."
	case q.root.Get("output_config.effort").Type == gjson.String && !q.traits.adaptive && !strings.HasPrefix(q.c.Model, "claude-opus-4-5"):
		return "This model does not support the effort parameter."
	}
	return ""
}

// claudeSignatures checks that the client sends reasoning back unchanged. If a turn calls tools after reasoning, it must begin with
// the reasoning.
func claudeSignatures(q *claudeRequest) string {
	for i, t := range q.c.Turns {
		for j, p := range t.Parts {
			if p.Kind == simulator.ThinkingPart && p.Signature != simulator.Sign(q.c.Model, p.Text) || p.Kind == simulator.RedactedPart && p.Signature != simulator.Sign(q.c.Model, "hidden") {
				return fmt.Sprintf("messages.%d.content.%d: Invalid `signature` in `thinking` block", i, j)
			}
		}
		if q.root.Get("thinking.type").String() != "enabled" || i <= q.c.LastPrompt() {
			continue // optional if the model decides whether to reason, and in completed tool loops
		}
		for _, call := range t.OfKind(simulator.CallPart) {
			if simulator.FollowsReasoning(call.ID) && t.Parts[0].Kind != simulator.ThinkingPart && t.Parts[0].Kind != simulator.RedactedPart {
				return fmt.Sprintf("messages.%d.content.0.type: Expected `thinking` or `redacted_thinking`, but found `%s`. "+
					"When `thinking` is enabled, a final `assistant` message must start with a thinking block.",
					i, q.root.Get(fmt.Sprintf("messages.%d.content.0.type", i)))
			}
		}
	}
	return ""
}

func claudeSampling(q *claudeRequest) string {
	temperature, topP, topK := q.root.Get("temperature"), q.root.Get("top_p"), q.root.Get("top_k")
	switch {
	case q.c.Think && temperature.Exists() && temperature.Float() != 1:
		return "`temperature` may only be set to 1 when thinking is enabled."
	case q.c.Think && topK.Exists():
		return "`top_k` must be unset when thinking is enabled."
	case q.c.Think && topP.Exists() && topP.Float() < 0.95:
		return "`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled."
	case q.traits.sampling == sampleNone && temperature.Exists() && temperature.Float() != 1:
		return "`temperature` is deprecated for this model."
	case q.traits.sampling == sampleNone && topP.Exists() && topP.Float() < 0.99:
		return "`top_p` is deprecated for this model."
	case q.traits.sampling == sampleNone && topK.Exists():
		return "`top_k` is deprecated for this model."
	case q.traits.sampling == sampleOne && temperature.Exists() && topP.Exists():
		return "`temperature` and `top_p` cannot both be specified for this model. Please use only one."
	}
	return ""
}

// refusedKeywords matches keywords that the vendor's structured output does not support.
var refusedKeywords = regexp.MustCompile(`"(minimum|maximum|exclusiveMinimum|exclusiveMaximum|multipleOf|minLength|maxLength|maxItems|uniqueItems)":`)

func claudeFormat(q *claudeRequest) string {
	schema := q.root.Get("output_config.format.schema")
	switch {
	case !schema.Exists():
		return ""
	case !q.traits.schema:
		return "output_config.format: This model does not support output format."
	}
	if word := refusedKeywords.FindStringSubmatch(compact([]byte(schema.Raw))); word != nil {
		return "output_config.format.schema: property '" + word[1] + "' is not supported"
	}
	if open := openObject(schema); open {
		return "output_config.format.schema: For 'object' type, 'additionalProperties' must be explicitly set to false"
	}
	return ""
}

func claudeCaching(q *claudeRequest) string {
	marks := strings.Count(compact([]byte(q.root.Raw)), `"cache_control":{`)
	if marks > 4 {
		return fmt.Sprintf("A maximum of 4 blocks with cache_control may be provided. Found %d.", marks)
	}
	return ""
}
