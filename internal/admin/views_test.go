package admin

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/admin/views"
	"fairlead.dev/internal/savedview"
)

// fakeViews stores views in memory.
type fakeViews struct {
	mu   sync.Mutex
	list []savedview.View
}

func (s *fakeViews) Views(_ context.Context, workspaceID string) ([]savedview.View, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.list), func(v savedview.View) bool { return v.WorkspaceID != workspaceID }), nil
}

func (s *fakeViews) AddView(_ context.Context, v *savedview.View) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.ContainsFunc(s.list, func(o savedview.View) bool { return o.Name == v.Name && o.WorkspaceID == v.WorkspaceID }) {
		return savedview.ErrNameTaken
	}
	s.list = append(s.list, *v)
	return nil
}

func (s *fakeViews) UpdateView(_ context.Context, v *savedview.View) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list[slices.IndexFunc(s.list, func(o savedview.View) bool { return o.ID == v.ID })] = *v
	return nil
}

func (s *fakeViews) DeleteView(_ context.Context, _, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = slices.DeleteFunc(s.list, func(v savedview.View) bool { return v.ID == id })
	return nil
}

// views calls an operation, checks the status and decodes the body into v unless it is nil.
func (s *site) views(v any, status int, method, path, body string, by with) {
	s.Helper()
	a := s.call(method, "/views"+path, body, by)
	if a.Code != status {
		s.Errorf("%s /views%s %s: %d, want %d: %s", method, path, body, a.Code, status, a.Body)
	} else if v != nil {
		a.into(v)
	}
}

func TestViewsAreSharedInTheWorkspace(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var made views.SavedView
	s.views(&made, http.StatusCreated, "POST", "",
		`{"name":" Slow searches ","filters":{"from":"now-7d","min_latency":"2s","q":"refund"},"columns":["time","cost"],"sort":"latency"}`, as("acc_developer"))
	want := views.SavedView{
		ID: made.ID, Name: "Slow searches", Page: "requests", Filters: map[string]string{"from": "now-7d", "min_latency": "2s", "q": "refund"}, Columns: []string{"time", "cost"}, Sort: "latency",
		CreatedBy: "acc_developer", CreatedAt: noon,
	}
	if diff := cmp.Diff(want, made); diff != "" {
		t.Error(diff)
	}

	var list views.SavedViewList
	s.views(&list, http.StatusOK, "GET", "", "", as("acc_viewer"))
	delete(want.Filters, "q") // a viewer cannot read prompts
	if diff := cmp.Diff([]views.SavedView{want}, list.Views); diff != "" {
		t.Error(diff)
	}
	s.views(&list, http.StatusOK, "GET", "", "", as(stranger))
	if len(list.Views) != 0 {
		t.Errorf("another workspace sees %v", list.Views)
	}

	var changed views.SavedView
	s.views(&changed, http.StatusOK, "PUT", "/"+made.ID, `{"name":"Slow"}`, as("acc_admin"))
	if changed.Name != "Slow" || len(changed.Filters) != 0 || len(changed.Columns) != 0 || changed.Sort != "time" || changed.CreatedBy != "acc_developer" {
		t.Errorf("%+v", changed)
	}
	s.views(nil, http.StatusNotFound, "PUT", "/"+made.ID, `{"name":"Mine"}`, as(stranger))
	s.views(nil, http.StatusNotFound, "DELETE", "/"+made.ID, "", as(stranger))
	s.views(nil, http.StatusNoContent, "DELETE", "/"+made.ID, "", as("acc_developer"))

	var actions []string
	for _, n := range s.fake.noted {
		actions = append(actions, n.Action+" "+n.After)
		if strings.Contains(n.Before+n.After, "refund") {
			t.Errorf("the audit log has a search text: %+v", n)
		}
	}
	if diff := cmp.Diff([]string{`view.create {"name":"Slow searches","filters":["from","min_latency","q"]}`, `view.update {"name":"Slow"}`, "view.delete "}, actions); diff != "" {
		t.Error(diff)
	}
}

func TestViewsAreValidated(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.views(nil, http.StatusCreated, "POST", "", `{"name":"Errors"}`, as("acc_owner"))
	for body, status := range map[string]int{
		`{"name":"Errors"}`:                                                http.StatusConflict,
		`{"name":"  "}`:                                                    http.StatusBadRequest,
		`{"name":"a","filters":{"colour":"red"}}`:                          http.StatusBadRequest,
		`{"name":"a","filters":{"limit":"5"}}`:                             http.StatusBadRequest,
		`{"name":"a","filters":{"min_cost":"much"}}`:                       http.StatusBadRequest,
		`{"name":"a","columns":[""]}`:                                      http.StatusBadRequest,
		`{"name":"a","sort":"colour"}`:                                     http.StatusBadRequest,
		`{"name":"` + strings.Repeat("a", 81) + `"}`:                       http.StatusBadRequest,
		`{"name":"a","filters":{"q":"` + strings.Repeat("a", 2001) + `"}}`: http.StatusBadRequest,
	} {
		s.views(nil, status, "POST", "", body, as("acc_owner"))
	}
}
