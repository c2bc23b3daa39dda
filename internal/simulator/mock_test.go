package simulator

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func startMock(t *testing.T) (*Mock, *http.Transport, string) {
	t.Helper()
	m := NewMock()
	server := httptest.NewUnstartedServer(m)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.Start()
	rt := &http.Transport{}
	t.Cleanup(func() {
		rt.CloseIdleConnections()
		server.Close()
	})
	return m, rt, server.URL
}

func TestMockScript(t *testing.T) {
	t.Parallel()
	m := NewMock()
	m.Then(Fail(429, "Retry-After", "7"), Behaviour{Text: []string{"second"}})
	m.For("special", Fail(500), Behaviour{Model: "renamed", Usage: "none"})
	m.Always(Behaviour{Text: []string{"always"}, Usage: `{"prompt_tokens":-1}`})
	ask := func(model string) string {
		resp := post(t, m, "/v1/chat/completions", `{"model":"`+model+`"}`)
		body, _ := readAll(resp)
		whole := parseNode([]byte(body))
		text := resp.Status + resp.Header.Get("Retry-After") + " " + whole.get("model").text() + " " + whole.get("choices", "0", "message", "content").text()
		if !whole.get("usage").exists() {
			return text + " no usage"
		}
		return text
	}
	got := []string{ask("a"), ask("special"), ask("a"), ask("special"), ask("special"), ask("a")}
	want := []string{
		"429 Too Many Requests7   no usage", "500 Internal Server Error   no usage", "200 OK a second",
		"200 OK renamed Hello from special. no usage", "200 OK renamed Hello from special. no usage", "200 OK a always",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestMockRecords(t *testing.T) {
	t.Parallel()
	m := NewMock()
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://mock.test/v1/chat/completions?x=1", strings.NewReader(`{"model":"a","messages":[{"role":"user","content":"Hello"}]}`))
	req.Header.Set("Authorization", "Bearer k")
	resp, err := Transport(m).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = readAll(resp)
	c, err := m.Await(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	await(t, c.Done())
	got := []string{c.Method, c.Path, c.Query, c.Header.Get("Authorization"), string(c.Body), c.Model}
	want := []string{"POST", "/v1/chat/completions", "x=1", "Bearer k", `{"model":"a","messages":[{"role":"user","content":"Hello"}]}`, "a"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if len(m.Calls()) != 1 || m.Open() != 0 {
		t.Errorf("%d calls, %d open; want 1, 0", len(m.Calls()), m.Open())
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.Await(ctx, 2); !errors.Is(err, context.Canceled) {
		t.Errorf("Await of a call that does not come: %v, want context.Canceled", err)
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
		return readAll(resp)
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
		"before it":    {First: time.Hour},
		"between":      {Gap: time.Hour},
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
					_, err = readAll(resp)
				}
				failed <- err
			}()
			c, err := m.Await(t.Context(), 1)
			if err != nil {
				t.Fatal(err)
			}
			cancel()
			await(t, c.Gone())
			await(t, c.Done())
			if err := <-failed; !errors.Is(err, context.Canceled) || m.Open() != 0 {
				t.Errorf("error %v, %d open; want context.Canceled, 0", err, m.Open())
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
		BeforeEvent: func(_ *Call, n int) { <-gate; seen = append(seen, n) },
		Events:      []string{"1", "2"},
	})
	resp := post(t, m, "/v1/chat/completions", `{"model":"a","stream":true}`)
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
	if got, err := readAll(post(t, m, "/v1/chat/completions", `{"model":"a"}`)); got != `{"model":"a"}` || err != nil {
		t.Errorf("body = %q, %v", got, err)
	}
	m.SetModels("x", "y")
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://mock.test/v1/models", http.NoBody)
	resp, err := Transport(m).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	if body, _ := readAll(resp); !strings.Contains(body, `"id":"y"`) || len(m.Calls()) != 1 {
		t.Errorf("models = %s, %d calls", body, len(m.Calls()))
	}
}

func TestMockChecksRequests(t *testing.T) {
	t.Parallel()
	m := NewMock()
	m.Check = func(c *Call) error {
		if c.Read().Prompt() != "Hello" {
			return errors.New("only Hello is accepted")
		}
		return nil
	}
	m.Answer = func(c *Call) Behaviour { return Behaviour{Text: []string{"to ", c.Model}} }
	for prompt, want := range map[string]string{"Hello": `"content":"to a"`, "Bye": `"message":"only Hello is accepted"`} {
		body, _ := readAll(post(t, m, "/v1/chat/completions", `{"model":"a","messages":[{"role":"user","content":"`+prompt+`"}]}`))
		if !strings.Contains(body, want) {
			t.Errorf("%s: response %s, want %s", prompt, body, want)
		}
	}
	if refused := m.Calls()[0].Refused + m.Calls()[1].Refused; refused != "only Hello is accepted" {
		t.Errorf("calls were refused with %q", refused)
	}
}

// post sends a body to a handler in the same process.
func post(t *testing.T, h http.Handler, path, body string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://mock.test"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := Transport(h).RoundTrip(req)
	if err != nil {
		t.Fatalf("POST %s: %v", path, err)
	}
	return resp
}

// readAll reads the body to its end and closes it. It returns the text read before an error together with the error.
func readAll(resp *http.Response) (string, error) {
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}

// await waits until event is closed. It fails the test after 10 seconds.
func await(t *testing.T, event <-chan struct{}) {
	t.Helper()
	select {
	case <-event:
	case <-time.After(10 * time.Second):
		t.Fatal("timed out after 10 s")
	}
}

func TestFixedResponsesFollowThePace(t *testing.T) {
	t.Parallel()
	f := NewFixed()
	if body, _ := readAll(post(t, f, "/v1/chat/completions", `{"messages":[{"content":"hello"}]}`)); !json.Valid([]byte(body)) || len(body) < 1400 || len(body) > 1800 {
		t.Errorf("got %d bytes, want 1400 to 1800 bytes of JSON: %s", len(body), body)
	}
	for format, want := range map[string]string{"completions": "data: [DONE]\n\n", "messages": `"type":"message_stop"}` + "\n\n", "responses": `"type":"response.completed"}` + "\n\n"} {
		pace := Pace{First: time.Microsecond, Gap: time.Microsecond, Chunks: 7, Format: format}
		body, err := readAll(post(t, f, "/v1", `{"messages":[{"content":"`+pace.String()+`hello"}]}`))
		if err != nil || !strings.HasSuffix(body, want) || strings.Count(body, " and the fox") < 7 {
			t.Errorf("%s: %v %s", format, err, body)
		}
	}
}
