package vendors

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"fairlead.dev/internal/simulator"
)

// family describes what a family of models accepts, according to the vendor's model pages.
type family struct {
	names   *regexp.Regexp
	efforts []string // reasoning efforts; nil for models that do not reason
	// toolsNeedResponses is set if chat completions accepts function tools only with the effort none.
	toolsNeedResponses bool
	responsesOnly      bool // whether chat completions rejects the model
	verbosity          bool // whether a verbosity other than medium is accepted
	breakpoints        bool // whether explicit prompt cache breakpoints are accepted
}

func efforts(names ...string) []string { return names }

// families lists the families. A model belongs to the first row whose pattern matches its name.
var families = []family{
	{names: regexp.MustCompile(`^gpt-5(\.3)?-chat`), verbosity: true},
	{names: regexp.MustCompile(`^gpt-5\.\d-chat`), efforts: efforts("medium"), verbosity: true},
	{names: regexp.MustCompile(`^gpt-5-pro`), efforts: efforts("high"), responsesOnly: true, verbosity: true},
	{names: regexp.MustCompile(`^gpt-5\.\d-pro`), efforts: efforts("medium", "high", "xhigh"), responsesOnly: true, verbosity: true},
	{names: regexp.MustCompile(`^gpt-5(\.1)?-codex(-mini)?$`), efforts: efforts("low", "medium", "high"), responsesOnly: true},
	{names: regexp.MustCompile(`^gpt-5\.1-codex-max`), efforts: efforts("low", "medium", "high", "xhigh"), responsesOnly: true},
	{names: regexp.MustCompile(`^gpt-5\.[23]-codex`), efforts: efforts("low", "medium", "high", "xhigh"), responsesOnly: true, verbosity: true},
	{names: regexp.MustCompile(`^gpt-5(-mini|-nano)?(-20.*)?$`), efforts: efforts("minimal", "low", "medium", "high"), verbosity: true},
	{names: regexp.MustCompile(`^gpt-5\.1`), efforts: efforts("none", "low", "medium", "high"), verbosity: true},
	{names: regexp.MustCompile(`^gpt-5\.2`), efforts: efforts("none", "low", "medium", "high", "xhigh"), verbosity: true},
	{names: regexp.MustCompile(`^gpt-5\.[45]`), efforts: efforts("none", "low", "medium", "high", "xhigh"), toolsNeedResponses: true, verbosity: true},
	{names: regexp.MustCompile(`^gpt-5\.[6-9]`), efforts: efforts("none", "low", "medium", "high", "xhigh", "max"), toolsNeedResponses: true, verbosity: true, breakpoints: true},
	{names: regexp.MustCompile(`^gpt-6(-luna|\.1-terra)`), efforts: efforts("none", "low", "medium", "high", "xhigh", "max"), toolsNeedResponses: true, verbosity: true, breakpoints: true},
	{names: regexp.MustCompile(`^gpt-[6-9]`), efforts: efforts("low", "medium", "high", "xhigh", "max"), toolsNeedResponses: true, verbosity: true, breakpoints: true},
	{names: regexp.MustCompile(`^o[13]-pro`), efforts: efforts("low", "medium", "high"), responsesOnly: true},
	{names: regexp.MustCompile(`^o\d`), efforts: efforts("low", "medium", "high")},
	{names: regexp.MustCompile(`^(gpt-|chatgpt-|text-embedding-)`)},
}

func (f *family) reasons() bool { return len(f.efforts) > 0 }

// samples reports whether the model accepts sampling parameters with the given effort. A reasoning model accepts them only
// without reasoning.
func (f *family) samples(effort string) bool { return !f.reasons() || effort == "none" }

// request is a request to an API of OpenAI with a valid shape.
type request struct {
	root   gjson.Result
	traits *family
	c      *simulator.Conversation
}

// chatRules lists rules that the shapes cannot express. A rule returns the vendor's error message, or "".
var chatRules = []func(q *request) string{chatReasoning, chatVerbosity, chatResults, chatTogether}

func chatReasoning(q *request) string {
	effort := q.root.Get("reasoning_effort")
	if q.traits.reasons() && q.root.Get("max_tokens").Type != gjson.Null {
		return "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
	}
	if q.traits.reasons() && q.root.Get("stop").Type != gjson.Null {
		return "Unsupported parameter: 'stop' is not supported with this model."
	}
	for _, name := range []string{"temperature", "top_p", "presence_penalty", "frequency_penalty", "logprobs", "top_logprobs", "logit_bias"} {
		value := q.root.Get(name)
		standard := value.Type == gjson.Null || (name == "temperature" || name == "top_p") && value.Float() == 1
		if !q.traits.samples(effort.String()) && !standard {
			return fmt.Sprintf("Unsupported parameter: '%s' is not supported with this model.", name)
		}
	}
	switch {
	case effort.Type != gjson.String:
	case !q.traits.reasons():
		return "Unrecognized request argument supplied: reasoning_effort"
	case !slices.Contains(q.traits.efforts, effort.String()):
		return q.effortMessage("reasoning_effort", effort.String())
	}
	if q.traits.toolsNeedResponses && q.root.Get(`tools.#(type=="function")`).Exists() && effort.String() != "none" {
		return fmt.Sprintf("Function tools with reasoning_effort are not supported for %s in /v1/chat/completions. "+
			"To use function tools, use /v1/responses or set reasoning_effort to 'none'.", q.c.Model)
	}
	return ""
}

func (q *request) effortMessage(name, value string) string {
	return fmt.Sprintf("Unsupported value: '%s' does not support '%s' with this model. Supported values are: '%s'.", name, value,
		strings.Join(q.traits.efforts, "', '"))
}

func chatVerbosity(q *request) string { return q.verbosity("verbosity") }

// verbosity checks the verbosity at path, and that the model supports prompt cache breakpoints if the request has any.
func (q *request) verbosity(path string) string {
	if v := q.root.Get(path); v.Type == gjson.String && v.String() != "medium" && !q.traits.verbosity {
		return fmt.Sprintf("Unsupported value: '%s' is not supported with the '%s' model. Supported values are: 'medium'.", v, q.c.Model)
	}
	if !q.traits.breakpoints && strings.Contains(q.root.Raw, `"prompt_cache_breakpoint"`) {
		return "Unsupported parameter: 'prompt_cache_breakpoint' is not supported with this model."
	}
	return ""
}

func chatResults(q *request) string {
	open := map[string]bool{}
	for i, m := range q.root.Get("messages").Array() {
		if m.Get("role").String() == "tool" {
			id := m.Get("tool_call_id").String()
			if !open[id] {
				return fmt.Sprintf("Invalid parameter: messages[%d] with role 'tool' must be a response to a preceding message with 'tool_calls'.", i)
			}
			delete(open, id)
			continue
		}
		if len(open) > 0 {
			break
		}
		for _, call := range m.Get("tool_calls").Array() {
			open[call.Get("id").String()] = true
		}
	}
	if len(open) > 0 {
		return "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'."
	}
	return ""
}

// chatTogether checks members that are allowed only together with other members.
func chatTogether(q *request) string {
	switch {
	case q.root.Get("stream_options").IsObject() && !q.root.Get("stream").Bool():
		return "The 'stream_options' parameter is only allowed when 'stream' is enabled."
	case len(q.c.Tools) == 0 && (q.root.Get("tool_choice").Exists() || q.root.Get("parallel_tool_calls").Exists()):
		return "'tool_choice' and 'parallel_tool_calls' are only allowed when 'tools' are specified."
	case q.c.Only != "" && !q.c.Offers(q.c.Only):
		return "Tool choice '" + q.c.Only + "' not found in 'tools' parameter."
	case q.root.Get("response_format.type").String() == "json_object" && !strings.Contains(strings.ToLower(q.root.Get("messages").Raw), "json"):
		return "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'."
	case q.root.Get("response_format.json_schema.strict").Bool() && openObject(gjson.ParseBytes(q.c.Schema)):
		return "Invalid schema for response_format: 'additionalProperties' is required to be supplied and to be false."
	}
	return ""
}
