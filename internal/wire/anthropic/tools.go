package anthropic

import (
	"encoding/json"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/wire/websearch"
)

// freeText is the input schema for a custom tool. The only member contains the free text.
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
		r.warn("strict was dropped from the tools: the model cannot enforce schemas")
		strict = 0
	}
	r.w.OpenList("tools")
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
	r.w.CloseList()
}

func isStrict(tool llm.Tool) bool { return tool.Strict != nil && *tool.Strict && !tool.Custom }

func (r *renderer) tool(tool llm.Tool, strict bool) {
	w := &r.w
	switch {
	case tool.Search != nil && !IsHosted(tool.Hosted):
		s := tool.Search
		w.Open()
		w.Str("type", "web_search_20250305")
		w.Str("name", searchTool)
		if s.MaxUses > 0 {
			w.Int("max_uses", s.MaxUses)
		}
		websearch.WriteDomains(w, "allowed_domains", s.Allowed)
		if len(s.Allowed) == 0 {
			websearch.WriteDomains(w, "blocked_domains", s.Blocked)
		}
		websearch.WritePlace(w, s.Place)
		w.Close()
		return
	case tool.Raw != nil:
		w.Element(tool.Raw)
		return
	}
	description := tool.Description
	if tool.Custom {
		description = tool.DescribeGrammar()
	}
	w.Open()
	w.Str("name", tool.Name)
	w.OptionalStr("description", description)
	strict = strict && isStrict(tool)
	switch {
	case tool.Custom:
		w.Raw("input_schema", []byte(freeText))
	case strict:
		w.Raw("input_schema", objectSchema(r.narrowSchema(tool.Schema, "the schema of the tool "+tool.Name)))
		w.Bool("strict", true)
	default:
		w.Raw("input_schema", objectSchema(tool.Schema))
	}
	r.cache(w, tool.Cache)
	w.Close()
}

// objectSchema returns the schema with type object, as the provider requires for tools.
func objectSchema(schema json.RawMessage) []byte {
	root := rawjson.Parse(schema)
	if !root.IsObject() {
		return []byte(`{"type":"object","properties":{}}`)
	}
	if kind := root.Get("type"); kind.Exists() && kind.Kind != rawjson.Null {
		return schema
	}
	var w rawjson.Writer
	w.Open()
	w.Str("type", "object")
	root.ForEach(func(key, value rawjson.Value) bool {
		if key.String() != "type" {
			w.Raw(key.String(), []byte(value.Raw))
		}
		return true
	})
	w.Close()
	return w.Out
}

// cache writes a cache mark. If the conversation has too many marks, the first ones are dropped.
func (r *renderer) cache(w *rawjson.Writer, mark *llm.CacheMark) {
	if mark == nil {
		return
	}
	r.marks++
	if r.marks <= r.unmarked {
		return
	}
	w.Key("cache_control")
	w.Open()
	w.Str("type", "ephemeral")
	if mark.TTL != "" {
		w.Str("ttl", mark.TTL)
	}
	w.Close()
}

func (r *renderer) toolChoice() {
	p := r.plan
	single := r.conv.ParallelTools != nil && !*r.conv.ParallelTools
	mode := p.choice.Mode
	if len(p.tools) == 0 && p.schemaTool == "" || mode == llm.ChoiceUnset && r.conv.ParallelTools == nil {
		return
	}
	w := &r.w
	w.Key("tool_choice")
	w.Open()
	switch {
	case mode == llm.ChoiceMust && len(p.choice.Names) == 1:
		w.Str("type", "tool")
		w.Str("name", p.choice.Names[0])
	case mode == llm.ChoiceMust:
		w.Str("type", "any")
	case mode == llm.ChoiceNone:
		w.Str("type", "none")
	default:
		w.Str("type", "auto")
	}
	if mode != llm.ChoiceNone && r.conv.ParallelTools != nil {
		w.Bool("disable_parallel_tool_use", single)
	}
	w.Close()
}
