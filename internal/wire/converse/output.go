package converse

import (
	"cmp"

	"fairlead.dev/internal/llm"
)

// output writes the requested output format.
func (r *renderer) output() {
	out := r.conv.Output
	switch r.plan.mode {
	case outputAsText:
	case outputByFormat:
		schema := jsonSchema{Schema: string(out.Schema), Name: out.Name, Description: out.Description}
		r.config().TextFormat = &textFormat{Type: "json_schema", Structure: structure{JSONSchema: schema}}
	case outputByTool:
		r.addOutputTool(out)
	case outputByInstruction:
		instruction := "Answer with one JSON object and nothing else: no other text, no code fence."
		if out.Kind != llm.OutputJSON && len(out.Schema) > 0 {
			instruction += " It must conform to this JSON schema: " + string(out.Schema)
		}
		r.instruct(instruction)
		r.warn("response_format was sent as an instruction: the model has no setting for it.")
	}
}

func (r *renderer) config() *outputConfig {
	if r.out.OutputConfig == nil {
		r.out.OutputConfig = &outputConfig{}
	}
	return r.out.OutputConfig
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
		Name: r.plan.outputTool, Description: cmp.Or(out.Description, "Takes the final answer."), InputSchema: inputSchema{out.Schema},
	}})
	config.Choice = &toolChoice{Any: &struct{}{}}
	if !mayCall && r.d.Force >= ForceNamed {
		config.Choice = &toolChoice{Tool: &namedTool{Name: r.plan.outputTool}}
	}
}
