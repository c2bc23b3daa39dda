package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/admin/adminapi"
	"fairlead.dev/internal/admin/requests"
	"fairlead.dev/internal/requestlog"
)

// stream is a connection whose output can be read while it is written.
type stream struct {
	mu     sync.Mutex
	header http.Header
	status int
	buffer bytes.Buffer
}

const tailHeartbeat = 15 * time.Second

func (s *stream) Header() http.Header    { return s.header }
func (s *stream) WriteHeader(status int) { s.status = status }
func (s *stream) Flush()                 {}

func (s *stream) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buffer.Write(b)
}

// take returns the output since the last call.
func (s *stream) take() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.buffer.Reset()
	return s.buffer.String()
}

// watch opens a tail that ends with the test's synctest bubble.
func watch(t *testing.T, s *site, query string, changes ...with) *stream {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r := httptest.NewRequestWithContext(ctx, "GET", adminapi.Prefix+"/requests/tail"+query, nil)
	as("acc_owner")(r)
	for _, change := range changes {
		change(r)
	}
	w := &stream{header: http.Header{}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.api.ServeHTTP(w, r)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	synctest.Wait()
	return w
}

func liveSite(t *testing.T) *site {
	t.Helper()
	return newSite(t, func(p *Parts) { p.Server.Now = time.Now })
}

// events returns the rows of every batch as "id state", and the last event ID.
func events(t *testing.T, text string) (batches [][]string, last string) {
	t.Helper()
	for block := range strings.SplitSeq(text, "\n\n") {
		for line := range strings.SplitSeq(block, "\n") {
			name, value, _ := strings.Cut(line, ": ")
			switch name {
			case "id":
				last = value
			case "data":
				var b requests.TailBatch
				if err := json.Unmarshal([]byte(value), &b); err != nil {
					t.Fatal(err)
				}
				rows := []string{}
				for _, r := range b.Requests {
					rows = append(rows, r.ID+" "+r.State)
				}
				batches = append(batches, rows)
			}
		}
	}
	return batches, last
}

func running(id string) requestlog.Update {
	return requestlog.Update{Running: true, Entry: &requestlog.Entry{ID: id, Owner: requestlog.Owner{WorkspaceID: home}, Timing: requestlog.Timing{Time: noon}, Call: requestlog.Call{Requested: "auto"}}}
}

func done(id string) requestlog.Update { return requestlog.Update{Entry: new(entry(id, home))} }

func TestTailSendsStartAndEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := liveSite(t)
		w := watch(t, s, "")
		if w.status != 200 || w.header.Get("Content-Type") != "text/event-stream" || !strings.HasPrefix(w.take(), ": ") {
			t.Errorf("%d %v", w.status, w.header)
		}
		s.feed.Publish(running("req_1"))
		synctest.Wait()
		s.feed.Publish(done("req_1"))
		s.feed.Publish(requestlog.Update{Entry: new(entry("req_0", abroad))})
		time.Sleep(time.Second)
		got, last := events(t, w.take())
		if diff := cmp.Diff([][]string{{"req_1 running"}, {"req_1 done"}}, got); diff != "" || last != "req_1" {
			t.Errorf("last %q: %s", last, diff)
		}
	})
}

func TestTailSendsAtMostFourBatchesPerSecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := liveSite(t)
		w := watch(t, s, "")
		for i := range 200 {
			s.feed.Publish(done(numbered(i)))
			time.Sleep(5 * time.Millisecond)
		}
		got, _ := events(t, w.take())
		total := 0
		for _, rows := range got {
			total += len(rows)
		}
		if len(got) > 5 || total < 150 {
			t.Errorf("%d batches with %d rows in a second", len(got), total)
		}
	})
}

func TestTailSendsHeartbeats(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := liveSite(t)
		w := watch(t, s, "")
		w.take()
		for range 3 {
			time.Sleep(tailHeartbeat + time.Second)
			if got := w.take(); !strings.HasPrefix(got, ": ") {
				t.Errorf("after %s without requests: got %q, want a heartbeat", tailHeartbeat, got)
			}
		}
	})
}

func TestTailResumesFromLastID(t *testing.T) {
	t.Parallel()
	for name, how := range map[string]struct {
		query string
		with  []with
	}{
		"browser":   {"", []with{header("Last-Event-ID", "req_002")}},
		"parameter": {"?after=req_002", nil},
		"both":      {"?after=req_000", []with{header("Last-Event-ID", "req_002")}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := liveSite(t)
				for i := range 5 { // the first four are in the log and the last two in the feed, so one is in both
					if i < 4 {
						s.log.entries = append(s.log.entries, entry(numbered(i), home))
					}
					if i > 2 {
						s.feed.Publish(done(numbered(i)))
					}
				}
				w := watch(t, s, how.query, how.with...)
				time.Sleep(time.Second)
				got, last := events(t, w.take())
				if diff := cmp.Diff([][]string{{"req_003 done"}, {"req_004 done"}}, got); diff != "" || last != "req_004" {
					t.Errorf("last %q: %s", last, diff)
				}
			})
		})
	}
}

func TestTailReportsCutOffBacklog(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		missed, sent int
		lost         bool
	}{
		"at the limit":   {500, 500, false},
		"over the limit": {501, 500, true},
		"several pages":  {900, 500, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := liveSite(t)
				for i := range tc.missed + 1 {
					s.log.entries = append(s.log.entries, entry(numbered(i), home))
				}
				text := watch(t, s, "?after="+numbered(0)).take()
				got, last := events(t, text)
				if len(got) != 1 || len(got[0]) != tc.sent || last != numbered(tc.sent) {
					t.Errorf("%d batches, last %q; want one with %d rows", len(got), last, tc.sent)
				}
				if lost := !strings.Contains(text, `"lost":0`); lost != tc.lost {
					t.Errorf("lost %t, want %t", lost, tc.lost)
				}
			})
		})
	}
}

func TestTailEndsWithPermission(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := liveSite(t)
		w := watch(t, s, "")
		s.fake.mu.Lock()
		delete(s.fake.sessions, tokenOf("acc_owner"))
		s.fake.mu.Unlock()
		time.Sleep(2 * tailHeartbeat)
		got := w.take()
		if !strings.Contains(got, "event: error\ndata: {\"error\":") || !strings.Contains(got, "SIGN_IN_REQUIRED") {
			t.Errorf("got %q, want the error SIGN_IN_REQUIRED", got)
		}
	})
}

// A changed role applies to open streams: a role without read_bodies no longer receives request texts.
func TestTailFollowsRoleChanges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := liveSite(t)
		rows, search := watch(t, s, ""), watch(t, s, "?q=secret")
		s.fake.mu.Lock()
		for i := range s.fake.members[home] {
			s.fake.members[home][i].Role = account.Viewer
		}
		s.fake.mu.Unlock()
		time.Sleep(time.Second)
		asked := done("req_1")
		asked.Entry.Preview = "secret"
		s.feed.Publish(asked)
		time.Sleep(time.Second)
		if got := rows.take(); !strings.Contains(got, "req_1") || strings.Contains(got, "secret") {
			t.Errorf("got %q, want req_1 without texts", got)
		}
		if got := search.take(); strings.Contains(got, "req_1") || !strings.Contains(got, "PERMISSION_DENIED") {
			t.Errorf("search: got %q, want the error PERMISSION_DENIED", got)
		}
	})
}

func TestTailCountsWithoutRows(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := liveSite(t)
		s.log.entries = []requestlog.Entry{entry("req_000", home), entry("req_001", home)}
		w := watch(t, s, "?rows=none&after=req_000")
		if got := w.take(); got != ": connected\n\n" {
			t.Errorf("got %q, want no missed requests", got)
		}
		s.feed.Publish(running("req_9"))
		for i := range 50 {
			s.feed.Publish(done(numbered(i)))
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(5 * time.Second)
		var ended, batches int
		for line := range strings.SplitSeq(w.take(), "\n") {
			data, ok := strings.CutPrefix(line, "data: ")
			if !ok {
				continue
			}
			var b requests.TailBatch
			if err := json.Unmarshal([]byte(data), &b); err != nil {
				t.Fatal(err)
			}
			if len(b.Requests) > 0 || b.Requests == nil {
				t.Errorf("requests in %s, want an empty list", data)
			}
			ended, batches = ended+b.Ended, batches+1
		}
		if ended != 50 || batches > 3 {
			t.Errorf("%d ended in %d batches over ten seconds", ended, batches)
		}
	})
}
