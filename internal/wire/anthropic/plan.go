package anthropic

import (
	"slices"
	"strings"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
)

// plan holds decisions that affect several parts of a request.
type plan struct {
	maxTokens   int64
	tools       []llm.Tool
	choice      llm.ToolChoice
	schemaTool  string // name of the tool whose input is the response; empty for none
	schema      []byte // schema in output_config.format
	instruction string // requirements that are sent as an instruction, because the format or the model cannot express them

	thinking thinkingMode
	budget   int64
	effort   string
}

// thinkingMode is the requested thinking type: one of these constants, or the model's value that disables thinking.
type thinkingMode string

const (
	unspecified thinkingMode = ""
	enabled     thinkingMode = "enabled"
	adaptive    thinkingMode = "adaptive"
)

// planTools selects the tools to send. If the tool choice lists the allowed tools, all other tools are dropped, unless the choice forces
// one specific tool. If no tools remain, the tools that earlier messages call are declared, because the provider requires it.
func (r *renderer) planTools() {
	p := &r.plan
	p.choice = r.conv.ToolChoice
	several, chosen := len(p.choice.Names) > 1 || p.choice.Mode == llm.ChoiceAuto && len(p.choice.Names) > 0, p.choice.Includes()
	for _, tool := range r.conv.Tools {
		if several && !chosen(tool.Name) {
			continue
		}
		if tool.Search != nil && !IsHosted(tool.Hosted) {
			if !r.planSearch(tool.Search) {
				continue
			}
		} else if tool.Hosted != "" && !IsHosted(tool.Hosted) {
			r.warn("the tool %s was dropped: the provider does not support it", tool.Hosted)
			continue
		}
		p.tools = append(p.tools, tool)
	}
	if len(p.choice.Names) > 1 || p.choice.Mode != llm.ChoiceMust {
		p.choice.Names = nil
	}
	if len(p.tools) == 0 {
		for _, name := range r.conv.CalledTools() {
			p.tools = append(p.tools, llm.Tool{Name: name})
		}
		p.choice = llm.ToolChoice{Mode: llm.ChoiceNone}
	}
}

// searchTool is the name that the provider requires for the web search tool.
const searchTool = "web_search"

// planSearch reports whether web search is requested. It warns about options that the provider does not support.
func (r *renderer) planSearch(s *llm.Search) bool {
	taken := func(t llm.Tool) bool { return t.Hosted == "" && t.Name == searchTool }
	switch {
	case !r.o.Search:
		r.warn("web search was dropped: the provider does not support it")
		return false
	case slices.ContainsFunc(r.conv.Tools, taken):
		r.warn("web search was dropped: another tool has its name")
		return false
	case len(s.Allowed) > 0 && len(s.Blocked) > 0:
		r.warn("blocked_domains was dropped: the provider does not support it together with allowed_domains")
	}
	if s.ContextSize != "" {
		r.warn("search_context_size was dropped: the provider does not support it")
	}
	return true
}

// IsHosted reports whether providers of this format run the tool. The type of such a tool ends in a date.
func IsHosted(kind string) bool {
	i := strings.LastIndexByte(kind, '_')
	return i > 0 && len(kind)-i == len("_20250305") && strings.Trim(kind[i+1:], "0123456789") == ""
}

const (
	askForJSON   = "Answer with one JSON object and nothing else: no text around it and no code fence."
	askForSchema = "Answer with JSON that matches this JSON schema, and nothing else: no text around it and no code fence.\n"
)

// planOutput decides how the output format is requested.
func (r *renderer) planOutput() {
	p, out := &r.plan, r.conv.Output
	switch {
	case out.Kind == llm.OutputText:
	case out.Kind == llm.OutputJSON || len(out.Schema) == 0:
		p.instruction = askForJSON
	case r.o.Traits.Schemas:
		p.schema = r.narrowSchema(out.Schema, "the response schema")
		if out.Description != "" {
			r.warn("the description of the response schema was dropped")
		}
	default:
		p.schemaTool = SchemaTool(r.conv, r.o.Traits)
		if p.schemaTool == "" && p.choice.Mode != llm.ChoiceMust {
			p.instruction = askForSchema + string(out.Schema)
			r.warn("the response schema was sent as an instruction: the model cannot enforce it")
		}
	}
}

// SchemaTool returns the name of the tool whose input is the response. Such a tool is sent to models that can enforce a schema only for
// the input of a tool. SchemaTool returns an empty string if the request does not need the tool, or if the schema is not the schema of an
// object. Deltas needs the same name.
func SchemaTool(conv *llm.Conversation, t Traits) string {
	wanted := conv.Output.Kind == llm.OutputSchema && len(conv.Output.Schema) > 0 && !t.Schemas && !t.NoForcedTools
	// If the client forces one of its tools, the response is a tool call, so the response schema does not apply.
	forced := conv.ToolChoice.Mode == llm.ChoiceMust && len(conv.Tools) > 0
	if !wanted || forced {
		return ""
	}
	root := rawjson.Parse(conv.Output.Schema)
	if kind := root.Get("type"); !root.IsObject() || kind.Exists() && kind.String() != "object" {
		return "" // the input of a tool must be an object
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

// planForce decides how a tool call is forced.
func (r *renderer) planForce() {
	p := &r.plan
	switch {
	case p.schemaTool != "" && (len(r.conv.Tools) == 0 || p.choice.Mode == llm.ChoiceNone):
		p.choice = llm.ToolChoice{Mode: llm.ChoiceMust, Names: []string{p.schemaTool}}
	case p.schemaTool != "":
		p.choice = llm.ToolChoice{Mode: llm.ChoiceMust} // the model must call one of the client's tools or the schema tool
	case p.choice.Mode == llm.ChoiceMust && r.o.Traits.NoForcedTools:
		r.warn("tool_choice was sent as an instruction: the model cannot be forced to call a tool")
		if p.instruction != "" {
			p.instruction += "\n\n"
		}
		if len(p.choice.Names) == 0 {
			p.instruction += "You must call at least one of the tools in this turn. Do not answer without a tool call."
		} else {
			p.instruction += "You must call the tool " + p.choice.Names[0] + " in this turn. Do not answer without calling it."
		}
		p.choice = llm.ToolChoice{Mode: llm.ChoiceAuto}
	}
}
