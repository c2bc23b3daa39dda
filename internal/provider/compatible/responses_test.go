package compatible

import (
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead/internal/catalog"
	"fairlead/internal/llm"
	"fairlead/internal/provider"
	"fairlead/internal/wire"
	"fairlead/internal/wire/chat"
	"fairlead/internal/wire/messages"
	"fairlead/internal/wire/responses"
)

// openaiCall decodes a request of a client and builds the call to OpenAI. It returns the path and the body that are sent.
func openaiCall(t *testing.T, format wire.Format, body string, target provider.Target) (path, sent string, call *provider.Call) {
	t.Helper()
	req, err := format.DecodeRequest(t.Context(), llm.Chat, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	r, _ := Find("openai")
	target.Provider, target.Upstream = "openai", "up"
	call = &provider.Call{Target: &target, Request: req, Client: format, Secret: "sk-0123456789"}
	out, err := New(r, provider.Settings{}).Chat.NewRequest(t.Context(), call)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(out.Body)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimPrefix(out.URL.Path, "/v1"), string(data), call
}

func TestEndpointIsTheOneThatAcceptsTheRequest(t *testing.T) {
	t.Parallel()
	plain := &catalog.Model{Name: "plain", Abilities: llm.Tools}
	reasoner := &catalog.Model{Name: "reasoner", Abilities: llm.Tools | llm.Reasoning, ToolsNeedResponses: true, FixedSampling: true}
	const tools = `,"tools":[{"type":"function","function":{"name":"f"}}]`
	for name, c := range map[string]struct {
		format wire.Format
		body   string
		target provider.Target
		want   string
	}{
		"chat":                             {chat.Format{}, `{"model":"m","messages":[{"role":"user","content":"x"}]` + tools + `}`, provider.Target{Model: plain}, "/chat/completions"},
		"reasoning without tools":          {chat.Format{}, `{"model":"m","messages":[{"role":"user","content":"x"}],"reasoning_effort":"high"}`, provider.Target{Model: reasoner}, "/chat/completions"},
		"tools with reasoning":             {chat.Format{}, `{"model":"m","messages":[{"role":"user","content":"x"}],"reasoning_effort":"high"` + tools + `}`, provider.Target{Model: reasoner}, "/responses"},
		"tools with the default effort":    {chat.Format{}, `{"model":"m","messages":[{"role":"user","content":"x"}]` + tools + `}`, provider.Target{Model: reasoner}, "/responses"},
		"tools without reasoning":          {chat.Format{}, `{"model":"m","messages":[{"role":"user","content":"x"}],"reasoning_effort":"none"` + tools + `}`, provider.Target{Model: reasoner}, "/chat/completions"},
		"a model of the Responses API":     {chat.Format{}, `{"model":"m","messages":[{"role":"user","content":"x"}]}`, provider.Target{Model: plain, ResponsesOnly: true}, "/responses"},
		"a client of the Responses API":    {responses.Format{}, `{"model":"m","input":"x"}`, provider.Target{Model: plain}, "/responses"},
		"tools of a client of Messages":    {messages.Format{}, `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"x"}],"tools":[{"name":"f","input_schema":{"type":"object"}}]}`, provider.Target{Model: reasoner}, "/responses"},
		"a client of Messages, plain text": {messages.Format{}, `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"x"}]}`, provider.Target{Model: reasoner}, "/chat/completions"},
	} {
		if path, _, _ := openaiCall(t, c.format, c.body, c.target); path != c.want {
			t.Errorf("%s goes to %s, want %s", name, path, c.want)
		}
	}
}

func TestResponsesRequestPassesUnchanged(t *testing.T) {
	t.Parallel()
	body := `{"model":"auto","input":[{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAA"},{"role":"user","content":"x"}],` +
		`"tools":[{"type":"web_search"},{"type":"mcp","server_label":"a","server_url":"https://example.com"}],"include":["reasoning.encrypted_content"],"prompt_cache_key":"k","truncation":"auto","new":1.0,"store":false}`
	_, sent, call := openaiCall(t, responses.Format{}, body, provider.Target{Model: &catalog.Model{Name: "m"}})
	if diff := cmp.Diff(strings.Replace(body, `"auto"`, `"up"`, 1), sent); diff != "" {
		t.Error(diff)
	}
	if len(call.Warnings) > 0 {
		t.Errorf("warnings %q", call.Warnings)
	}
}

func TestResponsesRequestIsAdapted(t *testing.T) {
	t.Parallel()
	own := (responses.Format{}).EncodeResponse(&llm.Request{Body: []byte(`{}`)}, "m", func(yield func(llm.Delta, error) bool) {
		_ = yield(llm.Delta{Kind: llm.BeginDelta}, nil) && yield(llm.Delta{Kind: llm.ThinkingDelta, Text: "t"}, nil) &&
			yield(llm.Delta{Kind: llm.SignatureDelta, Thinking: &llm.Thinking{Signature: "s", Provider: "anthropic"}}, nil) && yield(llm.Delta{Kind: llm.FinishDelta, Finish: "stop"}, nil)
	})
	var item string
	for ev := range own {
		item, _, _ = strings.Cut(string(ev.Data)[strings.Index(string(ev.Data), `"encrypted_content":"`)+len(`"encrypted_content":"`):], `"`)
	}
	if !strings.HasPrefix(item, "fairlead.") {
		t.Fatalf("the signature is %q", item)
	}
	body := `{"model":"auto","session_id":"s","input":[{"type":"reasoning","id":"rs_0","summary":[],"encrypted_content":"` + item + `"},{"role":"user","content":"x"}],"temperature":0.1}`
	req, err := responses.Format{}.DecodeRequest(t.Context(), llm.Chat, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	r, _ := Find("openai")
	call := &provider.Call{
		Target: &provider.Target{Provider: "openai", Upstream: "up", Model: &catalog.Model{Name: "m", FixedSampling: true}}, Request: req, Client: responses.Format{}, MaxOutput: 50,
	}
	out, err := New(r, provider.Settings{}).Chat.NewRequest(t.Context(), call)
	if err != nil {
		t.Fatal(err)
	}
	sent, err := io.ReadAll(out.Body)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(`{"model":"up","input":[{"role":"user","content":"x"}],"max_output_tokens":50}`, string(sent)); diff != "" {
		t.Error(diff)
	}
	if len(call.Warnings) != 2 {
		t.Errorf("warnings %q", call.Warnings)
	}
}

func TestTargetsOfTheResponsesAPI(t *testing.T) {
	t.Parallel()
	model := &catalog.Model{Name: "pro", Abilities: llm.Tools | llm.Logprobs | llm.ManyChoices}
	settings := provider.Settings{Targets: []*provider.Target{{Model: model, ResponsesOnly: true}, {Model: model}}}
	openai, _ := Find("openai")
	p := New(openai, settings)
	if got := p.Targets[0]; got.Model.Abilities != llm.Tools || !got.Lacks.Has(llm.ManyChoices) || got.Lacks.Has(llm.ResponsesAPI) {
		t.Errorf("the target has %s and lacks %s", got.Model.Abilities, got.Lacks)
	}
	if got := p.Targets[1]; got.Model.Abilities != model.Abilities {
		t.Errorf("the chat target has %s", got.Model.Abilities)
	}
	groq, _ := Find("groq")
	p = New(groq, settings)
	if len(p.Targets) != 1 || !p.Targets[0].Lacks.Has(llm.Transport) {
		t.Errorf("a vendor without the Responses API has %d targets", len(p.Targets))
	}
}
