package responses

import (
	"slices"
	"strconv"

	"github.com/tidwall/gjson"

	"fairlead/internal/llm"
	"fairlead/internal/wire/show"
)

// stateful are the members that refer to what a gateway without state does not keep.
var stateful = map[string]string{
	"previous_response_id": "Send the whole conversation in input.",
	"conversation":         "Send the whole conversation in input.",
	"prompt":               "Send the prompt's text in instructions and input.",
}

// accountFields are the members that concern the account and the stream, not the conversation. Whatever store says, nothing is
// stored, and the answer says so.
var accountFields = []string{"store", "stream_options", "prompt_cache_key", "prompt_cache_retention", "prompt_cache_options", "prompt_cache_diagnostics"}

func (r *requestReader) member(name string, v gjson.Result) {
	if advice, ok := stateful[name]; ok {
		r.problem(name, "%s cannot be used: this gateway keeps no responses. %s", name, advice)
		return
	}
	if !r.routing(name, v) && !r.setting(name, v) && !slices.Contains(accountFields, name) {
		r.dropField(name)
	}
}

// routing reads the members that decide where a request goes and how it is logged.
func (r *requestReader) routing(name string, v gjson.Result) bool {
	req := r.req
	switch name {
	case "model":
		req.Model = r.name(name, v)
	case "models":
		req.Controls.Models = r.names(name, v)
	case "provider":
		r.provider(v)
	case "session_id":
		req.Controls.SessionID = r.name(name, v)
	case "metadata":
		r.metadata(v)
	case "stream":
		yes := r.flag(name, v)
		req.Stream = yes != nil && *yes
	case "background":
		if yes := r.flag(name, v); yes != nil && *yes {
			r.problem(name, "background cannot be used: this gateway keeps no responses. Wait for the answer, or stream it.")
		}
	case "user", "safety_identifier":
		if label := r.label(name, v); req.EndUser == "" || name == "user" {
			req.EndUser = label
		}
		r.conv.EndUser = req.EndUser
	case "service_tier":
		req.ServiceTier = r.label(name, v)
		r.conv.ServiceTier = req.ServiceTier
	default:
		return false
	}
	return true
}

// setting reads the members that say how to answer.
func (r *requestReader) setting(name string, v gjson.Result) bool {
	c := r.conv
	switch name {
	case "instructions":
		if text := r.text(name, v); text != "" {
			c.Messages = append([]llm.Message{{Role: llm.System, Parts: []llm.Part{{Kind: llm.TextPart, Text: text}}}}, c.Messages...)
		}
	case "max_output_tokens":
		c.MaxOutput = r.integer(name, v)
		r.req.MaxOutput = c.MaxOutput
	case "temperature":
		c.Sampling.Temperature = r.number(name, v)
		r.req.Sampling = append(r.req.Sampling, name)
	case "top_p":
		c.Sampling.TopP = r.number(name, v)
		r.req.Sampling = append(r.req.Sampling, name)
	case "parallel_tool_calls":
		c.ParallelTools = r.flag(name, v)
	case "tools":
		for n, tool := range r.list(name, v) {
			if r.ctx.Err() != nil {
				break
			}
			r.tool("tools["+strconv.Itoa(n)+"]", tool)
		}
	case "tool_choice":
		r.toolChoice(v)
	case "text":
		r.textSettings(v)
	case "reasoning":
		if r.object(name, v) {
			r.lookAlikes(name, v, reasoningNames)
			c.Effort.Level = r.text("reasoning.effort", v.Get("effort"))
		}
	case "truncation":
		if r.oneOf(name, v, "auto", "disabled") == "auto" {
			r.dropField(name)
		}
	case "include":
		r.include(v)
	default:
		return false
	}
	return true
}

// dropField notes a member that has no words of ours.
func (r *requestReader) dropField(name string) { r.conv.DropField(name) }

// include lists what else an answer shall tell. Seals are always told; the rest is about tools that providers run.
func (r *requestReader) include(v gjson.Result) {
	for _, entry := range r.list("include", v) {
		if r.text("include", entry) == "message.output_text.logprobs" {
			r.dropField("message.output_text.logprobs")
		}
	}
}

func (r *requestReader) textSettings(v gjson.Result) {
	if !r.object("text", v) {
		return
	}
	r.lookAlikes("text", v, textNames)
	r.lookAlikes("text.format", v.Get("format"), formatNames)
	c := r.conv
	c.Verbosity = r.text("text.verbosity", v.Get("verbosity"))
	format := v.Get("format")
	if !r.object("text.format", format) {
		return
	}
	switch kind := r.text("text.format.type", format.Get("type")); kind {
	case "text":
	case "json_object":
		c.Output.Kind = llm.OutputJSON
	case "json_schema":
		c.Output = llm.Output{
			Kind: llm.OutputSchema, Name: r.text("text.format.name", format.Get("name")),
			Description: r.text("text.format.description", format.Get("description")),
			Schema:      raw(format.Get("schema")), Strict: r.flag("text.format.strict", format.Get("strict")),
		}
		if c.Output.Schema == nil {
			r.problem("text.format.schema", "text.format.schema is missing. Send the schema that the answer must follow.")
		}
	default:
		r.problem("text.format.type", "text.format.type must be one of text, json_object, json_schema; it is %s.", show.Quote(kind))
	}
}

func (r *requestReader) tool(param string, v gjson.Result) {
	if !r.is(param, v, v.IsObject(), "an object") {
		return
	}
	r.lookAlikes(param, v, toolMemberNames)
	tool := llm.Tool{Description: r.text(param+".description", v.Get("description"))}
	switch kind := r.text(param+".type", v.Get("type")); kind {
	case "function":
		tool.Name, tool.Schema = r.toolName(param, v), raw(v.Get("parameters"))
		tool.Strict = r.flag(param+".strict", v.Get("strict"))
	case "custom":
		tool.Name, tool.Format, tool.Custom = r.toolName(param, v), raw(v.Get("format")), true
	case "":
		r.problem(param+".type", "%s.type is missing. Send function, custom, or the type of a tool that the provider runs.", param)
	default:
		tool = llm.Tool{Hosted: kind, Raw: raw(v)}
	}
	r.conv.Tools = append(r.conv.Tools, tool)
}

func (r *requestReader) toolName(param string, v gjson.Result) string {
	name := r.text(param+".name", v.Get("name"))
	if name == "" {
		r.problem(param+".name", "%s.name is missing. Name the tool.", param)
	}
	return name
}

func (r *requestReader) toolChoice(v gjson.Result) {
	choice := &r.conv.ToolChoice
	if v.Type == gjson.String {
		choice.Mode = llm.ChoiceMode(r.oneOf("tool_choice", v, "none", "auto", "required"))
		return
	}
	if !r.is("tool_choice", v, v.IsObject(), "a string or an object") {
		return
	}
	r.lookAlikes("tool_choice", v, choiceNames)
	switch v.Get("type").String() {
	case "function", "custom":
		*choice = llm.ToolChoice{Mode: llm.ChoiceMust, Names: []string{r.toolName("tool_choice", v)}}
	case "allowed_tools":
		choice.Mode = llm.ChoiceMode(r.oneOf("tool_choice.mode", v.Get("mode"), "auto", "required"))
		for _, tool := range r.list("tool_choice.tools", v.Get("tools")) {
			if name := tool.Get("name").String(); name != "" {
				choice.Names = append(choice.Names, name)
			}
		}
	default:
		r.dropField("tool_choice")
	}
}
