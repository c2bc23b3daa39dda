package storetest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/savedview"
	"fairlead.dev/internal/store"
	"fairlead.dev/internal/store/storetest/accounttest"
)

// savedViewsReadBack adds, changes and deletes views in two workspaces.
func savedViewsReadBack(t *testing.T, db *store.DB) {
	ctx := t.Context()
	accounttest.Enrol(t, db, "views")
	accounttest.Enrol(t, db, "views_other")
	view := func(ws, id, name string) savedview.View {
		return savedview.View{
			ID: id, WorkspaceID: ws, Name: name, Filters: map[string]string{"outcome": "ok", "q": "it's 100%_ ä€😀"}, Columns: []string{"time", "cost"}, Sort: "cost",
			CreatedBy: "acc_1", CreatedAt: time.Date(2026, 11, 17, 12, 0, 0, 0, time.UTC),
		}
	}
	slow, errs := view("ws_views", "view_1", "slow"), view("ws_views", "view_2", "Errors")
	other := view("ws_views_other", "view_1", "slow")
	for _, v := range []savedview.View{slow, errs, other} {
		must(t, db.Views.AddView(ctx, &v))
	}
	same := view("ws_views", "view_3", "slow")
	if err := db.Views.AddView(ctx, &same); !errors.Is(err, savedview.ErrNameTaken) {
		t.Errorf("AddView with a used name: %v, want ErrNameTaken", err)
	}
	slow.Filters, slow.Columns, slow.Sort = map[string]string{"min_latency": "2s"}, []string{}, ""
	must(t, db.Views.UpdateView(ctx, &slow))
	renamed := slow
	renamed.Name = "Errors"
	if err := db.Views.UpdateView(ctx, &renamed); !errors.Is(err, savedview.ErrNameTaken) {
		t.Errorf("UpdateView to a used name: %v, want ErrNameTaken", err)
	}
	views := func(ws string) []savedview.View {
		list, err := db.Views.Views(ctx, ws)
		must(t, err)
		return list
	}
	if diff := cmp.Diff([]savedview.View{errs, slow}, views("ws_views")); diff != "" {
		t.Error(diff)
	}

	unknown := view("ws_views_other", "view_2", "x")
	if err := db.Views.UpdateView(ctx, &unknown); !errors.Is(err, savedview.ErrNotFound) {
		t.Errorf("UpdateView of another workspace: %v, want ErrNotFound", err)
	}
	if err := db.Views.DeleteView(ctx, "ws_views_other", "view_2"); !errors.Is(err, savedview.ErrNotFound) {
		t.Errorf("DeleteView of another workspace: %v, want ErrNotFound", err)
	}
	must(t, db.Views.DeleteView(ctx, "ws_views", "view_1"))
	if diff := cmp.Diff([]savedview.View{errs}, views("ws_views")); diff != "" {
		t.Error(diff)
	}
	for i := range savedview.Max - 1 {
		v := view("ws_views", fmt.Sprintf("view_more_%d", i), fmt.Sprintf("view %d", i))
		must(t, db.Views.AddView(ctx, &v))
	}
	last := view("ws_views", "view_last", "last")
	if err := db.Views.AddView(ctx, &last); !errors.Is(err, savedview.ErrTooMany) {
		t.Errorf("AddView above the maximum: %v, want ErrTooMany", err)
	}
}
