package blackbox

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"fairlead.dev/test/harness"
)

// evidence is a receiver of exported records.
type evidence struct {
	mu       sync.Mutex
	status   int                 // status of the responses; 0 for 200
	hold     func(*http.Request) // called before the response to a stored batch; may be nil
	rejected int
	text     bytes.Buffer // received lines
	requests []string     // ids of received requests in the order of arrival
	because  int          // number of requests with a reason
	changes  []string     // actions of received changes
}

func (e *evidence) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil || r.Header.Get("Webhook-Signature") == "" {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	e.mu.Lock()
	status, hold := e.status, e.hold
	if status == 0 {
		e.text.Write(body)
		for line := range bytes.Lines(body) {
			var record struct {
				Type, ID string
				Data     struct {
					Action string
					Trace  struct{ Because string }
				}
			}
			if err := json.Unmarshal(line, &record); err != nil {
				status = http.StatusBadRequest
			}
			if record.Type == "audit" {
				e.changes = append(e.changes, record.Data.Action)
				continue
			}
			e.requests = append(e.requests, record.ID)
			if record.Data.Trace.Because != "" {
				e.because++
			}
		}
	} else {
		e.rejected++
	}
	e.mu.Unlock()
	if hold != nil {
		hold(r)
	}
	if status != 0 {
		w.WriteHeader(status)
	}
}

// change runs do while no batch is handled.
func (e *evidence) change(do func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	do()
}

func (e *evidence) ids() (ids []string) {
	e.change(func() { ids = slices.Clone(e.requests) })
	return ids
}

func TestExportSurvivesFailuresAndACrash(t *testing.T) {
	t.Parallel()
	receiver := &evidence{}
	g, _ := serve(t, "export: {webhook: "+harness.Serve(t, receiver)+"/hook, secret: whsec_"+strings.Repeat("QUJD", 10)+"}")
	key := g.NewKey(t)
	var sent []string
	call := func(n int) {
		for range n {
			a := wantOK(t, g.Call(t, harness.Request{Key: key.Text, Body: `{"model":"auto","messages":[{"role":"user","content":"a confidential prompt"}]}`}))
			sent = append(sent, a.Header.Get("X-Request-Id"))
		}
	}
	mustArrive := func() {
		t.Helper()
		harness.Eventually(t, "every request arrives", func() bool { return len(receiver.ids()) >= len(sent) })
		if got := receiver.ids(); !slices.Equal(got, sent) {
			t.Errorf("received %v, want %v", got, sent)
		}
	}
	call(3)
	mustArrive()
	receiver.change(func() {
		if receiver.because != 3 || !slices.Contains(receiver.changes, "key.create") {
			t.Errorf("%d reasons and the changes %v, want 3 and key.create", receiver.because, receiver.changes)
		}
		for _, hidden := range []string{"confidential", "whsec_", key.Text} {
			if strings.Contains(receiver.text.String(), hidden) {
				t.Errorf("%q is exported", hidden)
			}
		}
		receiver.status = http.StatusInternalServerError
	})

	call(4)
	reader := g.Key(t, "--scopes", "read")
	harness.Eventually(t, "the failure is reported", func() bool {
		stdout, _, _ := g.CLI(t, "doctor", "--json")
		metrics := wantOK(t, g.Call(t, harness.Request{Method: "GET", Path: "/metrics", Key: reader}))
		return strings.Contains(stdout, "returned status 500") && bytes.Contains(metrics.Body, []byte("fairlead_export_failing 1"))
	})
	receiver.change(func() { receiver.status = 0 })
	mustArrive()

	// The process is killed after the receiver has stored a batch and before it responds.
	stored := make(chan struct{})
	signal := sync.OnceFunc(func() { close(stored) })
	receiver.change(func() {
		receiver.hold = func(r *http.Request) {
			signal()
			<-r.Context().Done()
		}
	})
	confirmed := len(sent)
	call(2)
	<-stored
	g.Kill(t)
	held := receiver.ids()[confirmed:]
	receiver.change(func() { receiver.hold = nil })
	g.Restart(t)
	call(2)
	harness.Eventually(t, "every request arrives after the crash", func() bool { return len(receiver.ids()) >= len(sent)+len(held) })
	want := slices.Concat(sent[:confirmed], held, sent[confirmed:])
	if got := receiver.ids(); len(held) == 0 || !slices.Equal(got, want) {
		t.Errorf("received %v, want %v, with %v repeated", got, want, held)
	}
}

func TestExportToAFileCanIncludeBodies(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "evidence.jsonl")
	g, _ := serve(t, "export: {file: "+path+", bodies: true}")
	wantOK(t, g.Call(t, harness.Request{Key: g.NewKey(t).Text, Body: `{"model":"auto","messages":[{"role":"user","content":"a confidential prompt"}]}`}))
	var record struct {
		Data struct {
			Preview string
			Bodies  struct{ Request, Response string }
		}
	}
	harness.Eventually(t, "the request is in the file", func() bool {
		text, _ := os.ReadFile(path) // the file does not exist before the first batch
		for line := range bytes.Lines(text) {
			if bytes.HasPrefix(line, []byte(`{"type":"request"`)) {
				harness.Decode(t, line, &record)
				return true
			}
		}
		return false
	})
	if d := record.Data; d.Preview != "a confidential prompt" || !strings.Contains(d.Bodies.Request, "a confidential prompt") || !strings.Contains(d.Bodies.Response, "chat.completion") {
		t.Errorf("exported %+v", d)
	}
}
