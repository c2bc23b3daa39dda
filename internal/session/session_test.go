package session_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/session"
	"fairlead.dev/internal/wire/anthropic"
	"fairlead.dev/internal/wire/openai"
	"fairlead.dev/internal/wire/responses"
)

type decoder interface {
	DecodeRequest(ctx context.Context, op llm.Op, body []byte) (*llm.Request, error)
}

func TestNamedReadsHeadersAndFields(t *testing.T) {
	t.Parallel()
	const chatStart, messagesStart = `{"model":"m","messages":[{"role":"user","content":"hi"}]`, `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hi"}]`
	for name, tc := range map[string]struct {
		format decoder
		body   string
		header string
		want   string
	}{
		"no name":                 {openai.Format{}, chatStart + `}`, "", ""},
		"session_id":              {openai.Format{}, chatStart + `,"session_id":"a"}`, "", "a"},
		"session_id over headers": {openai.Format{}, chatStart + `,"session_id":"a"}`, "X-Session-Id: b", "a"},
		"header over metadata":    {openai.Format{}, chatStart + `,"metadata":{"session_id":"a"}}`, "X-Claude-Code-Session-Id: b", "b"},
		"conversation_id header":  {openai.Format{}, chatStart + `}`, "conversation_id: b", "b"},
		"metadata":                {openai.Format{}, chatStart + `,"metadata":{"x":1,"session_id":"a"}}`, "", "a"},
		"metadata of messages":    {anthropic.Format{}, messagesStart + `,"metadata":{"session_id":"a"}}`, "", "a"},
		"metadata over cache key": {openai.Format{}, chatStart + `,"prompt_cache_key":"k","metadata":{"session_id":"a"}}`, "", "a"},
		"cache key":               {openai.Format{}, chatStart + `,"prompt_cache_key":"k\u00e4"}`, "", "kä"},
		"null cache key":          {openai.Format{}, chatStart + `,"prompt_cache_key":null}`, "", ""},
		"conversation":            {responses.Format{}, `{"model":"m","input":"hi","conversation":"conv_1"}`, "", "conv_1"},
		"conversation object":     {responses.Format{}, `{"model":"m","input":"hi","conversation":{"id":"conv_1"}}`, "", "conv_1"},
		"Claude Code user id": {
			anthropic.Format{}, messagesStart + `,"metadata":{"user_id":"user_ab_account_cd-ef_session_0a-1b"}}`, "", "0a-1b",
		},
		"Claude Code JSON user id": {
			anthropic.Format{}, messagesStart + `,"metadata":{"user_id":"{\"device_id\":\"d\",\"account_uuid\":\"u\",\"session_id\":\"0a-1b\"}"}}`, "", "0a-1b",
		},
		"other user id": {anthropic.Format{}, messagesStart + `,"metadata":{"user_id":"user_42"}}`, "", ""},
		"long name":     {openai.Format{}, chatStart + `,"session_id":"` + strings.Repeat("a", 200) + `"}`, "", strings.Repeat("a", 80) + "…"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req, err := tc.format.DecodeRequest(t.Context(), llm.Chat, []byte(tc.body))
			if err != nil {
				t.Fatal(err)
			}
			h := http.Header{}
			if key, value, ok := strings.Cut(tc.header, ": "); ok {
				h.Set(key, value)
			}
			if got := session.Named(req, session.FromHeader(h)); got != tc.want {
				t.Errorf("Named = %q, want %q", got, tc.want)
			}
		})
	}
}

func TestEndUserHasNoSession(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"":                                      "",
		"anna":                                  "anna",
		"user_42":                               "user_42",
		"user_ab_account_cd_session_ef":         "user_ab_account_cd",
		`{"device_id":"d","session_id":"s"}`:    "d",
		`{"account_uuid":"a","session_id":"s"}`: "a",
		`{"name":"anna"}`:                       `{"name":"anna"}`,
		`{"session_id":`:                        `{"session_id":`,
	} {
		if got := session.EndUser(name); got != want {
			t.Errorf("EndUser(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestDerivedIDsDependOnCallerAndOpening(t *testing.T) {
	t.Parallel()
	namer, err := session.NewNamer([]byte(strings.Repeat("k", 32)))
	if err != nil {
		t.Fatal(err)
	}
	other, err := session.NewNamer([]byte(strings.Repeat("o", 32)))
	if err != nil {
		t.Fatal(err)
	}
	caller := session.Caller{Workspace: "ws_1", Key: "key_1", EndUser: "anna"}
	id := namer.Derive(caller, 7)
	if !strings.HasPrefix(id, "conv_") || id != namer.Derive(caller, 7) {
		t.Errorf("Derive = %q, want a stable ID with the prefix conv_", id)
	}
	for what, different := range map[string]string{
		"opening":    namer.Derive(caller, 8),
		"workspace":  namer.Derive(session.Caller{Workspace: "ws_2", Key: "key_1", EndUser: "anna"}, 7),
		"key":        namer.Derive(session.Caller{Workspace: "ws_1", Key: "key_2", EndUser: "anna"}, 7),
		"end user":   namer.Derive(session.Caller{Workspace: "ws_1", Key: "key_1", EndUser: "ben"}, 7),
		"master key": other.Derive(caller, 7),
	} {
		if different == id {
			t.Errorf("another %s gives the same ID", what)
		}
	}
	var none *session.Namer
	if got := namer.Derive(caller, 0); got != "" {
		t.Errorf("Derive without an opening = %q, want none", got)
	}
	if none.Derive(caller, 7) != "" || none.Subject(session.OfUser, "ws_1", "key_1", "anna") != "" {
		t.Error("a nil Namer returned an ID")
	}
}
