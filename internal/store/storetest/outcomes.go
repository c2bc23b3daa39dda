package storetest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/feedback"
	"fairlead.dev/internal/store"
)

// outcomesReadBack stores outcomes of all kinds and the learning settings.
func outcomesReadBack(t *testing.T, db *store.DB) {
	ctx, ws := t.Context(), newTenant(t, db)
	older, newer := entryID(now.Add(-time.Hour)), entryID(now)
	verdict := rated(ws, newer, now, 0.5)
	verdict.KeyID, verdict.Source, verdict.Other, verdict.Label, verdict.Comment = "", feedback.FromShadow, "large-a", "judge", ""
	rating := rated(ws, newer, now, 1)
	earlier := rated(ws, older, now, 0)
	for _, r := range []feedback.Rating{verdict, rating, earlier} {
		must(t, db.Feedback.SaveRating(ctx, r))
	}

	got, err := db.Feedback.FeedbackOfAll(ctx, ws, []string{older, newer})
	must(t, err)
	if diff := cmp.Diff(map[string][]feedback.Rating{older: {earlier}, newer: {verdict, rating}}, got); diff != "" {
		t.Error(diff)
	}

	settings := feedback.Settings{Disabled: true}
	if !changesRevision(t, db, ws, func() { must(t, db.Feedback.SaveLearning(ctx, ws, settings)) }) {
		t.Error("saving the settings did not change the revision")
	}
	if got, err := db.Feedback.Learning(ctx, ws); err != nil || got != settings {
		t.Errorf("settings %+v, %v; want %+v", got, err, settings)
	}
	if got, err := db.Feedback.Learning(ctx, "ws_none"); err != nil || got != (feedback.Settings{}) {
		t.Errorf("default settings %+v, %v; want zero", got, err)
	}
}
