package bill

import (
	"testing"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/token"
	"fairlead.dev/internal/wire/openai"
)

func TestEstimateIsCloseToTheCountOfTheVocabulary(t *testing.T) {
	t.Parallel()
	body := []byte(`{"model":"auto","messages":[{"role":"user","content":"tiktoken is great!"},{"role":"user","content":"antidisestablishmentarianism"}]}`)
	req, err := openai.Format{}.DecodeRequest(t.Context(), llm.Chat, body)
	if err != nil {
		t.Fatal(err)
	}
	terms := Terms{Request: req}
	// According to OpenAI's cookbook: 6 tokens for each text in o200k, 4 for each message, 3 for the prompt.
	const want = 6 + 6 + 2*4 + 3
	for _, m := range []*catalog.Model{{Vendor: "OpenAI", Name: "gpt-4o"}, {Vendor: "Meta", Name: "llama-3.3-70b-instruct"}} {
		if u := terms.Estimate(&provider.Target{Model: m}, 5); u.Input < want*3/4 || u.Input > want*5/4 || u.Output != 5 || !u.Estimated {
			t.Errorf("%s: %+v, want about %d tokens of input", m.Name, u, want)
		}
	}
}

func TestMaxPromptIsAboveTheEstimate(t *testing.T) {
	t.Parallel()
	req, err := openai.Format{}.DecodeRequest(t.Context(), llm.Chat, []byte(`{"model":"m","messages":[{"role":"user","content":"12345 67890 éàü 日本 base64=="}]}`))
	if err != nil {
		t.Fatal(err)
	}
	m := &catalog.Model{Vendor: "Google", Name: "gemini-2.5-pro"}
	if most, about := maxPrompt(req, m), model(m).Prompt(token.PromptOf(req)); most <= about {
		t.Errorf("the maximum is %d, the estimate %d", most, about)
	}
}
