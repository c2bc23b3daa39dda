package admin

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead/internal/account"
	"fairlead/internal/money"
	"fairlead/internal/requestlog"
)

func TestOverviewIsOneCall(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	figures := requestlog.Figures{
		Requests: 100, Errors: 2, Fallbacks: 5, Expected: 95, Priced: 99, Compared: 98,
		Cost: 10 * money.Dollar, ComparedCost: 9 * money.Dollar, BaselineCost: 30 * money.Dollar, LatencyP50: 412,
	}
	s.log.groups[""] = []requestlog.Group{{Figures: figures}}
	s.log.groups["key"] = []requestlog.Group{{Name: "key_read", Figures: requestlog.Figures{Requests: 25}}, {Name: "", Figures: requestlog.Figures{Requests: 1}}}
	s.world.keys[home][1].Name = "ci"
	var got Overview
	s.call("GET", "/overview?from=now-1h&model=gpt&simulated=false", "", as("acc_viewer")).want(200).into(&got)
	if got.Current.Saved != 21*money.Dollar || *got.Current.SavedPercent != 70 || *got.Current.ErrorPercent != 2 || got.Current.TTFTP50MS != nil {
		t.Errorf("%+v", got.Current)
	}
	if got.StepMS != 60_000 || len(got.Series) != 1 || got.Series[0].Requests != 3 {
		t.Errorf("%+v", got.Series)
	}
	keys := got.Breakdowns.Key
	if len(keys) != 2 || keys[0].Label != "ci" || *keys[0].SharePercent != 25 || keys[1].Label != "dashboard" || got.Breakdowns.Model == nil {
		t.Errorf("%+v", got.Breakdowns)
	}
	now, before := s.log.queries[0], s.log.queries[1]
	if !now.From.Equal(noon.Add(-time.Hour)) || !now.To.Equal(noon) || !before.To.Equal(now.From) || !before.From.Equal(noon.Add(-2*time.Hour)) {
		t.Errorf("periods: %v–%v and %v–%v", now.From, now.To, before.From, before.To)
	}
	if now.WorkspaceID != home || len(now.Model) != 1 || now.Simulated == nil || *now.Simulated {
		t.Errorf("filters are lost: %+v", now)
	}
}

func TestOverviewRefusesWhatRollUpsCannotAnswer(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.call("GET", "/overview?session=x", "", as("acc_owner")).refused(http.StatusBadRequest, "INVALID_REQUEST")
	s.call("GET", "/overview?from=now&to=now", "", as("acc_owner")).refused(http.StatusBadRequest, "INVALID_REQUEST")
	s.call("GET", "/overview?from=yesterday", "", as("acc_owner")).refused(http.StatusBadRequest, "INVALID_REQUEST")
}

func TestAttentionNamesWhatSomebodyMustDo(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	budget := &account.Budget{Amount: 10 * money.Dollar, Period: account.Monthly}
	keys := s.world.keys[home]
	keys[0].ExpiresAt = noon.Add(24 * time.Hour)
	keys[1].Budget, keys[2].Budget = budget, budget
	var mine, theirs Overview
	s.call("GET", "/overview", "", as("acc_viewer")).want(200).into(&mine)
	type short struct{ Kind, Object, Severity string }
	list := func(o Overview) (out []short) {
		for _, a := range o.Attention {
			out = append(out, short{a.Kind, a.Object, a.Severity})
		}
		return out
	}
	want := []short{
		{"circuit_open", "acme/gpt", "error"},
		{"credential_resting", "acme/acme#1", "warning"},
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
	s.log.groups[""] = []requestlog.Group{{Figures: requestlog.Figures{Requests: 9, Expected: 6, Fallbacks: 2, Policies: 1, Rejected: 4}}}
	s.log.groups["model"] = []requestlog.Group{{Name: "gpt", Figures: requestlog.Figures{Requests: 8}}, {Name: ""}}
	var got Facets
	s.call("GET", "/requests/facets", "", as("acc_viewer")).want(200).into(&got)
	if len(got.Decision) != 3 || *got.Decision[1].Count != 2 || len(got.Outcome) != 8 || *got.Outcome[3].Count != 4 || got.Outcome[0].Count != nil {
		t.Errorf("%+v", got)
	}
	if len(got.Model) != 1 || got.Model[0].Value != "gpt" || *got.Model[0].Count != 8 {
		t.Errorf("%+v", got.Model)
	}
	var h Histogram
	s.call("GET", "/requests/histogram?from=now-7d", "", as("acc_viewer")).want(200).into(&h)
	if h.StepMS != 3_600_000 || len(h.Bins) != 1 || h.Bins[0].Errors != 1 || h.Bins[0].Fallbacks != 1 {
		t.Errorf("%+v", h)
	}
}

func TestStepFor(t *testing.T) {
	t.Parallel()
	for span, want := range map[time.Duration]time.Duration{
		15 * time.Minute: time.Minute, 3 * time.Hour: time.Minute, 24 * time.Hour: time.Hour, 30 * 24 * time.Hour: 24 * time.Hour,
	} {
		if got := stepFor(span); got != want {
			t.Errorf("stepFor(%v) = %v, want %v", span, got, want)
		}
	}
}
