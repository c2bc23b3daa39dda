package bedrock

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire/show"
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
		r.warnings.Add("the tool %s was dropped: %s does not run it.", show.Name(t.Hosted), r.d.Title)
		return nil
	}
	spec := &toolSpec{Name: r.plan.providerName(t.Name), Description: t.Description, InputSchema: inputSchema{objectSchema(jsontext.Value(t.Schema))}}
	if t.Custom {
		spec.InputSchema.JSON = jsontext.Value(`{"type":"object","properties":{"` + customInput + `":{"type":"string"}},"required":["` + customInput + `"]}`)
		spec.Description = t.DescribeGrammar()
	}
	if t.Strict != nil && *t.Strict {
		if spec.Strict = r.d.Schema && isClosed(spec.InputSchema.JSON); !spec.Strict {
			r.warnings.Add("strict was dropped: the model does not enforce tool schemas.")
		}
	}
	tools := []tool{{Spec: spec}}
	if p := r.cachePoint(t.Cache, CacheTools); p != nil {
		tools = append(tools, tool{CachePoint: p})
	}
	return tools
}

// objectSchema returns the schema with type object added if it has no type, or an empty object schema if it has no members.
func objectSchema(schema jsontext.Value) jsontext.Value {
	trimmed := bytes.TrimSpace(schema)
	var members map[string]jsontext.Value
	if decode(trimmed, &members) != nil || len(members) == 0 {
		return jsontext.Value(`{"type":"object","properties":{}}`)
	}
	if _, has := members["type"]; has {
		return schema
	}
	return append(jsontext.Value(`{"type":"object",`), trimmed[1:]...)
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
		r.warnings.Add("tool_choice none was sent as an instruction: %s cannot forbid calls.", r.d.Title)
	case llm.ChoiceMust:
		switch {
		case r.d.Force == ForceNone || r.d.AlwaysThinks:
			r.instruct("Call a tool.")
			r.warnings.Add("tool_choice required was sent as an instruction: the model cannot be forced to call a tool.")
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
	choice := &modelToolChoice{Type: "auto", OneCall: true}
	switch {
	case config.Choice == nil:
	case config.Choice.Tool != nil:
		choice.Type, choice.Name = "tool", config.Choice.Tool.Name
	case config.Choice.Any != nil:
		choice.Type = "any"
	}
	config.Choice = nil
	r.out.Additional.ToolChoice = choice
	return true
}

// output writes the requested output format.
func (r *renderer) output() {
	out := r.conv.Output
	switch r.plan.mode {
	case outputAsText:
	case outputByFormat:
		schema := jsonSchema{Schema: string(out.Schema), Name: out.Name, Description: out.Description}
		r.out.OutputConfig.TextFormat = &textFormat{Type: "json_schema", Structure: structure{JSONSchema: schema}}
	case outputByTool:
		r.addOutputTool(out)
	case outputByInstruction:
		instruction := "Answer with one JSON object and nothing else: no other text, no code fence."
		if out.Kind != llm.OutputJSON && len(out.Schema) > 0 {
			instruction += " It must conform to this JSON schema: " + string(out.Schema)
		}
		r.instruct(instruction)
		r.warnings.Add("response_format was sent as an instruction: the model has no setting for it.")
	}
}

// addOutputTool adds the output tool, whose input is the response. The model may call the client's tools first. If the
// client forces a call of its own tools, the output tool is not added.
func (r *renderer) addOutputTool(out llm.Output) {
	if r.out.ToolConfig == nil {
		r.out.ToolConfig = &toolConfig{}
	}
	config, mode := r.out.ToolConfig, r.conv.ToolChoice.Mode
	mayCall := len(config.Tools) > 0 && len(r.conv.Tools) > 0 && mode != llm.ChoiceNone
	if mayCall && mode == llm.ChoiceMust {
		return
	}
	config.Tools = append(config.Tools, tool{Spec: &toolSpec{
		Name: r.plan.outputTool, Description: cmp.Or(out.Description, "Takes the final answer."), InputSchema: inputSchema{jsontext.Value(out.Schema)},
	}})
	config.Choice = &toolChoice{Any: &struct{}{}}
	if !mayCall && r.d.Force >= ForceNamed {
		config.Choice = &toolChoice{Tool: &namedTool{Name: r.plan.outputTool}}
	}
}
