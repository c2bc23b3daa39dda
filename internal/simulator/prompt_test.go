package simulator

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/simulator/openai"
	"fairlead.dev/internal/simulator/simtest"
)

func TestPromptsGetResponses(t *testing.T) {
	t.Parallel()
	s := NewSimulator(Options{})
	whole := simtest.Complete(t, s, `{"model":"sim-small","prompt":"Once upon a time","max_tokens":200}`)
	if whole.Object != "text_completion" || whole.Model != "sim-small" || !strings.HasPrefix(whole.ID, "cmpl-") ||
		!strings.Contains(whole.Choices[0].Text, "SIMULATED") || *whole.Choices[0].FinishReason != "stop" {
		t.Errorf("response = %+v", whole)
	}
	if u := whole.Usage; u.PromptTokens != openai.CountTokens("Once upon a time") || u.CompletionTokens != openai.CountTokens(whole.Choices[0].Text) || u.TotalTokens != u.PromptTokens+u.CompletionTokens {
		t.Errorf("usage = %+v", u)
	}
	again := simtest.Complete(t, s, `{"model":"sim-small","prompt":"Once upon a time","max_tokens":200}`)
	again.Created = whole.Created
	if diff := cmp.Diff(whole, again); diff != "" {
		t.Errorf("the same prompt got a different response:\n%s", diff)
	}
	short := simtest.Complete(t, s, `{"model":"sim-reasoner","prompt":"Once"}`)
	if n := openai.CountTokens(short.Choices[0].Text); n != defaultPromptTokens || *short.Choices[0].FinishReason != "length" {
		t.Errorf("%d tokens, finish %s; want %d, length", n, *short.Choices[0].FinishReason, defaultPromptTokens)
	}
}

func TestEveryPromptHasItsChoices(t *testing.T) {
	t.Parallel()
	s := NewSimulator(Options{})
	whole := simtest.Complete(t, s, `{"model":"sim-small","prompt":["one","two"],"n":2,"best_of":3,"max_tokens":8,"echo":true,"logprobs":1}`)
	if len(whole.Choices) != 4 || !strings.HasPrefix(whole.Choices[1].Text, "one") || !strings.HasPrefix(whole.Choices[2].Text, "two") {
		t.Errorf("choices = %+v", whole.Choices)
	}
	if whole.Usage.CompletionTokens != 2*3*8 {
		t.Errorf("usage = %+v, want 48 completion tokens, including responses that are not returned", whole.Usage)
	}
	if p := whole.Choices[0].Logprobs; strings.Join(p.Tokens, "") != whole.Choices[0].Text || len(p.TextOffset) != len(p.Tokens) {
		t.Errorf("logprobs = %+v", p)
	}
	ids := simtest.Complete(t, s, `{"model":"sim-small","prompt":[[1,2,3],[4]]}`)
	if len(ids.Choices) != 2 || ids.Usage.PromptTokens != 4 {
		t.Errorf("response to token ids = %+v, want two choices and 4 prompt tokens", ids)
	}
}

func TestPromptStreams(t *testing.T) {
	t.Parallel()
	s := NewSimulator(Options{})
	const body = `{"model":"sim-small","prompt":["one","two"],"max_tokens":30`
	whole := simtest.Complete(t, s, body+`}`)
	texts, finishes, used := simtest.CompleteStream(t, s, body+`,"stream":true,"stream_options":{"include_usage":true}}`)
	for i, c := range whole.Choices {
		if texts[i] != c.Text || finishes[i] != *c.FinishReason {
			t.Errorf("choice %d: %q %q, want %+v", i, texts[i], finishes[i], c)
		}
	}
	if diff := cmp.Diff(whole.Usage, used); diff != "" {
		t.Error(diff)
	}
	if _, _, used := simtest.CompleteStream(t, s, body+`,"stream":true}`); used != nil {
		t.Error("the stream has usage that the request did not ask for")
	}
}

func TestInvalidPromptsAreRejected(t *testing.T) {
	t.Parallel()
	s := NewSimulator(Options{})
	for body, status := range map[string]int{
		`{"prompt":"a"}`:                                                   400,
		`{"model":"sim-unknown","prompt":"a"}`:                             404,
		`{"model":"sim-embed-small","prompt":"a"}`:                         400,
		`{"model":"sim-small","prompt":[]}`:                                400,
		`{"model":"sim-small","prompt":{}}`:                                400,
		`{"model":"sim-small"}`:                                            400,
		`{"model":"sim-small","prompt":"a","n":0}`:                         400,
		`{"model":"sim-small","prompt":"a","n":2,"best_of":1}`:             400,
		`{"model":"sim-small","prompt":"a","best_of":2,"stream":true}`:     400,
		`{"model":"sim-nano","prompt":"a","max_tokens":100000}`:            400,
		`{"model":"sim-small","prompt":"a","metadata":{"simulate":"503"}}`: 503,
	} {
		if got, e := simtest.Error(t, s, "/v1/completions", body); got != status {
			t.Errorf("%s: status %d %s, want %d", body, got, e.Message, status)
		}
	}
	text, _ := simtest.ReadAll(simtest.Post(t, s, "/v1/completions", `{"model":"sim-small","prompt":"a","stream":true,"metadata":{"simulate":"cut"}}`))
	if strings.Contains(text, "[DONE]") || len(simtest.EventData(text)) == 0 {
		t.Errorf("cut stream = %s, want events without [DONE]", text)
	}
}

func TestModeration(t *testing.T) {
	t.Parallel()
	s := NewSimulator(Options{})
	judged := func(body string) []openai.ModerationResult {
		t.Helper()
		resp := simtest.Post(t, s, "/v1/moderations", body)
		text, err := simtest.ReadAll(resp)
		var a struct {
			Model   string
			Results []openai.ModerationResult
		}
		if err != nil || resp.StatusCode != http.StatusOK || json.Unmarshal([]byte(text), &a) != nil || a.Model != "sim-moderation" {
			t.Fatalf("status %d, error %v, body %s", resp.StatusCode, err, text)
		}
		return a.Results
	}
	list := judged(`{"model":"sim-moderation","input":["A quiet harbour.","I will kill the process."]}`)
	if len(list) != 2 || list[0].Flagged || !list[1].Flagged || !list[1].Categories["violence"] || list[1].Scores["violence"] < 0.9 || len(list[0].Categories) != 13 {
		t.Errorf("results = %+v", list)
	}
	if diff := cmp.Diff(list[:1], judged(`{"input":"A quiet harbour."}`)); diff != "" {
		t.Errorf("the same text got a different result:\n%s", diff)
	}
	parts := judged(`{"input":[{"type":"text","text":"look"},{"type":"image_url","image_url":{"url":"https://example.test/a.png"}}]}`)
	if len(parts) != 1 || len(parts[0].Applied["violence"]) != 2 {
		t.Errorf("parts = %+v", parts)
	}
	for body, status := range map[string]int{
		`{"model":"sim-small","input":"a"}`: 400, `{"model":"other","input":"a"}`: 404, `{"input":[]}`: 400, `{"input":5}`: 400, `{}`: 400,
		`{"input":"a","metadata":{"simulate":"429"}}`: 429,
	} {
		if got, e := simtest.Error(t, s, "/v1/moderations", body); got != status {
			t.Errorf("%s: status %d %s, want %d", body, got, e.Message, status)
		}
	}
}
