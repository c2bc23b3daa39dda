package admin

import (
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/admin/requests"
	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/id"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/route"
)

// entry returns a served request with all fields set.
func entry(id, workspaceID string) requestlog.Entry {
	price := &catalog.Price{Input: money.PerMillion(1), Output: money.PerMillion(4), PerRequest: 1000, Source: "list", AsOf: "2026-11-01"}
	usage := llm.Usage{Input: 1000, Output: 500, Reasoning: 100}
	bill := price.Bill(usage)
	return requestlog.Entry{
		ID: id, Owner: requestlog.Owner{WorkspaceID: workspaceID, KeyID: "key_read", KeyName: "ci"},
		Timing: requestlog.Timing{
			Time: noon.Add(-time.Minute), Latency: 412 * time.Millisecond, TTFT: 180 * time.Millisecond,
			Overhead: 900 * time.Microsecond,
		},
		Call: requestlog.Call{Endpoint: "chat/completions", Format: "chat", Requested: "auto", Preview: "how do I"},
		Routing: requestlog.Routing{
			Model: "gpt", Provider: "acme",
			DecisionKind: route.Expected, Decision: &route.Decision{Kind: route.Expected, Input: route.Input{ResponseOptions: route.ResponseOptions{Needs: llm.Tools}}},
			Attempts: []requestlog.Attempt{{Target: requestlog.Target{Provider: "acme", Model: "gpt", Upstream: "gpt-1"}, AttemptTiming: requestlog.AttemptTiming{Duration: 400 * time.Millisecond}, AttemptResult: requestlog.AttemptResult{Status: 200}, Usage: &usage}},
		},
		Result:    requestlog.Result{Outcome: requestlog.OK, Status: 200},
		Charge:    requestlog.Charge{Usage: usage, Cost: &bill.Total, Bill: &bill},
		Baseline:  requestlog.Baseline{BaselineModel: "large", BaselineCost: new(9 * bill.Total / 3), BaselineSource: "default"},
		BodyState: requestlog.BodyStored,
	}
}

func numbered(i int) string { return fmt.Sprintf("req_%03d", i) }

func TestListIsPagedByLastID(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for i := range 5 {
		s.log.entries = append(s.log.entries, entry(numbered(i), home))
	}
	s.log.entries = append(s.log.entries, entry("req_abroad", abroad))
	var got []string
	before, pages := "", 0
	for {
		var page requests.RequestPage
		s.call("GET", "/requests?limit=2&before="+before, "", as("acc_viewer")).want(200).into(&page)
		for _, r := range page.Requests {
			got = append(got, r.ID)
		}
		pages++
		if page.Before == nil {
			break
		}
		before = *page.Before
	}
	want := []string{numbered(4), numbered(3), numbered(2), numbered(1), numbered(0)}
	if diff := cmp.Diff(want, got); diff != "" || pages != 3 {
		t.Errorf("%d pages, -want +got:\n%s", pages, diff)
	}
}

func TestSlowSearchReturnsPartialPage(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.log.entries = []requestlog.Entry{entry(numbered(1), home)}
	before := id.Floor("req", noon.Add(-time.Hour))
	s.log.slow = fmt.Errorf("list requests: %w", &requestlog.UnfinishedError{Before: before})
	var page requests.RequestPage
	var count requests.RequestCount

	s.call("GET", "/requests?text=how", "", as("acc_owner")).want(200).into(&page)
	for _, param := range []string{"text", "q"} {
		s.call("GET", "/requests?"+param+"=how", "", as("acc_viewer")).rejected(http.StatusForbidden, "PERMISSION_DENIED")
	}
	s.call("GET", "/requests/count?q=how", "", as("acc_owner")).want(200).into(&count)

	if len(page.Requests) != 1 || page.Before == nil || *page.Before != before || !page.Unfinished || page.SearchedTo == nil || !page.SearchedTo.Equal(noon.Add(-time.Hour)) {
		t.Errorf("%+v", page)
	}
	if count.Count != 1 || !count.More {
		t.Errorf("%+v", count)
	}
	s.log.slow = requestlog.ErrTooSlow
	s.call("GET", "/requests?q=how", "", as("acc_owner")).rejected(http.StatusBadRequest, "INVALID_REQUEST")
}

func TestListAppliesQueryFilters(t *testing.T) {
	t.Parallel()
	cases := map[string]int{
		"":                             3,
		"?model=gpt":                   2,
		"?model=gpt,small":             3,
		"?outcome=upstream_error":      1,
		"?preset=errors":               1,
		"?q=HOW+do":                    3,
		"?min_latency=1s":              0,
		"?from=now-1h&to=now":          0, // the times in the request IDs are not in this period
		"?decision=fallback&model=gpt": 0,
		"?simulated=true":              0,
		"?source=key":                  3,
		"?source=playground":           0,
		"?source=all":                  3,
	}
	s := newSite(t)
	s.log.entries = []requestlog.Entry{entry(numbered(0), home), entry(numbered(1), home), entry(numbered(2), home)}
	s.log.entries[1].Model = "small"
	s.log.entries[2].Outcome = requestlog.UpstreamError
	for i := range s.log.entries {
		s.log.entries[i].Time = noon.Add(-2 * time.Hour)
	}
	for query, want := range cases {
		var page requests.RequestPage
		s.call("GET", "/requests"+query, "", as("acc_owner")).want(200).into(&page)
		var count requests.RequestCount
		s.call("GET", "/requests/count"+query, "", as("acc_owner")).want(200).into(&count)
		if len(page.Requests) != want || count.Count != want {
			t.Errorf("%s: listed %d, counted %d, want %d", query, len(page.Requests), count.Count, want)
		}
	}
}

func TestInvalidFiltersAreRejectedByName(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ param, suggestion string }{
		"modell=gpt":     {"modell", "model"},
		"outcome=great":  {"outcome", ""},
		"min_cost=cheap": {"min_cost", ""},
		"limit=0":        {"limit", ""},
		"limit=201":      {"limit", ""},
		"sort=name":      {"sort", ""},
		"q=%00":          {"q", ""},
		"q=%ff":          {"q", ""},
	}
	s := newSite(t)
	for query, want := range cases {
		got := s.call("GET", "/requests?"+query, "", as("acc_owner")).rejected(http.StatusBadRequest, "INVALID_REQUEST")
		if len(got.Details.Problems) != 1 || got.Details.Param != want.param {
			t.Errorf("%s: %+v", query, got)
			continue
		}
		p := got.Details.Problems[0]
		if p.In != "query" || p.Param != want.param || p.Suggestion != want.suggestion {
			t.Errorf("%s: %+v", query, p)
		}
	}
}

func TestDetailHasExactAmounts(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.log.entries = []requestlog.Entry{entry("req_1", home)}
	var got requests.RequestDetail
	s.call("GET", "/requests/req_1", "", as("acc_viewer")).want(200).into(&got)
	if got.Cost.String() != "0.003001" || got.Saved.String() != "0.006002" || *got.SavedPercent != 66.7 {
		t.Errorf("cost %s, saved %s, %v %%", got.Cost, got.Saved, *got.SavedPercent)
	}
	sum := money.Amount(0)
	for _, row := range got.Bill.Rows {
		sum = sum.Add(row.Amount)
	}
	if sum != got.Bill.Total || got.Bill.Rows[0].PerMtok.String() != "1" {
		t.Errorf("bill: %+v", got.Bill)
	}
	if *got.LatencyMS != 412 || *got.TTFTMS != 180 || *got.OverheadUS != 900 || len(got.Tries) != 1 || got.Attempts != 1 {
		t.Errorf("times and attempts: %+v", got)
	}
}

func TestUnknownIsNull(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.log.entries = []requestlog.Entry{{ID: "req_1", Owner: requestlog.Owner{WorkspaceID: home}, Timing: requestlog.Timing{Time: noon}, Result: requestlog.Result{Outcome: requestlog.Rejected, Status: 429}, BodyState: requestlog.BodyNone}}
	var got map[string]any
	s.call("GET", "/requests/req_1", "", as("acc_owner")).want(200).into(&got)
	for _, name := range []string{"cost_usd", "baseline_cost_usd", "saved_usd", "saved_percent", "model", "provider", "decision", "latency_ms", "ttft_ms", "key_id"} {
		if v, ok := got[name]; !ok || v != nil {
			t.Errorf("%s is %v, want null", name, v)
		}
	}
	for _, name := range []string{"attempts", "warnings"} {
		if list, ok := got[name].([]any); !ok || len(list) != 0 {
			t.Errorf("%s is %v, want []", name, got[name])
		}
	}
}

func TestBodyIsTranslatedToChat(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	e := entry("req_1", home)
	e.Format = "messages"
	s.log.entries = []requestlog.Entry{e}
	s.log.bodies["req_1"] = requestlog.Body{Request: []byte("a"), Response: []byte("b")}
	var got requests.RequestBody
	s.call("GET", "/requests/req_1/body", "", as("acc_developer")).want(200).into(&got)
	if *got.Request != "a" || got.ChatRequest == nil || *got.ChatRequest != "chat of a" || *got.ChatResponse != "chat of b" {
		t.Errorf("%+v", got)
	}
}

func TestStoredBodyIsReturned(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.log.entries = []requestlog.Entry{entry("req_1", home), entry("req_2", home)}
	s.log.bodies["req_1"] = requestlog.Body{Request: []byte(`{"a":1}`), Response: []byte("b\xffc"), Streamed: true}
	var got requests.RequestBody
	s.call("GET", "/requests/req_1/body", "", as("acc_developer")).want(200).into(&got)
	if got.State != "stored" || *got.Request != `{"a":1}` || *got.Response != "b\uFFFDc" || !got.Streamed || got.Reason != nil {
		t.Errorf("%+v", got)
	}
	s.call("GET", "/requests/req_2/body", "", as("acc_developer")).want(200).into(&got)
	if got.State != "expired" {
		t.Errorf("missing body: got %+v, want state expired", got)
	}
	s.call("GET", "/requests/req_1/body", "", as("acc_viewer")).rejected(http.StatusForbidden, "PERMISSION_DENIED")
}

func TestDeleteNeedsFilterAndDefaultsToDryRun(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.log.entries = []requestlog.Entry{entry("req_1", home), entry("req_2", home), entry("req_3", abroad)}
	s.call("DELETE", "/requests?dry_run=false", "", as("acc_owner")).rejected(http.StatusBadRequest, "INVALID_REQUEST")
	var got requests.Erased
	s.call("DELETE", "/requests?model=gpt", "", as("acc_owner")).want(200).into(&got)
	if got != (requests.Erased{Count: 2, DryRun: true}) || s.log.deleted != 0 || len(s.fake.events) != 0 {
		t.Errorf("dry run: %+v, deleted %d", got, s.log.deleted)
	}
	s.call("DELETE", "/requests?all=true&dry_run=false", "", as("acc_owner")).want(200).into(&got)
	if got != (requests.Erased{Count: 2}) || s.log.deleted != 2 {
		t.Errorf("%+v, deleted %d", got, s.log.deleted)
	}
	if len(s.fake.events) != 1 || s.fake.events[0].Action != "requests.delete" {
		t.Errorf("audit: %+v", s.fake.events)
	}
}

func TestOnlyFiltersDropsPaging(t *testing.T) {
	t.Parallel()
	got := requests.OnlyFilters(url.Values{"model": {"gpt"}, "limit": {"5"}, "workspace": {"w"}, "before": {"x"}, "q": {""}})
	if diff := cmp.Diff(url.Values{"model": {"gpt"}}, got); diff != "" {
		t.Error(diff)
	}
}

func TestRecentRequestIsAwaited(t *testing.T) {
	t.Parallel()
	fresh, old := id.New("req", noon.Add(-time.Second)), id.New("req", noon.Add(-2*time.Minute))
	for _, test := range []struct {
		name   string
		id     string
		late   int // number of reads that do not find the entry
		status int
		waited time.Duration
	}{
		{"stored", fresh, 0, 200, 0},
		{"stored soon", fresh, 3, 200, 150 * time.Millisecond},
		{"never stored", fresh, 1000, 404, 2 * time.Second},
		{"too old to wait for", old, 1, 404, 0},
		{"malformed ID", "req_nothing", 1, 404, 0},
		{"ID of a key", id.New("key", noon), 1, 404, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				for _, path := range []string{"", "/body"} {
					s := newSite(t)
					s.log.entries, s.log.late = []requestlog.Entry{entry(test.id, home)}, test.late
					began := time.Now()
					s.call("GET", "/requests/"+test.id+path, "", as("acc_owner")).want(test.status)
					if waited := time.Since(began); waited != test.waited {
						t.Errorf("%q took %s, want %s", path, waited, test.waited)
					}
				}
			})
		})
	}
}
