package vertex

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/provider/providertest"
	"fairlead.dev/internal/wire"
	"fairlead.dev/internal/wire/anthropic"
	"fairlead.dev/internal/wire/openai"
)

func TestClaudeIsCalledInItsOwnFormat(t *testing.T) {
	t.Parallel()
	p := New(provider.Settings{Targets: offered(), Options: map[string]string{Project: "p", Location: "us-east5"}})
	const base = "https://us-east5-aiplatform.googleapis.com/v1/projects/p/locations/us-east5/publishers/anthropic/models/claude-opus-4-8@default:"
	for name, tc := range map[string]struct {
		format    wire.Format
		body      string
		url, sent string
	}{
		"messages": {
			anthropic.Format{},
			`{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"x"}],"future":1.0}`,
			base + "rawPredict", `{"max_tokens":9,"messages":[{"role":"user","content":"x"}],"future":1.0,"anthropic_version":"vertex-2023-10-16"}`,
		},
		"chat stream": {
			openai.Format{},
			`{"model":"m","stream":true,"max_tokens":9,"messages":[{"role":"user","content":"x"}]}`,
			base + "streamRawPredict", `{"max_tokens":9,"stream":true,"messages":[{"role":"user","content":[{"type":"text","text":"x"}]}],"anthropic_version":"vertex-2023-10-16"}`,
		},
	} {
		req, err := tc.format.DecodeRequest(t.Context(), llm.Chat, []byte(tc.body))
		if err != nil {
			t.Fatal(err)
		}
		r, body := providertest.Sent(t, p.Chat, &provider.Call{Target: target("claude-opus-4-8@default", llm.Chat), Access: provider.Access{Secret: "token"}, Request: req, Client: tc.format.(provider.Client)})
		type sent struct{ URL, Body, Authorization, Key, Version string }
		want := sent{URL: tc.url, Body: tc.sent, Authorization: "Bearer token"}
		got := sent{r.URL.String(), string(body), r.Header.Get("Authorization"), r.Header.Get("X-Api-Key"), r.Header.Get("Anthropic-Version")}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestClaudeResponseIsRead(t *testing.T) {
	t.Parallel()
	p := New(provider.Settings{Options: map[string]string{Project: "p"}})
	call := newCall(t, plain)
	call.Target = target("claude-opus-4-8@default", llm.Chat)
	stream := p.Chat.Events(call, &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(`{"id":"msg_1","type":"message","role":"assistant","model":"claude-opus-4-8","content":[{"type":"text","text":"hello"}],"stop_reason":"end_turn","usage":{"input_tokens":3,"output_tokens":2}}`)),
	})
	defer stream.Close()
	event, ok, err := stream.Next()
	if err != nil || !ok || !strings.Contains(string(event.Data), "hello") {
		t.Errorf("event %s, %t, %v; want hello", event.Data, ok, err)
	}
}

func TestMarkForClaudeIsInTheContent(t *testing.T) {
	t.Parallel()
	p := New(provider.Settings{Targets: offered(), Options: map[string]string{Project: "p", Location: "us-east5"}})
	for name, tc := range map[string]struct {
		format     wire.Format
		last, want string
	}{
		"messages": {anthropic.Format{}, `{"role":"user","content":"x"}`, `"text":"x","cache_control":{"type":"ephemeral","ttl":"1h"}}]}]`},
		"chat":     {openai.Format{}, `{"role":"user","content":"x"}`, `"text":"x","cache_control":{"type":"ephemeral","ttl":"1h"}}]}]`},
		"prefill":  {anthropic.Format{}, `{"role":"assistant","content":"x"}`, ""},
	} {
		req, err := tc.format.DecodeRequest(t.Context(), llm.Chat, []byte(`{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"a"},`+tc.last+`]}`))
		if err != nil {
			t.Fatal(err)
		}
		call := &provider.Call{
			Target: target("claude-opus-4-8@default", llm.Chat), Request: req, Client: tc.format.(provider.Client), Cache: provider.CacheHints{Mark: "1h"},
		}
		_, body := providertest.Sent(t, p.Chat, call)
		if !strings.Contains(string(body), tc.want) || strings.Contains(string(body), "cache_control") != (call.Cache.Mark != "") || (tc.want == "") != (call.Cache.Mark == "") {
			t.Errorf("%s: mark %q, sent %s; want %q", name, call.Cache.Mark, body, tc.want)
		}
	}
}
