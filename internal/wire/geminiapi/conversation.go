package geminiapi

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/wire/show"
	"fairlead.dev/internal/wire/websearch"
)

// reader converts a request to a conversation.
type reader struct {
	ctx    context.Context
	conv   *llm.Conversation
	detail string // requested resolution of images
	err    error  // error for a feature that only Google's API has; nil if the request uses none

	calls   int                 // number of calls so far
	pending map[string][]string // IDs of calls in the last model turn without a result, by function name
}

// Conversation implements wire.Format. It returns Untranslatable for a request that only Google's API can serve.
func (Format) Conversation(ctx context.Context, req *llm.Request) (*llm.Conversation, error) {
	r := reader{ctx: ctx, conv: &llm.Conversation{Choices: max(req.Choices, 1), MaxOutput: req.MaxOutput}, pending: map[string][]string{}}
	var contents rawjson.Value
	for _, f := range req.Fields {
		value := rawjson.Parse(req.Body[f.Value:f.End])
		switch name := canonical(f.Name); {
		case value.Kind == rawjson.Null:
		case name == "contents":
			contents = value // convert the contents after the loop, because the instructions may follow them in the body
		default:
			r.member(name, value)
		}
	}
	contents.ForEach(func(_, content rawjson.Value) bool {
		role := llm.User // function results are part of a user message
		if content.Get("role").String() == "model" {
			role = llm.Assistant
			if n := len(r.conv.Messages); n > 0 && r.conv.Messages[n-1].Role != role {
				r.pending = map[string][]string{}
			}
		}
		if parts := r.parts(content.Get("parts")); len(parts) > 0 {
			r.conv.Messages = append(r.conv.Messages, llm.Message{Role: role, Parts: parts})
		}
		return ctx.Err() == nil
	})
	if err := llm.Cancelled(ctx); err != nil {
		return nil, err
	}
	return r.conv, r.err
}

// silent lists members that do not affect the conversation, so they are dropped without a warning.
var silent = []string{"model", "models", "provider", "session_id"}

func (r *reader) member(name string, v rawjson.Value) {
	c := r.conv
	switch name {
	case "systemInstruction":
		c.Messages = append(c.Messages, llm.Message{Role: llm.System, Parts: r.parts(v.Get("parts"))})
	case "tools":
		v.ForEach(func(_, tool rawjson.Value) bool {
			members(tool, r.tool)
			return r.ctx.Err() == nil
		})
	case "toolConfig":
		members(v, r.toolConfig)
	case "generationConfig":
		members(v, r.readSetting)
		r.output(v)
	case "cachedContent":
		r.refuse("cachedContent names a prompt that is stored at Google, so only Gemini models can read it.")
	case "service_tier", "serviceTier":
		c.ServiceTier = strings.ToLower(v.String())
	default:
		if !slices.Contains(silent, name) {
			c.DropField(name)
		}
	}
}

func (r *reader) refuse(message string) {
	if r.err == nil {
		r.err = llm.Errorf(llm.Untranslatable, "%s", message)
	}
}

// readSetting reads one member of generationConfig.
func (r *reader) readSetting(name string, v rawjson.Value) {
	c := r.conv
	switch name {
	case "temperature":
		c.Sampling.Temperature = number(v)
	case "topP": // Gemini CLI always sends 0.95 and 64, the defaults of Gemini models, which say nothing about other models
		if n := number(v); n != "0.95" {
			c.Sampling.TopP = n
		}
	case "topK":
		if n := number(v); n != "64" {
			c.Sampling.TopK = n
		}
	case "presencePenalty":
		c.Sampling.PresencePenalty = number(v)
	case "frequencyPenalty":
		c.Sampling.FrequencyPenalty = number(v)
	case "seed":
		c.Sampling.Seed = number(v)
	case "stopSequences":
		for _, stop := range v.List() {
			c.Stop = append(c.Stop, stop.String())
		}
	case "thinkingConfig":
		c.Effort = effortOf(v)
	case "mediaResolution":
		r.detail = map[string]string{"MEDIA_RESOLUTION_LOW": "low", "MEDIA_RESOLUTION_HIGH": "high"}[v.String()]
	case "responseModalities":
		for _, one := range v.List() { // reject media, because providers of other formats return only text
			if kind := strings.ToUpper(one.String()); kind != "TEXT" && kind != "MODALITY_UNSPECIFIED" {
				r.refuse("Responses of modality " + show.Quote(kind) + " are available only from Gemini models.")
			}
		}
	case "maxOutputTokens", "candidateCount", "responseMimeType", "responseSchema", "responseJsonSchema":
	default:
		c.DropField("generationConfig." + name)
	}
}

// number returns the text of a number, unchanged.
func number(v rawjson.Value) json.Number {
	if v.Kind != rawjson.Number {
		return ""
	}
	return json.Number(v.Raw)
}

// effortOf converts the thinking settings.
func effortOf(v rawjson.Value) (e llm.Effort) {
	e.Hide = !get(v, "includeThoughts").Bool()
	if level := get(v, "thinkingLevel").String(); level != "" && level != "THINKING_LEVEL_UNSPECIFIED" {
		e.Level = strings.ToLower(level)
	}
	budget := get(v, "thinkingBudget")
	switch n := budget.Int(); {
	case budget.Kind != rawjson.Number:
		e.Adaptive = !e.Hide && e.Level == "" // Gemini models that think do so by default
	case n == 0:
		e.Level = "none"
	case n < 0:
		e.Adaptive = true
	default:
		e.Budget = n
	}
	return e
}

// output reads the requested output format of the response.
func (r *reader) output(v rawjson.Value) {
	kind := get(v, "responseMimeType").String()
	schema, plain := get(v, "responseSchema"), get(v, "responseJsonSchema")
	yes := true
	switch {
	case kind != "" && kind != jsonType && kind != "text/plain":
		r.conv.DropField("generationConfig.responseMimeType")
	case plain.IsObject():
		r.conv.Output = llm.Output{Kind: llm.OutputSchema, Name: "answer", Schema: json.RawMessage(plain.Raw), Strict: &yes}
	case schema.IsObject():
		r.conv.Output = llm.Output{Kind: llm.OutputSchema, Name: "answer", Schema: jsonSchema(schema, 0), Strict: &yes}
	case kind == jsonType:
		r.conv.Output.Kind = llm.OutputJSON
	}
	if s := r.conv.Output.Schema; len(s) > 0 && rawjson.Get(s, "additionalProperties").Kind != rawjson.False {
		r.conv.Output.Strict = nil // not strict, because other providers require strict schemas to forbid additional members
	}
}

// tool reads one member of a tool: the functions of the client, or a tool that Google runs.
func (r *reader) tool(name string, v rawjson.Value) {
	switch {
	case name == "functionDeclarations":
		v.ForEach(func(_, f rawjson.Value) bool {
			tool := llm.Tool{Name: f.Get("name").String(), Description: f.Get("description").String()}
			if schema := get(f, "parametersJsonSchema"); schema.IsObject() {
				tool.Schema = json.RawMessage(schema.Raw)
			} else if schema := f.Get("parameters"); schema.IsObject() {
				tool.Schema = jsonSchema(schema, 0)
			}
			r.conv.Tools = append(r.conv.Tools, tool)
			return r.ctx.Err() == nil
		})
	case isSearch(name):
		r.conv.Tools = append(r.conv.Tools, llm.Tool{Hosted: websearch.Hosted, Search: &llm.Search{}})
	default:
		r.conv.Tools = append(r.conv.Tools, llm.Tool{Hosted: name, Raw: json.RawMessage(v.Raw)})
	}
}

func (r *reader) toolConfig(name string, v rawjson.Value) {
	if name != "functionCallingConfig" {
		r.conv.DropField("toolConfig." + name)
		return
	}
	choice := &r.conv.ToolChoice
	switch strings.ToUpper(v.Get("mode").String()) {
	case "AUTO", "VALIDATED":
		choice.Mode = llm.ChoiceAuto
	case "ANY":
		choice.Mode = llm.ChoiceMust
	case "NONE":
		choice.Mode = llm.ChoiceNone
	}
	for _, one := range get(v, "allowedFunctionNames").List() {
		choice.Names = append(choice.Names, one.String())
	}
}
