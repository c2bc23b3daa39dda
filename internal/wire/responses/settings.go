package responses

import (
	"cmp"
	"slices"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/wire/show"
	"fairlead.dev/internal/wire/validate"
	"fairlead.dev/internal/wire/websearch"
)

// accountFields are members that concern the account and the stream, not the conversation.
var accountFields = []string{"store", "stream_options", "prompt_cache_key", "prompt_cache_retention", "prompt_cache_options", "prompt_cache_diagnostics", "client_metadata"}

type field = validate.Field[requestReader]

func requestOf(r *requestReader) *llm.Request { return r.req }

var requestFields = validate.NewObject(slices.Concat(validate.Controls(requestOf), []field{
	validate.Metadata(requestOf),
	validate.Text("previous_response_id", func(r *requestReader, id string) {
		r.req.Previous = id // later, the gateway restricts the request to the account that holds this response
		r.markStoredInput()
	}),
	validate.Value("conversation", (*requestReader).storedConversation),
	validate.Value("prompt", (*requestReader).storedPrompt),
	validate.Bool("stream", func(r *requestReader, b bool) { r.req.Stream = b }),
	validate.Bool("background", func(r *requestReader, b bool) {
		if r.req.Background = b; b {
			r.req.Needs |= llm.ResponsesAPI
		}
	}),
	validate.Label("user", func(r *requestReader, s string) { r.req.EndUser = s }),
	validate.Label("safety_identifier", func(r *requestReader, s string) { r.req.EndUser = cmp.Or(r.req.EndUser, s) }),
	{Name: "input", Read: func(_ *validate.Reader, _ string, r *requestReader) { r.readInput() }},
	{Name: "instructions", Read: func(_ *validate.Reader, _ string, r *requestReader) { r.instructions() }},
	validate.Int("max_output_tokens", 1, validate.MaxTokens, func(r *requestReader, n int64) { r.conv.MaxOutput, r.req.MaxOutput = n, n }),
	validate.Value("temperature", func(r *requestReader, v rawjson.Value) {
		r.conv.Sampling.Temperature = r.number("temperature", v)
		r.req.Sampling = append(r.req.Sampling, "temperature")
	}),
	validate.Value("top_p", func(r *requestReader, v rawjson.Value) {
		r.conv.Sampling.TopP = r.number("top_p", v)
		r.req.Sampling = append(r.req.Sampling, "top_p")
	}),
	validate.Value("top_logprobs", func(r *requestReader, v rawjson.Value) {
		if r.number("top_logprobs", v) != "0" {
			r.req.Sampling = append(r.req.Sampling, "top_logprobs")
			r.conv.DropField("top_logprobs")
		}
	}),
	validate.OptionalBool("parallel_tool_calls", func(r *requestReader, b *bool) { r.conv.ParallelTools = b }),
	{Name: "tools", Read: func(_ *validate.Reader, _ string, r *requestReader) { r.tools(place{list: "tools"}, "") }},
	validate.Value("tool_choice", (*requestReader).toolChoice),
	validate.Value("text", (*requestReader).textSettings),
	validate.Nested("reasoning", validate.NewObject(
		validate.Text("effort", func(c *llm.Conversation, s string) { c.Effort.Level = s }),
	), func(r *requestReader) *llm.Conversation { return r.conv }),
	validate.OneOf("truncation", func(r *requestReader, s string) {
		if s == "auto" {
			r.conv.DropField("truncation")
		}
	}, "auto", "disabled"),
	validate.Value("include", func(r *requestReader, v rawjson.Value) {
		// Values other than IncludeLogprobs need no action: signatures are always included, and the remaining values concern hosted tools.
		for _, entry := range r.list("include", v) {
			if r.text("include", entry) == IncludeLogprobs {
				r.conv.DropField(IncludeLogprobs)
			}
		}
	}),
}, validate.Unvalidated[requestReader](accountFields...))...)

// IncludeLogprobs is the value of include that requests log probabilities.
const IncludeLogprobs = "message.output_text.logprobs"

func (r *requestReader) textSettings(v rawjson.Value) {
	if !r.is("text", v, "an object", rawjson.Object) {
		return
	}
	r.lookAlikes("text", v, "format", "verbosity")
	r.lookAlikes("text.format", v.Get("format"), "type", "name", "description", "schema", "strict")
	c := r.conv
	c.Verbosity = r.text("text.verbosity", v.Get("verbosity"))
	format := v.Get("format")
	if !r.is("text.format", format, "an object", rawjson.Object) {
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
			r.Problem("text.format.schema", "text.format.schema is missing. Send the schema of the response.")
		}
	default:
		r.Problem("text.format.type", "text.format.type must be one of text, json_object, json_schema; it is %s.", show.Quote(kind))
	}
}

// tools decodes a list of tools. The name of a tool in a namespace is joined with the name of the namespace.
func (r *requestReader) tools(at place, namespace string) {
	list := at.list
	if at.inner != "" {
		list = place{list: at.list, n: at.n}.member(at.inner)
	}
	if !r.Is('[', list, "a list") {
		return
	}
	for n := range r.Elements {
		if at.inner == "" {
			at.n = n
		} else {
			at.m = n
		}
		if r.Kind() != '{' {
			r.Is('{', at.String(), "an object") // skips null, and records a problem for any other type
			continue
		}
		r.tool(at, namespace)
	}
}

// tool decodes a tool. Its name, its description and its schema are part of the prompt.
func (r *requestReader) tool(at place, namespace string) {
	o, from := object{at: at, names: toolMemberNames}, r.Pos
	for key := range r.Members {
		switch string(key) {
		case "name", "description", "parameters", "format":
			r.Count = true
		}
		r.member(&o, key)
		r.Count = false
	}
	if r.Err != nil {
		return
	}
	tool := llm.Tool{Description: r.str(&o, "description")}
	switch kind := r.str(&o, "type"); kind {
	case "function":
		tool.Name, tool.Schema = joinNamespace(namespace, r.requireName(&o)), raw(o.get("parameters").Value)
		tool.Strict = r.flag(at.member("strict"), o.get("strict").Value)
	case "custom":
		tool.Name, tool.Format, tool.Custom = joinNamespace(namespace, r.requireName(&o)), raw(o.get("format").Value), true
	case "namespace":
		name := r.requireName(&o)
		if namespace != "" {
			r.Problem(at.member("type"), "%s.type is namespace. A namespace cannot contain another one.", at)
			return
		}
		if members := o.get("tools"); members.Exists() {
			r.reread(members.Value, func() { r.tools(place{list: at.list, n: at.n, inner: "tools"}, name) })
		}
		return
	case "":
		r.Problem(at.member("type"), "%s.type is missing. Send function, custom, or the type of a tool that the provider runs.", at)
	default:
		whole := rawjson.Value{Kind: rawjson.Object, Raw: r.source[from:r.Pos], Index: from}
		tool = llm.Tool{Hosted: kind, Raw: raw(whole)}
		if websearch.Is(kind) {
			tool.Search = websearch.Read(whole)
		}
		r.countText(whole.Raw)
		r.storedFiles(at.String(), "", whole)
	}
	r.conv.Tools = append(r.conv.Tools, tool)
}

// requireName returns the name of a tool. It records a problem if the name is missing.
func (r *requestReader) requireName(o *object) string {
	name := r.str(o, "name")
	if name == "" {
		r.Problem(o.at.member("name"), "%s.name is missing. Name the tool.", o.at)
	}
	return name
}

func (r *requestReader) toolChoice(v rawjson.Value) {
	choice := &r.conv.ToolChoice
	if v.Kind == rawjson.Text {
		choice.Mode = llm.ChoiceMode(r.oneOf("tool_choice", v, "none", "auto", "required"))
		return
	}
	if !r.is("tool_choice", v, "a string or an object", rawjson.Object) {
		return
	}
	r.lookAlikes("tool_choice", v, "type", "name", "namespace", "mode", "tools")
	switch v.Get("type").String() {
	case "function", "custom":
		namespace, name := r.text("tool_choice.namespace", v.Get("namespace")), r.text("tool_choice.name", v.Get("name"))
		if name == "" {
			r.Problem("tool_choice.name", "tool_choice.name is missing. Name the tool.")
		}
		*choice = llm.ToolChoice{Mode: llm.ChoiceMust, Names: []string{joinNamespace(namespace, name)}}
	case "allowed_tools":
		choice.Mode = llm.ChoiceMode(r.oneOf("tool_choice.mode", v.Get("mode"), "auto", "required"))
		for _, tool := range r.list("tool_choice.tools", v.Get("tools")) {
			if name := tool.Get("name").String(); name != "" {
				choice.Names = append(choice.Names, joinNamespace(tool.Get("namespace").String(), name))
			}
		}
	default:
		r.conv.DropField("tool_choice")
	}
}
