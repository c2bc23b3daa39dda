package gateway_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"fairlead/internal/session"
)

func newNamer(t *testing.T) *session.Namer {
	t.Helper()
	namer, err := session.NewNamer([]byte(strings.Repeat("s", 32)))
	if err != nil {
		t.Fatal(err)
	}
	return namer
}

// Every turn of a conversation has the same derived session, also when the client moves cache marks; other conversations, keys and end
// users have others.
func TestSessionIsDerivedFromTheBeginningOfTheConversation(t *testing.T) {
	t.Parallel()
	k := newKit(t, func(k *kit) { k.sessions = newNamer(t) })
	const (
		system = `{"role":"system","content":"You are a coding agent."}`
		first  = `{"role":"user","content":"Fix the build."}`
		marked = `{"role":"user","content":[{"type":"text","text":"Fix the build.","cache_control":{"type":"ephemeral"}}]}`
		answer = `{"role":"assistant","content":"Done."}`
		second = `{"role":"user","content":"Now the tests."}`
	)
	ask := func(extra string, messages ...string) (id, source string) {
		t.Helper()
		got := k.post("/chat/completions", `{"model":"large"`+extra+`,"messages":[`+strings.Join(messages, ",")+`]}`)
		if got.status != http.StatusOK {
			t.Fatalf("%d %s", got.status, got.body)
		}
		e := <-k.log.ended
		return e.Session, e.SessionSource
	}
	id, source := ask("", system, marked)
	if source != "derived" || !strings.HasPrefix(id, "conv_") {
		t.Fatalf("session %q, source %q", id, source)
	}
	for i, messages := range [][]string{{system, first}, {system, first, answer, second}, {system, first, answer, second, answer, second}} {
		if again, _ := ask("", messages...); again != id {
			t.Errorf("turn %d: session %q, want %q", i, again, id)
		}
	}
	for name, other := range map[string]string{
		"first message": first2(ask("", system, second)),
		"system":        first2(ask("", first)),
		"end user":      first2(ask(`,"user":"anna"`, system, first)),
	} {
		if other == id || other == "" {
			t.Errorf("another %s has session %q", name, other)
		}
	}
	if given, source := ask(`,"session_id":"mine"`, system, first); given != "mine" || source != "given" {
		t.Errorf("session %q, source %q", given, source)
	}
}

func first2(a, _ string) string { return a }

// A conversation longer than the fingerprint keeps its session.
func TestDerivedSessionOfALongConversation(t *testing.T) {
	t.Parallel()
	k := newKit(t, func(k *kit) { k.sessions = newNamer(t) })
	messages := []string{`{"role":"user","content":"start"}`}
	want := ""
	for range 4 {
		k.post("/chat/completions", `{"model":"large","messages":[`+strings.Join(messages, ",")+`]}`)
		got := (<-k.log.ended).Session
		if want == "" {
			want = got
		}
		if got != want || got == "" {
			t.Fatalf("%d messages: session %q, want %q", len(messages), got, want)
		}
		for range 100 {
			messages = append(messages, `{"role":"assistant","content":"a"}`, fmt.Sprintf(`{"role":"user","content":"%d"}`, len(messages)))
		}
	}
}

// A request that continues a stored response belongs to the session of that response.
func TestContinuedResponseKeepsItsSession(t *testing.T) {
	t.Parallel()
	k := newKit(t, func(k *kit) { k.sessions = newNamer(t) })
	upstream := httptest.NewServer(&responsesServer{answer: respond(200, storedResponse)})
	t.Cleanup(upstream.Close)
	k.useResponses(upstream.URL, "openai#1")
	body := `{"model":"large","input":"start"}`
	want := ""
	for turn := range 3 {
		got := k.post("/responses", body)
		e := <-k.log.ended
		if want == "" {
			want = e.Session
		}
		if got.status != http.StatusOK || e.Session != want || want == "" {
			t.Fatalf("turn %d: %d %s, session %q, want %q", turn, got.status, got.body, e.Session, want)
		}
		body = fmt.Sprintf(`{"model":"large","input":"turn %d","previous_response_id":%q}`, turn, got.json(t)["id"])
	}
}
