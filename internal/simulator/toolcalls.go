package simulator

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/internal/simulator/openai"
)

// toolChoice is the decoded tool_choice.
type toolChoice struct {
	mode  string // none, auto or required
	names []string
}

// decodeToolChoice decodes tool_choice: a mode, a named tool, or a list of allowed tools.
func (q *chatRequest) decodeToolChoice() toolChoice {
	var word string
	if json.Unmarshal(q.ToolChoice, &word) == nil && word != "" {
		return toolChoice{mode: word}
	}
	var object struct {
		Type         string                `json:"type"`
		Function     struct{ Name string } `json:"function"`
		Custom       struct{ Name string } `json:"custom"`
		AllowedTools struct {
			Mode  string `json:"mode"`
			Tools []tool `json:"tools"`
		} `json:"allowed_tools"`
	}
	if json.Unmarshal(q.ToolChoice, &object) != nil {
		return toolChoice{mode: "auto"}
	}
	switch object.Type {
	case "function":
		return toolChoice{mode: "required", names: []string{object.Function.Name}}
	case "custom":
		return toolChoice{mode: "required", names: []string{object.Custom.Name}}
	case "allowed_tools":
		choice := toolChoice{mode: object.AllowedTools.Mode}
		for _, t := range object.AllowedTools.Tools {
			choice.names = append(choice.names, t.name())
		}
		return choice
	}
	return toolChoice{mode: "auto"}
}

// toolCalls returns the tools that a response calls: those that must be called, or those that the prompt names. After a
// tool result, the simulator calls a tool again only if tool_choice requires it; otherwise agent loops would never end.
func (q *chatRequest) toolCalls(index int) []openai.ToolCall {
	choice := q.decodeToolChoice()
	tools := slices.DeleteFunc(slices.Clone(q.Tools), func(t tool) bool {
		return len(choice.names) > 0 && !slices.Contains(choice.names, t.name())
	})
	if len(tools) == 0 || choice.mode == "none" {
		return nil
	}
	prompt := strings.ToLower(q.lastUser())
	answered := q.Messages[len(q.Messages)-1].Role == "tool"
	picked := []tool{}
	if !answered || choice.mode == "required" {
		picked = asked(tools, prompt)
	}
	if len(picked) == 0 && choice.mode == "required" {
		picked = tools[:1]
	}
	if len(picked) == 1 && containsAny(prompt, "twice", "two times", "in parallel", "several") {
		picked = append(picked, picked[0])
	}
	if q.ParallelToolCalls != nil && !*q.ParallelToolCalls && len(picked) > 1 {
		picked = picked[:1]
	}
	return q.call(picked, index)
}

// asked returns the tools that the prompt names, or the first tool if the prompt asks for a tool without naming one.
func asked(tools []tool, prompt string) []tool {
	named := []tool{}
	for _, t := range tools {
		name := strings.ToLower(t.name())
		spoken := strings.NewReplacer("_", " ", "-", " ").Replace(name)
		if name != "" && containsAny(prompt, name, spoken) {
			named = append(named, t)
		}
	}
	if len(named) == 0 && containsAny(prompt, "use a tool", "use the tool", "call a tool", "call the tool", "use your tool") {
		return tools[:1]
	}
	return named
}

func containsAny(text string, words ...string) bool {
	return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(text, word) })
}

func (q *chatRequest) call(tools []tool, index int) []openai.ToolCall {
	calls := []openai.ToolCall{}
	for i, t := range tools {
		seed := openai.Mix(q.seed() + uint64(index)<<16 + uint64(i))
		id := fmt.Sprintf("call_sim%016x", seed)
		if t.Type == "custom" {
			calls = append(calls, openai.ToolCall{ID: id, Type: "custom", Custom: &openai.CustomCall{Name: t.Custom.Name, Input: "SIMULATED input"}})
			continue
		}
		arguments := string(openai.Instance(t.Function.Parameters, seed))
		calls = append(calls, openai.ToolCall{ID: id, Type: "function", Function: &openai.FunctionCall{Name: t.Function.Name, Arguments: arguments}})
	}
	return calls
}
