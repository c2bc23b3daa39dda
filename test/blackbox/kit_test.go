package blackbox

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"fairlead.dev/internal/simulator"
	"fairlead.dev/test/harness"
)

// Models of the gateways that most tests start. One provider offers both. small is much cheaper than large.
const (
	small = "small"
	large = "large"
)

// serve starts a gateway with a scripted provider. more holds further lines of its configuration.
func serve(t *testing.T, more ...string) (*harness.Gateway, *simulator.Mock) {
	t.Helper()
	mock, url := harness.Upstream(t)
	return harness.Start(t, harness.Options{Config: config(t, url, more...)}), mock
}

func config(t *testing.T, url string, more ...string) string {
	t.Helper()
	return harness.Config(t, []harness.Provider{{
		Name: "alpha", BaseURL: url, APIKeys: []string{"sk-alpha-0123456789"},
		Models: []harness.Model{
			harness.Chat(small, 0.4, 1.6, 0.6), harness.Chat(large, 20, 80, 0.65), harness.Embedding("embed", 0.02, 2),
		},
	}}, more...)
}

// chat returns a request body. more holds further members.
func chat(model string, more ...string) string {
	members := append([]string{`"model":` + quote(model), `"messages":[{"role":"user","content":"Hello"}]`}, more...)
	return "{" + strings.Join(members, ",") + "}"
}

func quote(text string) string {
	data, err := json.Marshal(text)
	if err != nil {
		panic(err) // a string always encodes
	}
	return string(data)
}

const streaming = `"stream":true`

// failure is the error object of every endpoint.
type failure struct {
	Error   string         `json:"error"`
	Code    string         `json:"code"`
	Details map[string]any `json:"details"`
}

var requestID = regexp.MustCompile(`^(req|adm)_[0-9A-Z]{26}$`)

// wantError checks the status, the members and the headers of an error response, and returns the error object.
func wantError(t *testing.T, a harness.Answer, status int, code string) failure {
	t.Helper()
	if a.Status != status {
		t.Fatalf("status is %d, want %d %s\n%s", a.Status, status, code, a.Body)
	}
	if kind := a.Header.Get("Content-Type"); kind != "application/json" {
		t.Errorf("the content type of an error is %q, want application/json", kind)
	}
	var members map[string]json.RawMessage
	harness.Decode(t, a.Body, &members)
	if len(members) != 3 || members["error"] == nil || members["code"] == nil || members["details"] == nil {
		t.Errorf("got %s, want exactly the members error, code and details", a.Body)
	}
	var f failure
	harness.Decode(t, a.Body, &f)
	if f.Code != code {
		t.Errorf("code is %s, want %s\n%s", f.Code, code, a.Body)
	}
	if len(f.Error) < 10 || !strings.Contains(f.Error, " ") {
		t.Errorf("error is %q, want a sentence", f.Error)
	}
	checkErrorHeaders(t, a.Header, f)
	return f
}

func checkErrorHeaders(t *testing.T, h http.Header, f failure) {
	t.Helper()
	id := h.Get("X-Request-Id")
	if !requestID.MatchString(id) || f.Details["request_id"] != id {
		t.Errorf("x-request-id is %q and details.request_id %q, want the same request ID", id, f.Details["request_id"])
	}
	if got := h.Get("X-Fairlead-Error-Code"); got != f.Code {
		t.Errorf("x-fairlead-error-code is %q, want %q", got, f.Code)
	}
	retryable, ok := f.Details["retryable"].(bool)
	if !ok || h.Get("X-Should-Retry") != strconv.FormatBool(retryable) {
		t.Errorf("x-should-retry is %q and details.retryable %v, want the same (%s)",
			h.Get("X-Should-Retry"), f.Details["retryable"], f.Code)
	}
	if url, _ := f.Details["doc_url"].(string); !strings.HasSuffix(url, "/docs/errors#"+f.Code) {
		t.Errorf("details.doc_url is %v, want .../docs/errors#%s", f.Details["doc_url"], f.Code)
	}
	if !slices.Contains([]any{"client", "gateway", "policy", "provider"}, f.Details["origin"]) {
		t.Errorf("details.origin is %v, want client, gateway, policy or provider", f.Details["origin"])
	}
}

// wantOK fails unless the response has status 200, and returns it.
func wantOK(t *testing.T, a harness.Answer) harness.Answer {
	t.Helper()
	if a.Status != http.StatusOK {
		t.Fatalf("status is %d, want 200\n%s", a.Status, a.Body)
	}
	return a
}

// key is an API key as printed by the command line.
type key struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Text string `json:"key"`
}

var keyNumber atomic.Int64

// newKey creates a key with the command line.
func newKey(t *testing.T, g *harness.Gateway, flags ...string) key {
	t.Helper()
	name := fmt.Sprintf("key-%d", keyNumber.Add(1))
	return keyCommand(t, g, append([]string{"keys", "create", "--name", name, "--json"}, flags...)...)
}

func keyCommand(t *testing.T, g *harness.Gateway, args ...string) key {
	t.Helper()
	stdout, stderr, code := g.CLI(t, args...)
	if code != 0 {
		t.Fatalf("run %q: exit code %d\n%s%s", args, code, stdout, stderr)
	}
	var k key
	harness.Decode(t, []byte(stdout), &k)
	return k
}

// stream reads an event stream to its end.
type stream struct {
	t       *testing.T
	resp    *http.Response
	scanner *bufio.Scanner
}

func open(t *testing.T, g *harness.Gateway, r harness.Request) *stream {
	t.Helper()
	resp := g.Open(t, r)
	t.Cleanup(func() { _ = resp.Body.Close() })
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("the status of the stream is %d, want 200", resp.StatusCode)
	}
	s := &stream{t: t, resp: resp, scanner: bufio.NewScanner(resp.Body)}
	s.scanner.Buffer(nil, 1<<20)
	return s
}

// next returns the data of the next event, or "" at the end.
func (s *stream) next() string {
	for s.scanner.Scan() {
		if data, ok := strings.CutPrefix(s.scanner.Text(), "data: "); ok {
			return data
		}
	}
	return ""
}

// rest returns the data of all remaining events.
func (s *stream) rest() []string {
	var all []string
	for data := s.next(); data != ""; data = s.next() {
		all = append(all, data)
	}
	return all
}

// pause returns a behaviour that holds every stream before its nth event, counted from 0, until release is called.
func pause(t *testing.T, n int, text ...string) (b simulator.Behaviour, release func()) {
	t.Helper()
	gate := make(chan struct{})
	release = sync.OnceFunc(func() { close(gate) })
	t.Cleanup(release)
	return simulator.Behaviour{Text: text, BeforeEvent: func(_ *simulator.Call, i int) {
		if i == n {
			<-gate
		}
	}}, release
}

// texts joins the content of events.
func texts(t *testing.T, events []string) string {
	t.Helper()
	var b strings.Builder
	for _, data := range events {
		if data == "[DONE]" {
			continue
		}
		var chunk struct {
			Choices []struct{ Delta struct{ Content string } }
		}
		harness.Decode(t, []byte(data), &chunk)
		for _, c := range chunk.Choices {
			b.WriteString(c.Delta.Content)
		}
	}
	return b.String()
}
