package token

import (
	"testing"

	"fairlead.dev/internal/llm"
)

func TestMeterAgreesWithModelPrompt(t *testing.T) {
	t.Parallel()
	if len(families) != len(weights) {
		t.Fatalf("%d families, but weights for %d", len(families), len(weights))
	}
	p := Prompt{Messages: 3, Tools: true, Images: 2, Sizes: []llm.Image{{Width: 800, Height: 600}}}
	p.Text.Add("How many of the 12 boxes hold more than 3 rote Bälle? 数える aGVsbG8gd29ybGQ=")
	meter := NewMeter(p)
	for _, m := range []Model{
		{"OpenAI", "gpt-5"},
		{"OpenAI", "gpt-4"},
		{"Anthropic", "claude-opus-4-8"},
		{"Anthropic", "claude-3-haiku"},
		{"Google", "gemini-2.5-pro"},
		{"Meta", "llama-3.3-70b"},
		{"Meta", "llama-4-scout"},
		{"Mistral", "mistral-small"},
		{"Mistral", "mixtral-8x7b"},
		{"Alibaba", "qwen3"},
		{"DeepSeek", "deepseek-v3"},
		{"Cohere", "command-a"},
		{"Moonshot AI", "kimi-k2"},
		{"", "custom"},
	} {
		v := m.Vocabulary()
		if got, want := meter.Prompt(&v), m.Prompt(p); got != want {
			t.Errorf("%v: %d tokens, want %d", m, got, want)
		}
	}
}
