package gemini

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/provider/providertest"
	"fairlead.dev/internal/wire/openai"
)

func noon() time.Time { return time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC) }

const everything = llm.Tools | llm.ParallelTools | llm.Vision | llm.AudioIn | llm.AudioOut | llm.Files | llm.JSONMode | llm.JSONSchema |
	llm.Logprobs | llm.ManyChoices | llm.Reasoning

// offered returns targets with models of every generation. The first model of an operation is used for requests without
// a model.
func offered() []*provider.Target {
	var list []*provider.Target
	for _, name := range []string{"gemini-2.5-flash", "gemini-2.0-flash", "gemini-2.5-pro", "gemini-3-pro-preview", "gemini-3.8-flash", "gemma-3-27b-it"} {
		list = append(list, &provider.Target{Provider: "gemini", Upstream: name, Model: &catalog.Model{Name: name, Op: llm.Chat, Abilities: everything}})
	}
	embed := &catalog.Model{Name: "gemini-embedding-001", Op: llm.Embed}
	return append(list, &provider.Target{Provider: "gemini", Upstream: embed.Name, Model: embed})
}

func TestSuite(t *testing.T) {
	t.Parallel()
	providertest.Run(t, "testdata", func(baseURL string) *provider.Provider {
		return Vendor.New(provider.Settings{BaseURL: baseURL, UserAgent: "fairlead/test", Now: noon, Targets: offered()})
	})
}

func TestVendorUsesItsVariables(t *testing.T) {
	t.Parallel()
	for _, variable := range []string{"GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY"} {
		secret, source := Vendor.Key(func(name string) string { return map[string]string{variable: "k"}[name] })
		if secret != "k" || source != variable {
			t.Errorf("%s: Key = %q from %q", variable, secret, source)
		}
	}
	p := Vendor.New(provider.Settings{})
	if p.Name != "gemini" || p.BaseURL != Vendor.BaseURL || p.Title != "Google Gemini" {
		t.Errorf("name %q, title %q, base URL %q", p.Name, p.Title, p.BaseURL)
	}
}

func TestTargetsAreNarrowed(t *testing.T) {
	t.Parallel()
	p := Vendor.New(provider.Settings{Targets: offered()})
	old, _ := p.Target("gemini-2.0-flash")
	newer, _ := p.Target("gemini-2.5-flash")
	small, _ := p.Target("gemma-3-27b-it")
	switch {
	case old.Model.Abilities.Has(llm.Logprobs) || old.Model.Abilities.Has(llm.AudioOut) || !old.Lacks.Has(llm.Logprobs|llm.AudioOut):
		t.Errorf("gemini-2.0-flash has abilities %s and lacks %s; want no log probabilities and no audio output",
			old.Model.Abilities, old.Lacks)
	case newer.Lacks.Has(llm.WebSearch) || old.Lacks.Has(llm.WebSearch) || !small.Lacks.Has(llm.WebSearch):
		t.Errorf("gemini-2.5-flash lacks %s, gemini-2.0-flash %s, gemma %s; want web search for Gemini only",
			newer.Lacks, old.Lacks, small.Lacks)
	case !newer.Lacks.Has(llm.ResponsesAPI):
		t.Errorf("gemini-2.5-flash lacks %s, want the Responses API missing", newer.Lacks)
	case !old.InlineMedia || newer.InlineMedia:
		t.Errorf("InlineMedia of gemini-2.0-flash = %t, of gemini-2.5-flash = %t; want true, false", old.InlineMedia, newer.InlineMedia)
	case small.Model.Abilities.Has(llm.Tools) || small.Model.Abilities.Has(llm.JSONMode) || !newer.Model.Abilities.Has(llm.Tools|llm.JSONSchema):
		t.Errorf("gemma has abilities %s, gemini-2.5-flash %s; want tools and JSON for Gemini only",
			small.Model.Abilities, newer.Model.Abilities)
	}
}

func newCall(t *testing.T, op llm.Op, target *provider.Target, body string) *provider.Call {
	t.Helper()
	req, err := openai.Format{}.DecodeRequest(t.Context(), op, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return &provider.Call{Target: target, Access: provider.Access{Secret: "secret-key"}, Request: req, Client: openai.Format{}}
}

func TestAddressesOfModels(t *testing.T) {
	t.Parallel()
	p := Plain("mine", "Mine").New(provider.Settings{BaseURL: "https://g.test/v1/", Headers: map[string]string{keyHeader: "operator"}})
	for upstream, want := range map[string]string{
		"gemini-2.5-pro":   "https://g.test/v1/models/gemini-2.5-pro:generateContent",
		"tunedModels/mine": "https://g.test/v1/tunedModels/mine:generateContent",
		"odd?name#x":       "https://g.test/v1/models/odd%3Fname%23x:generateContent",
	} {
		target := &provider.Target{Upstream: upstream, Model: &catalog.Model{Name: "m", Op: llm.Chat}}
		r, _ := providertest.Sent(t, p.Chat, newCall(t, llm.Chat, target, `{"model":"m","messages":[{"role":"user","content":"x"}]}`))
		if got := r.URL.String(); got != want {
			t.Errorf("URL of %s = %s, want %s", upstream, got, want)
		}
		if got := r.Header.Get(keyHeader); got != "operator" {
			t.Errorf("key header = %q, want operator", got)
		}
	}
	if p.Name != "mine" || p.Title != "Mine" {
		t.Errorf("name %q, title %q; want mine, Mine", p.Name, p.Title)
	}
}

func TestUnsupportedRequestsAreRejected(t *testing.T) {
	t.Parallel()
	p := Vendor.New(provider.Settings{Targets: offered()})
	old, _ := p.Target("gemini-2.0-flash")
	embed, _ := p.Target("gemini-embedding-001")
	for name, tc := range map[string]struct {
		op     llm.Op
		target *provider.Target
		body   string
	}{
		"an image by URL for an old model": {llm.Chat, old, `{"model":"m","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://x.test/a.png"}}]}]}`},
		"token ids":                        {llm.Embed, embed, `{"model":"m","input":[1,2,3]}`},
	} {
		_, err := p.Exchange(tc.op).NewRequest(t.Context(), newCall(t, tc.op, tc.target, tc.body))
		if llm.AsError(err).Kind != llm.Untranslatable {
			t.Errorf("%s: %v, want Untranslatable", name, err)
		}
	}
}

func TestServiceTierOfTheResponseIsReported(t *testing.T) {
	t.Parallel()
	p := Vendor.New(provider.Settings{Targets: offered()})
	target, _ := p.Target("gemini-2.5-flash")
	call := newCall(t, llm.Chat, target, `{"model":"m","service_tier":"priority","messages":[{"role":"user","content":"x"}]}`)
	_, sent := providertest.Sent(t, p.Chat, call)
	if !strings.Contains(string(sent), `"service_tier":"priority"`) {
		t.Errorf("sent %s, want service_tier priority", sent)
	}
	const body = `{"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":1}}`
	resp := &http.Response{StatusCode: http.StatusOK, Header: http.Header{"X-Gemini-Service-Tier": {"standard"}}, Body: io.NopCloser(strings.NewReader(body))}
	tier := ""
	for ev, err := range llm.All(p.Chat.Events(call, resp)) {
		if err != nil {
			t.Fatal(err)
		}
		if ev.Usage != nil {
			tier = ev.Usage.ServiceTier
		}
	}
	if tier != "default" {
		t.Errorf("service tier = %q, want default", tier)
	}
}
