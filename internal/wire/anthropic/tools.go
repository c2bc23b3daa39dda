package anthropic

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/wire/strict"
	"fairlead.dev/internal/wire/websearch"
)

// freeText is the input schema for a custom tool. The only member contains the free text.
const freeText = `{"type":"object","properties":{"input":{"type":"string"}},"required":["input"]}`

// searchTool is the name that the provider requires for the web search tool.
const searchTool = "web_search"

// isHosted reports whether providers of this format run the tool. The type of such a tool ends in a date.
func isHosted(kind string) bool {
	i := strings.LastIndexByte(kind, '_')
	return i > 0 && len(kind)-i == len("_20250305") && strings.Trim(kind[i+1:], "0123456789") == ""
}

// needsVendor reports whether only Anthropic's models can have a tool of this type.
func needsVendor(kind string) bool {
	return kind != "" && kind != "custom" && !websearch.Is(kind) && clientToolOf(kind) == nil
}

// clientTool is a tool of Anthropic's that the client runs. Anthropic's models know it by its type. Other models get it as a function with
// the input that Anthropic documents.
type clientTool struct{ prefix, description, schema string }

var clientTools = []clientTool{
	{
		"bash_", "Run a command in a persistent bash session, or restart the session.",
		`{"type":"object","properties":{"command":{"type":"string"},"restart":{"type":"boolean"}}}`,
	},
	{
		"text_editor_", "View and edit text files. view shows a file, or the lines view_range of a file, or lists a directory. create writes file_text. " +
			"str_replace replaces the only occurrence of old_str by new_str. insert adds insert_text after the line insert_line.",
		`{"type":"object","properties":{"command":{"type":"string","enum":["view","create","str_replace","insert"]},"path":{"type":"string"},` +
			`"view_range":{"type":"array","items":{"type":"integer"}},"file_text":{"type":"string"},"old_str":{"type":"string"},"new_str":{"type":"string"},` +
			`"insert_line":{"type":"integer"},"insert_text":{"type":"string"}},"required":["command","path"]}`,
	},
	{
		"memory_", "Read and write files below /memories, which remain between conversations. View this directory before you begin a task, and " +
			"store there what later conversations need.",
		`{"type":"object","properties":{"command":{"type":"string","enum":["view","create","str_replace","insert","delete","rename"]},"path":{"type":"string"},` +
			`"view_range":{"type":"array","items":{"type":"integer"}},"file_text":{"type":"string"},"old_str":{"type":"string"},"new_str":{"type":"string"},` +
			`"insert_line":{"type":"integer"},"insert_text":{"type":"string"},"old_path":{"type":"string"},"new_path":{"type":"string"}},"required":["command"]}`,
	},
}

// clientToolOf returns the client tool of a type such as bash_20250124, or nil.
func clientToolOf(kind string) *clientTool {
	for i := range clientTools {
		if isHosted(kind) && strings.HasPrefix(kind, clientTools[i].prefix) {
			return &clientTools[i]
		}
	}
	return nil
}

// planTools selects the tools to send. If the tool choice lists the allowed tools, all other tools are dropped, unless the choice forces
// one specific tool. If no tools remain, the tools that earlier messages call are declared, because the provider requires it.
func (r *renderer) planTools() {
	several, chosen := len(r.choice.Names) > 1 || r.choice.Mode == llm.ChoiceAuto && len(r.choice.Names) > 0, r.choice.Includes()
	for _, tool := range r.conv.Tools {
		switch {
		case several && !chosen(tool.Name):
			continue
		case isHosted(tool.Hosted):
		case tool.Search != nil:
			if !r.canSearch(tool.Search) {
				continue
			}
		case tool.Hosted != "":
			r.warn("the tool %s was dropped: the provider does not support it", tool.Hosted)
			continue
		}
		r.tools = append(r.tools, tool)
	}
	if len(r.choice.Names) > 1 || r.choice.Mode != llm.ChoiceMust {
		r.choice.Names = nil
	}
	if len(r.tools) == 0 {
		for _, name := range r.conv.CalledTools() {
			r.tools = append(r.tools, llm.Tool{Name: name})
		}
		r.choice = llm.ToolChoice{Mode: llm.ChoiceNone}
	}
}

// canSearch reports whether the provider supports a web search of another format. It warns about options that the provider does not
// support.
func (r *renderer) canSearch(s *llm.Search) bool {
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

func isStrict(tool llm.Tool) bool { return tool.Strict != nil && *tool.Strict && !tool.Custom }

// addTools adds the selected tools and the schema tool.
func (r *renderer) addTools() {
	tools, strictTools := r.tools, 0
	for _, tool := range tools {
		if isStrict(tool) {
			strictTools++
		}
	}
	if strictTools > 0 && (!r.o.Traits.Schemas || strictTools > maxStrict) {
		r.warn("strict was dropped from the tools: the model cannot enforce schemas")
		strictTools = 0
	}
	if r.schemaTool != "" {
		description := cmp.Or(r.conv.Output.Description, "Give the answer by calling this tool.")
		tools = append(slices.Clip(tools), llm.Tool{Name: r.schemaTool, Description: description, Schema: r.conv.Output.Schema})
	}
	for _, tool := range tools {
		if tool.Raw != nil && (tool.Search == nil || isHosted(tool.Hosted)) {
			r.out.Tools = append(r.out.Tools, rawTool(tool.Raw))
		} else {
			r.out.Tools = append(r.out.Tools, r.tool(tool, strictTools > 0))
		}
	}
}

// rawTool returns the definition of a tool that a client of the same format sent.
func rawTool(raw []byte) tool { return tool{Unknown: raw} }

// tool returns the definition of a tool. enforced is whether the provider enforces the schemas of strict tools.
func (r *renderer) tool(t llm.Tool, enforced bool) tool {
	if s := t.Search; s != nil {
		search := tool{Type: "web_search_20250305", Name: searchTool, MaxUses: strict.WholeOf(s.MaxUses), AllowedDomains: s.Allowed}
		if len(s.Allowed) == 0 {
			search.BlockedDomains = s.Blocked
		}
		search.UserLocation = websearch.LocationOf(s.Place)
		return search
	}
	out := tool{Name: t.Name, Description: t.Description, CacheControl: r.mark(t.Cache)}
	switch {
	case t.Custom:
		out.Description, out.InputSchema = t.DescribeGrammar(), jsontext.Value(freeText)
	case enforced && isStrict(t):
		out.InputSchema, out.Strict = objectSchema(r.narrowSchema(t.Schema, "the schema of the tool "+t.Name)), new(true)
	default:
		out.InputSchema = objectSchema(t.Schema)
	}
	return out
}

// objectSchema returns the schema with type object, as the provider requires for tools.
func objectSchema(schema json.RawMessage) jsontext.Value {
	root := rawjson.Parse(schema)
	if !root.IsObject() {
		return jsontext.Value(`{"type":"object","properties":{}}`)
	}
	if kind := root.Get("type"); kind.Exists() && kind.Kind != rawjson.Null {
		return jsontext.Value(schema)
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

func (r *renderer) addToolChoice() {
	mode, parallel := r.choice.Mode, r.conv.ParallelTools
	if len(r.out.Tools) == 0 || mode == llm.ChoiceUnset && parallel == nil {
		return
	}
	choice := &toolChoice{Type: "auto"}
	switch {
	case mode == llm.ChoiceMust && len(r.choice.Names) == 1:
		choice.Type, choice.Name = "tool", r.choice.Names[0]
	case mode == llm.ChoiceMust:
		choice.Type = "any"
	case mode == llm.ChoiceNone:
		choice.Type = "none"
	}
	if mode != llm.ChoiceNone && parallel != nil {
		choice.DisableParallelToolUse = new(!*parallel)
	}
	r.out.ToolChoice = choice
}
