package simulator

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/simulator/inprocess"
	"fairlead.dev/internal/simulator/openai"
	"fairlead.dev/internal/simulator/simtest"
)

func TestModelsMatchTheirOffers(t *testing.T) {
	t.Parallel()
	s := NewSimulator(Options{})
	models, offers := s.Models(), s.Offers()
	if len(models) != len(offers) || len(models) < 8 {
		t.Fatalf("%d models, %d offers; want equal numbers of at least 8", len(models), len(offers))
	}
	for i, m := range models {
		o := offers[i]
		if o.Model != m.Name || o.Upstream != m.Name || o.Provider != Provider || o.Price == nil {
			t.Errorf("offer %+v does not match model %s", o, m.Name)
		}
		if !strings.HasPrefix(m.Name, "sim-") || m.Context == 0 {
			t.Errorf("%s: model %+v, want the prefix sim- and a context size", m.Name, m)
		}
		if m.Op == llm.Moderate {
			if o.Price.Input != 0 || m.Quality != 0 {
				t.Errorf("%s: price %v, quality %v; want 0 for moderation", m.Name, o.Price.Input, m.Quality)
			}
			continue
		}
		if o.Price.Input <= 0 || m.Quality <= 0 || m.Quality >= 1 {
			t.Errorf("%s: price %v, quality %v; want a price above 0 and a quality between 0 and 1", m.Name, o.Price.Input, m.Quality)
		}
		if m.Op == llm.Chat && (m.MaxOutput == 0 || o.Price.Output <= o.Price.Input) {
			t.Errorf("%s: max output %d, output price %v, input price %v; want a limit and a higher output price",
				m.Name, m.MaxOutput, o.Price.Output, o.Price.Input)
		}
		if m.Op == llm.Embed && len(m.Dimensions) == 0 {
			t.Errorf("%s: no dimensions", m.Name)
		}
		if o.Price.CacheRead != nil && *o.Price.CacheRead >= o.Price.Input {
			t.Errorf("%s: cached input costs %v, want less than %v", m.Name, *o.Price.CacheRead, o.Price.Input)
		}
	}
}

func TestEveryResponseIsMarkedAsSimulated(t *testing.T) {
	t.Parallel()
	s := NewSimulator(Options{Now: func() time.Time { return time.Unix(1_800_000_000, 0) }})
	for _, m := range s.Models() {
		if m.Op != llm.Chat {
			continue
		}
		resp := simtest.Post(t, s, "/v1/chat/completions", simtest.UserPrompt(m.Name, "What is a fairlead?", ""))
		text, _ := simtest.ReadAll(resp)
		if resp.Header.Get("X-Simulated") != "true" {
			t.Errorf("%s: no x-simulated header", m.Name)
		}
		var whole openai.Completion
		if err := json.Unmarshal([]byte(text), &whole); err != nil {
			t.Fatal(err)
		}
		content := *whole.Choices[0].Message.Content
		if !strings.Contains(content, "SIMULATED") || !strings.Contains(content, "What is a fairlead?") || !strings.Contains(content, m.Name) {
			t.Errorf("%s: content = %q", m.Name, content)
		}
		if whole.SystemFingerprint != "simulated" || whole.Model != m.Name || whole.Created != 1_800_000_000 {
			t.Errorf("%s: frame = %+v", m.Name, whole)
		}
	}
}

func TestSameRequestGetsSameResponse(t *testing.T) {
	t.Parallel()
	s := NewSimulator(Options{})
	ask := func(prompt string) string {
		return *simtest.Chat(t, s, simtest.UserPrompt("sim-small", prompt, "")).Choices[0].Message.Content
	}
	if a, b := ask("one"), ask("one"); a != b {
		t.Errorf("responses differ:\n%s\n%s", a, b)
	}
	if a, b := strings.ReplaceAll(ask("one"), "one", ""), strings.ReplaceAll(ask("two"), "two", ""); a == b {
		t.Error("different prompts get the same sentences")
	}
}

func TestModelsBeginWithSameTextForContinuation(t *testing.T) {
	t.Parallel()
	s := NewSimulator(Options{})
	large := *simtest.Chat(t, s, simtest.UserPrompt("sim-large", "Tell me more", "")).Choices[0].Message.Content
	small := *simtest.Chat(t, s, simtest.UserPrompt("sim-small", "Tell me more", "")).Choices[0].Message.Content
	half := large[:len(large)/2]
	if !strings.HasPrefix(small, half) {
		t.Errorf("%q does not have the beginning of %q", small, large)
	}
	body := fmt.Sprintf(`{"model":"sim-small","messages":[{"role":"user","content":"Tell me more"},{"role":"assistant","content":%s}]}`, openai.Encode(half))
	if rest := *simtest.Chat(t, s, body).Choices[0].Message.Content; half+rest != small {
		t.Errorf("continuation of %q is %q, want the text %q", half, rest, small)
	}
}

func TestUsageAddsUp(t *testing.T) {
	t.Parallel()
	s := NewSimulator(Options{})
	whole := simtest.Chat(t, s, simtest.UserPrompt("sim-reasoner", "Think about tokens", `,"n":2`))
	u := whole.Usage
	if u.TotalTokens != u.PromptTokens+u.CompletionTokens || u.PromptTokens < 5 {
		t.Errorf("usage = %+v", u)
	}
	var text, reasoning int64
	for _, c := range whole.Choices {
		text += openai.CountTokens(*c.Message.Content)
		reasoning += openai.CountTokens(c.Message.ReasoningContent)
	}
	if reasoning == 0 || u.CompletionDetails.ReasoningTokens != reasoning || u.CompletionTokens != text+reasoning {
		t.Errorf("%d text and %d reasoning tokens, usage %+v", text, reasoning, u)
	}
	none := simtest.Chat(t, s, simtest.UserPrompt("sim-reasoner", "Think", `,"reasoning_effort":"none"`))
	if none.Usage.CompletionDetails.ReasoningTokens != 0 || none.Choices[0].Message.ReasoningContent != "" {
		t.Errorf("usage with effort none = %+v, want no reasoning", none.Usage)
	}
}

func TestLimitsAndStops(t *testing.T) {
	t.Parallel()
	s := NewSimulator(Options{})
	tests := []struct {
		name, model, more, finish string
		tokens                    int64
	}{
		{"max_tokens", "sim-small", `,"max_tokens":5`, "length", 5},
		{"max_completion_tokens", "sim-small", `,"max_completion_tokens":7`, "length", 7},
		{"the smaller of two limits", "sim-small", `,"max_tokens":9,"max_completion_tokens":3`, "length", 3},
		{"reasoning counts", "sim-reasoner", `,"max_completion_tokens":4`, "length", 4},
		{"large enough", "sim-small", `,"max_tokens":4000`, "stop", 0},
		{"one stop", "sim-small", `,"stop":" answer"`, "stop", 2},
		{"several stops", "sim-small", `,"stop":["nowhere"," answer"]`, "stop", 2},
		{"no stop", "sim-small", `,"stop":null`, "stop", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			whole := simtest.Chat(t, s, simtest.UserPrompt(tt.model, "Hello", tt.more))
			if got := whole.Choices[0].FinishReason; got != tt.finish {
				t.Errorf("finish = %s, want %s", got, tt.finish)
			}
			if tt.tokens > 0 && whole.Usage.CompletionTokens != tt.tokens {
				t.Errorf("tokens = %d, want %d: %q", whole.Usage.CompletionTokens, tt.tokens, *whole.Choices[0].Message.Content)
			}
		})
	}
}

func TestInvalidRequestsAreRejected(t *testing.T) {
	t.Parallel()
	s := NewSimulator(Options{})
	image := `{"model":"sim-nano","messages":[{"role":"user","content":[{"type":"text","text":"see"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}}]}]}`
	long := simtest.UserPrompt("sim-nano", strings.Repeat("word ", 40_000), "")
	tool := `,"tools":[{"type":"function","function":{"name":"f"}}]`
	tests := []struct {
		name, path, body string
		status           int
		code             string
	}{
		{"invalid JSON", "/v1/chat/completions", `{`, 400, ""},
		{"no model", "/v1/chat/completions", `{"messages":[]}`, 400, ""},
		{"unknown model", "/v1/chat/completions", simtest.UserPrompt("gpt-9", "x", ""), 404, "model_not_found"},
		{"embedding model for chat", "/v1/chat/completions", simtest.UserPrompt("sim-embed-small", "x", ""), 400, "unsupported_model"},
		{"no messages", "/v1/chat/completions", `{"model":"sim-small"}`, 400, "missing_required_parameter"},
		{"empty messages", "/v1/chat/completions", `{"model":"sim-small","messages":[]}`, 400, "missing_required_parameter"},
		{"unknown role", "/v1/chat/completions", `{"model":"sim-small","messages":[{"role":"boss","content":"x"}]}`, 400, "invalid_value"},
		{"image without vision", "/v1/chat/completions", image, 400, "invalid_value"},
		{"context overflow", "/v1/chat/completions", long, 400, "context_length_exceeded"},
		{"zero max_tokens", "/v1/chat/completions", simtest.UserPrompt("sim-small", "x", `,"max_tokens":0`), 400, "integer_below_min_value"},
		{"huge max_tokens", "/v1/chat/completions", simtest.UserPrompt("sim-small", "x", `,"max_tokens":999999`), 400, "invalid_value"},
		{"zero n", "/v1/chat/completions", simtest.UserPrompt("sim-small", "x", `,"n":0`), 400, "invalid_value"},
		{"max_tokens to a reasoner", "/v1/chat/completions", simtest.UserPrompt("sim-reasoner", "x", `,"max_tokens":10`), 400, "unsupported_parameter"},
		{"temperature to a reasoner", "/v1/chat/completions", simtest.UserPrompt("sim-reasoner", "x", `,"temperature":0`), 400, "unsupported_value"},
		{"tools to a model without", "/v1/chat/completions", simtest.UserPrompt("sim-nano", "x", tool), 400, "unsupported_parameter"},
		{"schema to a model without", "/v1/chat/completions", simtest.UserPrompt("sim-nano", "x", `,"response_format":{"type":"json_schema","json_schema":{"name":"a","schema":{}}}`), 400, "unsupported_parameter"},
		{"logprobs to a model without", "/v1/chat/completions", simtest.UserPrompt("sim-nano", "x", `,"logprobs":true`), 400, "unsupported_parameter"},
		{"unknown fault", "/v1/chat/completions", simtest.UserPrompt("sim-nano", "x", `,"metadata":{"simulate":"fire"}`), 400, "invalid_value"},
		{"unknown path", "/v1/responses", `{}`, 404, ""},
		{"embeddings: chat model", "/v1/embeddings", `{"model":"sim-small","input":"x"}`, 400, "unsupported_model"},
		{"embeddings: no input", "/v1/embeddings", `{"model":"sim-embed-small"}`, 400, "invalid_type"},
		{"embeddings: empty text", "/v1/embeddings", `{"model":"sim-embed-small","input":""}`, 400, "invalid_value"},
		{"embeddings: empty list", "/v1/embeddings", `{"model":"sim-embed-small","input":[]}`, 400, "invalid_value"},
		{"embeddings: too long", "/v1/embeddings", `{"model":"sim-embed-small","input":"` + strings.Repeat("word ", 9000) + `"}`, 400, "context_length_exceeded"},
		{"embeddings: too much", "/v1/embeddings", `{"model":"sim-embed-small","input":["` + strings.Repeat(strings.Repeat("word ", 8000)+`","`, 40) + `x"]}`, 400, "max_tokens_per_request"},
		{"embeddings: objects", "/v1/embeddings", `{"model":"sim-embed-small","input":[{}]}`, 400, "invalid_type"},
		{"embeddings: too many dimensions", "/v1/embeddings", `{"model":"sim-embed-small","input":"x","dimensions":1537}`, 400, "invalid_value"},
		{"embeddings: unknown encoding", "/v1/embeddings", `{"model":"sim-embed-small","input":"x","encoding_format":"hex"}`, 400, "invalid_value"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			status, e := simtest.Error(t, s, tt.path, tt.body)
			code := ""
			if e.Code != nil {
				code = *e.Code
			}
			if status != tt.status || code != tt.code {
				t.Errorf("status %d, code %q (%s); want %d, %q", status, code, e.Message, tt.status, tt.code)
			}
		})
	}
}

func TestImagesAreCounted(t *testing.T) {
	t.Parallel()
	s := NewSimulator(Options{})
	part := `{"type":"image_url","image_url":{"url":"https://example.com/a.png"}}`
	whole := simtest.Chat(t, s, `{"model":"sim-vision","messages":[{"role":"user","content":[{"type":"text","text":"Compare"},`+part+`,`+part+`]}]}`)
	if !strings.Contains(*whole.Choices[0].Message.Content, "2 images") || whole.Usage.PromptTokens < 2*openai.ImageTokens {
		t.Errorf("%d prompt tokens, response %q; want the tokens of 2 images", whole.Usage.PromptTokens, *whole.Choices[0].Message.Content)
	}
}

func TestPromptCache(t *testing.T) {
	t.Parallel()
	s := NewSimulator(Options{})
	system := strings.Repeat("The quick brown fox jumps over the lazy dog. ", 200)
	ask := func(model, system, question, more string) int64 {
		body := fmt.Sprintf(`{"model":%q,"messages":[{"role":"system","content":%s},{"role":"user","content":%q}]%s}`, model, openai.Encode(system), question, more)
		u := simtest.Chat(t, s, body).Usage
		if u.PromptDetails.CachedTokens > u.PromptTokens {
			t.Errorf("more cached than prompt tokens: %+v", u)
		}
		return u.PromptDetails.CachedTokens
	}
	if got := ask("sim-large", system, "first", ""); got != 0 {
		t.Errorf("first request: %d cached tokens, want 0", got)
	}
	again := ask("sim-large", system, "another question", "")
	if again < cacheMinimum || again%cacheStep != 0 {
		t.Errorf("same beginning: %d cached tokens, want a multiple of %d from %d", again, cacheStep, cacheMinimum)
	}
	if got := ask("sim-medium", system, "first", ""); got != 0 {
		t.Errorf("another model: %d cached tokens, want 0", got)
	}
	if got := ask("sim-large", "Other start. "+system, "first", ""); got != 0 {
		t.Errorf("another beginning: %d cached tokens, want 0", got)
	}
	if got := ask("sim-large", system, "first", `,"user":"somebody else"`); got != 0 {
		t.Errorf("another user: %d cached tokens, want 0", got)
	}
	ask("sim-large", "short", "first", "")
	if got := ask("sim-large", "short", "first", ""); got != 0 {
		t.Errorf("short prompt: %d cached tokens, want 0", got)
	}
}

func TestPrefixCacheIsBounded(t *testing.T) {
	t.Parallel()
	c := newPrefixCache()
	for i := range uint64(3 * cacheEntries) {
		c.visit([]uint64{openai.Mix(i)})
	}
	if len(c.known) != cacheEntries || len(c.ring) != cacheEntries {
		t.Errorf("%d known prefixes, %d in the ring; want %d", len(c.known), len(c.ring), cacheEntries)
	}
	if oldest, newest := c.known[openai.Mix(0)], c.known[openai.Mix(3*cacheEntries-1)]; oldest || !newest {
		t.Errorf("oldest prefix known = %t, newest = %t; want false, true", oldest, newest)
	}
}

func TestModelList(t *testing.T) {
	t.Parallel()
	s := NewSimulator(Options{})
	get := func(path string) (int, string) {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://mock.test"+path, http.NoBody)
		resp, err := inprocess.Transport(s).RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := simtest.ReadAll(resp)
		return resp.StatusCode, body
	}
	var list struct{ Data []openai.Model }
	_, body := get("/v1/models")
	if err := json.Unmarshal([]byte(body), &list); err != nil {
		t.Fatal(err)
	}
	want := []string{}
	for _, m := range s.Models() {
		want = append(want, m.Name)
	}
	got := []string{}
	for _, m := range list.Data {
		got = append(got, m.ID)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if status, body := get("/v1/models/sim-nano"); status != http.StatusOK || !strings.Contains(body, `"id":"sim-nano"`) {
		t.Errorf("one model: status %d, body %s", status, body)
	}
	if status, _ := get("/v1/models/other"); status != http.StatusNotFound {
		t.Errorf("unknown model: status %d, want 404", status)
	}
}

func TestLatencyFollowsTheModel(t *testing.T) {
	t.Parallel()
	measure := func(t *testing.T, model string, scale float64) (first, total time.Duration) {
		t.Helper()
		s := NewSimulator(Options{Latency: scale})
		started := time.Now()
		resp := simtest.Post(t, s, "/v1/chat/completions", simtest.UserPrompt(model, "How fast?", `,"stream":true`))
		first = time.Since(started)
		if _, err := simtest.ReadAll(resp); err != nil {
			t.Fatal(err)
		}
		return first, time.Since(started)
	}
	synctest.Test(t, func(t *testing.T) {
		slowFirst, slow := measure(t, "sim-flagship", 1)
		fastFirst, fast := measure(t, "sim-nano", 1)
		if slowFirst < 500*time.Millisecond || slowFirst <= fastFirst || slow <= fast || fast <= fastFirst {
			t.Errorf("flagship takes %s and %s, nano %s and %s; want flagship slower", slowFirst, slow, fastFirst, fast)
		}
		if again, _ := measure(t, "sim-flagship", 1); again != slowFirst {
			t.Errorf("first token after %s, want %s again", again, slowFirst)
		}
		if half, _ := measure(t, "sim-flagship", 0.5); half != slowFirst/2 {
			t.Errorf("first token with half the latency after %s, want %s", half, slowFirst/2)
		}
		if _, none := measure(t, "sim-flagship", 0); none != 0 {
			t.Errorf("response without latency took %s, want 0", none)
		}
	})
}
