package messages

import (
	"encoding/json"

	"github.com/tidwall/gjson"

	"fairlead/internal/llm"
)

// freeText is the schema of a tool that takes any text; the text is its one member.
const freeText = `{"type":"object","properties":{"input":{"type":"string"}},"required":["input"]}`

func (r *renderer) tools() {
	p := r.plan
	if len(p.tools) == 0 && p.schemaTool == "" {
		return
	}
	strict := 0
	for _, tool := range p.tools {
		if isStrict(tool) {
			strict++
		}
	}
	if strict > 0 && (!r.o.Traits.Schemas || strict > maxStrict) {
		r.warn("strict was left out of the tools: the model cannot be held to their schemas")
		strict = 0
	}
	r.w.openList("tools")
	for _, tool := range p.tools {
		r.tool(tool, strict > 0)
	}
	if p.schemaTool != "" {
		description := "Give the answer by calling this tool."
		if r.conv.Output.Description != "" {
			description = r.conv.Output.Description
		}
		r.tool(llm.Tool{Name: p.schemaTool, Description: description, Schema: r.conv.Output.Schema}, false)
	}
	r.w.closeList()
}

func isStrict(tool llm.Tool) bool { return tool.Strict != nil && *tool.Strict && !tool.Custom }

func (r *renderer) tool(tool llm.Tool, strict bool) {
	if tool.Hosted != "" {
		r.w.element(tool.Raw)
		return
	}
	w := &r.w
	w.open()
	w.str("name", tool.Name)
	if tool.Description != "" {
		w.str("description", tool.Description)
	}
	strict = strict && isStrict(tool)
	switch {
	case tool.Custom:
		w.raw("input_schema", []byte(freeText))
		if len(tool.Format) > 0 {
			r.warn("the format of the tool %s was left out: the provider cannot be held to it", tool.Name)
		}
	case strict:
		w.raw("input_schema", objectSchema(r.narrowed(tool.Schema, "the schema of the tool "+tool.Name)))
		w.bool("strict", true)
	default:
		w.raw("input_schema", objectSchema(tool.Schema))
	}
	r.cache(w, tool.Cache)
	w.close()
}

// objectSchema returns a schema that says that it is of an object, as the provider demands of tools.
func objectSchema(schema json.RawMessage) []byte {
	root := gjson.ParseBytes(schema)
	if !root.IsObject() {
		return []byte(`{"type":"object","properties":{}}`)
	}
	if kind := root.Get("type"); kind.Exists() && kind.Type != gjson.Null {
		return schema
	}
	var w object
	w.open()
	w.str("type", "object")
	root.ForEach(func(key, value gjson.Result) bool {
		if key.String() != "type" {
			w.raw(key.String(), []byte(value.Raw))
		}
		return true
	})
	w.close()
	return w.out
}

// cache writes a mark, unless it is one of those that are too many.
func (r *renderer) cache(w *object, mark *llm.CacheMark) {
	if mark == nil {
		return
	}
	r.marks++
	if r.marks <= r.unmarked {
		return
	}
	w.key("cache_control")
	w.open()
	w.str("type", "ephemeral")
	if mark.TTL != "" {
		w.str("ttl", mark.TTL)
	}
	w.close()
}

func (r *renderer) toolChoice() {
	p := r.plan
	single := r.conv.ParallelTools != nil && !*r.conv.ParallelTools
	mode := p.choice.Mode
	if len(p.tools) == 0 && p.schemaTool == "" || mode == llm.ChoiceUnset && r.conv.ParallelTools == nil {
		return
	}
	w := &r.w
	w.key("tool_choice")
	w.open()
	switch {
	case mode == llm.ChoiceMust && len(p.choice.Names) == 1:
		w.str("type", "tool")
		w.str("name", p.choice.Names[0])
	case mode == llm.ChoiceMust:
		w.str("type", "any")
	case mode == llm.ChoiceNone:
		w.str("type", "none")
	default:
		w.str("type", "auto")
	}
	if mode != llm.ChoiceNone && r.conv.ParallelTools != nil {
		w.bool("disable_parallel_tool_use", single)
	}
	w.close()
}
