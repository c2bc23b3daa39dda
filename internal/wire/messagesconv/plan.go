package messagesconv

import (
	"encoding/json"
	"strings"

	"fairlead/internal/llm"
	"fairlead/internal/rawjson"
)

// plan holds the decisions about a request that affect several of its parts.
type plan struct {
	maxTokens   int64
	tools       []llm.Tool
	choice      llm.ToolChoice
	schemaTool  string // its input is the answer
	schema      []byte // of output_config.format
	instruction string // requirements that are sent as an instruction

	thinking thinkingMode
	budget   int64
	effort   string
}

// thinkingMode is the type of thinking that is asked for: one of these, or the model's word for none.
type thinkingMode string

const (
	unspecified thinkingMode = ""
	enabled     thinkingMode = "enabled"
	adaptive    thinkingMode = "adaptive"
)

func (p plan) thinks() bool { return p.thinking == enabled || p.thinking == adaptive }

func (r *renderer) decide(turns []llm.Message) {
	r.planLength()
	r.planTools()
	r.planOutput()
	r.planForce()
	r.planThinking(turns)
}

func (r *renderer) planLength() {
	asked := r.conv.MaxOutput
	for _, otherwise := range []int64{r.o.MaxOutput, r.o.ModelMax, usualMaxOutput} {
		if asked == 0 {
			asked = otherwise
		}
	}
	if most := r.o.ModelMax; most > 0 && asked > most {
		r.warn("max_tokens was set to %d: the model writes no more", most)
		asked = most
	}
	r.plan.maxTokens = asked
}

// planTools picks the tools to send. A choice among some of them leaves out the others; a history with calls needs a list
// even where the caller sent none.
func (r *renderer) planTools() {
	p := &r.plan
	p.choice = r.conv.ToolChoice
	several, chosen := len(p.choice.Names) > 1 || p.choice.Mode == llm.ChoiceAuto && len(p.choice.Names) > 0, p.choice.Includes()
	for _, tool := range r.conv.Tools {
		if several && !chosen(tool.Name) {
			continue
		}
		if tool.Hosted != "" && !IsHosted(tool.Hosted) {
			r.warn("the tool %s was left out: the provider has no such tool", tool.Hosted)
			continue
		}
		p.tools = append(p.tools, tool)
	}
	if len(p.choice.Names) > 1 || p.choice.Mode != llm.ChoiceMust {
		p.choice.Names = nil
	}
	if len(p.tools) == 0 {
		p.tools = calledTools(r.conv)
		p.choice = llm.ToolChoice{Mode: llm.ChoiceNone}
	}
}

// IsHosted reports tools that providers of this format run: their types end in a date.
func IsHosted(kind string) bool {
	i := strings.LastIndexByte(kind, '_')
	return i > 0 && len(kind)-i == len("_20250305") && strings.Trim(kind[i+1:], "0123456789") == ""
}

// calledTools makes a definition for every tool that the history has calls of.
func calledTools(conv *llm.Conversation) (tools []llm.Tool) {
	for _, name := range conv.CalledTools() {
		tools = append(tools, llm.Tool{Name: name})
	}
	return tools
}

const (
	askForJSON   = "Answer with one JSON object and nothing else: no text around it and no code fence."
	askForSchema = "Answer with JSON that matches this JSON schema, and nothing else: no text around it and no code fence.\n"
)

// planOutput decides how the shape of the answer is asked for.
func (r *renderer) planOutput() {
	p, out := &r.plan, r.conv.Output
	switch {
	case out.Kind == llm.OutputText:
	case out.Kind == llm.OutputJSON || len(out.Schema) == 0:
		p.instruction = askForJSON
	case r.o.Traits.Schemas:
		p.schema = r.narrowSchema(out.Schema, "the answer's schema")
		if out.Description != "" {
			r.warn("the description of the answer's schema was left out")
		}
	default:
		p.schemaTool = SchemaTool(r.conv, r.o.Traits)
		if p.schemaTool == "" && p.choice.Mode != llm.ChoiceMust {
			p.instruction = askForSchema + string(out.Schema)
			r.warn("the answer's schema was sent as an instruction: the model cannot be held to it")
		}
	}
}

// SchemaTool names the tool whose input becomes the answer, for models that cannot be given the answer's schema in
// another way; empty where none is needed. Deltas must be told of it.
func SchemaTool(conv *llm.Conversation, t Traits) string {
	wanted := conv.Output.Kind == llm.OutputSchema && len(conv.Output.Schema) > 0 && !t.Schemas && !t.NoForcedTools
	// A caller who forces a tool of its own gets a call for an answer, to which the schema does not apply.
	forced := conv.ToolChoice.Mode == llm.ChoiceMust && len(conv.Tools) > 0
	if !wanted || forced || !isObjectSchema(conv.Output.Schema) {
		return ""
	}
	taken := make(map[string]bool, len(conv.Tools))
	for _, tool := range conv.Tools {
		taken[tool.Name] = true
	}
	name := "answer_in_json"
	for taken[name] {
		name += "_"
	}
	return name
}

func isObjectSchema(schema json.RawMessage) bool {
	root := rawjson.Parse(schema)
	kind := root.Get("type")
	return root.IsObject() && (!kind.Exists() || kind.String() == "object")
}

// planForce decides what forces the model to call a tool.
func (r *renderer) planForce() {
	p := &r.plan
	switch {
	case p.schemaTool != "" && (len(r.conv.Tools) == 0 || p.choice.Mode == llm.ChoiceNone):
		p.choice = llm.ToolChoice{Mode: llm.ChoiceMust, Names: []string{p.schemaTool}}
	case p.schemaTool != "":
		p.choice = llm.ToolChoice{Mode: llm.ChoiceMust} // one of the caller's tools, or the answer
	case p.choice.Mode == llm.ChoiceMust && r.o.Traits.NoForcedTools:
		r.warn("tool_choice was sent as an instruction: the model cannot be forced to call a tool")
		p.instruction = joinWords(p.instruction, mustCall(p.choice.Names))
		p.choice = llm.ToolChoice{Mode: llm.ChoiceAuto}
	}
}

func joinWords(first, second string) string {
	if first == "" {
		return second
	}
	return first + "\n\n" + second
}

func mustCall(names []string) string {
	if len(names) == 0 {
		return "You must call at least one of the tools in this turn. Do not answer without a tool call."
	}
	return "You must call the tool " + names[0] + " in this turn. Do not answer without calling it."
}
