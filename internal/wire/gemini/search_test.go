package gemini

import (
	"strings"
	"testing"

	"fairlead.dev/internal/llm"
)

func TestWebSearchIsSentWithoutFunctions(t *testing.T) {
	t.Parallel()
	search := llm.Tool{Hosted: "web_search", Search: &llm.Search{MaxUses: 2}}
	conv := llm.Conversation{Messages: []llm.Message{user(text1("x"))}, Tools: []llm.Tool{search}}
	for name, c := range map[string]struct {
		model string
		tools []llm.Tool
		want  string
		warns string
	}{
		"alone":          {"gemini-2.5-flash", []llm.Tool{search}, `[{"googleSearch":{}}]`, "max_uses was dropped"},
		"with functions": {"gemini-3-pro-preview", []llm.Tool{search, {Name: "f"}}, `[{"functionDeclarations":[{"name":"f"}]}]`, "web search was dropped"},
		"an old model":   {"gemini-1.5-flash", []llm.Tool{search}, "", "web search was dropped"},
		"an open model":  {"gemma-3-27b-it", []llm.Tool{search}, "", "web search was dropped"},
	} {
		conv.Tools = c.tools
		got, warnings := rendered(t, conv, RenderOptions{Traits: TraitsOf(c.model)}, "tools")
		if got != c.want || !strings.Contains(strings.Join(warnings, ";"), c.warns) {
			t.Errorf("%s: tools %s, warnings %q; want %s, %q", name, got, warnings, c.want, c.warns)
		}
	}
}
