package replay

import (
	"flag"
	"fmt"
	"maps"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/route"
)

// requests is the number of decisions to verify.
var requests = flag.Int("requests", 5_000, "how many random decisions are verified")

// TestStoredDecisionsAreReproduced encodes random decisions and recomputes them from the archive.
func TestStoredDecisionsAreReproduced(t *testing.T) {
	if testing.Short() {
		t.Skip("long computation: tested without the race detector")
	}
	t.Parallel()
	const perSeed = 250
	seeds := max(1, *requests/perSeed)
	seen := make([]map[string]int, runtime.GOMAXPROCS(0))
	var all sync.WaitGroup
	for part := range seen {
		seen[part] = map[string]int{}
		all.Go(func() {
			for seed := part; seed < seeds; seed += len(seen) {
				verifyDecisions(t, uint64(seed), perSeed, seen[part])
			}
		})
	}
	all.Wait()

	for _, kind := range []string{"expected", "fallback", "policy", "rejected", "denied", "stay", "aside", "excluded", "corrected", "hidden"} {
		n := 0
		for _, counts := range seen {
			n += counts[kind]
		}
		if n == 0 {
			t.Errorf("no generated decision is of kind %s", kind)
		}
	}
}

func verifyDecisions(t *testing.T, seed uint64, n int, seen map[string]int) {
	t.Helper()
	m := newMaker(t, seed)
	snap := m.snapshot(3+m.IntN(6), 1+m.IntN(3))
	policies, corrections := m.policies(snap), m.corrections(snap)
	archive := fakeStore{}
	if err := Keep(t.Context(), archive, snap, policies, corrections); err != nil {
		t.Error(err)
		return
	}
	library := NewLibrary(archive, replaced(m.catalog), nil)
	for i := range n {
		c := m.conditions(snap)
		c.Policies = policies
		if corrections.Version != "" {
			c.Corrections, c.Feedback = corrections, corrections.Version
		}
		d, err := route.Decide(new(m.input(snap)), snap, c)
		note(seen, d, err)
		e := requestlog.Entry{Routing: requestlog.Routing{Decision: stored(t, d)}}

		got := Verify(&e, library.Load(t.Context(), e.Decision.Versions), &e.Decision.Input.Features)

		if !got.Same || !got.FeaturesVerified {
			t.Errorf("seed %d, request %d: result %+v, want the same decision", seed, i, got)
			return
		}
	}
}

// replaced returns the catalog after an update: every list price is ten times as high and a new model has taken an old name.
func replaced(known *catalog.Catalog) *catalog.Catalog {
	var changes catalog.Overrides
	for _, m := range known.Models() {
		if p := known.ListPrice(m.Name); p != nil {
			changes = append(changes, catalog.Override{Model: m.Name, Input: new(10 * p.Input), Output: new(10 * p.Output)})
		}
		for _, alias := range m.Aliases {
			changes = append(changes, catalog.Override{Model: alias})
		}
	}
	return known.With(changes)
}

func TestDecisionsUseTheArchivedCatalog(t *testing.T) {
	t.Parallel()
	m := newMaker(t, 1)
	snap, archive := m.snapshot(3, 1), fakeStore{}
	if err := Keep(t.Context(), archive, snap, nil, nil); err != nil {
		t.Fatal(err)
	}
	now := replaced(m.catalog)
	versions := route.Versions{Router: route.Router, Snapshot: snap.Version(), Catalog: m.catalog.Version()}
	for _, name := range []string{"gpt-4.1", "claude-opus-4-1"} {
		then := NewLibrary(archive, now, nil).Load(t.Context(), versions)
		if then.Catalog != m.catalog.Version() || then.Snapshot.Price(name).Input != m.catalog.ListPrice(name).Input {
			t.Errorf("%s costs %d in catalog %s, want the archived catalog %s",
				name, then.Snapshot.Price(name).Input, then.Catalog, m.catalog.Version())
		}
	}
	maps.DeleteFunc(archive, func(key string, _ []byte) bool { return strings.HasPrefix(key, Catalogs) })
	if w := NewLibrary(archive, now, nil).Load(t.Context(), versions); w.Catalog != now.Version() || len(w.Missing) > 0 {
		t.Errorf("without an archived catalog: %s, missing %v; want %s", w.Catalog, w.Missing, now.Version())
	}
}

// note counts the properties of a decision.
func note(seen map[string]int, d *route.Decision, err error) {
	count := func(kind string, applies bool) {
		if applies {
			seen[kind]++
		}
	}
	count(string(d.Kind), err == nil)
	count("denied", err != nil && len(d.Candidates) == 0 && d.Policy != "")
	count("rejected", err != nil && len(d.Candidates) > 0)
	count("stay", d.Stay != nil)
	count("aside", len(d.Aside) > 0)
	count("corrected", d.Versions.Feedback != "")
	count("hidden", d.OmitBodies)
	for i := range d.Candidates {
		count("excluded", d.Candidates[i].Excluded != nil)
	}
}

// decided returns an entry with candidates, policies, exclusions and a baseline, and the data it was computed from.
func decided(t *testing.T) (*requestlog.Entry, Archived) {
	t.Helper()
	for seed := uint64(0); ; seed++ {
		m := newMaker(t, seed)
		snap := m.snapshot(8, 3)
		policies, archive := m.policies(snap), fakeStore{}
		c := m.conditions(snap)
		c.Policies = policies
		d, err := route.Decide(new(m.input(snap)), snap, c)
		if err != nil || d.Kind != route.Policy || len(d.Plan) <= 2 || !lastExcludedForGood(d) || d.Baseline == nil {
			continue
		}
		if err := Keep(t.Context(), archive, snap, policies, nil); err != nil {
			t.Fatal(err)
		}
		e := &requestlog.Entry{ID: "req_1", Routing: requestlog.Routing{Decision: stored(t, d)}}
		return e, NewLibrary(archive, m.catalog, nil).Load(t.Context(), d.Versions)
	}
}

// lastExcludedForGood reports whether the last candidate is excluded for a reason other than its observed state. Tests remove
// the last candidate from a record, and then its observed state is missing.
func lastExcludedForGood(d *route.Decision) bool {
	x := d.Candidates[len(d.Candidates)-1].Excluded
	return x != nil && x.Code != route.CircuitOpen && x.Code != route.CredentialBackingOff
}

func TestChangedRecordIsReported(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		change func(*route.Decision)
		what   string // first difference; %s is the first candidate, %[2]s the last
	}{
		{"nothing", func(*route.Decision) {}, ""},
		{"the time it took", func(d *route.Decision) { d.Micros += 100 }, ""},
		{"kind", func(d *route.Decision) { d.Kind = route.Fallback }, "kind"},
		{"order", func(d *route.Decision) { d.Candidates[0], d.Candidates[1] = d.Candidates[1], d.Candidates[0] }, "plan"},
		{"quality", func(d *route.Decision) { d.Candidates[0].Quality += 1e-6 }, "parts of %s"},
		{"price", func(d *route.Decision) { d.Candidates[0].Price = nil }, "parts of %s"},
		{"exclusion", func(d *route.Decision) { d.Candidates[len(d.Candidates)-1].Excluded = nil }, "exclusion of %[2]s"},
		{"missing candidate", func(d *route.Decision) { d.Candidates = d.Candidates[:len(d.Candidates)-1] }, "candidate %[2]s"},
		{"invented candidate", func(d *route.Decision) { d.Candidates[len(d.Candidates)-1].Target = "no/model" }, "candidate no/model"},
		{"baseline", func(d *route.Decision) { d.Baseline.Model = "another" }, "baseline"},
		{"policy", func(d *route.Decision) { d.Policy = "another" }, "policy"},
		{"choice without policies", func(d *route.Decision) { d.Alone = "another" }, "choice without policies"},
		{"hit", func(d *route.Decision) { d.Policies[0].Matched = !d.Policies[0].Matched }, "policy 1"},
		{"missing hit", func(d *route.Decision) { d.Policies = d.Policies[1:] }, "policy 1"},
		{"stay", func(d *route.Decision) { d.Stay = &route.Stay{Target: "a", Alternative: "b"} }, "stay"},
		{"sentence", func(d *route.Decision) { d.Because = "A coin said so." }, "because"},
		{"bound", func(d *route.Decision) { d.MaxOutput = 77 }, "output limit"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			e, archived := decided(t)
			want := test.what
			if want != "" {
				list := e.Decision.Candidates
				want = fmt.Sprintf(want+"%.0[1]s%.0[2]s", list[0].Target, list[len(list)-1].Target)
			}
			test.change(e.Decision)

			got := Verify(e, archived, nil)

			first := ""
			if len(got.Differences) > 0 {
				first = got.Differences[0].What
			}
			if first != want || got.Same != (want == "") {
				t.Errorf("the first difference is %q, want %q: %+v", first, want, got)
			}
		})
	}
}

func TestFallbackIsVerified(t *testing.T) {
	t.Parallel()
	e, archived := decided(t)
	e.Model, e.Provider = e.Decision.Candidates[1].Model, e.Decision.Candidates[1].Provider
	e.Decision.Kind = route.Fallback // recorded by the gateway when the second target responds

	got := Verify(e, archived, nil)

	if !got.Same {
		t.Errorf("result %+v, want the same decision", got)
	}
}

func TestOtherFeaturesAreADifference(t *testing.T) {
	t.Parallel()
	e, archived := decided(t)
	other := e.Decision.Input.Features
	other.Known += 0.001

	got := Verify(e, archived, &other)

	if got.Same || len(got.Differences) != 1 || got.Differences[0].What != "features of the prompt" {
		t.Errorf("result %+v, want one difference in the features", got)
	}
}

func TestMissingDataIsReported(t *testing.T) {
	t.Parallel()
	m := newMaker(t, 1)
	snap := m.snapshot(4, 2)
	policies := parse(t, snap, "policies: [{name: cheap, objective: cost}]")
	archive := fakeStore{}
	if err := Keep(t.Context(), archive, snap, policies, nil); err != nil {
		t.Fatal(err)
	}
	whole := route.Versions{Router: route.Router, Snapshot: snap.Version(), Policy: policies.Version()}
	with := func(change func(*route.Versions)) route.Versions {
		v := whole
		change(&v)
		return v
	}
	for _, test := range []struct {
		name     string
		versions route.Versions
		want     []string
	}{
		{"nothing", whole, nil},
		{"router", with(func(v *route.Versions) { v.Router = "utility-0" }), []string{"the decision was made by router utility-0; this program has router " + route.Router}},
		{"snapshot", with(func(v *route.Versions) { v.Snapshot = "gone" }), []string{"targets, prices and abilities of version gone: this version is not kept"}},
		{"no snapshot named", with(func(v *route.Versions) { v.Snapshot = "" }), []string{"targets, prices and abilities of version unknown: this version is not kept"}},
		{"policies", with(func(v *route.Versions) { v.Policy = "gone" }), []string{"policies of version gone: this version is not kept"}},
		{"feedback", with(func(v *route.Versions) { v.Feedback = "gone" }), []string{"feedback corrections of version gone: this version is not kept"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			archived := NewLibrary(archive, m.catalog, nil).Load(t.Context(), test.versions)
			if diff := cmp.Diff(test.want, archived.Missing); diff != "" {
				t.Error(diff)
			}
			got := Verify(&requestlog.Entry{Routing: requestlog.Routing{Decision: &route.Decision{}}}, archived, nil)
			if len(test.want) > 0 && (got.Same || len(got.Differences) > 0 || cmp.Diff(test.want, got.Missing) != "") {
				t.Errorf("result %+v, want missing %q and no differences", got, test.want)
			}
		})
	}
}

func TestRejectionWithoutDecisionCannotBeVerified(t *testing.T) {
	t.Parallel()
	got := Verify(&requestlog.Entry{}, Archived{}, nil)
	if got.Same || len(got.Missing) != 1 {
		t.Errorf("result %+v, want one missing item", got)
	}
}
