package reasoning

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire/anthropic"
)

// request returns a request with the positions of its members, which must be separated by ", ".
func request(t *testing.T, members ...string) *llm.Request {
	t.Helper()
	req := &llm.Request{}
	req.Op = llm.Chat
	req.Body = []byte("{")
	for i, m := range members {
		if i > 0 {
			req.Body = append(req.Body, ", "...)
		}
		var name string
		end := 1
		for m[end] != '"' {
			end++
		}
		if err := json.Unmarshal([]byte(m[:end+1]), &name); err != nil {
			t.Fatal(err)
		}
		at := len(req.Body)
		req.Fields = append(req.Fields, llm.Field{Name: name, KeyStart: at, Value: at + end + 2, End: at + len(m)})
		req.Body = append(req.Body, m...)
	}
	req.Body = append(req.Body, '}')
	return req
}

func TestForeignSignaturesAreRemoved(t *testing.T) {
	t.Parallel()
	s := New()
	s.Record("ws", "a/x").Read([]byte(`{"content":[{"type":"thinking","signature":"X"},{"type":"redacted_thinking","data":"D"}],"deep":{"thoughtSignature":"T","thought_signature":"U","item":{"type":"reasoning","encrypted_content":"E"}}}`))
	elsewhere := New().Record("ws", "a/y") // by another replica
	for _, event := range []string{`{"type":"thinking","signature":"Z"}`, `{"type":"signature_delta","signature":"F"}`, `{"type":"content_block_start"}`, `{"type":"thinking","signature":"Y"}`} {
		elsewhere.Read([]byte(event))
	}
	if message := elsewhere.Message(); !s.Receive(message) || s.Receive(`{"hint":{}}`) {
		t.Fatalf("message %s was not received, or another one was", message)
	}
	s.Record("other", "a/y").Read([]byte(`{"type":"thinking","signature":"X"}`))
	for name, tc := range map[string]struct{ member, want string }{
		"own":               {`"messages":[{"content":[{"type":"thinking","signature":"X"}]}]`, ``},
		"unknown":           {`"messages":[{"content":[{"type":"thinking","signature":"?"}]}]`, ``},
		"wrapped":           {`"messages":[{"content":[{"type":"thinking","signature":"fairlead.Y"}]}]`, ``},
		"only block":        {`"messages":[{"content":"a"}, {"content":[{"type":"thinking","signature":"Y"}]} ]`, `"messages":[{"content":"a"} ]`},
		"first block":       {`"messages":[{"content":[ {"type":"thinking","signature":"Y"} , {"type":"text"}]}]`, `"messages":[{"content":[ {"type":"text"}]}]`},
		"two blocks":        {`"messages":[{"content":[{"type":"thinking","signature":"Y"},{"type":"thinking","signature":"Y"},{"type":"text"},{"type":"thinking","signature":"Y"}]}]`, `"messages":[{"content":[{"type":"text"}]}]`},
		"escaped":           {`"messages":[{"content":[{"type":"thinking","\u0073ignature":"\u0059"},{"type":"text"}]}]`, `"messages":[{"content":[{"type":"text"}]}]`},
		"tool input":        {`"messages":[{"content":[{"type":"tool_use","input":{"content":[{"type":"thinking","signature":"Y"}]}}]}]`, ``},
		"text":              {`"messages":[{"content":"{\"type\":\"thinking\",\"signature\":\"Y\"}"}]`, ``},
		"item":              {`"input":[{"type":"reasoning","encrypted_content":"Y"},{"type":"message"}]`, `"input":[{"type":"message"}]`},
		"part":              {`"contents":[{"parts":[{"thoughtSignature":"Y","text":"a"},{"text":"b","thought_signature":"U"}]}]`, `"contents":[{"parts":[{"text":"a"},{"text":"b","thought_signature":"U"}]}]`},
		"details of a chat": {`"messages":[{"reasoning_details":[{"type":"reasoning.text","signature":"Y"}],"content":null}]`, `"messages":[{"content":null}]`},
		"another member":    {`"tools":[{"content":[{"type":"thinking","signature":"Y"}]}]`, ``},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tc.want == "" {
				tc.want = tc.member
			}
			req := request(t, `"model":"m"`, tc.member, `"stream":true`)
			want := request(t, `"model":"m"`, tc.want, `"stream":true`)
			got := s.WithoutForeign(req, "ws", "a/x", "a/x")
			if diff := cmp.Diff(string(want.Body), string(got.Body)); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(want.Fields, got.Fields); diff != "" {
				t.Errorf("fields (-want +got):\n%s", diff)
			}
			if changed := tc.want != tc.member; got.LostThinking != changed || changed == (got == req) {
				t.Errorf("LostThinking = %t for a request that is changed: %t", got.LostThinking, changed)
			}
		})
	}
}

func TestUnknownSignaturesGoToTheAssumedTarget(t *testing.T) {
	t.Parallel()
	req := request(t, `"messages":[{"content":[{"type":"thinking","signature":"?"},{"type":"text"}]}]`)
	if got := New().WithoutForeign(req, "ws", "a/y", "a/x"); string(got.Body) != `{"messages":[{"content":[{"type":"text"}]}]}` {
		t.Errorf("the body for another target is %s", got.Body)
	}
}

func TestForeignSignaturesAreRemovedFromTheConversation(t *testing.T) {
	t.Parallel()
	s := New()
	s.Record("ws", "a/y").Read([]byte(`{"content":[{"type":"thinking","signature":"Y"}]}`))
	req, err := anthropic.Format{}.DecodeRequest(t.Context(), llm.Chat, []byte(`{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"a"},
		{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"Y"},{"type":"text","text":"b"}]},
		{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"X"}]},
		{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"Y"}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	before := len(req.Conversation.Messages[1].Parts)
	got := s.WithoutForeign(req, "ws", "a/x", "a/x")
	again, err := anthropic.Format{}.DecodeRequest(t.Context(), llm.Chat, got.Body)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(again.Conversation, got.Conversation); diff != "" {
		t.Errorf("conversation (-body +got):\n%s", diff)
	}
	if len(req.Conversation.Messages[1].Parts) != before || len(got.Conversation.Messages) != 3 {
		t.Errorf("%d messages are left, want 3 and an unchanged request", len(got.Conversation.Messages))
	}
}

func TestSignersForgetTheOldest(t *testing.T) {
	t.Parallel()
	var s signers
	first := fingerprintOf("ws", "first")
	s.store(first, "a/x")
	for i := range 3 * maxSigners {
		s.store(fingerprint{byte(i), byte(i >> 8), byte(i >> 16), 1}, "a/y")
		if i < maxSigners && s.find(first) == "" {
			t.Fatal("a signature in use was forgotten")
		}
	}
	if n := len(s.recent) + len(s.earlier); s.find(first) != "" || n > 2*maxSigners {
		t.Errorf("%d signatures are stored, want at most %d without the oldest", n, 2*maxSigners)
	}
}
