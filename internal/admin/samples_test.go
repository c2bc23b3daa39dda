package admin

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"fairlead.dev/internal/admin/accounts"
	"fairlead.dev/internal/admin/adminapi"
	"fairlead.dev/internal/llm"
)

// samples is a run of three requests. It waits for the test before each request.
type samples struct {
	available bool
	fails     error
	next      chan struct{} // delays each request until the test sends a value; nil for no delay
}

func (s *samples) Available() bool { return s.available }

func (s *samples) Send(ctx context.Context, _ string, progress func(done, total int)) error {
	for i := range 4 {
		if i > 0 && s.next != nil {
			select {
			case <-s.next:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		progress(i, 3)
	}
	return s.fails
}

func withSamples(run *samples) func(*Parts) {
	return func(p *Parts) {
		p.Playground.Samples = run
		facts := p.Accounts.Facts
		p.Accounts.Facts = func() accounts.Facts {
			f := facts()
			f.Samples = run.Available()
			return f
		}
	}
}

func TestSampleTrafficReportsProgress(t *testing.T) {
	t.Parallel()
	s := newSite(t, withSamples(&samples{available: true}))
	got := s.call("POST", "/samples", "", as("acc_admin")).want(200)
	want := `event: progress
data: {"done":0,"total":3}

event: progress
data: {"done":1,"total":3}

event: progress
data: {"done":2,"total":3}

event: progress
data: {"done":3,"total":3}

event: done
data: {"done":3,"total":3}

`
	if got.Body.String() != want || got.Header().Get("Content-Type") != "text/event-stream" {
		t.Errorf("%v %s", got.Header(), got.Body)
	}
	if e := s.fake.events; len(e) != 1 || e[0].Action != "requests.sample" || e[0].Actor != "acc_admin" || e[0].WorkspaceID != home {
		t.Errorf("audit log: %+v", e)
	}
	s.call("POST", "/samples", "", as("acc_admin")).want(200) // a second run is possible after the first
}

func TestSampleTrafficRunsOnceAndEndsOnDisconnect(t *testing.T) {
	t.Parallel()
	run := &samples{available: true, next: make(chan struct{})}
	s := newSite(t, withSamples(run))
	w, leave, done := begin(t, s, run)
	e := s.call("POST", "/samples", "", as("acc_admin")).rejected(http.StatusConflict, "CONFLICT")
	if !strings.Contains(e.Error, "already being created") {
		t.Error(e.Error)
	}
	leave()
	<-done
	if got := s.fake.events; len(got) != 1 || !strings.Contains(string(got[0].After), "1 3") {
		t.Errorf("the run is not in the audit log: %+v", got)
	}
	if text := w.take(); strings.Contains(text, "event: done") {
		t.Errorf("a cancelled run sent a done event: %s", text)
	}
}

// begin starts a run and returns when it is running. leave disconnects the client. done is closed when the run has ended.
func begin(t *testing.T, s *site, run *samples) (w *stream, leave func(), done chan struct{}) {
	t.Helper()
	ctx, leave := context.WithCancel(t.Context())
	r := httptest.NewRequestWithContext(ctx, "POST", adminapi.Prefix+"/samples", nil)
	as("acc_owner")(r)
	w, done = &stream{header: http.Header{}}, make(chan struct{})
	go func() {
		defer close(done)
		s.api.ServeHTTP(w, r)
	}()
	run.next <- struct{}{}
	return w, leave, done
}

func TestSampleTrafficStartsAfterCancelledRun(t *testing.T) {
	t.Parallel()
	run := &samples{available: true, next: make(chan struct{})}
	s := newSite(t, withSamples(run))
	_, leave, done := begin(t, s, run)
	go func() {
		leave() // the server detects the disconnect before or while the next run is requested
		<-done
		close(run.next)
	}()
	s.call("POST", "/samples", "", as("acc_owner")).want(http.StatusOK)
}

func TestSampleTrafficRequiresSimulator(t *testing.T) {
	t.Parallel()
	for name, run := range map[string]func(*Parts){"none": func(*Parts) {}, "away": withSamples(&samples{})} {
		s := newSite(t, run)
		s.call("POST", "/samples", "", as("acc_owner")).rejected(http.StatusConflict, "CONFLICT")
		var v accounts.SessionView
		s.call("GET", "/session", "", as("acc_owner")).want(200).into(&v)
		if v.Server.Samples {
			t.Errorf("%s: samples are offered", name)
		}
	}
	var v accounts.SessionView
	newSite(t, withSamples(&samples{available: true})).call("GET", "/session", "").want(200).into(&v)
	if !v.Server.Samples {
		t.Error("samples are not offered")
	}
}

func TestSampleTrafficReportsError(t *testing.T) {
	t.Parallel()
	s := newSite(t, withSamples(&samples{available: true, fails: llm.Errorf(llm.ServerShutdown, "The gateway is shutting down.")}))
	got := s.call("POST", "/samples", "", as("acc_owner")).want(200).Body.String()
	if !strings.HasSuffix(got, "\n\n") || !strings.Contains(got, "event: error\ndata: {\"error\":\"The gateway is shutting down.\"") {
		t.Errorf("got %q, want an error event", got)
	}
}
