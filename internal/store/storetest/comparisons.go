package storetest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/judge"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/proof"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/store"
	"fairlead.dev/internal/store/storetest/accounttest"
)

// comparisonsReadBack stores records in all states and reads them as samples, records and counts.
func comparisonsReadBack(t *testing.T, db *store.DB) {
	ctx := t.Context()
	at := time.Date(2026, 11, 17, 12, 0, 0, 0, time.UTC)
	accounttest.Enrol(t, db, "compare")
	accounttest.Enrol(t, db, "compare_other")
	record := func(ws, suffix string, age time.Duration, state proof.State) proof.Record {
		moment := at.Add(-age)
		return proof.Record{
			Sample: proof.Sample{
				Request: requestlog.FloorID(moment) + suffix, Shadow: "req_shadow" + suffix, At: moment, Key: "key_1", Task: "code", Model: "small", Baseline: "large",
				Difference: -0.25, Propensity: 0.06, Method: "judge", Reason: "it's 100%_ ä€😀",
			},
			Workspace: ws, Holdout: suffix == "b", State: state, Cost: 1500, Versions: judge.PromptVersion, Entry: `{"id":"req_shadow"}`, Response: `{"choices":[]}`,
		}
	}
	newest, older := record("ws_compare", "a", 0, proof.Compared), record("ws_compare", "b", time.Hour, proof.Compared)
	unjudged, failed := record("ws_compare", "c", 2*time.Hour, proof.Unjudged), record("ws_compare", "d", 3*time.Hour, proof.Failed)
	for _, r := range []proof.Record{newest, older, unjudged, failed, newest, record("ws_compare_other", "e", 0, proof.Compared)} {
		must(t, db.Proof.Save(ctx, &r))
	}
	all, end := at.Add(-24*time.Hour), at.Add(time.Second)

	samples, err := db.Proof.Samples(ctx, "ws_compare", all, end)
	must(t, err)
	if diff := cmp.Diff([]proof.Sample{older.Sample, newest.Sample}, samples); diff != "" {
		t.Error(diff)
	}
	if samples, err = db.Proof.Samples(ctx, "ws_compare", older.At, newest.At); err != nil || len(samples) != 1 || samples[0].Request != older.Request {
		t.Errorf("samples %+v, %v; want the older one", samples, err)
	}
	records, err := db.Proof.Records(ctx, "ws_compare", all, end, 3)
	must(t, err)
	if diff := cmp.Diff([]proof.Record{newest, older, unjudged}, records); diff != "" {
		t.Error(diff)
	}
	one, found, err := db.Proof.Record(ctx, "ws_compare", older.Request)
	must(t, err)
	if diff := cmp.Diff(older, one); diff != "" || !found {
		t.Error(diff)
	}
	if _, found, err = db.Proof.Record(ctx, "ws_other", older.Request); found || err != nil {
		t.Errorf("record of another workspace: found %t, %v; want false", found, err)
	}
	tally, err := db.Proof.Tally(ctx, "ws_compare", all)
	must(t, err)
	if diff := cmp.Diff(proof.Tally{Compared: 2, Unjudged: 1, Failed: 1, Cost: 6000}, tally); diff != "" {
		t.Error(diff)
	}
	if cost, err := db.Proof.ComparisonCost(ctx, "ws_compare", older.At, newest.At); err != nil || cost != 1500 {
		t.Errorf("cost of one comparison = %s, %v; want 1500", cost, err)
	}

	// Bodies expire before entries. A failed comparison has no response, but its reason may contain the provider's message.
	unanswered := record("ws_compare", "f", 45*time.Minute, proof.Failed)
	unanswered.Response, unanswered.Reason = "", "The shadow call failed: unknown word \"secret\""
	must(t, db.Proof.Save(ctx, &unanswered))
	must(t, db.Proof.Expire(ctx, at, func(ws string) (entries, bodies time.Duration) {
		if ws != "ws_compare" {
			return 0, 0
		}
		return 150 * time.Minute, 30 * time.Minute
	}))
	older.Response, older.Reason, unjudged.Response, unjudged.Reason, unanswered.Reason = "", "", "", "", ""
	records, err = db.Proof.Records(ctx, "ws_compare", all, end, 10)
	must(t, err)
	if diff := cmp.Diff([]proof.Record{newest, unanswered, older, unjudged}, records); diff != "" {
		t.Error(diff)
	}
}

// comparisonsAreCharged checks that each call of a comparison is charged once.
func comparisonsAreCharged(t *testing.T, db *store.DB) {
	ctx := t.Context()
	at := time.Date(2026, 11, 17, 12, 0, 0, 0, time.UTC)
	for _, c := range []proof.Charge{
		{Budget: "compare:ws_charged", ID: "a", At: at, Amount: 5},
		{Budget: "compare:ws_charged", ID: "a", At: at, Amount: 5},
		{Budget: "compare:ws_charged", ID: "b", At: at, Amount: 7},
		{Budget: "compare:ws_charged", ID: "c", At: at.Add(-time.Hour), Amount: 100},
		{Budget: "compare:ws_other", ID: "d", At: at, Amount: 1000},
	} {
		must(t, db.Proof.Charge(ctx, c))
	}
	for since, want := range map[time.Time]money.Amount{at: 12, at.Add(-time.Hour): 112, at.Add(time.Millisecond): 0} {
		if got, err := db.Sessions.Spent(ctx, "compare:ws_charged", since); err != nil || got != want {
			t.Errorf("spent since %s = %s, %v; want %s", since, got, err, want)
		}
	}
}

// judgeBiasesReadBack stores the bias of a judge for each version of the prompt.
func judgeBiasesReadBack(t *testing.T, db *store.DB) {
	ctx := t.Context()
	at := time.Date(2026, 11, 17, 12, 0, 0, 0, time.UTC)
	accounttest.Enrol(t, db, "bias")
	if _, _, ok, err := db.Proof.Bias(ctx, "ws_bias", "m", "v1"); ok || err != nil {
		t.Errorf("bias before the measurement: %t, %v; want false", ok, err)
	}
	want := judge.Bias{Pairs: 32, Position: 1.5, Corrected: -0.5, Length: 3, Family: 25, Accuracy: 0.95, Refused: "no"}
	must(t, db.Proof.SaveBias(ctx, "ws_bias", "m", "v1", judge.Bias{}, at))
	must(t, db.Proof.SaveBias(ctx, "ws_bias", "m", "v1", want, at.Add(time.Second)))
	got, measured, ok, err := db.Proof.Bias(ctx, "ws_bias", "m", "v1")
	must(t, err)
	if diff := cmp.Diff(want, got); diff != "" || !ok || !measured.Equal(at.Add(time.Second)) {
		t.Errorf("Bias: ok = %t, measured at %s; diff (-want +got):\n%s", ok, measured, diff)
	}
	if _, _, ok, _ := db.Proof.Bias(ctx, "ws_bias", "m", "v2"); ok {
		t.Error("the bias of another version of the prompt was returned")
	}
}
