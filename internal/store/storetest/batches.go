package storetest

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/batch"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/store"
	"fairlead.dev/internal/store/storetest/accounttest"
)

// providerObjectsReadBack adds, lists, settles and removes files and batches in two workspaces.
func providerObjectsReadBack(t *testing.T, db *store.DB) {
	ctx := t.Context()
	accounttest.Enrol(t, db, "objects")
	accounttest.Enrol(t, db, "objects_other")
	start := time.Date(2026, 11, 17, 12, 0, 0, 0, time.UTC)
	object := func(ws, id string, kind batch.Kind, age time.Duration) batch.Object {
		return batch.Object{
			WorkspaceID: ws, Kind: kind, ID: id, KeyID: "key_1", Provider: "openai", Credential: "openai#1", Uses: []batch.Use{{Model: "gpt", Op: llm.Chat}},
			Data: []byte(`{"id":"` + id + `"}`), CreatedAt: start.Add(-age),
		}
	}
	a, b, c := object("ws_objects", "file-a", batch.File, 0), object("ws_objects", "file-b", batch.File, 0), object("ws_objects", "file-c", batch.File, time.Hour)
	job, other := object("ws_objects", "file-a", batch.Batch, 0), object("ws_objects_other", "file-a", batch.File, 0)
	for _, o := range []batch.Object{a, b, c, job, other} {
		must(t, db.Batches.AddObject(ctx, o))
	}
	again := a
	again.Provider = "another"
	must(t, db.Batches.AddObject(ctx, again))
	list := func(after string, limit int) []batch.Object {
		found, err := db.Batches.Objects(ctx, "ws_objects", batch.File, after, limit)
		must(t, err)
		return found
	}
	if diff := cmp.Diff([]batch.Object{b, a, c}, list("", 10)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]batch.Object{a}, list("file-b", 1)); diff != "" {
		t.Error(diff)
	}
	if _, err := db.Batches.Objects(ctx, "ws_objects_other", batch.File, "file-b", 1); !errors.Is(err, batch.ErrNotFound) {
		t.Errorf("page after an object of another workspace: %v, want ErrNotFound", err)
	}
	if _, err := db.Batches.Object(ctx, "ws_objects_other", batch.File, "file-b"); !errors.Is(err, batch.ErrNotFound) {
		t.Errorf("object of another workspace: %v, want ErrNotFound", err)
	}
	owners, err := db.Batches.FileOwners(ctx, []string{"file-b", "file-unknown", "file-a", "it's"})
	must(t, err)
	slices.SortFunc(owners, func(x, y batch.Owner) int { return strings.Compare(x.ID+x.WorkspaceID, y.ID+y.WorkspaceID) })
	var want []batch.Owner // the batch whose ID equals a file ID must not be returned
	for _, o := range []batch.Object{a, other, b} {
		want = append(want, batch.Owner{WorkspaceID: o.WorkspaceID, ID: o.ID, Provider: o.Provider, Credential: o.Credential})
	}
	if diff := cmp.Diff(want, owners); diff != "" {
		t.Error(diff)
	}
	if owners, err := db.Batches.FileOwners(ctx, nil); len(owners) > 0 || err != nil {
		t.Errorf("owners without files: %v, %v; want none", owners, err)
	}
	begin := time.UnixMilli(1_800_000_000_123).UTC()
	for i := range 4 { // the settlement is begun twice and ended twice
		at := begin.Add(time.Duration(i) * time.Minute)
		if i >= 2 {
			at = time.Time{}
		}
		unsettled, err := db.Batches.UnsettledBatches(ctx)
		must(t, err)
		if found := slices.ContainsFunc(unsettled, func(o batch.Object) bool { return o.WorkspaceID == job.WorkspaceID && o.ID == job.ID }); found != (i < 3) {
			t.Errorf("step %d: the batch is listed as unsettled: %t, want %t", i, found, i < 3)
		}
		began, first, err := db.Batches.SettleObject(ctx, job, at)
		if must(t, err); i < 2 && !began.Equal(begin) || first != (i < 3) {
			t.Errorf("step %d: settlement began at %s, first %t; want %s, %t", i, began, first, begin, i < 3)
		}
		if got, err := db.Batches.Object(ctx, "ws_objects", batch.Batch, "file-a"); err != nil || got.Settled != (i >= 2) {
			t.Errorf("step %d: settled %t, %v; want %t", i, got.Settled, err, i >= 2)
		}
	}
	if began, first, err := db.Batches.SettleObject(ctx, job, begin); !began.IsZero() || first || err != nil {
		t.Errorf("settlement of a settled batch: began at %s, first %t, %v; want none", began, first, err)
	}
	job.Data, job.Settled = []byte(`{"status":"completed"}`), true
	must(t, db.Batches.SaveObject(ctx, job))
	got, err := db.Batches.Object(ctx, "ws_objects", batch.Batch, "file-a")
	must(t, err)
	if diff := cmp.Diff(job, got); diff != "" {
		t.Error(diff)
	}
	must(t, db.Batches.RemoveObject(ctx, a))
	if diff := cmp.Diff([]batch.Object{b, c}, list("", 10)); diff != "" {
		t.Error(diff)
	}
}
