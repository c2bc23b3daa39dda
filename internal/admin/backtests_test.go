package admin

import (
	"context"
	"errors"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/admin/policies"
	"fairlead.dev/internal/admin/requests"
	"fairlead.dev/internal/replay"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/route"
)

// begin starts a backtest.
func (s *site) begin(path, body string) policies.Backtest {
	s.Helper()
	var got policies.Backtest
	s.call("POST", path, body, as("acc_viewer")).want(http.StatusAccepted).into(&got)
	return got
}

func (s *site) backtest(id string) policies.Backtest {
	s.Helper()
	var got policies.Backtest
	s.call("GET", "/backtests/"+id, "", as("acc_viewer")).want(200).into(&got)
	return got
}

// settled waits until the job has ended and returns it.
func (s *site) settled(id string) policies.Backtest {
	s.Helper()
	for {
		if job := s.backtest(id); job.State != "running" {
			return job
		}
		runtime.Gosched()
	}
}

func TestBacktestReturnsReport(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.log.entries = []requestlog.Entry{entry("req_1", home), entry("req_2", home), entry("req_3", abroad)}
	begun := s.begin("/backtests?model=gpt&from=now-48h", body("source", closing, "objective", "0.25", "limit", 10))
	if !strings.HasPrefix(begun.ID, "bt_") || !begun.Draft || *begun.Objective != "0.25" || begun.Limit != 10 {
		t.Errorf("%+v", begun)
	}
	got := s.settled(begun.ID)
	if got.State != "done" || got.EndedAt == nil || got.Report.Considered != 7 || got.Error != nil || got.Filter != "from=now-48h&model=gpt" {
		t.Errorf("%+v", got)
	}
	q := s.past.queries[0]
	want := requestlog.Filter{WorkspaceID: home, Lists: requestlog.Lists{Model: []string{"gpt"}}, From: noon.Add(-48 * time.Hour), To: noon}
	if diff := cmp.Diff(want, q.Filter); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(&route.Objective{Name: "number", Tradeoff: 0.25}, q.Objective); diff != "" || q.Draft.Len() != 1 || q.Limit != 10 {
		t.Errorf("%s %+v", diff, q)
	}
	var list policies.BacktestList
	s.call("GET", "/backtests", "", as("acc_viewer")).want(200).into(&list)
	if len(list.Backtests) != 1 || list.Backtests[0].Report != nil {
		t.Errorf("%+v", list)
	}
	if len(s.fake.noted) != 0 {
		t.Error("the audit log has an event although a backtest changes nothing")
	}
}

func TestBacktestIsCancelled(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.past.hold = make(chan struct{})
	begun := s.begin("/backtests", `{}`)
	s.call("DELETE", "/backtests/"+begun.ID, "", as(stranger)).rejected(http.StatusNotFound, "NOT_FOUND")
	if s.backtest(begun.ID).State != "running" {
		t.Fatal("a request of another workspace ended the backtest")
	}
	for range 2 { // the second call changes nothing
		var got policies.Backtest
		s.call("DELETE", "/backtests/"+begun.ID, "", as("acc_viewer")).want(200).into(&got)
		if got.State != "cancelled" || got.Report == nil || got.Error != nil {
			t.Errorf("%+v", got)
		}
	}
}

func TestWorkspaceRunsAtMostTwoBacktests(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.past.hold = make(chan struct{})
	first := s.begin("/backtests", `{}`)
	s.begin("/backtests", `{}`)
	s.call("POST", "/backtests", `{}`, as("acc_viewer")).rejected(http.StatusConflict, "CONFLICT")
	s.call("POST", "/backtests", `{}`, as(stranger)).want(http.StatusAccepted)
	s.call("DELETE", "/backtests/"+first.ID, "", as("acc_viewer")).want(200)
	s.begin("/backtests", `{}`)
}

func TestFailedBacktestIsReportedAndLogged(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.past.fails = errDisk
	got := s.settled(s.begin("/backtests", `{}`).ID)
	if got.State != "failed" || got.Error == nil || got.Error.Code != "INTERNAL_ERROR" || strings.Contains(got.Error.Message, "secret-path") {
		t.Errorf("%+v", got.Error)
	}
	if !strings.Contains(s.lines.String(), "backtest failed") {
		t.Errorf("logged %q", s.lines)
	}
}

func TestOldBacktestsAreRemoved(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var ids []string
	for range 22 {
		ids = append(ids, s.settled(s.begin("/backtests", `{}`).ID).ID)
		s.later(time.Second)
	}
	count := func() int {
		t.Helper()
		var list policies.BacktestList
		s.call("GET", "/backtests", "", as("acc_viewer")).want(200).into(&list)
		return len(list.Backtests)
	}
	if n := count(); n != 20 {
		t.Errorf("got %d backtests, want 20", n)
	}
	s.call("GET", "/backtests/"+ids[0], "", as("acc_viewer")).rejected(http.StatusNotFound, "NOT_FOUND")
	s.later(time.Hour)
	if n := count(); n != 0 {
		t.Errorf("got %d backtests after an hour, want 0", n)
	}
}

func TestCloseCancelsBacktests(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.past.hold = make(chan struct{})
	begun := s.begin("/backtests", `{}`)
	s.api.Close()
	if got := s.backtest(begun.ID); got.State != "cancelled" {
		t.Errorf("%+v", got)
	}
	s.call("POST", "/backtests", `{}`, as("acc_viewer")).rejected(http.StatusServiceUnavailable, "SERVER_SHUTDOWN")
}

func TestBacktestOutlivesItsRequest(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.past.hold = make(chan struct{})
	ctx, leave := context.WithCancel(t.Context())
	var begun policies.Backtest
	s.call("POST", "/backtests", `{}`, as("acc_viewer"), func(r *http.Request) { *r = *r.WithContext(ctx) }).want(http.StatusAccepted).into(&begun)
	leave()
	close(s.past.hold)
	if got := s.settled(begun.ID); got.State != "done" {
		t.Errorf("%+v", got)
	}
}

func TestInvalidBacktestsAreRejected(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, c := range []struct{ path, body, param string }{
		{"/backtests", `{"objective":"cheap"}`, "objective"},
		{"/backtests", `{"objective":"1.5"}`, "objective"},
		{"/backtests", `{"limit":0}`, "limit"},
		{"/backtests?from=now&to=now-1h", `{}`, "to"},
		{"/backtests?from=now", `{}`, "from"},
		{"/backtests?modle=gpt", `{}`, "modle"},
	} {
		e := s.call("POST", c.path, c.body, as("acc_viewer")).rejected(http.StatusBadRequest, "INVALID_REQUEST")
		if e.Details.Param != c.param {
			t.Errorf("%s %s: got %+v, want an error for %s", c.path, c.body, e, c.param)
		}
	}
	s.call("POST", "/backtests?q=secret", `{}`, as("acc_viewer")).rejected(http.StatusForbidden, "PERMISSION_DENIED") // a search would reveal the texts of requests
	if len(s.past.queries) != 0 {
		t.Errorf("invalid backtests were run: %+v", s.past.queries)
	}
}

func TestVerifyListsDifferences(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.log.entries = append(s.log.entries, entry("req_home", home))
	verify := func(v replay.Verification) requests.Verification {
		t.Helper()
		s.past.verified = v
		var got requests.Verification
		s.call("GET", "/requests/req_home/verify", "", as("acc_viewer")).want(200).into(&got)
		return got
	}
	if got := verify(replay.Verification{Same: true}); !got.Same || !got.Recomputed {
		t.Errorf("%+v", got)
	}
	other := verify(replay.Verification{Differences: []replay.Difference{{What: "plan", Logged: "a", Recomputed: "b"}}})
	if diff := cmp.Diff(requests.Verification{Recomputed: true, Differences: []requests.Difference{{What: "plan", Logged: "a", Recomputed: "b"}}, Missing: []string{}}, other); diff != "" {
		t.Error(diff)
	}
	lost := verify(replay.Verification{Missing: []string{"policies of version x: gone"}})
	if lost.Same || lost.Recomputed || len(lost.Missing) != 1 {
		t.Errorf("%+v", lost)
	}
	s.past.fails = errors.New("x")
	s.call("GET", "/requests/req_home/verify", "", as("acc_viewer")).rejected(http.StatusInternalServerError, "INTERNAL_ERROR")
}
