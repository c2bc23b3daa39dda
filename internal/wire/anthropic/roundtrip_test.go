package anthropic

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"fairlead.dev/internal/llm"
)

var (
	words   = rapid.StringMatching(`[a-zäö"\\ {}\n]*[a-zäö"\\{}]`)
	someID  = rapid.OneOf(rapid.StringMatching(`[a-zA-Z0-9_-]{1,12}`), rapid.StringMatching(`fl[0-9]_[a-z]{0,6}`), rapid.String())
	choices = rapid.SampledFrom([]llm.ToolChoice{
		{}, {Mode: llm.ChoiceAuto}, {Mode: llm.ChoiceMust}, {Mode: llm.ChoiceMust, Names: []string{"tool-0"}}, {Mode: llm.ChoiceNone},
	})
	maybe = rapid.SampledFrom([]*bool{nil, new(bool), func() *bool { b := true; return &b }()})
)

func drawText(t *rapid.T) llm.Part {
	return llm.Part{Kind: llm.TextPart, Text: words.Draw(t, "text")}
}

func drawMedia(t *rapid.T) llm.Part {
	data := base64.StdEncoding.EncodeToString([]byte(words.Draw(t, "data")))
	return rapid.SampledFrom([]llm.Part{
		{Kind: llm.ImagePart, Media: &llm.Media{Type: "image/png", Data: data}},
		{Kind: llm.ImagePart, Media: &llm.Media{URL: "https://a.test/b.png"}},
		{Kind: llm.FilePart, Media: &llm.Media{Type: "application/pdf", Data: data, Name: "a.pdf"}},
		{Kind: llm.FilePart, Media: &llm.Media{URL: "https://a.test/b.pdf"}},
		{Kind: llm.FilePart, Media: &llm.Media{Type: "text/plain", Data: data}},
	}).Draw(t, "media")
}

// drawExchange generates an assistant message with calls and a user message with their results.
func drawExchange(t *rapid.T, n int) []llm.Message {
	assistant, user := llm.Message{Role: llm.Assistant}, llm.Message{Role: llm.User}
	if rapid.Bool().Draw(t, "thinks") {
		assistant.Parts = append(assistant.Parts,
			llm.Part{Kind: llm.ThinkingPart, Thinking: &llm.Thinking{Text: words.Draw(t, "thought"), Signature: "sig", Provider: "p"}},
			llm.Part{Kind: llm.ThinkingPart, Thinking: &llm.Thinking{Redacted: "sealed", Provider: "p"}})
	}
	assistant.Parts = append(assistant.Parts, drawText(t))
	for i := range rapid.IntRange(0, 3).Draw(t, "calls") {
		id := someID.Draw(t, "id")
		name := "tool-" + strconv.Itoa(i)
		assistant.Parts = append(assistant.Parts, llm.Part{Kind: llm.CallPart, Call: &llm.ToolCall{ID: id, Name: name, Arguments: `{"n":` + strconv.Itoa(n) + `.0}`}})
		result := &llm.ToolResult{ID: id, Name: name, Failed: rapid.Bool().Draw(t, "failed"), Parts: []llm.Part{drawText(t)}}
		if rapid.Bool().Draw(t, "rich") {
			result.Parts = append(result.Parts, drawMedia(t))
		}
		user.Parts = append(user.Parts, llm.Part{Kind: llm.ResultPart, Result: result})
	}
	user.Parts = append(user.Parts, drawText(t))
	return []llm.Message{assistant, user}
}

func drawConversation(t *rapid.T) *llm.Conversation {
	c := &llm.Conversation{
		Choices: 1, MaxOutput: rapid.Int64Range(2000, 9000).Draw(t, "max"), ToolChoice: choices.Draw(t, "choice"), ParallelTools: maybe.Draw(t, "parallel"),
		EndUser: rapid.SampledFrom([]string{"", "u-1"}).Draw(t, "user"), ServiceTier: rapid.SampledFrom([]string{"", "auto", "default"}).Draw(t, "tier"),
		Sampling: llm.Sampling{Temperature: rapid.SampledFrom([]json.Number{"", "0.50", "1"}).Draw(t, "temperature"), TopK: rapid.SampledFrom([]json.Number{"", "40"}).Draw(t, "k")},
	}
	if rapid.Bool().Draw(t, "system") {
		c.Messages = append(c.Messages, llm.Message{Role: llm.System, Parts: []llm.Part{drawText(t)}})
	}
	c.Messages = append(c.Messages, llm.Message{Role: llm.User, Parts: []llm.Part{drawText(t), drawMedia(t)}})
	for n := range rapid.IntRange(0, 3).Draw(t, "exchanges") {
		c.Messages = append(c.Messages, drawExchange(t, n)...)
	}
	for i := range rapid.IntRange(1, 3).Draw(t, "tools") {
		c.Tools = append(c.Tools, llm.Tool{Name: "tool-" + strconv.Itoa(i), Description: words.Draw(t, "description"), Schema: schema})
	}
	if rapid.Bool().Draw(t, "stops") {
		c.Stop = []string{"END", words.Draw(t, "stop")}
	}
	if rapid.Bool().Draw(t, "shaped") {
		yes := true
		c.Output = llm.Output{Kind: llm.OutputSchema, Name: "answer", Schema: schema, Strict: &yes}
	}
	if last := &c.Messages[len(c.Messages)-1]; rapid.Bool().Draw(t, "marked") {
		parts := slices.Clone(last.Parts)
		parts[len(parts)-1].Cache = &llm.CacheMark{TTL: rapid.SampledFrom([]string{"", "5m", "1h"}).Draw(t, "ttl")}
		last.Parts = parts
		c.Tools[0].Cache = &llm.CacheMark{}
	}
	return c
}

// Encoding and decoding a conversation returns an equal conversation.
func TestConversationRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		conv := drawConversation(t)
		body, warnings, err := Render(t.Context(), conv, RenderOptions{Model: "m", Signer: "p", Traits: Traits{Schemas: true}})
		if err != nil || len(warnings) > 0 {
			t.Fatalf("render: %v, warnings %q; want none", err, warnings)
		}
		req, err := Format{}.DecodeRequest(t.Context(), llm.Chat, body)
		if err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		read, err := req.Translate()
		if err != nil {
			t.Fatal(err)
		}
		// Signatures of this format do not contain the name of their provider.
		unsigned := cmp.FilterPath(func(p cmp.Path) bool { return strings.HasSuffix(p.String(), "Thinking.Provider") }, cmp.Ignore())
		switch mode := conv.ToolChoice.Mode; { // decoding returns an equivalent but different form in these cases
		case mode == llm.ChoiceUnset && conv.ParallelTools != nil:
			conv.ToolChoice.Mode = llm.ChoiceAuto
		case mode == llm.ChoiceNone:
			conv.ParallelTools = nil
		}
		if diff := cmp.Diff(conv, read, unsigned, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("%s\n(-want +got):\n%s", body, diff)
		}
	})
}

func TestEffortRoundTrip(t *testing.T) {
	t.Parallel()
	text := []llm.Message{{Role: llm.User, Parts: []llm.Part{{Kind: llm.TextPart, Text: "x"}}}}
	for name, tc := range map[string]struct {
		effort llm.Effort
		traits Traits
	}{
		"a budget": {llm.Effort{Budget: 2048}, Traits{Thinking: BudgetThinking}},
		"adaptive": {llm.Effort{Adaptive: true}, Traits{Thinking: AdaptiveThinking}},
		"a level":  {llm.Effort{Level: "high", Adaptive: true, Hide: true}, Traits{Thinking: AdaptiveThinking, Efforts: []string{"low", "high"}}},
		"none":     {llm.Effort{Level: "none"}, Traits{Thinking: AdaptiveThinking, ThinksByDefault: true, Off: "disabled"}},
	} {
		body, warnings, err := Render(t.Context(), &llm.Conversation{Messages: text, Choices: 1, MaxOutput: 9000, Effort: tc.effort}, RenderOptions{Model: "m", Traits: tc.traits})
		if err != nil || len(warnings) > 0 {
			t.Fatalf("%s: render: %v, warnings %q; want none", name, err, warnings)
		}
		read, err := decoded(t, string(body)).Translate()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tc.effort, read.Effort); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
