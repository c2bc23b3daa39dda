package anthropic

import (
	"context"
	"encoding/json"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/wire/websearch"
)

// Conversation converts a validated Messages request.
func Conversation(ctx context.Context, req *llm.Request) (*llm.Conversation, error) {
	r := requestReader{ctx: ctx, conv: &llm.Conversation{Choices: 1, MaxOutput: req.MaxOutput}, names: map[string]string{}}
	var list rawjson.Value
	for _, f := range req.Fields {
		value := rawjson.Parse(req.Body[f.Value:f.End])
		switch {
		case value.Kind == rawjson.Null:
		case f.Name == "messages":
			list = value // convert the messages after the loop, because the instructions may follow them in the body
		default:
			r.member(f.Name, value)
		}
	}
	for _, message := range list.List() {
		if err := llm.Cancelled(ctx); err != nil {
			return nil, err
		}
		r.conv.Messages = append(r.conv.Messages, llm.Message{
			Role: llm.Role(message.Get("role").String()), Parts: r.parts(message.Get("content")),
		})
	}
	return r.conv, llm.Cancelled(ctx)
}

// requestReader converts a request to a conversation.
type requestReader struct {
	ctx   context.Context
	conv  *llm.Conversation
	names map[string]string // tool names by original call ID
}

func (r *requestReader) member(name string, v rawjson.Value) {
	c := r.conv
	switch name {
	case "system":
		c.Messages = append(c.Messages, llm.Message{Role: llm.System, Parts: r.parts(v)})
	case "tools":
		v.ForEach(func(_, tool rawjson.Value) bool {
			c.Tools = append(c.Tools, readTool(tool))
			return r.ctx.Err() == nil
		})
	case "tool_choice":
		r.toolChoice(v)
	case "thinking":
		switch v.Get("type").String() {
		case "disabled", "between_tools":
			c.Effort.Level = "none"
		case "enabled":
			c.Effort.Budget = v.Get("budget_tokens").Int()
			c.Effort.Adaptive = c.Effort.Budget == 0
		case "adaptive":
			c.Effort.Adaptive = true
		}
		c.Effort.Hide = v.Get("display").String() == "omitted"
	case "output_config":
		if effort := v.Get("effort").String(); effort != "" && c.Effort.Level != "none" {
			c.Effort.Level = effort
		}
		r.output(v.Get("format"))
	case "output_format":
		r.output(v)
	case "stop_sequences":
		for _, stop := range v.List() {
			c.Stop = append(c.Stop, stop.String())
		}
	case "temperature":
		c.Sampling.Temperature = number(v)
	case "top_p":
		c.Sampling.TopP = number(v)
	case "top_k":
		c.Sampling.TopK = number(v)
	case "metadata":
		c.EndUser = v.Get("user_id").String()
	case "service_tier":
		c.ServiceTier = readTier(v.String())
	case "model", "max_tokens", "stream", "models", "provider", "session_id": // members that do not belong to the conversation
	case "context_management": // removes parts of the history that the other formats do not have, or to save tokens
	default:
		c.DropField(name)
	}
}

// number returns a number as the client wrote it, or an empty string if v is not a number.
func number(v rawjson.Value) json.Number {
	if v.Kind != rawjson.Number {
		return ""
	}
	return json.Number(v.Raw)
}

func (r *requestReader) output(v rawjson.Value) {
	if v.Get("type").String() != "json_schema" {
		return
	}
	yes := true // the format supports only strict schemas
	r.conv.Output = llm.Output{Kind: llm.OutputSchema, Name: "answer", Schema: json.RawMessage(v.Get("schema").Raw), Strict: &yes}
}

func (r *requestReader) toolChoice(v rawjson.Value) {
	choice := &r.conv.ToolChoice
	switch v.Get("type").String() {
	case "auto":
		choice.Mode = llm.ChoiceAuto
	case "any":
		choice.Mode = llm.ChoiceMust
	case "tool":
		choice.Mode, choice.Names = llm.ChoiceMust, []string{v.Get("name").String()}
	case "none":
		choice.Mode = llm.ChoiceNone
	}
	if single := v.Get("disable_parallel_tool_use"); single.IsBool() {
		parallel := !single.Bool()
		r.conv.ParallelTools = &parallel
	}
}

// readTool decodes a tool definition. The tools of the format have a type.
func readTool(v rawjson.Value) llm.Tool {
	tool := llm.Tool{Name: v.Get("name").String(), Description: v.Get("description").String(), Cache: readCache(v)}
	if kind := v.Get("type").String(); kind != "" && kind != "custom" {
		tool.Raw = json.RawMessage(v.Raw)
		if known := clientToolOf(kind); known != nil {
			tool.Description, tool.Schema = known.description, json.RawMessage(known.schema)
			return tool
		}
		tool.Hosted = kind
		if websearch.Is(kind) {
			tool.Search = websearch.Read(v)
		}
		return tool
	}
	if schema := v.Get("input_schema"); schema.IsObject() {
		tool.Schema = json.RawMessage(schema.Raw)
	}
	if strict := v.Get("strict"); strict.IsBool() {
		yes := strict.Bool()
		tool.Strict = &yes
	}
	return tool
}

func readCache(v rawjson.Value) *llm.CacheMark {
	mark := v.Get("cache_control")
	if !mark.IsObject() {
		return nil
	}
	return &llm.CacheMark{TTL: mark.Get("ttl").String()}
}
