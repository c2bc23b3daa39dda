package logstore

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/route"
)

// A recorded decision is written with the same text as an encoded one.
func TestTraceUsesRecordedDecision(t *testing.T) {
	t.Parallel()
	decision := &route.Decision{Kind: route.Expected, Candidates: []route.Candidate{{Target: "p/m"}}}
	for name, e := range map[string]requestlog.Entry{
		"alone":      {Routing: requestlog.Routing{Decision: decision}},
		"with bills": {Routing: requestlog.Routing{Decision: decision}, Charge: requestlog.Charge{Bill: &catalog.Bill{Total: 1}}, Baseline: requestlog.Baseline{BaselineBill: &catalog.Bill{Total: 2}}},
		"none":       {Charge: requestlog.Charge{Bill: &catalog.Bill{Total: 1}}},
	} {
		want, err := appendTrace([]byte("x"), &e)
		if err != nil {
			t.Fatal(name, err)
		}
		if e.Decision != nil {
			text, err := appendJSON(nil, e.Decision)
			if err != nil {
				t.Fatal(name, err)
			}
			e.Recorded = requestlog.Recorded{Decision: e.Decision, JSON: text}
		}
		got, err := appendTrace([]byte("x"), &e)
		if diff := cmp.Diff(string(want), string(got)); diff != "" || err != nil {
			t.Errorf("%s: %s %v", name, diff, err)
		}
	}
}

// A redacted decision must never be replaced by the decision that was recorded before.
func TestTraceEncodesChangedDecision(t *testing.T) {
	t.Parallel()
	recorded := &route.Decision{PolicyChange: route.PolicyChange{Alone: "secret"}}
	e := requestlog.Entry{Routing: requestlog.Routing{Decision: recorded, Recorded: requestlog.Recorded{Decision: recorded, JSON: []byte(`{"alone":"secret"}`)}}}
	changed := *recorded
	changed.Alone = "[redacted]"
	e.Decision = &changed
	want, err := appendJSON(nil, &trace{Decision: &changed})
	if err != nil {
		t.Fatal(err)
	}
	got, err := appendTrace(nil, &e)
	if diff := cmp.Diff(string(want), string(got)); diff != "" || err != nil {
		t.Errorf("%s %v", diff, err)
	}
}
