package storetest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"fairlead.dev/internal/feedback"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/predict"
	"fairlead.dev/internal/store"
)

// outcomesReadBack stores outcomes of all kinds, reads them in pages, and resets them.
func outcomesReadBack(t *testing.T, db *store.DB) {
	ctx, ws := t.Context(), newTenant(t, db)
	older, newer := entryID(now.Add(-time.Hour)), entryID(now)
	verdict := rated(ws, newer, now, 0.5)
	verdict.KeyID, verdict.Source, verdict.Other, verdict.Label, verdict.Comment = "", feedback.FromShadow, "large-a", "judge", ""
	rating := rated(ws, newer, now, 1)
	refusal, quiet := signalled(ws, older, now, feedback.Refusal), signalled(ws, newer, now, feedback.Quiet)
	for _, r := range []feedback.Rating{verdict, rating} {
		must(t, db.Feedback.SaveRating(ctx, r))
	}
	must(t, db.Feedback.SaveSignals(ctx, []feedback.Rating{refusal, quiet}))

	first, err := db.Feedback.Outcomes(ctx, ws, feedback.OutcomePage{Limit: 1})
	must(t, err)
	rest, err := db.Feedback.Outcomes(ctx, ws, feedback.OutcomePage{Request: first[0].RequestID, Rater: first[0].Rater(), Limit: 10})
	must(t, err)
	if diff := cmp.Diff([]feedback.Rating{rating, verdict, refusal}, append(first, rest...)); diff != "" {
		t.Error(diff)
	}
	if counts, err := db.Feedback.SignalCounts(ctx, ws, now.Add(-time.Hour)); err != nil || len(counts) != 1 {
		t.Errorf("signals %v, %v; want one", counts, err)
	}
	if signals, err := db.Feedback.CountedSignals(ctx, ws, 10); err != nil || len(signals) != 2 {
		t.Errorf("counted signals %v, %v; want two", signals, err)
	}

	settings := feedback.Settings{Disabled: true, Explore: 0.02, Floor: 0.5}
	if !changesRevision(t, db, ws, func() { must(t, db.Feedback.SaveLearning(ctx, ws, settings)) }) {
		t.Error("saving the settings did not change the revision")
	}
	if got, err := db.Feedback.Learning(ctx, ws); err != nil || got != settings {
		t.Errorf("settings %+v, %v; want %+v", got, err, settings)
	}
	if got, err := db.Feedback.Learning(ctx, "ws_none"); err != nil || got != (feedback.Settings{}) {
		t.Errorf("default settings %+v, %v; want zero", got, err)
	}
	must(t, db.Feedback.ResetFeedback(ctx, ws, "", now.Add(time.Minute)))
	if signals, err := db.Feedback.CountedSignals(ctx, ws, 10); err != nil || len(signals) != 0 {
		t.Errorf("counted signals after a reset: %v, %v; want none", signals, err)
	}
}

// replicasShareExploration checks that two feedback indexes, one for each replica, share the exploration of one workspace.
func replicasShareExploration(t *testing.T, db *store.DB) {
	ctx, ws := t.Context(), newTenant(t, db)
	clock := now
	index := func() *feedback.Index {
		return feedback.NewIndex(db.Feedback, db.Feedback, feedback.Options{
			Base: func(string) (predict.Ability, bool) { return predict.Ability{}, false }, Now: func() time.Time { return clock },
		})
	}
	replicas := []*feedback.Index{index(), index()}
	const share = 0.1
	must(t, replicas[0].Configure(ctx, ws, feedback.Settings{Explore: share}))
	for _, r := range replicas {
		must(t, r.Refresh(ctx))
	}
	trials := int64(0)
	for i := range 1000 {
		r := replicas[i%2]
		explored, _ := r.Explore(ws)
		trial := feedback.Trial{Explored: explored > 0, Cost: 100, Loss: 0.01}
		if trial.Explored {
			trials++
			trial.Cost, trial.Extra = 400, 300
		}
		r.Tried(ws, trial)
		if i%50 < 2 {
			clock = clock.Add(time.Second)
			must(t, r.Refresh(ctx))
		}
	}
	for _, r := range append(replicas, replicas[0]) { // the first replica is refreshed again to read the latest trials of the second replica
		must(t, r.Refresh(ctx))
	}
	want := feedback.Exploration{
		Requests: 1000, Trials: trials, Spent: money.Amount(100_000 + 300*trials), Tried: money.Amount(400 * trials), Extra: money.Amount(300 * trials), Quality: 0.01 * float64(trials),
	}
	for i, r := range replicas {
		got := r.Learning(ws).Exploration
		if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-9)); diff != "" || trials == 0 || float64(got.Tried) > share*float64(got.Spent) {
			t.Errorf("replica %d: %d trials, exploration (-want +got):\n%s", i+1, trials, diff)
		}
	}
	if total, granted, err := db.Feedback.SyncExploration(ctx, feedback.Claim{WorkspaceID: "ws_none", Added: feedback.Exploration{Requests: 1}, Share: 1, Now: clock}); err != nil || granted != 0 || total.Requests != 0 {
		t.Errorf("exploration of an unknown workspace: %+v, granted %v, %v; want none", total, granted, err)
	}
	must(t, db.Feedback.SaveLearning(ctx, ws, feedback.Settings{Explore: share}))
	if total, granted, err := db.Feedback.SyncExploration(ctx, feedback.Claim{WorkspaceID: ws, Replica: "r", Share: share, Now: clock}); err != nil || granted != 0 || total.Requests != 0 {
		t.Errorf("exploration after a change of the settings: %+v, granted %v, %v; want none", total, granted, err)
	}
}
