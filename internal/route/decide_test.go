package route

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/policy"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/route/predict"
)

// field generates providers with targets of random models.
func field(t *rapid.T) []*provider.Provider {
	models := map[string]*catalog.Model{}
	for _, name := range []string{"m1", "m2", "m3", "m4", "m5", "m6"} {
		models[name] = &catalog.Model{
			Name: name, Op: llm.Chat,
			Quality:   rapid.Float64Range(0, 1).Draw(t, "quality"),
			Context:   rapid.Int64Range(1000, 400_000).Draw(t, "context"),
			Abilities: llm.Abilities(rapid.Uint32Range(0, 1<<11-1).Draw(t, "abilities")),
		}
	}
	var providers []*provider.Provider
	for _, name := range []string{"p1", "p2", "p3"} {
		p := &provider.Provider{Name: name}
		for _, m := range []string{"m1", "m2", "m3", "m4", "m5", "m6"} {
			if !rapid.Bool().Draw(t, "offers") {
				continue
			}
			target := &provider.Target{Provider: name, Model: models[m], Upstream: m}
			if rapid.IntRange(0, 9).Draw(t, "priced") > 0 {
				target.Price = &catalog.Price{
					Input:  money.Rate(rapid.Int64Range(0, 50*int64(money.Dollar)).Draw(t, "in")),
					Output: money.Rate(rapid.Int64Range(0, 90*int64(money.Dollar)).Draw(t, "out")),
				}
			}
			p.Targets = append(p.Targets, target)
		}
		providers = append(providers, p)
	}
	return providers
}

func anyInput(t *rapid.T) Input {
	return Input{
		Op: llm.Chat, Model: "auto", ResponseOptions: ResponseOptions{
			Choices:   1,
			MaxOutput: rapid.Int64Range(0, 20_000).Draw(t, "max_output"),
			Needs:     llm.Abilities(1 << rapid.IntRange(0, 11).Draw(t, "need")),
		},
		Objective:  Objective{Name: "number", Tradeoff: rapid.Float64Range(0, 1).Draw(t, "tradeoff")},
		PromptSize: PromptSize{InputTokens: rapid.Int64Range(1, 300_000).Draw(t, "tokens")},
		Prediction: Prediction{Features: predict.Features{Task: predict.Code, Difficulty: rapid.Float64Range(0, 3).Draw(t, "difficulty"), Output: 300}},
	}
}

func anyStates(t *rapid.T) map[string]State {
	states := map[string]State{}
	for _, p := range []string{"p1", "p2", "p3"} {
		for _, m := range []string{"m1", "m2", "m3", "m4", "m5", "m6"} {
			states[p+"/"+m] = State{
				Open:    rapid.IntRange(0, 9).Draw(t, "open") == 0,
				Latency: time.Duration(rapid.Int64Range(0, 5_000).Draw(t, "latency")) * time.Millisecond,
			}
		}
	}
	return states
}

func defaultCatalog(t *testing.T) *catalog.Catalog {
	t.Helper()
	cat, err := catalog.Default()
	if err != nil {
		t.Fatal(err)
	}
	return cat
}

var ignorePointers = cmpopts.IgnoreFields(Decision{}, "Plan", "Micros")

func TestDecideDoesNotDependOnConfigurationOrder(t *testing.T) {
	t.Parallel()
	cat := defaultCatalog(t)
	rapid.Check(t, func(t *rapid.T) {
		providers, in, states := field(t), anyInput(t), anyStates(t)
		state := func(id string) State { return states[id] }
		want, wantErr := Decide(&in, NewSnapshot(cat, providers, nil), Conditions{State: state})

		shuffled := slices.Clone(providers)
		random := rand.New(rand.NewPCG(1, rapid.Uint64().Draw(t, "seed")))
		random.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		for _, p := range shuffled {
			random.Shuffle(len(p.Targets), func(i, j int) { p.Targets[i], p.Targets[j] = p.Targets[j], p.Targets[i] })
		}
		got, gotErr := Decide(&in, NewSnapshot(cat, shuffled, nil), Conditions{State: state})

		if diff := cmp.Diff(want, got, ignorePointers); diff != "" {
			t.Fatalf("decision changed (-want +got):\n%s", diff)
		}
		if (wantErr == nil) != (gotErr == nil) {
			t.Fatalf("error changed from %v to %v", wantErr, gotErr)
		}
	})
}

func TestDecideNeverPicksWorseQualityForAHigherTradeoff(t *testing.T) {
	t.Parallel()
	cat := defaultCatalog(t)
	rapid.Check(t, func(t *rapid.T) {
		snap, in, states := NewSnapshot(cat, field(t), nil), anyInput(t), anyStates(t)
		c := Conditions{State: func(id string) State { return states[id] }}
		low, err := Decide(&in, snap, c)
		if err != nil {
			return
		}
		in.Objective.Tradeoff += (1 - in.Objective.Tradeoff) * rapid.Float64Range(0, 1).Draw(t, "more")
		high, err := Decide(&in, snap, c)
		if err != nil {
			t.Fatal(err)
		}
		if high.Candidates[0].Quality < low.Candidates[0].Quality-0.01 { // the best end of the dial counts whole points
			t.Fatalf("quality decreased from %v to %v", low.Candidates[0], high.Candidates[0])
		}
	})
}

// The models have the same speed, because a faster model may be worth a higher price.
func TestDecideNeverPicksWorseQualityForMoreMoney(t *testing.T) {
	t.Parallel()
	cat := defaultCatalog(t)
	rapid.Check(t, func(t *rapid.T) {
		snap, in := NewSnapshot(cat, field(t), nil), anyInput(t)
		in.MaxOutput = 100 // all responses get the same length
		// Otherwise an optional need that no affordable model meets would be dropped, and a better model without that ability would be chosen.
		in.Controls.Provider.RequireParameters = true
		cents := rapid.IntRange(1, 500).Draw(t, "limit")
		poor, err := Decide(&in, snap, Conditions{Policies: atMost(t, cents)})
		if err != nil {
			return
		}
		rich, err := Decide(&in, snap, Conditions{Policies: atMost(t, cents+rapid.IntRange(1, 2000).Draw(t, "more"))})
		if err != nil {
			t.Fatal(err)
		}
		if rich.Candidates[0].Quality < poor.Candidates[0].Quality {
			t.Fatalf("quality decreased from %v to %v", poor.Candidates[0], rich.Candidates[0])
		}
	})
}

// atMost returns a policy that limits the cost of a request.
func atMost(t *rapid.T, cents int) *policy.Set {
	set, problems := policy.Parse("test", fmt.Appendf(nil, "policies: [{name: limit, max_cost_usd: %.2f}]", float64(cents)/100), policy.Inventory{AllowUnknown: true})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return set
}

func TestDecideIsDeterministic(t *testing.T) {
	t.Parallel()
	cat := defaultCatalog(t)
	rapid.Check(t, func(t *rapid.T) {
		snap, in, states := NewSnapshot(cat, field(t), nil), anyInput(t), anyStates(t)
		c := Conditions{State: func(id string) State { return states[id] }}
		first, firstErr := Decide(&in, snap, c)
		again, againErr := Decide(&in, snap, c)
		if diff := cmp.Diff(first, again, ignorePointers); diff != "" || (firstErr == nil) != (againErr == nil) {
			t.Fatalf("error %v, then %v, decision (-want +got):\n%s", firstErr, againErr, diff)
		}
	})
}

// The archive holds everything that decisions depend on.
func TestRestoredSnapshotDecidesTheSame(t *testing.T) {
	t.Parallel()
	cat := defaultCatalog(t)
	rapid.Check(t, func(t *rapid.T) {
		snap, in, states := NewSnapshot(cat, field(t), nil), anyInput(t), anyStates(t)
		data, err := snap.Archive()
		if err != nil {
			t.Fatal(err)
		}
		restored, err := Restore(data, cat)
		if err != nil {
			t.Fatal(err)
		}
		if restored.Version() != snap.Version() {
			t.Fatalf("version = %s, want %s", restored.Version(), snap.Version())
		}
		c := Conditions{State: func(id string) State { return states[id] }}
		want, wantErr := Decide(&in, snap, c)
		got, gotErr := Decide(&in, restored, c)
		if diff := cmp.Diff(want, got, ignorePointers); diff != "" || (wantErr == nil) != (gotErr == nil) {
			t.Fatalf("error %v, then %v, decision (-want +got):\n%s", wantErr, gotErr, diff)
		}
	})
}

func TestPlanListsExactlyTheRankedCandidates(t *testing.T) {
	t.Parallel()
	cat := defaultCatalog(t)
	rapid.Check(t, func(t *rapid.T) {
		states := anyStates(t)
		d, err := Decide(new(anyInput(t)), NewSnapshot(cat, field(t), nil), Conditions{State: func(id string) State { return states[id] }})
		if (err == nil) != (len(d.Plan) > 0) {
			t.Fatalf("error %v with a plan of %d targets", err, len(d.Plan))
		}
		for i, target := range d.Plan {
			if c := d.Candidates[i]; c.Target != target.ID() || c.Rank != i+1 || c.Excluded != nil {
				t.Fatalf("candidate %d is %+v, want %s as in the plan", i, c, target.ID())
			}
		}
		for _, c := range d.Candidates[len(d.Plan):] {
			if c.Excluded == nil || c.Rank != 0 {
				t.Fatalf("%s is neither planned nor excluded", c.Target)
			}
		}
	})
}

func TestParseObjectiveRejectsUnknownNames(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ model, tradeoff string }{
		{"auto:fast", ""}, {"support:fast", ""}, {"auto", "2"}, {"auto", "-0.1"}, {"auto", "NaN"}, {"auto", "much"},
	} {
		if o, err := ParseObjective(c.model, true, c.tradeoff); err == nil {
			t.Errorf("ParseObjective(%q, %q) = %+v, want an error", c.model, c.tradeoff, o)
		}
	}
}
