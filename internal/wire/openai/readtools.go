package openai

import (
	"strconv"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/wire/websearch"
)

func (r *reader) readTools() {
	if !r.Is('[', "tools", "a list") {
		return
	}
	for n := range r.Elements {
		where := "tools[" + strconv.Itoa(n) + "]"
		from := r.Pos
		m, ok := r.object(where)
		if !ok {
			continue
		}
		tool := r.readTool(m, where+".")
		tool.Cache = r.cacheOf(m, where+".")
		if tool.Hosted != "" {
			tool.Raw = r.Data[from:r.Pos]
			if websearch.Is(tool.Hosted) {
				tool.Search = websearch.Read(rawjson.Parse(tool.Raw))
			}
		}
		r.conv.Tools = append(r.conv.Tools, tool)
	}
}

func (r *reader) readTool(m map[string]int, where string) llm.Tool {
	kind := r.textOf(m, "type", where)
	function, isFunction := r.objectOf(m, "function", where)
	switch {
	case isFunction && (kind == "function" || kind == ""):
		return r.function(function, where+"function.")
	case kind == "custom":
		custom, _ := r.objectOf(m, "custom", where)
		where += "custom."
		return llm.Tool{
			Name: r.nameOf(custom, where), Description: r.textOf(custom, "description", where),
			Custom: true, Format: r.rawOf(custom, "format"),
		}
	case kind == "function" || kind == "":
		r.Problem(where+"function", "%sfunction is missing. Describe the function that the model may call.", where)
	}
	return llm.Tool{Hosted: kind}
}

func (r *reader) function(m map[string]int, where string) llm.Tool {
	return llm.Tool{
		Name: r.nameOf(m, where), Description: r.textOf(m, "description", where),
		Schema: r.rawOf(m, "parameters"), Strict: r.flagOf(m, "strict", where),
	}
}

// nameOf decodes the name of a tool, which is required.
func (r *reader) nameOf(m map[string]int, where string) string {
	name := r.textOf(m, "name", where)
	if name == "" {
		r.Problem(where+"name", "%sname is missing. Name the tool.", where)
	}
	return name
}

// readFunctions decodes legacy tools (the functions member).
func (r *reader) readFunctions() {
	if !r.Is('[', "functions", "a list") {
		return
	}
	for n := range r.Elements {
		where := "functions[" + strconv.Itoa(n) + "]"
		if m, ok := r.object(where); ok {
			r.conv.Tools = append(r.conv.Tools, r.function(m, where+"."))
		}
	}
}

func (r *reader) readToolChoice() {
	choice := &r.conv.ToolChoice
	if r.Kind() == '"' {
		word, _ := r.ReadText("tool_choice")
		if choice.Mode = choiceMode(word); choice.Mode == llm.ChoiceUnset {
			r.conv.DropField("tool_choice")
		}
		return
	}
	m, ok := r.object("tool_choice")
	if !ok {
		return
	}
	const where = "tool_choice."
	switch kind := r.textOf(m, "type", where); kind {
	case "function", "custom":
		inner, _ := r.objectOf(m, kind, where)
		*choice = llm.ToolChoice{Mode: llm.ChoiceMust, Names: []string{r.nameOf(inner, where+kind+".")}}
	case "allowed_tools":
		if inner, ok := r.objectOf(m, kind, where); ok {
			r.allowedTools(inner, where+kind+".")
		}
	default:
		r.conv.DropField("tool_choice")
	}
}

// allowedTools decodes the tools that the model may choose from, and the mode, which may require a call.
func (r *reader) allowedTools(m map[string]int, where string) {
	choice := &r.conv.ToolChoice
	choice.Mode = choiceMode(r.textOf(m, "mode", where))
	if choice.Mode == llm.ChoiceUnset {
		choice.Mode = llm.ChoiceAuto
	}
	pos, has := m["tools"]
	if !has {
		return
	}
	r.at(pos, func() {
		if !r.Is('[', where+"tools", "a list") {
			return
		}
		for range r.Elements {
			tool, ok := r.object(where + "tools")
			if !ok {
				continue
			}
			if name := r.readTool(tool, where+"tools.").Name; name != "" {
				choice.Names = append(choice.Names, name)
			}
		}
	})
}

func choiceMode(word string) llm.ChoiceMode {
	switch word {
	case "auto":
		return llm.ChoiceAuto
	case "required", "any":
		return llm.ChoiceMust
	case "none":
		return llm.ChoiceNone
	}
	return llm.ChoiceUnset
}

// readFunctionChoice decodes a legacy tool choice (the function_call member).
func (r *reader) readFunctionChoice() {
	choice := &r.conv.ToolChoice
	if r.Kind() == '"' {
		word, _ := r.ReadText("function_call")
		choice.Mode = choiceMode(word)
		return
	}
	if m, ok := r.object("function_call"); ok {
		*choice = llm.ToolChoice{Mode: llm.ChoiceMust, Names: []string{r.nameOf(m, "function_call.")}}
	}
}

func (r *reader) readOutput() {
	m, ok := r.object("response_format")
	if !ok {
		return
	}
	const where = "response_format."
	out := &r.conv.Output
	switch r.textOf(m, "type", where) {
	case "text":
	case "json_object":
		out.Kind = llm.OutputJSON
	case "json_schema":
		inner, _ := r.objectOf(m, "json_schema", where)
		*out = llm.Output{
			Kind: llm.OutputSchema, Name: r.textOf(inner, "name", where+"json_schema."),
			Description: r.textOf(inner, "description", where+"json_schema."),
			Schema:      r.rawOf(inner, "schema"), Strict: r.flagOf(inner, "strict", where+"json_schema."),
		}
	default:
		r.conv.DropField("response_format")
	}
}
