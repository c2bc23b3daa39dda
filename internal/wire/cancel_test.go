package wire_test

import (
	"context"
	"strings"
	"testing"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire"
	"fairlead.dev/internal/wire/anthropic"
	"fairlead.dev/internal/wire/bedrock"
	"fairlead.dev/internal/wire/gemini"
	"fairlead.dev/internal/wire/openai"
	"fairlead.dev/internal/wire/responses"
	"fairlead.dev/internal/wire/strict"
)

// endingContext is a context that is done after a given number of checks. A check is one call of Err.
type endingContext struct {
	context.Context
	checks int // number of checks until the context is done
	after  int // number of checks since the context is done
}

func (c *endingContext) Err() error {
	if c.checks > 0 {
		c.checks--
		return nil
	}
	c.after++
	return context.Canceled
}

// maxChecksAfter is the maximum number of checks after the context is done: one check per nested loop.
const maxChecksAfter = 12

// largeRequests returns requests of every endpoint with a long list of messages, parts, tools, inputs or token IDs. n
// determines the length of the list.
func largeRequests(n int) map[string]struct {
	format wire.Format
	op     llm.Op
	body   string
} {
	list := func(element string) string { return "[" + strings.Repeat(element+",", n-1) + element + "]" }
	text := strings.Repeat("some text ", 100)
	part, input := `{"type":"text","text":"`+text+`"}`, `{"type":"input_text","text":"`+text+`"}`
	message := `{"role":"user","content":"` + text + `"}`
	tool := `{"type":"function","function":{"name":"f","description":"` + text + `"}}`
	return map[string]struct {
		format wire.Format
		op     llm.Op
		body   string
	}{
		"chat, messages":      {openai.Format{}, llm.Chat, `{"model":"m","messages":` + list(message) + `}`},
		"chat, parts":         {openai.Format{}, llm.Chat, `{"model":"m","messages":[{"role":"user","content":` + list(part) + `}]}`},
		"chat, tools":         {openai.Format{}, llm.Chat, `{"model":"m","messages":[` + message + `],"tools":` + list(tool) + `}`},
		"completions":         {openai.Format{}, llm.Complete, `{"model":"m","prompt":[1` + strings.Repeat(",123456", 200*n) + `]}`},
		"embeddings":          {openai.Format{}, llm.Embed, `{"model":"m","input":` + list("["+strings.Repeat("123456,", 200)+"1]") + `}`},
		"moderations":         {openai.Format{}, llm.Moderate, `{"model":"m","input":` + list(`"`+text+`"`) + `}`},
		"messages, messages":  {anthropic.Format{}, llm.Chat, `{"model":"m","max_tokens":9,"messages":` + list(message) + `}`},
		"messages, parts":     {anthropic.Format{}, llm.Chat, `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":` + list(part) + `}]}`},
		"messages, tools":     {anthropic.Format{}, llm.Chat, `{"model":"m","max_tokens":9,"messages":[` + message + `],"tools":` + list(`{"name":"f","description":"`+text+`"}`) + `}`},
		"messages, tokens":    {anthropic.Format{}, llm.Count, `{"model":"m","messages":` + list(message) + `}`},
		"gemini, contents":    {gemini.Format{Model: "m"}, llm.Chat, `{"contents":` + list(`{"parts":[{"text":"`+text+`"}]}`) + `}`},
		"gemini, parts":       {gemini.Format{Model: "m"}, llm.Chat, `{"contents":[{"parts":` + list(`{"text":"`+text+`"}`) + `}]}`},
		"gemini, tools":       {gemini.Format{Model: "m"}, llm.Chat, `{"contents":[{"parts":[{"text":"x"}]}],"tools":` + list(`{"functionDeclarations":[{"name":"f","description":"`+text+`"}]}`) + `}`},
		"responses, messages": {responses.Format{}, llm.Chat, `{"model":"m","input":` + list(message) + `}`},
		"responses, parts":    {responses.Format{}, llm.Chat, `{"model":"m","input":[{"role":"user","content":` + list(input) + `}]}`},
		"responses, tools":    {responses.Format{}, llm.Chat, `{"model":"m","input":"hi","tools":` + list(`{"type":"function","name":"f","description":"`+text+`"}`) + `}`},
	}
}

// TestDecodingStopsWhenTheContextEnds cancels the context at many points during decoding. Afterwards, each active loop may check the
// context once more; more checks would mean that decoding continues.
func TestDecodingStopsWhenTheContextEnds(t *testing.T) {
	t.Parallel()
	for name, tc := range largeRequests(2000) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stopsEarly(t, len(tc.body), func(ctx context.Context) error {
				_, err := tc.format.DecodeRequest(ctx, tc.op, []byte(tc.body))
				return err
			})
		})
	}
}

// TestRenderingStopsWhenTheContextEnds cancels the context while a conversation is encoded for a provider.
func TestRenderingStopsWhenTheContextEnds(t *testing.T) {
	t.Parallel()
	conv := &llm.Conversation{Choices: 1}
	text := strings.Repeat("some text ", 100)
	for range 1000 {
		for _, role := range []llm.Role{llm.User, llm.Assistant} {
			conv.Messages = append(conv.Messages, llm.Message{Role: role, Parts: []llm.Part{{Kind: llm.TextPart, Text: text}}})
		}
	}
	for name, render := range map[string]func(ctx context.Context) (body []byte, warnings []string, err error){
		"messages": func(ctx context.Context) ([]byte, []string, error) {
			return anthropic.Render(ctx, conv, anthropic.RenderOptions{})
		},
		"gemini": func(ctx context.Context) ([]byte, []string, error) {
			return gemini.Render(ctx, conv, gemini.RenderOptions{})
		},
		"converse": func(ctx context.Context) ([]byte, []string, error) {
			return bedrock.Render(ctx, conv, bedrock.RenderOptions{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stopsEarly(t, len(conv.Messages)*len(text), func(ctx context.Context) error {
				_, _, err := render(ctx)
				return err
			})
		})
	}
}

// stopsEarly checks that the function step stops soon after its context is done. It calls step with contexts that are done after 0, 1, 2,
// 4, ... checks. size is the number of bytes that step reads. step must check the context at least once per 2*PollBytes bytes.
func stopsEarly(t *testing.T, size int, step func(ctx context.Context) error) {
	t.Helper()
	total := &endingContext{Context: t.Context(), checks: 1 << 30}
	if err := step(total); err != nil {
		t.Fatal(err)
	}
	checks := 1<<30 - total.checks
	if least := size / strict.PollBytes / 2; checks < least {
		t.Errorf("the context was checked %d times for %d bytes, want at least %d", checks, size, least)
	}
	for n := 0; n < checks; n = max(1, 2*n) {
		ctx := &endingContext{Context: t.Context(), checks: n}
		err := step(ctx)
		if err == nil || llm.AsError(err).Kind != llm.ClientCancelled {
			t.Fatalf("the context ended after %d of %d checks: %v, want ClientCancelled", n, checks, err)
		}
		if ctx.after > maxChecksAfter {
			t.Errorf("the context ended after %d of %d checks and was checked %d more times, want at most %d",
				n, checks, ctx.after, maxChecksAfter)
		}
	}
}
