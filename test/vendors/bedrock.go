package vendors

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"fairlead.dev/internal/simulator"
)

// bedrockTraits describes what a family of models accepts.
type bedrockTraits struct {
	names       *regexp.Regexp
	claude      bool // whether Anthropic's additional fields are accepted and reasoning is returned
	tools       bool
	images      bool
	nineCharIDs bool   // whether call IDs must be nine letters and digits
	invokes     string // shape of the body of /invoke
}

// bedrocks lists the families. A model belongs to the first row whose pattern matches its name.
var bedrocks = []bedrockTraits{
	{names: regexp.MustCompile(`anthropic\.claude`), claude: true, tools: true, images: true},
	{names: regexp.MustCompile(`amazon\.titan-embed`), invokes: "titan"},
	{names: regexp.MustCompile(`cohere\.embed`), invokes: "cohere"},
	{names: regexp.MustCompile(`amazon\.nova`), tools: true, images: true},
	{names: regexp.MustCompile(`mistral\.`), tools: true, nineCharIDs: true},
	{names: regexp.MustCompile(`meta\.llama`), tools: true},
}

// bedrockRequest is a request to the Converse API with a valid shape.
type bedrockRequest struct {
	root   gjson.Result
	traits *bedrockTraits
	c      *simulator.Conversation
}

// bedrockRules lists rules that the shapes cannot express. A rule returns the vendor's error message, or "".
var bedrockRules = []func(q *bedrockRequest) string{
	converseRoles, converseContent, converseDocuments, converseTools, converseResults, converseThinking, converseSignatures, converseFormat,
}

func converseRoles(q *bedrockRequest) string {
	turns := q.c.Turns
	switch {
	case len(turns) == 0:
		return "The messages field is required."
	case turns[0].Assistant:
		return "A conversation must start with a user message. Try again with a conversation that starts with a user message."
	case turns[len(turns)-1].Assistant && q.c.Think:
		return "The model returned the following errors: When thinking is enabled, the final message must not be from the assistant."
	}
	for i := 1; i < len(turns); i++ {
		if turns[i].Assistant == turns[i-1].Assistant {
			return "A conversation must alternate between user and assistant roles. Make sure the conversation alternates between user and assistant roles and try again."
		}
	}
	return ""
}

func converseContent(q *bedrockRequest) string {
	for i, t := range q.c.Turns {
		if len(t.Parts) == 0 {
			return fmt.Sprintf("The content field in the Message object at messages.%d is empty. Add a ContentBlock object to the content field and try again.", i)
		}
		for j, b := range q.root.Get(fmt.Sprintf("messages.%d.content", i)).Array() {
			if text := b.Get("text"); text.Exists() && blank(text.String()) {
				return fmt.Sprintf("The text field in the ContentBlock object at messages.%d.content.%d is blank. Add text to the text field, and try again.", i, j)
			}
			if b.Get("image").Exists() && !q.traits.images {
				return "This model doesn't support the image content block that you provided. Update the content block and try again."
			}
		}
	}
	return ""
}

var documentName = regexp.MustCompile(`^[a-zA-Z0-9()\[\]-]+( [a-zA-Z0-9()\[\]-]+)*$`)

func converseDocuments(q *bedrockRequest) string {
	for i, m := range q.root.Get("messages").Array() {
		names := map[string]bool{}
		text, documents := false, false
		for _, b := range m.Get("content").Array() {
			text = text || b.Get("text").Exists()
			if !b.Get("document").Exists() {
				continue
			}
			documents = true
			name := b.Get("document.name").String()
			switch {
			case !documentName.MatchString(name):
				return "The document file name can only contain alphanumeric characters, whitespace characters, hyphens, parentheses, and square brackets. " +
					"The name can't contain more than one consecutive whitespace character."
			case names[name]:
				return "The model returned the following errors: Duplicate document names are not allowed."
			}
			names[name] = true
		}
		if documents && !text {
			return fmt.Sprintf("The content at messages.%d must include a text field when it includes a document. Add a text field and try again.", i)
		}
	}
	return ""
}

func converseTools(q *bedrockRequest) string {
	config := q.root.Get("toolConfig")
	if config.Exists() && !q.traits.tools {
		return "This model doesn't support tool use."
	}
	names := map[string]bool{}
	for i, t := range q.c.Tools {
		if names[t.Name] {
			return "The model returned the following errors: tools: Tool names must be unique."
		}
		names[t.Name] = true
		if gjson.GetBytes(t.Schema, "type").String() != "object" {
			return fmt.Sprintf("The value at toolConfig.tools.%d.toolSpec.inputSchema.json.type must be one of the following: object.", i)
		}
	}
	switch {
	case q.c.Only != "" && !names[q.c.Only]:
		return "The toolChoice.tool.name field refers to a tool that is not in toolConfig.tools."
	case q.c.Must && q.c.Think:
		return "The model returned the following errors: Thinking may not be enabled when tool_choice forces tool use."
	}
	return ""
}

var nineChars = regexp.MustCompile(`^[a-zA-Z0-9]{9}$`)

// converseResults checks that calls and results match.
func converseResults(q *bedrockRequest) string {
	for i, t := range q.c.Turns {
		calls, results := t.OfKind(simulator.CallPart), t.OfKind(simulator.ResultPart)
		if len(calls)+len(results) > 0 && !q.root.Get("toolConfig").Exists() {
			return "The toolConfig field must be defined when using toolUse and toolResult content blocks."
		}
		for _, p := range append(calls, results...) {
			if q.traits.nineCharIDs && !nineChars.MatchString(p.ID) {
				return "The model returned the following errors: Tool call id was " + p.ID + " but must be a-z, A-Z, 0-9, with a length of 9."
			}
		}
		if t.Assistant && len(results) > 0 || !t.Assistant && len(calls) > 0 {
			return fmt.Sprintf("The content blocks at messages.%d do not fit its role.", i)
		}
		if lost := unanswered(calls, q.c.Turns, i); len(lost) > 0 {
			return fmt.Sprintf("Expected toolResult blocks at messages.%d.content for the following Ids: %s", i+1, strings.Join(lost, ", "))
		}
		var before []simulator.Part
		if i > 0 {
			before = q.c.Turns[i-1].OfKind(simulator.CallPart)
		}
		if len(results) > len(before) {
			return fmt.Sprintf("The number of toolResult blocks at messages.%d.content exceeds the number of toolUse blocks of previous turn.", i)
		}
		for _, r := range results {
			if !slices.ContainsFunc(before, func(call simulator.Part) bool { return call.ID == r.ID }) {
				return fmt.Sprintf("The toolResult block at messages.%d.content has the toolUseId %s, which no toolUse block of the previous turn has.", i, r.ID)
			}
			if r.Failed && r.Text == "" {
				return fmt.Sprintf("The content field at messages.%d.content.0.toolResult cannot be empty when status value is error.", i)
			}
		}
	}
	return ""
}

func converseThinking(q *bedrockRequest) string {
	extra, inference := q.root.Get("additionalModelRequestFields"), q.root.Get("inferenceConfig")
	budget := extra.Get("thinking.budget_tokens")
	switch {
	case !q.c.Think:
		return ""
	case !q.traits.claude:
		return "The model returned the following errors: extraneous key [thinking] is not permitted"
	case inference.Get("temperature").Exists() && inference.Get("temperature").Float() != 1:
		return "The model returned the following errors: `temperature` may only be set to 1 when thinking is enabled."
	case inference.Get("topP").Exists() && inference.Get("topP").Float() < 0.95:
		return "The model returned the following errors: `top_p` must be greater than or equal to 0.95 or unset when thinking is enabled."
	case extra.Get("top_k").Exists():
		return "The model returned the following errors: `top_k` must be unset when thinking is enabled."
	case budget.Exists() && inference.Get("maxTokens").Exists() && budget.Int() >= inference.Get("maxTokens").Int():
		return "The model returned the following errors: `max_tokens` must be greater than `thinking.budget_tokens`."
	}
	return ""
}

// converseSignatures checks that the client sends reasoning back unchanged. If a turn calls tools after reasoning, it must begin with
// the reasoning.
func converseSignatures(q *bedrockRequest) string {
	for i, t := range q.c.Turns {
		for j, p := range t.Parts {
			if p.Kind == simulator.ThinkingPart && p.Signature != simulator.Sign(q.c.Model, p.Text) || p.Kind == simulator.RedactedPart && p.Signature != simulator.Sign(q.c.Model, "hidden") {
				return fmt.Sprintf("The model returned the following errors: messages.%d.content.%d: Invalid `signature` in `thinking` block", i, j)
			}
		}
		if q.root.Get("additionalModelRequestFields.thinking.type").String() != "enabled" || i <= q.c.LastPrompt() {
			continue
		}
		for _, call := range t.OfKind(simulator.CallPart) {
			if simulator.FollowsReasoning(call.ID) && t.Parts[0].Kind != simulator.ThinkingPart && t.Parts[0].Kind != simulator.RedactedPart {
				return fmt.Sprintf("The model returned the following errors: messages.%d.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`.", i)
			}
		}
	}
	return ""
}

func converseFormat(q *bedrockRequest) string {
	if q.c.Schema == nil {
		return ""
	}
	schema := gjson.ParseBytes(q.c.Schema)
	switch {
	case !gjson.ValidBytes(q.c.Schema) || !schema.IsObject():
		return "The outputConfig.textFormat.structure.jsonSchema.schema field is not a JSON schema."
	case openObject(schema):
		return "The model returned the following errors: output_config.format.schema: For 'object' type, 'additionalProperties' must be explicitly set to false"
	}
	return ""
}
