package token

import (
	"testing"

	"fairlead.dev/internal/llm"
)

func TestImageFollowsPublishedRules(t *testing.T) {
	t.Parallel()
	size := func(w, h int, detail string) llm.Image { return llm.Image{Width: w, Height: h, Detail: detail} }
	for _, tc := range []struct {
		vendor, name string
		image        llm.Image
		want         int64
	}{
		// The examples in OpenAI's documentation.
		{"OpenAI", "gpt-4o", size(1024, 1024, "high"), 765},
		{"OpenAI", "gpt-4o", size(2048, 4096, ""), 1105},
		{"OpenAI", "gpt-4o", size(4096, 8192, "low"), 85},
		{"OpenAI", "gpt-4.1-mini", size(1024, 1024, ""), 1659},
		{"OpenAI", "gpt-4.1", size(512, 512, ""), 255},
		{"OpenAI", "gpt-4o-mini", size(512, 512, ""), 8500},
		{"OpenAI", "o3", size(1024, 1024, ""), 675},
		{"OpenAI", "gpt-5", size(1024, 1024, ""), 630},
		{"OpenAI", "gpt-5-mini", size(1024, 1024, ""), 1229},
		{"OpenAI", "gpt-5.2", size(4000, 4000, ""), 1844},
		{"OpenAI", "gpt-5.4", size(1600, 1600, ""), 3000},
		{"OpenAI", "gpt-6-sol", size(3200, 3200, "original"), 12000},
		{"OpenAI", "gpt-4o", llm.Image{}, 765},
		{"Anthropic", "claude-sonnet-4-5", size(1000, 1000, ""), 1334},
		{"Anthropic", "claude-sonnet-4-5", size(200, 200, ""), 54},
		{"Anthropic", "claude-sonnet-4-5", size(8000, 8000, ""), 1568},
		{"Anthropic", "claude-opus-4-8", size(8000, 8000, ""), 4784},
		{"Google", "gemini-2.5-flash", size(384, 300, ""), 258},
		{"Google", "gemini-2.5-flash", size(1536, 800, ""), 4 * 258},
		{"Google", "gemini-3.5-flash", size(100, 100, ""), 1120},
		{"Google", "gemma-3-27b-it", size(3000, 3000, ""), 258},
		{"Alibaba", "qwen3.5-27b", size(280, 280, ""), 100},
		{"Mistral", "mistral-medium-3.5", size(9000, 9000, ""), 2500},
	} {
		if got := (Model{tc.vendor, tc.name}).Image(tc.image); got != tc.want {
			t.Errorf("%s, %dx%d %s: %d tokens, want %d", tc.name, tc.image.Width, tc.image.Height, tc.image.Detail, got, tc.want)
		}
	}
}
