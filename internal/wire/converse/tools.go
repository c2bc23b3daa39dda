package converse

import (
	"bytes"
	"encoding/json"
	"slices"

	"fairlead/internal/llm"
)

// tools encodes the tools and the tool choice. The API has no tool choice "none", so for "none" the tools are omitted,
// unless earlier turns contain tool calls: the API rejects such turns without tools.
func (r *renderer) tools() {
	choice := r.conv.ToolChoice
	list := r.chosen(choice)
	if choice.Mode == llm.ChoiceNone && !r.conv.HasCalls() {
		list = nil
	}
	var config toolConfig
	for _, t := range list {
		config.Tools = append(config.Tools, r.tool(t)...)
	}
	if len(config.Tools) == 0 && r.conv.HasCalls() {
		config.Tools = r.remembered()
		choice = llm.ToolChoice{Mode: llm.ChoiceNone}
	}
	if len(config.Tools) == 0 {
		return
	}
	config.Choice = r.choice(choice)
	r.out.ToolConfig = &config
}

// chosen returns the tools that the choice allows. If the model cannot be forced to call a specific tool, only the
// required tool is returned.
func (r *renderer) chosen(choice llm.ToolChoice) []llm.Tool {
	named := len(choice.Names) == 1 && choice.Mode == llm.ChoiceMust && r.d.Force >= ForceNamed
	if len(choice.Names) == 0 || named {
		return r.conv.Tools
	}
	chosen := choice.Includes()
	return slices.DeleteFunc(slices.Clone(r.conv.Tools), func(t llm.Tool) bool { return !chosen(t.Name) })
}

func (r *renderer) tool(t llm.Tool) []tool {
	if t.Hosted != "" {
		r.warn("the tool %s was dropped: %s does not run it.", plain(t.Hosted), r.d.Title)
		return nil
	}
	spec := &toolSpec{Name: r.plan.theirName(t.Name), Description: t.Description, InputSchema: inputSchema{objectSchema(t.Schema)}}
	if t.Custom {
		spec.InputSchema.JSON = json.RawMessage(`{"type":"object","properties":{"` + customInput + `":{"type":"string"}},"required":["` + customInput + `"]}`)
		if text, grammar := t.DescribeGrammar(); grammar {
			spec.Description = text
			r.warn("the grammar of the tool %s was moved to its description: %s does not enforce it.", plain(t.Name), r.d.Title)
		}
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

// objectSchema returns the schema, wrapped in an object if necessary.
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

// remembered returns definitions of the tools that earlier turns called, for a conversation that no longer offers
// tools.
func (r *renderer) remembered() []tool {
	names := r.conv.CalledTools()
	if len(names) == 0 { // results without their calls
		names = []string{"earlier_tool"}
	}
	var tools []tool
	for _, name := range names {
		tools = append(tools, tool{Spec: &toolSpec{
			Name: r.plan.theirName(name), Description: "A tool of earlier turns.", InputSchema: inputSchema{objectSchema(nil)},
		}})
	}
	return tools
}

func (r *renderer) choice(c llm.ToolChoice) *toolChoice {
	switch c.Mode {
	case llm.ChoiceAuto:
		return &toolChoice{Auto: &struct{}{}}
	case llm.ChoiceNone:
		r.forbid()
	case llm.ChoiceMust:
		return r.demand(c.Names)
	case llm.ChoiceUnset:
	}
	return nil
}

// forbid adds an instruction not to call a tool.
func (r *renderer) forbid() {
	if r.plan.way == byTool {
		r.instruct("Call no tool but " + r.plan.answer + ".")
	} else {
		r.instruct("Answer without calling any tool.")
	}
	r.warn("tool_choice none was sent as an instruction: %s cannot forbid calls.", r.d.Title)
}

// demand forces a call as far as the model supports it.
func (r *renderer) demand(names []string) *toolChoice {
	switch {
	case r.d.Force == ForceNone || r.d.AlwaysThinks:
		r.instruct("Call a tool.")
		r.warn("tool_choice required was sent as an instruction: the model cannot be forced to call a tool.")
		return nil
	case len(names) == 1 && r.d.Force == ForceNamed:
		return &toolChoice{Tool: &namedTool{Name: r.plan.theirName(names[0])}}
	}
	return &toolChoice{Any: &struct{}{}}
}

// oneCall limits the model to one tool call at a time if the client asks for it. It returns false if the model has no
// setting for it. The setting is part of the model's own tool choice, and Bedrock rejects a request with two tool
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
