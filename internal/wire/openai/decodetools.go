package openai

import (
	"encoding/json"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire/strict"
	"fairlead.dev/internal/wire/websearch"
)

func number(n strict.Number) json.Number { return json.Number(n) }

// rawOf returns a raw value; nil for null.
func rawOf(v jsontext.Value) json.RawMessage {
	if len(v) == 0 || v[0] == 'n' {
		return nil
	}
	return json.RawMessage(v)
}

func (b *builder) addTools(r *chatRequest) {
	for n := range r.Tools {
		t := &r.Tools[n]
		tool := b.readTool(t, func() string { return "tools[" + strconv.Itoa(n) + "]." })
		tool.Cache = t.mark()
		if tool.Hosted != "" {
			tool.Raw = b.doc.RawAt(t.Position)
			if websearch.Is(tool.Hosted) {
				tool.Search = websearch.Read(tool.Raw)
			}
			for id := range strict.FileIDs(tool.Raw) {
				b.req.AddStoredFile(id, "tools")
			}
		}
		b.conv.Tools = append(b.conv.Tools, tool)
	}
	for n := range r.Functions {
		b.conv.Tools = append(b.conv.Tools, b.readFunction(&r.Functions[n], func() string { return "functions[" + strconv.Itoa(n) + "]." }))
	}
	if rawOf(r.WebSearch) != nil {
		b.conv.Tools = append(b.conv.Tools, llm.Tool{Hosted: websearch.Hosted, Search: websearch.Read(r.WebSearch)})
	}
}

// readTool reads a tool. where returns the path of its members. Tools of any type other than function and custom run at the provider.
func (b *builder) readTool(t *tool, where func() string) llm.Tool {
	switch {
	case t.Type == "custom":
		c := t.Custom
		if c == nil {
			c = &customTool{}
		}
		b.requireName(c.Name, func() string { return where() + "custom." })
		return llm.Tool{Name: c.Name, Description: c.Description, Custom: true, Format: rawOf(c.Format)}
	case t.Type != "function" && t.Type != "":
		return llm.Tool{Hosted: t.Type}
	case t.Function == nil:
		b.doc.Untranslatable(where()+"function", "%sfunction is missing. Describe the function that the model may call.", where())
		return llm.Tool{}
	}
	return b.readFunction(t.Function, func() string { return where() + "function." })
}

func (b *builder) readFunction(f *function, where func() string) llm.Tool {
	b.requireName(f.Name, where)
	return llm.Tool{Name: f.Name, Description: f.Description, Schema: rawOf(f.Parameters), Strict: f.Strict}
}

func (b *builder) requireName(name string, where func() string) {
	if name == "" {
		b.doc.Untranslatable(where()+"name", "%sname is missing. Name the tool.", where())
	}
}

// addToolChoice reads tool_choice and the legacy function_call.
func (b *builder) addToolChoice(r *chatRequest) {
	choice := &b.conv.ToolChoice
	switch legacy := r.FunctionCall; {
	case legacy.IsString:
		choice.Mode = choiceMode(legacy.String)
	case legacy.Other != nil:
		b.requireName(legacy.Other.Name, func() string { return "function_call." })
		*choice = llm.ToolChoice{Mode: llm.ChoiceMust, Names: []string{legacy.Other.Name}}
	}
	if r.ToolChoice.IsString {
		choice.Mode = choiceMode(r.ToolChoice.String)
	}
	if c := r.ToolChoice.Other; c != nil {
		b.readToolChoice(c)
	}
	if !r.ToolChoice.IsZero() && choice.Mode == llm.ChoiceUnset {
		b.conv.DropField("tool_choice")
	}
}

func (b *builder) readToolChoice(c *toolChoice) {
	choice := &b.conv.ToolChoice
	switch {
	case c.Type == "function" || c.Type == "custom":
		name := ""
		if c.Type == "function" && c.Function != nil {
			name = c.Function.Name
		} else if c.Type == "custom" && c.Custom != nil {
			name = c.Custom.Name
		}
		b.requireName(name, func() string { return "tool_choice." + c.Type + "." })
		*choice = llm.ToolChoice{Mode: llm.ChoiceMust, Names: []string{name}}
	case c.Type == "allowed_tools" && c.AllowedTools != nil:
		if choice.Mode = choiceMode(c.AllowedTools.Mode); choice.Mode == llm.ChoiceUnset {
			choice.Mode = llm.ChoiceAuto
		}
		for i := range c.AllowedTools.Tools {
			tool := b.readTool(&c.AllowedTools.Tools[i], func() string { return "tool_choice.allowed_tools.tools." })
			if tool.Name != "" {
				choice.Names = append(choice.Names, tool.Name)
			}
		}
	}
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

// mark returns the prompt-cache breakpoint, or nil.
func (m *cacheMark) mark() *llm.CacheMark {
	switch {
	case m.CacheControl != nil:
		return &llm.CacheMark{TTL: m.CacheControl.TTL}
	case rawOf(m.Breakpoint) != nil:
		return &llm.CacheMark{}
	}
	return nil
}
