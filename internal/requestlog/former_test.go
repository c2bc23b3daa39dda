package requestlog_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/predict"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/route"
)

// Former values in old entries are read as the current values.
func TestFormerValuesAreRead(t *testing.T) {
	t.Parallel()
	var got struct {
		Body   requestlog.BodyState `json:"body"`
		Class  llm.Kind             `json:"class"`
		Reason route.Reason         `json:"reason"`
		Source route.BaselineSource `json:"source"`
		Now    llm.Kind             `json:"now"`
	}
	want := got
	want.Source = route.BaselineMostExpensive
	want.Body, want.Class, want.Reason, want.Now = requestlog.BodyDisabledForKey, llm.StreamInterrupted, route.PriceLimitExceeded, llm.UpstreamTimeout
	if err := json.Unmarshal([]byte(`{"body":"off_for_key","class":"cut","reason":"too_dear","source":"priciest","now":"timeout"}`), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A decision that was stored with the former field names has the same content as one with the current names.
func TestFormerDecisionIsRead(t *testing.T) {
	t.Parallel()
	const stored = `{
		"kind": "expected",
		"input": {"op": "chat", "model": "auto", "sketch": {"task": "code", "known": 0.5}, "baseline_hint": {"model": "big", "source": "key"}},
		"aim": {"best": 0.97, "chance": 0.92},
		"candidates": [
			{"target": "a/small", "rank": 1, "quality": 0.93, "warm": {"read": 900, "caches": true}, "seen": {"resting_ns": 5000, "refused": true}},
			{"target": "b/big", "excluded": {"code": "credential_resting"}}
		],
		"baseline": {"model": "big", "source": "priciest"},
		"aside": [{"target": "c/mid", "seen": {"open": true}, "warm": {"read": 7}}],
		"stay": {"target": "a/small", "else": "b/big", "switch_usd": "0.01"},
		"hide_text": true
	}`
	want := route.Decision{
		Kind: route.Expected,
		Input: route.Input{
			Op: llm.Chat, Model: "auto", Prediction: route.Prediction{Features: predict.Features{Task: "code", Known: 0.5}},
			Settings: route.Settings{Baseline: route.Baseline{Model: "big", Source: route.BaselineKey}},
		},
		QualityTarget: route.QualityTarget{Best: 0.97, Target: 0.92},
		Candidates: []route.Candidate{
			{
				Target: "a/small", Rank: 1, Scores: route.Scores{Quality: 0.93}, Cache: route.CacheHit{Read: 900, Caches: true},
				Seen: route.State{BackingOff: 5 * time.Microsecond, Rejected: true},
			},
			{Target: "b/big", Excluded: &route.Exclusion{Code: route.CredentialBackingOff}},
		},
		Baseline:      &route.Baseline{Model: "big", Source: route.BaselineMostExpensive},
		PolicyChange:  route.PolicyChange{Aside: []route.Sighting{{Target: "c/mid", Seen: route.State{Open: true}, Cache: route.CacheHit{Read: 7}}}},
		Stay:          &route.Stay{Target: "a/small", Alternative: "b/big", Switch: 10_000_000},
		PolicyEffects: route.PolicyEffects{OmitBodies: true},
	}

	var got route.Decision
	if err := json.Unmarshal([]byte(stored), &got); err != nil {
		t.Fatal(err)
	}
	encoded, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var again route.Decision
	if err := json.Unmarshal(encoded, &again); err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("former names: %s", diff)
	}
	if diff := cmp.Diff(want, again, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("current names: %s", diff)
	}
}
