package replay

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"fairlead.dev/internal/money"
	"fairlead.dev/internal/route"
)

// TestRecordMatchesDecodedEntry compares the partial decoder with encoding/json.
func TestRecordMatchesDecodedEntry(t *testing.T) {
	if testing.Short() {
		t.Skip("long computation: tested without the race detector")
	}
	t.Parallel()
	m := newMaker(t, 3)
	snap := m.snapshot(8, 3)
	policies := m.policies(snap)
	var got record
	for i := range 500 {
		c := m.conditions(snap)
		c.Policies = policies
		d, _ := route.Decide(new(m.input(snap)), snap, c)
		e := m.entry(i, d, snap)
		one := row(t, &e)

		if err := got.read(&one); err != nil {
			t.Fatal(err)
		}

		want := recordOf(stored(t, d))
		want.id, want.at, want.usage, want.cost, want.baseline = e.ID, e.Time, e.Usage, e.Cost, e.BaselineCost
		if e.Model != "" {
			want.served = e.Provider + "/" + e.Model
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(record{}, sighting{}), cmpopts.EquateEmpty(), cmpopts.IgnoreFields(record{}, "buffer", "names")); diff != "" {
			t.Fatalf("request %d: %s", i, diff)
		}
	}
}

func recordOf(d *route.Decision) record {
	r := record{in: d.Input, seen: sightings{}}
	for _, c := range d.Candidates {
		if c.Rank == 1 {
			r.chosen, r.effort = c.Target, c.Effort
		}
		r.seen[c.Target] = sighting{
			state: c.Seen, cache: c.Cache, quality: c.Quality,
			rated: c.Rank > 0 || c.Excluded.Code == route.CircuitOpen || c.Excluded.Code == route.CredentialBackingOff,
		}
	}
	for _, s := range d.Aside {
		one := r.seen[s.Target]
		one.state, one.cache = s.Seen, s.Cache
		r.seen[s.Target] = one
	}
	return r
}

func TestMalformedRecordIsRejected(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		summary, trace string
		wanted         bool
	}{
		"a record":         {`{"usage":{"input":3}}`, `{"trace":{"input":{"op":"chat"},"candidates":[]}}`, true},
		"null costs":       {`{"cost_usd":null,"baseline_cost_usd":null}`, `{"trace":{"input":{},"candidates":null}}`, true},
		"no trace":         {`{}`, `{"bill":{}}`, false},
		"a null trace":     {`{}`, `{"trace":null}`, false},
		"an empty trace":   {`{}`, ``, false},
		"malformed input":  {`{}`, `{"trace":{"input":[],"candidates":[]}}`, false},
		"an invalid cost":  {`{"cost_usd":"much"}`, `{"trace":{"input":{}}}`, false},
		"an invalid usage": {`{"usage":7}`, `{"trace":{"input":{}}}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var r record
			err := r.read(&Row{ID: "req_1", Summary: []byte(test.summary), Trace: func([]byte) ([]byte, error) { return []byte(test.trace), nil }})
			if (err == nil) != test.wanted {
				t.Errorf("read: %v, want success = %t", err, test.wanted)
			}
		})
	}
}

func FuzzRecord(f *testing.F) {
	f.Add([]byte(`{"model":"a","provider":"b","usage":{"input":1},"cost_usd":"0.1"}`), []byte(`{"trace":{"input":{"op":"chat"},"candidates":[{"target":"b/a","rank":1,"seen":{"open":true}}],"aside":[{"target":"x"}]}}`))
	f.Fuzz(func(t *testing.T, summary, trace []byte) {
		var r record
		err := r.read(&Row{ID: "req_1", Summary: summary, Trace: func([]byte) ([]byte, error) { return trace, nil }})
		if err == nil && !bytes.Contains(trace, []byte(`"`)) {
			t.Errorf("a record was decoded from %q", trace)
		}
	})
}

func amount(dollars string) *money.Amount {
	a, err := money.Parse(dollars)
	if err != nil {
		panic(err)
	}
	return &a
}
