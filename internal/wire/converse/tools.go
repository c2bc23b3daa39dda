package converse

import (
	"bytes"
	"encoding/json"
	"slices"

	"fairlead.dev/internal/llm"
)

// tools encodes the tools and the tool choice. The API has no tool choice "none", so for "none" the tools are omitted,
// unless earlier turns contain tool calls: the API rejects such turns without tools.
func (r *renderer) tools() {
	choice := r.conv.ToolChoice
	list := r.conv.Tools
	// The request can force one specific tool if the model supports this. For any other tool choice that lists names, only the listed
	// tools are sent.
	named := len(choice.Names) == 1 && choice.Mode == llm.ChoiceMust && r.d.Force >= ForceNamed
	if len(choice.Names) > 0 && !named {
		chosen := choice.Includes()
		list = slices.DeleteFunc(slices.Clone(list), func(t llm.Tool) bool { return !chosen(t.Name) })
	}
	if choice.Mode == llm.ChoiceNone && !r.conv.HasCalls() {
		list = nil
	}
	var config toolConfig
	for _, t := range list {
		config.Tools = append(config.Tools, r.tool(t)...)
	}
	if len(config.Tools) == 0 && r.conv.HasCalls() {
		names := r.conv.CalledTools()
		if len(names) == 0 { // declare a placeholder tool, because results without calls do not name their tool
			names = []string{"earlier_tool"}
		}
		for _, name := range names {
			config.Tools = append(config.Tools, tool{Spec: &toolSpec{
				Name: r.plan.providerName(name), Description: "A tool of earlier turns.", InputSchema: inputSchema{objectSchema(nil)},
			}})
		}
		choice = llm.ToolChoice{Mode: llm.ChoiceNone}
	}
	if len(config.Tools) == 0 {
		return
	}
	config.Choice = r.choice(choice)
	r.out.ToolConfig = &config
}

func (r *renderer) tool(t llm.Tool) []tool {
	if t.Hosted != "" {
		r.warn("the tool %s was dropped: %s does not run it.", plain(t.Hosted), r.d.Title)
		return nil
	}
	spec := &toolSpec{Name: r.plan.providerName(t.Name), Description: t.Description, InputSchema: inputSchema{objectSchema(t.Schema)}}
	if t.Custom {
		spec.InputSchema.JSON = json.RawMessage(`{"type":"object","properties":{"` + customInput + `":{"type":"string"}},"required":["` + customInput + `"]}`)
		spec.Description = t.DescribeGrammar()
	}
	if t.Strict != nil && *t.Strict {
		if spec.Strict = r.d.Schema && isClosed(spec.InputSchema.JSON); !spec.Strict {
			r.warn("strict was dropped: the model does not enforce tool schemas.")
		}
	}
	tools := []tool{{Spec: spec}}
	if p := r.cachePoint(t.Cache, CacheTools); p != nil {
		tools = append(tools, tool{CachePoint: p})
	}
	return tools
}

// objectSchema returns the schema with type object added if it has no type, or an empty object schema if it has no members.
func objectSchema(schema json.RawMessage) json.RawMessage {
	trimmed := bytes.TrimSpace(schema)
	var members map[string]json.RawMessage
	if json.Unmarshal(trimmed, &members) != nil || len(members) == 0 {
		return json.RawMessage(`{"type":"object","properties":{}}`)
	}
	if _, has := members["type"]; has {
		return schema
	}
	return append(json.RawMessage(`{"type":"object",`), trimmed[1:]...)
}

// choice encodes the tool choice. Where the API or the model cannot enforce the choice, it adds an instruction.
func (r *renderer) choice(c llm.ToolChoice) *toolChoice {
	switch c.Mode {
	case llm.ChoiceAuto:
		return &toolChoice{Auto: &struct{}{}}
	case llm.ChoiceNone:
		if r.plan.mode == outputByTool {
			r.instruct("Call no tool but " + r.plan.outputTool + ".")
		} else {
			r.instruct("Answer without calling any tool.")
		}
		r.warn("tool_choice none was sent as an instruction: %s cannot forbid calls.", r.d.Title)
	case llm.ChoiceMust:
		switch {
		case r.d.Force == ForceNone || r.d.AlwaysThinks:
			r.instruct("Call a tool.")
			r.warn("tool_choice required was sent as an instruction: the model cannot be forced to call a tool.")
		case len(c.Names) == 1 && r.d.Force == ForceNamed:
			return &toolChoice{Tool: &namedTool{Name: r.plan.providerName(c.Names[0])}}
		default:
			return &toolChoice{Any: &struct{}{}}
		}
	case llm.ChoiceUnset:
	}
	return nil
}

// oneCall limits the model to one tool call at a time if the client requests this limit. It returns false if the model
// has no such setting. The setting is part of the model's own tool choice, and Bedrock rejects a request with two tool
// choices.
func (r *renderer) oneCall() bool {
	c, config := r.conv, r.out.ToolConfig
	switch {
	case c.ParallelTools == nil, *c.ParallelTools, len(c.Tools) == 0:
		return true
	case !r.d.OneCall:
		return false
	case config == nil, c.ToolChoice.Mode == llm.ChoiceNone:
		return true
	}
	choice := map[string]any{"type": "auto", "disable_parallel_tool_use": true}
	switch {
	case config.Choice == nil:
	case config.Choice.Tool != nil:
		choice["type"], choice["name"] = "tool", config.Choice.Tool.Name
	case config.Choice.Any != nil:
		choice["type"] = "any"
	}
	config.Choice = nil
	r.add("tool_choice", choice)
	return true
}
