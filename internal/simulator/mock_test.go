package simulator

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/simulator/inprocess"
	"fairlead.dev/internal/simulator/openai"
	"fairlead.dev/internal/simulator/simtest"
)

func startMock(t *testing.T) (*Mock, *http.Transport, string) {
	t.Helper()
	m := NewMock()
	server := httptest.NewUnstartedServer(m)
	server.Config.ErrorLog = simtest.QuietLogger()
	server.Start()
	rt := &http.Transport{}
	t.Cleanup(func() {
		rt.CloseIdleConnections()
		server.Close()
	})
	return m, rt, server.URL
}

func TestMockRespondsByDefault(t *testing.T) {
	t.Parallel()
	m := NewMock()
	whole := simtest.Chat(t, m, simtest.UserPrompt("any-model", "Hello", ""))
	if whole.Model != "any-model" || *whole.Choices[0].Message.Content != "Hello from any-model." || whole.Usage.TotalTokens != 15 {
		t.Errorf("response = %+v", whole)
	}
	list, done := simtest.ChatStream(t, m, simtest.UserPrompt("any-model", "Hello", `,"stream":true,"stream_options":{"include_usage":true}`))
	choices, used := simtest.Collect(t, list)
	if !done || strings.Join(choices[0].Text, "") != "Hello from any-model." || used.TotalTokens != 15 {
		t.Errorf("stream: done %v, %+v, %+v", done, choices, used)
	}
	if list, _ := simtest.ChatStream(t, m, simtest.UserPrompt("any-model", "Hello", `,"stream":true`)); list[len(list)-1].Usage != nil {
		t.Error("the stream has usage that the request did not ask for")
	}
	if a := simtest.Embed(t, m, `{"model":"e","input":["a","b"]}`); len(a.Data) != 2 || a.Usage.Prompt != 11 {
		t.Errorf("embeddings = %+v", a)
	}
}

func TestMockScript(t *testing.T) {
	t.Parallel()
	m := NewMock()
	m.Then(Fail(429, "Retry-After", "7"), Behaviour{Text: []string{"second"}})
	m.For("special", Fail(500), Behaviour{Model: "renamed", Usage: "none"})
	m.Always(Behaviour{Text: []string{"always"}, Usage: `{"prompt_tokens":-1}`})
	ask := func(model string) string {
		resp := simtest.Post(t, m, "/v1/chat/completions", simtest.UserPrompt(model, "Hello", ""))
		body, _ := simtest.ReadAll(resp)
		var whole openai.Completion
		_ = json.Unmarshal([]byte(body), &whole)
		text := resp.Status + resp.Header.Get("Retry-After") + " " + whole.Model
		if len(whole.Choices) > 0 {
			text += " " + *whole.Choices[0].Message.Content
		}
		if whole.Usage == nil {
			return text + " no usage"
		}
		return text
	}
	got := []string{ask("a"), ask("special"), ask("a"), ask("special"), ask("special"), ask("a")}
	want := []string{
		"429 Too Many Requests7  no usage", "500 Internal Server Error  no usage", "200 OK a second",
		"200 OK renamed Hello from special. no usage", "200 OK renamed Hello from special. no usage", "200 OK a always",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestMockRecords(t *testing.T) {
	t.Parallel()
	m := NewMock()
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://mock.test/v1/chat/completions?x=1", strings.NewReader(simtest.UserPrompt("a", "Hello", "")))
	req.Header.Set("Authorization", "Bearer k")
	resp, err := inprocess.Transport(m).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = simtest.ReadAll(resp)
	c, err := m.Await(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	simtest.Wait(t, c.Done())
	got := []string{c.Method, c.Path, c.Query, c.Header.Get("Authorization"), string(c.Body), c.Model}
	want := []string{"POST", "/v1/chat/completions", "x=1", "Bearer k", simtest.UserPrompt("a", "Hello", ""), "a"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if len(m.Calls()) != 1 || m.Open() != 0 || m.Closed() != 1 || m.Gone() != 0 {
		t.Errorf("%d calls, %d open, %d closed, %d gone; want 1, 0, 1, 0", len(m.Calls()), m.Open(), m.Closed(), m.Gone())
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.Await(ctx, 2); !errors.Is(err, context.Canceled) {
		t.Errorf("Await of a call that does not come: %v, want context.Canceled", err)
	}
}

func TestMockEcho(t *testing.T) {
	t.Parallel()
	m := NewMock()
	m.Always(Behaviour{Echo: true})
	var echo struct{ Path, Body string }
	if err := json.Unmarshal([]byte(*simtest.Chat(t, m, simtest.UserPrompt("a", "Hello", "")).Choices[0].Message.Content), &echo); err != nil {
		t.Fatal(err)
	}
	if echo.Path != "/v1/chat/completions" || echo.Body != simtest.UserPrompt("a", "Hello", "") {
		t.Errorf("echo = %+v", echo)
	}
}

func TestMockFraming(t *testing.T) {
	t.Parallel()
	events := Behaviour{Events: []string{"1", "2"}}
	tests := []struct {
		name   string
		change func(*Behaviour)
		want   string
	}{
		{"plain", func(*Behaviour) {}, "data: 1\n\ndata: 2\n\ndata: [DONE]\n\n"},
		{"one byte", func(b *Behaviour) { b.OneByte = true }, "data: 1\n\ndata: 2\n\ndata: [DONE]\n\n"},
		{"crlf", func(b *Behaviour) { b.CRLF = true }, "data: 1\r\n\r\ndata: 2\r\n\r\ndata: [DONE]\r\n\r\n"},
		{"no space", func(b *Behaviour) { b.NoSpace = true }, "data:1\n\ndata:2\n\ndata:[DONE]\n\n"},
		{"unterminated", func(b *Behaviour) { b.Unterminated = true }, "data: 1\n\ndata: 2"},
		{"no done", func(b *Behaviour) { b.NoDone = true }, "data: 1\n\ndata: 2\n\n"},
		{"raw", func(b *Behaviour) { b.Body = []byte("\xef\xbb\xbfraw") }, "\xef\xbb\xbfraw"},
		{"comments", func(b *Behaviour) { b.Comments, b.NoDone, b.Events = true, true, b.Events[:1] }, ": keep-alive\n\nevent: message\nid: 1\ndata: 1\n\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := NewMock()
			b := events
			tt.change(&b)
			m.Always(b)
			got, err := simtest.ReadAll(simtest.Post(t, m, "/v1/chat/completions", `{"model":"a","stream":true}`))
			if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
				t.Errorf("error %v, body (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestMockBreaksConnections(t *testing.T) {
	t.Parallel()
	m, rt, base := startMock(t)
	post := func(body string) (string, error) {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/v1/chat/completions", strings.NewReader(body))
		resp, err := rt.RoundTrip(req)
		if err != nil {
			return "", err
		}
		return simtest.ReadAll(resp)
	}
	m.Then(
		Behaviour{Reset: true},
		Behaviour{Events: []string{"1", "2", "3"}, CutAfter: 2},
		Behaviour{Events: []string{"1"}, NoDone: true, CutAfter: 1},
		Behaviour{CutAfter: 10},
	)
	if _, err := post(`{}`); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("reset: %v, want ECONNRESET", err)
	}
	if got, err := post(`{"stream":true}`); got != "data: 1\n\ndata: 2\n\n" || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("cut after two events: got %q, %v", got, err)
	}
	if got, err := post(`{"stream":true}`); got != "data: 1\n\n" || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("cut at the end: got %q, %v", got, err)
	}
	if got, err := post(`{}`); len(got) != 10 || err == nil {
		t.Errorf("cut after ten bytes: got %q, %v", got, err)
	}
}

func TestMockDetectsDisconnects(t *testing.T) {
	t.Parallel()
	tests := map[string]Behaviour{
		"silent":       {Silent: true},
		"silent later": {SilentAfter: 2},
		"at the gate":  {Gate: make(chan struct{})},
		"own handler":  {Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })},
	}
	for name, b := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, rt, base := startMock(t)
			m.Always(b)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			failed := make(chan error, 1)
			go func() {
				req, _ := http.NewRequestWithContext(ctx, http.MethodPost, base+"/v1/chat/completions", strings.NewReader(`{"stream":true}`))
				resp, err := rt.RoundTrip(req)
				if err == nil {
					_, err = simtest.ReadAll(resp)
				}
				failed <- err
			}()
			c, err := m.Await(t.Context(), 1)
			if err != nil {
				t.Fatal(err)
			}
			cancel()
			simtest.Wait(t, c.Gone())
			simtest.Wait(t, c.Done())
			if err := <-failed; !errors.Is(err, context.Canceled) || m.Gone() != 1 || m.Open() != 0 {
				t.Errorf("error %v, %d gone, %d open; want context.Canceled, 1, 0", err, m.Gone(), m.Open())
			}
		})
	}
}

func TestMockHooksHoldTheCall(t *testing.T) {
	t.Parallel()
	m := NewMock()
	gate := make(chan struct{}, 9)
	seen := []int{}
	before := ""
	m.Always(Behaviour{
		Before:      func(c *Call) { before = c.Model },
		BeforeEvent: func(_ *Call, n int) { seen = append(seen, n) },
		Gate:        gate, Events: []string{"1", "2"},
	})
	resp := simtest.Post(t, m, "/v1/chat/completions", `{"model":"a","stream":true}`)
	defer func() { _ = resp.Body.Close() }()
	for _, want := range []string{"data: 1\n\n", "data: 2\n\n", "data: [DONE]\n\n"} {
		gate <- struct{}{}
		got := make([]byte, len(want))
		if _, err := io.ReadFull(resp.Body, got); err != nil || string(got) != want {
			t.Fatalf("event %q, %v; want %q", got, err, want)
		}
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	if diff := cmp.Diff([]int{0, 1, 2}, seen); diff != "" || before != "a" {
		t.Errorf("hooks: before %q, events %s", before, diff)
	}
}

func TestMockHandlerGetsTheBody(t *testing.T) {
	t.Parallel()
	m := NewMock()
	m.Then(Behaviour{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })})
	if got, err := simtest.ReadAll(simtest.Post(t, m, "/v1/chat/completions", `{"model":"a"}`)); got != `{"model":"a"}` || err != nil {
		t.Errorf("body = %q, %v", got, err)
	}
	m.SetModels("x", "y")
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://mock.test/v1/models", http.NoBody)
	resp, err := inprocess.Transport(m).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	if body, _ := simtest.ReadAll(resp); !strings.Contains(body, `"id":"y"`) || len(m.Calls()) != 1 {
		t.Errorf("models = %s, %d calls", body, len(m.Calls()))
	}
}

func TestMockServesPromptsAndModerations(t *testing.T) {
	t.Parallel()
	m := NewMock()
	whole := simtest.Complete(t, m, `{"model":"any-model","prompt":"Hello"}`)
	if whole.Object != "text_completion" || whole.Choices[0].Text != "Hello from any-model." || whole.Usage.TotalTokens != 15 {
		t.Errorf("response = %+v", whole)
	}
	texts, finishes, used := simtest.CompleteStream(t, m, `{"model":"any-model","prompt":"Hello","stream":true,"stream_options":{"include_usage":true}}`)
	if texts[0] != "Hello from any-model." || finishes[0] != "stop" || used.TotalTokens != 15 {
		t.Errorf("stream: %v %v %+v", texts, finishes, used)
	}
	m.Then(Behaviour{}, Behaviour{Usage: `{"prompt_tokens":9,"total_tokens":9}`})
	for _, want := range []bool{false, true} {
		text, _ := simtest.ReadAll(simtest.Post(t, m, "/v1/moderations", `{"model":"judge","input":["a","b"]}`))
		if strings.Count(text, `"flagged":false`) != 2 || !strings.Contains(text, `"model":"judge"`) || strings.Contains(text, "usage") != want {
			t.Errorf("moderations = %s, want two results and usage %t", text, want)
		}
	}
}
