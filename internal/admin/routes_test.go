package admin

import (
	"context"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/admin/adminapi"
	"fairlead.dev/internal/admin/routes"
	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/route"
)

// fakeRouter offers the models small, large and odd, which has no price. The configuration file defines the route fixed.
type fakeRouter struct{ *fleet }

func (fakeRouter) Targets() *route.Snapshot {
	target := func(name string, quality float64, price *catalog.Price) *provider.Target {
		return &provider.Target{Provider: "acme", Model: &catalog.Model{Name: name, Op: llm.Chat, Quality: quality, Released: "2026-05"}, Upstream: name, Price: price}
	}
	dollars := func(n float64) *catalog.Price {
		return &catalog.Price{Input: money.PerMillion(n), Output: money.PerMillion(n)}
	}
	return route.NewSnapshot(&catalog.Catalog{}, []*provider.Provider{{Name: "acme", Targets: []*provider.Target{
		target("small", 0.6, dollars(1)), target("large", 0.8, dollars(5)), target("odd", 0.7, nil),
	}}}, nil)
}

func (fakeRouter) InstanceRoutes() []route.Route {
	return []route.Route{{Name: "fixed", Pool: []string{"small"}}}
}

func (fakeRouter) PoolChanges(context.Context) ([]routes.PoolChange, error) {
	return []routes.PoolChange{{At: noon, Reason: "large joined the pool"}}, nil
}

func (fakeRouter) Known(name string) (bool, []string) {
	return slices.Contains([]string{"small", "large", "odd"}, name), []string{"small"}
}

// SetRoute and DeleteRoute implement routes.Workspaces.
func (w *fake) SetRoute(_ context.Context, by account.Actor, t route.Route) error {
	workspace := w.workspaces[by.WorkspaceID]
	workspace.Routes = append(workspace.Routes, t)
	w.workspaces[by.WorkspaceID] = workspace
	return nil
}

func (w *fake) DeleteRoute(_ context.Context, by account.Actor, name string) error {
	workspace := w.workspaces[by.WorkspaceID]
	i := slices.IndexFunc(workspace.Routes, func(t route.Route) bool { return t.Name == name })
	if i < 0 {
		return missing("route")
	}
	workspace.Routes = slices.Delete(workspace.Routes, i, i+1)
	w.workspaces[by.WorkspaceID] = workspace
	return nil
}

func TestRoutesShowPoolsWithReasons(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var got routes.RouteList
	s.call("PUT", "/routes/support", `{"pool":["large"],"tradeoff":0.8,"shares":[{"model":"small","percent":5}]}`, as("acc_admin")).want(http.StatusOK)
	s.call("GET", "/routes", "", as("acc_viewer")).want(http.StatusOK).into(&got)
	var rows []string
	for _, r := range got.Routes {
		parts := []string{r.Name + " " + r.Source}
		for _, m := range r.Pool {
			parts = append(parts, m.Model+": "+m.Why)
		}
		rows = append(rows, regexp.MustCompile(`\d+ points`).ReplaceAllString(strings.Join(parts, "; "), "N points")+"; misses "+strings.Join(r.Missing, " "))
	}
	if diff := cmp.Diff([]string{
		"auto built_in; small: the cheapest; large: the best: N points better than small for 5 × the price; misses ",
		"fixed instance; small: the cheapest and the best; misses large",
		"support workspace; large: the cheapest and the best; misses small",
	}, rows); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]routes.LeftModel{{Model: "odd", Reason: "unpriced: add a price", Unpriced: true}}, got.Left); diff != "" {
		t.Error(diff)
	}
	if len(got.Changes) != 1 || got.Editable || got.Routes[2].Tradeoff != 0.8 || got.Routes[2].Shares[0].Percent != 5 {
		t.Errorf("%+v", got)
	}
	s.call("DELETE", "/routes/support", "", as("acc_admin")).want(http.StatusNoContent)
	s.call("DELETE", "/routes/support", "", as("acc_admin")).rejected(http.StatusNotFound, "NOT_FOUND")
}

func TestInvalidRoutesAreRejected(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, tc := range []struct{ name, body, param string }{
		{"support", `{"pool":["smal"]}`, "pool[0]"},
		{"support", `{"pool":["1","2","3","4","5","6","7","8","9"]}`, "pool"},
		{"support", `{"pool":["small","small"]}`, "pool[1]"},
		{"support", `{"tradeoff":2}`, "tradeoff"},
		{"support", `{"max_effort":"hihg"}`, "max_effort"},
		{"support", `{"min_effort":"high","max_effort":"low"}`, "min_effort"},
		{"support", `{"shares":[{"model":"small","percent":60},{"model":"large","percent":50}]}`, "shares"},
		{"support", `{"shares":[{"model":"small","percent":0}]}`, "shares[0].percent"},
		{"small", `{}`, "name"},
		{"claude-auto", `{}`, "name"},
		{"Auto", `{}`, "name"},
		{"auto:cost", `{}`, "name"},
	} {
		e := s.call("PUT", "/routes/"+tc.name, tc.body, as("acc_admin")).rejected(http.StatusBadRequest, "INVALID_REQUEST")
		if !slices.ContainsFunc(e.Details.Problems, func(p adminapi.Problem) bool { return p.Param == tc.param }) {
			t.Errorf("%s %s: %+v, want a problem with %s", tc.name, tc.body, e.Details.Problems, tc.param)
		}
	}
	s.call("PUT", "/routes/fixed", `{}`, as("acc_admin")).rejected(http.StatusConflict, "CONFLICT")
	s.call("DELETE", "/routes/fixed", "", as("acc_admin")).rejected(http.StatusConflict, "CONFLICT")
}
