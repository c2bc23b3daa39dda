package compatible

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/provider/providertest"
	"fairlead.dev/internal/wire"
	"fairlead.dev/internal/wire/anthropic"
	"fairlead.dev/internal/wire/openai"
	"fairlead.dev/internal/wire/responses"
)

// openaiCall decodes a client request and builds the call to OpenAI. It returns the path and the body that are sent.
func openaiCall(t *testing.T, format wire.Format, body string, target provider.Target) (path, sent string, call *provider.Call) {
	t.Helper()
	req, err := format.DecodeRequest(t.Context(), llm.Chat, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	r, _ := Find("openai")
	target.Provider, target.Upstream = "openai", "up"
	call = &provider.Call{Target: &target, Request: req, Client: format, Access: provider.Access{Secret: "sk-0123456789"}}
	out, data := providertest.Sent(t, New(r, provider.Settings{}).Chat, call)
	return strings.TrimPrefix(out.URL.Path, "/v1"), string(data), call
}

func TestEndpointSupportsTheRequest(t *testing.T) {
	t.Parallel()
	plain := &catalog.Model{Name: "plain", Abilities: llm.Tools}
	reasoner := &catalog.Model{Name: "reasoner", Abilities: llm.Tools | llm.Reasoning, ToolsNeedResponses: true, FixedSampling: true}
	older := &catalog.Model{Name: "older", Abilities: llm.Tools | llm.Reasoning}
	const tools = `,"tools":[{"type":"function","function":{"name":"f"}}]`
	for name, c := range map[string]struct {
		format wire.Format
		body   string
		target provider.Target
		want   string
	}{
		"chat":                             {openai.Format{}, `{"model":"m","messages":[{"role":"user","content":"x"}]` + tools + `}`, provider.Target{Model: plain}, "/chat/completions"},
		"reasoning without tools":          {openai.Format{}, `{"model":"m","messages":[{"role":"user","content":"x"}],"reasoning_effort":"high"}`, provider.Target{Model: reasoner}, "/chat/completions"},
		"tools with reasoning":             {openai.Format{}, `{"model":"m","messages":[{"role":"user","content":"x"}],"reasoning_effort":"high"` + tools + `}`, provider.Target{Model: reasoner}, "/responses"},
		"tools with the default effort":    {openai.Format{}, `{"model":"m","messages":[{"role":"user","content":"x"}]` + tools + `}`, provider.Target{Model: reasoner}, "/responses"},
		"tools without reasoning":          {openai.Format{}, `{"model":"m","messages":[{"role":"user","content":"x"}],"reasoning_effort":"none"` + tools + `}`, provider.Target{Model: reasoner}, "/chat/completions"},
		"a model of the Responses API":     {openai.Format{}, `{"model":"m","messages":[{"role":"user","content":"x"}]}`, provider.Target{Model: plain, Traits: provider.Traits{ResponsesOnly: true}}, "/responses"},
		"a client of the Responses API":    {responses.Format{}, `{"model":"m","input":"x"}`, provider.Target{Model: plain}, "/responses"},
		"tools of a client of Messages":    {anthropic.Format{}, `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"x"}],"tools":[{"name":"f","input_schema":{"type":"object"}}]}`, provider.Target{Model: reasoner}, "/responses"},
		"tools of an older model":          {openai.Format{}, `{"model":"m","messages":[{"role":"user","content":"x"}]` + tools + `}`, provider.Target{Model: older}, "/responses"},
		"several choices":                  {openai.Format{}, `{"model":"m","n":2,"messages":[{"role":"user","content":"x"}]` + tools + `}`, provider.Target{Model: older}, "/chat/completions"},
		"a client of Messages, plain text": {anthropic.Format{}, `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"x"}]}`, provider.Target{Model: reasoner}, "/chat/completions"},
	} {
		if path, _, _ := openaiCall(t, c.format, c.body, c.target); path != c.want {
			t.Errorf("%s: sent to %s, want %s", name, path, c.want)
		}
	}
}

func TestResponsesRequestPassesUnchanged(t *testing.T) {
	t.Parallel()
	body := `{"model":"auto","input":[{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAA"},{"role":"user","content":"x"}],` +
		`"tools":[{"type":"web_search"},{"type":"mcp","server_label":"a","server_url":"https://example.com"}],"include":["reasoning.encrypted_content"],"prompt_cache_key":"k","truncation":"auto","new":1.0,"store":false}`
	_, sent, call := openaiCall(t, responses.Format{}, body, provider.Target{Model: &catalog.Model{Name: "m", Abilities: llm.Reasoning}})
	if diff := cmp.Diff(strings.Replace(body, `"auto"`, `"up"`, 1), sent); diff != "" {
		t.Error(diff)
	}
	if len(call.Warnings) > 0 {
		t.Errorf("warnings %q, want none", call.Warnings)
	}
}

func TestResponsesRequestIsAdapted(t *testing.T) {
	t.Parallel()
	own := (responses.Format{}).EncodeResponse(&llm.Request{Payload: llm.Payload{Body: []byte(`{}`)}}, "m", func(yield func(llm.Delta, error) bool) {
		_ = yield(llm.Delta{Kind: llm.BeginDelta}, nil) && yield(llm.Delta{Kind: llm.ThinkingDelta, Text: "t"}, nil) &&
			yield(llm.Delta{Kind: llm.SignatureDelta, Thinking: &llm.Thinking{Signature: "s", Provider: "anthropic"}}, nil) && yield(llm.Delta{Kind: llm.FinishDelta, Finish: "stop"}, nil)
	})
	var item string
	for ev := range own {
		item, _, _ = strings.Cut(string(ev.Data)[strings.Index(string(ev.Data), `"encrypted_content":"`)+len(`"encrypted_content":"`):], `"`)
	}
	if !strings.HasPrefix(item, "fairlead.") {
		t.Fatalf("signature = %q, want the prefix fairlead.", item)
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
	_, sent := providertest.Sent(t, New(r, provider.Settings{}).Chat, call)
	if diff := cmp.Diff(`{"model":"up","input":[{"role":"user","content":"x"}],"max_output_tokens":50}`, string(sent)); diff != "" {
		t.Error(diff)
	}
	if len(call.Warnings) != 2 {
		t.Errorf("warnings %q, want two", call.Warnings)
	}
}

func TestTargetsOfTheResponsesAPI(t *testing.T) {
	t.Parallel()
	model := &catalog.Model{Name: "pro", Abilities: llm.Tools | llm.Logprobs | llm.ManyChoices}
	settings := provider.Settings{Targets: []*provider.Target{{Model: model, Traits: provider.Traits{ResponsesOnly: true}}, {Model: model}}}
	vendor, _ := Find("openai")
	p := New(vendor, settings)
	if got := p.Targets[0]; got.Model.Abilities != llm.Tools || !got.Lacks.Has(llm.ManyChoices) || got.Lacks.Has(llm.ResponsesAPI) {
		t.Errorf("abilities %s, lacks %s; want tools, and many_choices missing", got.Model.Abilities, got.Lacks)
	}
	if got := p.Targets[1]; got.Model.Abilities != model.Abilities {
		t.Errorf("abilities of the chat target = %s, want %s", got.Model.Abilities, model.Abilities)
	}
	groq, _ := Find("groq")
	p = New(groq, settings)
	if len(p.Targets) != 1 || !p.Targets[0].Lacks.Has(llm.Transport) {
		t.Errorf("%d targets without the Responses API, want one that lacks transport", len(p.Targets))
	}
}

func TestModelWithoutStreamsIsAskedForAWholeResponse(t *testing.T) {
	t.Parallel()
	model := &catalog.Model{Name: "pro", NoStream: true}
	vendor, _ := Find("openai")
	p := New(vendor, provider.Settings{Targets: []*provider.Target{{Provider: "openai", Upstream: "up", Model: model, Traits: provider.Traits{ResponsesOnly: true}}}})
	answer := `{"id":"r","model":"up","status":"completed","output":[{"id":"m","type":"message","content":[{"type":"output_text","text":"Hi"}]}],"usage":{"input_tokens":1,"output_tokens":1}}`
	for _, c := range []struct {
		format     wire.Format
		body, want string
	}{
		{responses.Format{}, `{"model":"m","input":"x","stream":true,"stream_options":{"include_obfuscation":false}}`, `"response.output_text.delta"`},
		{openai.Format{}, `{"model":"m","messages":[{"role":"user","content":"x"}],"stream":true}`, `"delta":{"content":"Hi"}`},
	} {
		req, err := c.format.DecodeRequest(t.Context(), llm.Chat, []byte(c.body))
		if err != nil {
			t.Fatal(err)
		}
		call := &provider.Call{Target: p.Targets[0], Request: req, Client: c.format, Access: provider.Access{Secret: "sk-0123456789"}}
		out, sent := providertest.Sent(t, p.Chat, call)
		if strings.Contains(string(sent), `"stream":true`) || strings.Contains(string(sent), "stream_options") || out.Header.Get("Accept") != provider.AcceptJSON {
			t.Errorf("%s: sent %s with Accept %s, want a request without streaming", c.format.Name(), sent, out.Header.Get("Accept"))
		}
		var events []string
		for ev, err := range llm.All(p.Chat.Events(call, &http.Response{Body: io.NopCloser(strings.NewReader(answer)), Header: http.Header{}})) {
			if err != nil {
				t.Fatal(err)
			}
			events = append(events, string(ev.Data))
		}
		if got := strings.Join(events, "\n"); len(events) < 3 || !strings.Contains(got, c.want) {
			t.Errorf("%s: events %s, want %s", c.format.Name(), got, c.want)
		}
		if len(call.Warnings) > 0 {
			t.Errorf("warnings %q, want none", call.Warnings)
		}
	}
}

func TestResponsesRequestDropsUnsupportedMembers(t *testing.T) {
	t.Parallel()
	plain := &catalog.Model{Name: "gpt-4.1", Abilities: llm.Tools}
	reasoner := &catalog.Model{Name: "gpt-5.4", Abilities: llm.Tools | llm.Reasoning, FixedSampling: true}
	for name, c := range map[string]struct {
		model        *catalog.Model
		members      string
		want         string
		wantWarnings []string
	}{
		"an unsupported effort": {
			reasoner, `"reasoning":{"summary":"auto","effort":"minimal"}`, `"reasoning":{"summary":"auto","effort":"low"}`,
			[]string{"reasoning.effort was sent as low: gpt-5.4 does not support minimal."},
		},
		"reasoning of a model without it": {
			plain, `"reasoning":{"effort":"high"},"include":["reasoning.encrypted_content","code_interpreter_call.outputs"]`,
			`"include":["code_interpreter_call.outputs"]`,
			[]string{"reasoning was dropped: gpt-4.1 does not reason."},
		},
		"verbosity": {
			plain, `"text":{"verbosity":"low","format":{"type":"text"}}`, `"text":{"format":{"type":"text"}}`,
			nil,
		},
		"log probabilities": {
			reasoner, `"top_logprobs":2,"include":["message.output_text.logprobs"]`, `"include":[]`, []string{
				"top_logprobs was dropped: gpt-5.4 does not support sampling settings.",
				"message.output_text.logprobs was dropped: gpt-5.4 does not return log probabilities.",
			},
		},
		"log probabilities without reasoning": {
			reasoner, `"reasoning":{"effort":"none"},"top_logprobs":2`, `"reasoning":{"effort":"none"},"top_logprobs":2`, nil,
		},
	} {
		_, sent, call := openaiCall(t, responses.Format{}, `{"model":"m","input":"x",`+c.members+`}`, provider.Target{Vendor: "openai", Model: c.model})
		if diff := cmp.Diff(`{"model":"up","input":"x",`+c.want+`}`, sent); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(c.wantWarnings, call.Warnings); diff != "" {
			t.Errorf("warnings of %s (-want +got):\n%s", name, diff)
		}
	}
}

func TestChatRequestDropsUnsupportedMembers(t *testing.T) {
	t.Parallel()
	reasoner := &catalog.Model{Name: "gpt-5", Abilities: llm.Tools | llm.Reasoning, FixedSampling: true}
	_, sent, call := openaiCall(t, openai.Format{},
		`{"model":"m","messages":[{"role":"user","content":"x"}],"reasoning_effort":"none","temperature":0.5,"stop":["a"],"verbosity":"low"}`,
		provider.Target{Vendor: "openai", Model: reasoner})
	if diff := cmp.Diff(`{"model":"up","messages":[{"role":"user","content":"x"}],"reasoning_effort":"minimal","verbosity":"low"}`, sent); diff != "" {
		t.Error(diff)
	}
	want := []string{
		"stop was dropped: gpt-5 does not support it.",
		"reasoning_effort was sent as minimal: gpt-5 does not support none.",
		"temperature was dropped: gpt-5 does not support sampling settings.",
	}
	if diff := cmp.Diff(want, call.Warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}
