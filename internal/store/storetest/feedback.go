package storetest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/feedback"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/route/predict"
	"fairlead.dev/internal/store"
	"fairlead.dev/internal/store/logstore"
)

// rated returns a rating by a key with all fields set.
func rated(workspace, requestID string, at time.Time, score float64) feedback.Rating {
	return feedback.Rating{
		ID: fmt.Sprintf("rat_%08d", serial.Add(1)), RequestID: requestID, WorkspaceID: workspace, KeyID: "key_1",
		Time: at, Score: score, Label: "good", Comment: "it's 100%_ right ä€😀", Source: feedback.FromAPI,
		Rated: feedback.Rated{Model: "small-b", Task: predict.Code, Difficulty: 1.625, Predictor: "p1"},
	}
}

// countedIn returns the result of CountedRatings by model.
func countedIn(t *testing.T, db *store.DB, workspace string, limit int) map[string][]feedback.Rating {
	t.Helper()
	found := map[string][]feedback.Rating{}
	must(t, db.Feedback.CountedRatings(t.Context(), workspace, limit, func(model string, ratings []feedback.Rating) error {
		found[model] = ratings
		return nil
	}))
	return found
}

// changesRevision reports whether calling do increments the revision of the workspace's ratings.
func changesRevision(t *testing.T, db *store.DB, workspace string, do func()) bool {
	t.Helper()
	before, err := db.Revisions(t.Context())
	must(t, err)
	do()
	changed, err := db.Feedback.ChangedFeedback(t.Context(), before[feedback.Topic])
	must(t, err)
	return slices.Contains(changed, workspace)
}

func ratingsReadBack(t *testing.T, db *store.DB) {
	ctx, ws, other := t.Context(), newTenant(t, db), newTenant(t, db)
	one, two, three := entryID(now), entryID(now), entryID(now)
	byKey, byPerson := rated(ws, one, now, 1), rated(ws, one, now.Add(time.Second), 0.25)
	byPerson.KeyID, byPerson.AccountID, byPerson.Source, byPerson.Difficulty = "", "acc_ann", feedback.FromDashboard, 0
	third, foreign := rated(ws, two, now, 0), rated(other, one, now, 0)
	if !changesRevision(t, db, ws, func() {
		for _, r := range []feedback.Rating{byKey, byPerson, third, foreign} {
			must(t, db.Feedback.SaveRating(ctx, r))
		}
	}) {
		t.Error("the revision did not change after ratings")
	}

	of, err := db.Feedback.FeedbackOf(ctx, ws, one)
	must(t, err)
	page, err := db.Feedback.FeedbackOfAll(ctx, ws, []string{two, three, one})
	must(t, err)

	if diff := cmp.Diff([]feedback.Rating{byKey, byPerson}, of); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string][]feedback.Rating{one: {byKey, byPerson}, two: {third}}, page); diff != "" {
		t.Error(diff)
	}
	if none, err := db.Feedback.FeedbackOfAll(ctx, ws, nil); err != nil || len(none) > 0 {
		t.Errorf("FeedbackOfAll without request IDs = %v, %v; want an empty map", none, err)
	}
	if err := db.Feedback.SaveRating(ctx, rated("ws_nobody", one, now, 1)); err == nil {
		t.Error("SaveRating in an unknown workspace returned no error")
	}
}

func laterRatingReplaces(t *testing.T, db *store.DB) {
	ctx, ws := t.Context(), newTenant(t, db)
	request := entryID(now)
	first, later := rated(ws, request, now, 1), rated(ws, request, now.Add(time.Minute), 0)
	later.Label, later.Comment, later.Model, later.Task, later.Difficulty, later.Predictor = "bad", "", "large-a", predict.Maths, 3, "p2"
	otherKey := rated(ws, request, now, 0.5)
	otherKey.KeyID = "key_2"
	for _, r := range []feedback.Rating{first, otherKey, later} {
		must(t, db.Feedback.SaveRating(ctx, r))
	}

	got, err := db.Feedback.FeedbackOf(ctx, ws, request)

	must(t, err)
	if diff := cmp.Diff([]feedback.Rating{otherKey, later}, got); diff != "" {
		t.Error(diff)
	}
}

func newestRatingsCount(t *testing.T, db *store.DB) {
	ctx, ws := t.Context(), newTenant(t, db)
	want := map[string][]feedback.Rating{}
	for _, model := range []string{"small-b", "large_a", "ä%'"} {
		for age := range 5 {
			r := rated(ws, entryID(now), now.Add(time.Duration(-age)*time.Minute), 1)
			r.Model = model
			must(t, db.Feedback.SaveRating(ctx, r))
			if age < 3 {
				want[model] = append(want[model], r)
			}
		}
	}

	if diff := cmp.Diff(want, countedIn(t, db, ws, 3)); diff != "" {
		t.Error(diff)
	}
}

func resetRatings(t *testing.T, db *store.DB) {
	ctx, ws := t.Context(), newTenant(t, db)
	request := entryID(now)
	rate := func(model string, minutes int) feedback.Rating {
		r := rated(ws, entryID(now), now.Add(time.Duration(minutes)*time.Minute), 1)
		r.Model = model
		must(t, db.Feedback.SaveRating(ctx, r))
		return r
	}
	old := rated(ws, request, now, 1)
	must(t, db.Feedback.SaveRating(ctx, old))
	large := rate("large-a", 0)
	if !changesRevision(t, db, ws, func() { must(t, db.Feedback.ResetFeedback(ctx, ws, "small-b", now.Add(time.Minute))) }) {
		t.Error("the revision did not change after a reset")
	}
	if diff := cmp.Diff(map[string][]feedback.Rating{"large-a": {large}}, countedIn(t, db, ws, 10)); diff != "" {
		t.Error(diff)
	}
	must(t, db.Feedback.ResetFeedback(ctx, ws, "", now.Add(2*time.Minute)))
	newer := rate("small-b", 3)
	if diff := cmp.Diff(map[string][]feedback.Rating{"small-b": {newer}}, countedIn(t, db, ws, 10)); diff != "" {
		t.Error(diff)
	}
	kept, err := db.Feedback.FeedbackOf(ctx, ws, request)
	must(t, err)
	if diff := cmp.Diff([]feedback.Rating{old}, kept); diff != "" {
		t.Errorf("a rating that no longer counts was deleted: %s", diff)
	}
}

func ratingsAreDeletedWithRequests(t *testing.T, db *store.DB) {
	ctx, ws := t.Context(), newTenant(t, db)
	erased, kept := sample(ws, now), sample(ws, now)
	erased.Session, kept.Session = "gone", "stays"
	write(t, db, erased, kept)
	for _, e := range []requestlog.Entry{erased, kept} {
		must(t, db.Feedback.SaveRating(ctx, rated(ws, e.ID, now, 1)))
	}

	changed := changesRevision(t, db, ws, func() {
		_, err := db.Log.DeleteEntries(ctx, requestlog.Filter{WorkspaceID: ws, Lists: requestlog.Lists{Session: []string{"gone"}}}, false)
		must(t, err)
	})

	left, err := db.Feedback.FeedbackOfAll(ctx, ws, []string{erased.ID, kept.ID})
	must(t, err)
	if !changed || len(left) != 1 || len(left[kept.ID]) != 1 {
		t.Errorf("revision changed %t, remaining feedback %v; want true and two of the kept request", changed, left)
	}
}

func orphanedRatingsExpire(t *testing.T, open func(testing.TB) *store.DB) {
	ctx, db := t.Context(), open(t)
	ws := newTenant(t, db)
	const day = 24 * time.Hour
	logged, old, recent := sample(ws, now.Add(-40*day)), entryID(now.Add(-31*day)), entryID(now.Add(-29*day))
	write(t, db, logged)
	for _, request := range []string{logged.ID, old, recent} {
		must(t, db.Feedback.SaveRating(ctx, rated(ws, request, now, 1)))
	}

	_, err := db.Log.Expire(ctx, now, logstore.Retention{Entries: 30 * day})
	must(t, err)

	left, err := db.Feedback.FeedbackOfAll(ctx, ws, []string{logged.ID, old, recent})
	must(t, err)
	if len(left) != 1 || len(left[recent]) != 1 {
		t.Errorf("feedback after the expiry: %v, want only that of the recent request", left)
	}
}
