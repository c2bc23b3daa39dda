package blackbox

import (
	"bufio"
	"net/http"
	"strings"
	"sync"
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

// wantError checks the status and the code of an error response. The contract cases check the other members.
func wantError(t *testing.T, a harness.Answer, status int, code string) {
	t.Helper()
	var got struct{ Code string }
	if a.Status == status {
		harness.Decode(t, a.Body, &got)
	}
	if got.Code != code {
		t.Fatalf("status is %d, want %d %s\n%s", a.Status, status, code, a.Body)
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
