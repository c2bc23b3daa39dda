package bill

import (
	"testing"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/token"
	"fairlead.dev/internal/wire/openai"
)

func TestEstimateIsExactWhenTheVocabularyIsPublished(t *testing.T) {
	t.Parallel()
	body := []byte(`{"model":"auto","messages":[{"role":"user","content":"tiktoken is great!"},{"role":"user","content":"antidisestablishmentarianism"}]}`)
	req, err := openai.Format{}.DecodeRequest(t.Context(), llm.Chat, body)
	if err != nil {
		t.Fatal(err)
	}
	req.Measure()
	terms := Terms{Request: req, Counter: token.NewCounter()}
	// According to OpenAI's cookbook: 6 tokens for each text in o200k, 4 for each message, 3 for the prompt.
	const want = 6 + 6 + 2*4 + 3
	gpt := &provider.Target{Model: &catalog.Model{Vendor: "OpenAI", Name: "gpt-4o"}}
	if u := terms.Estimate(gpt, 5); u.Input != want || u.Output != 5 || !u.Estimated {
		t.Errorf("%+v, want %d tokens of input", u, want)
	}
	llama := &provider.Target{Model: &catalog.Model{Vendor: "Meta", Name: "llama-3.3-70b-instruct"}}
	if u := terms.Estimate(llama, 0); u.Input < want/2 || u.Input > want*2 || !u.Estimated {
		t.Errorf("the estimate is %d tokens, want about %d", u.Input, want)
	}
}

func TestMaxPromptIsAboveTheEstimate(t *testing.T) {
	t.Parallel()
	req, err := openai.Format{}.DecodeRequest(t.Context(), llm.Chat, []byte(`{"model":"m","messages":[{"role":"user","content":"12345 67890 éàü 日本 base64=="}]}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Measure()
	m := &catalog.Model{Vendor: "Google", Name: "gemini-2.5-pro"}
	if most, about := maxPrompt(req, m), model(m).Prompt(token.PromptOf(req)); most <= about {
		t.Errorf("the maximum is %d, the estimate %d", most, about)
	}
}
