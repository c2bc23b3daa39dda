package admin

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/admin/overview"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/requestlog"
)

func TestOverviewReturnsAllParts(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	figures := requestlog.Figures{
		RequestCounts: requestlog.RequestCounts{Requests: 110, Served: 100, Attempts: 120, Failed: 24, Errors: 2, Fallbacks: 5, Expected: 95, Priced: 99, Compared: 98},
		Spending:      requestlog.Spending{Cost: 10 * money.Dollar, ComparedCost: 9 * money.Dollar, BaselineCost: 30 * money.Dollar},
		Quantiles:     requestlog.Quantiles{LatencyP50: 412},
	}
	s.log.groups[""] = []requestlog.Group{{Figures: figures}}
	s.log.groups["key"] = []requestlog.Group{{Name: "key_read", Figures: requestlog.Figures{RequestCounts: requestlog.RequestCounts{Requests: 25}}}, {Name: "", Figures: requestlog.Figures{RequestCounts: requestlog.RequestCounts{Requests: 1}}}}
	s.fake.keys[home][1].Name = "ci"
	var got overview.Overview
	s.call("GET", "/overview?from=now-1h&model=gpt&simulated=false", "", as("acc_viewer")).want(200).into(&got)
	if got.Current.Saved != 21*money.Dollar || *got.Current.SavedPercent != 70 || *got.Current.ErrorPercent != 1.8 || *got.Current.FailedPercent != 20 ||
		*got.Current.CoveredPercent != 98 || *got.Current.PricedPercent != 99 || got.Current.TTFTP50MS != nil {
		t.Errorf("%+v", got.Current)
	}
	if got.StepMS != 60_000 || len(got.Series) != 1 || got.Series[0].Requests != 3 {
		t.Errorf("%+v", got.Series)
	}
	keys := got.Breakdowns.Key
	if len(keys) != 2 || keys[0].Label != "ci" || *keys[0].SharePercent != 22.7 || keys[1].Label != "dashboard" || got.Breakdowns.Model == nil {
		t.Errorf("%+v", got.Breakdowns)
	}
	now, before := s.log.queries[0], s.log.queries[1]
	if !now.From.Equal(noon.Add(-time.Hour)) || !now.To.Equal(noon) || !before.To.Equal(now.From) || !before.From.Equal(noon.Add(-2*time.Hour)) {
		t.Errorf("periods: %v–%v and %v–%v", now.From, now.To, before.From, before.To)
	}
	if now.WorkspaceID != home || len(now.Model) != 1 || now.Simulated == nil || *now.Simulated || now.Source != requestlog.SourceKey || before.Source != now.Source {
		t.Errorf("the query lacks filters: %+v", now)
	}
}

func TestOverviewReportsWhetherThePreviousPeriodIsComplete(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for name, since := range map[string]time.Time{"recorded before": noon.Add(-3 * time.Hour), "began within it": noon.Add(-90 * time.Minute)} {
		s.log.since = since
		s.log.groups[""] = []requestlog.Group{{Figures: requestlog.Figures{RequestCounts: requestlog.RequestCounts{Requests: 7}}}}
		var got overview.Overview
		s.call("GET", "/overview?from=now-1h", "", as("acc_viewer")).want(200).into(&got)
		if want := name == "recorded before"; got.PreviousComplete != want || got.Previous.Requests != 7 {
			t.Errorf("%s: previous_complete is %v, previous has %d requests", name, got.PreviousComplete, got.Previous.Requests)
		}
	}
}

func TestAttentionListsItems(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	budget := &account.Budget{Amount: 10 * money.Dollar, Period: account.Monthly}
	keys := s.fake.keys[home]
	keys[0].ExpiresAt = noon.Add(24 * time.Hour)
	keys[1].Budget, keys[2].Budget = budget, budget
	var mine, theirs overview.Overview
	s.call("GET", "/overview", "", as("acc_viewer")).want(200).into(&mine)
	type short struct{ Kind, Object, Severity string }
	list := func(o overview.Overview) (out []short) {
		for _, a := range o.Attention {
			out = append(out, short{a.Kind, a.Object, a.Severity})
		}
		return out
	}
	want := []short{
		{"circuit_open", "acme/gpt", "error"},
		{"credential_backing_off", "acme/acme#1", "warning"},
		{"key_expiring", "key_inference", "warning"},
		{"budget_warn", "key_read", "warning"},
		{"budget_over", "key_manage", "error"},
		{"price_unknown", "odd", "warning"},
	}
	if diff := cmp.Diff(want, list(mine)); diff != "" {
		t.Error(diff)
	}
	s.fleet.enabled["acme"] = false
	s.call("GET", "/overview", "", as(stranger)).want(200).into(&theirs)
	if diff := cmp.Diff([]short{{"no_provider", "providers", "error"}, {"price_unknown", "odd", "warning"}}, list(theirs)); diff != "" {
		t.Error(diff)
	}
}

func TestFacetsAndHistogram(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.log.groups[""] = []requestlog.Group{{Figures: requestlog.Figures{RequestCounts: requestlog.RequestCounts{Requests: 9, Expected: 6, Fallbacks: 2, Policies: 1, Rejected: 4}}}}
	s.log.groups["model"] = []requestlog.Group{{Name: "gpt", Figures: requestlog.Figures{RequestCounts: requestlog.RequestCounts{Requests: 8}}}, {Name: ""}}
	var got overview.Facets
	s.call("GET", "/requests/facets", "", as("acc_viewer")).want(200).into(&got)
	if len(got.Decision) != 3 || *got.Decision[1].Count != 2 || len(got.Outcome) != 8 || *got.Outcome[3].Count != 4 || got.Outcome[0].Count != nil {
		t.Errorf("%+v", got)
	}
	if len(got.Model) != 1 || got.Model[0].Value != "gpt" || *got.Model[0].Count != 8 {
		t.Errorf("%+v", got.Model)
	}
	var h overview.Histogram
	s.call("GET", "/requests/histogram?from=now-7d", "", as("acc_viewer")).want(200).into(&h)
	if h.StepMS != 3_600_000 || len(h.Bins) != 1 || h.Bins[0].Errors != 1 || h.Bins[0].Fallbacks != 1 {
		t.Errorf("%+v", h)
	}
}

func TestDaysFollowZone(t *testing.T) {
	t.Parallel()
	kolkata := []time.Time{time.Date(2026, 11, 13, 18, 0, 0, 0, time.UTC), time.Date(2026, 11, 14, 18, 0, 0, 0, time.UTC)}
	paris := []time.Time{time.Date(2026, 11, 13, 23, 0, 0, 0, time.UTC), time.Date(2026, 11, 14, 23, 0, 0, 0, time.UTC)}
	utc := []time.Time{time.Date(2026, 11, 14, 0, 0, 0, 0, time.UTC), time.Date(2026, 11, 15, 0, 0, 0, 0, time.UTC)}
	for _, test := range []struct {
		name, query string
		starts      []time.Time
		want        *overview.DayView
	}{
		{"no zone", "from=now-30d", utc, &overview.DayView{Zone: "UTC"}},
		{"UTC by name", "from=now-30d&zone=UTC", utc, &overview.DayView{Zone: "UTC"}},
		{"whole hours away", "from=now-30d&zone=Europe/Paris", paris, &overview.DayView{Zone: "Europe/Paris"}},
		{"half-hour offset", "from=now-30d&zone=Asia/Kolkata", kolkata, &overview.DayView{Zone: "Asia/Kolkata", ShiftMS: -1_800_000}},
		{"expired hours", "from=now-30d&zone=Europe/Paris", utc, &overview.DayView{Zone: "UTC"}},
		{"no days", "from=now-24h&zone=Europe/Paris", paris, nil},
	} {
		s := newSite(t)
		s.log.starts = test.starts
		var figures overview.Overview
		s.call("GET", "/overview?"+test.query, "", as("acc_viewer")).want(200).into(&figures)
		var histogram overview.Histogram
		s.call("GET", "/requests/histogram?"+test.query, "", as("acc_viewer")).want(200).into(&histogram)
		for what, got := range map[string]*overview.DayView{"overview": figures.Days, "histogram": histogram.Days} {
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s, %s: %s", test.name, what, diff)
			}
		}
		if asked := s.log.series[0].Zone; (asked == nil) != (!strings.Contains(test.query, "/")) {
			t.Errorf("%s: zone of the log query is %v, want one: %t", test.name, asked, strings.Contains(test.query, "/"))
		}
	}
	s := newSite(t)
	s.call("GET", "/requests/histogram?from=now-30d&session=x&zone=Asia/Tokyo", "", as("acc_viewer")).want(200)
	if zone := s.log.volumes[0].Zone; zone == nil || zone.String() != "Asia/Tokyo" {
		t.Errorf("zone of the query is %v, want Asia/Tokyo", zone)
	}
	for _, zone := range []string{"Mars/Olympus", "Local", "../etc"} {
		s.call("GET", "/overview?zone="+zone, "", as("acc_viewer")).rejected(http.StatusBadRequest, "INVALID_REQUEST")
	}
}
