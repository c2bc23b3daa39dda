package route

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/policy"
	"fairlead.dev/internal/provider"
)

// The decision records candidates that policies exclude, because the router's choice without policies depends on them.
func TestDecisionRecordsExcludedCandidates(t *testing.T) {
	t.Parallel()
	known, err := catalog.Default()
	if err != nil {
		t.Fatal(err)
	}
	p := &provider.Provider{Name: "p"}
	for _, name := range []string{"a", "b", "c"} {
		p.Targets = append(p.Targets, &provider.Target{Provider: "p", Model: &catalog.Model{Name: name, Op: llm.Chat}, Price: &catalog.Price{Input: 1e9, Output: 1e9}})
	}
	snap := NewSnapshot(known, []*provider.Provider{p}, nil)
	pin, problems := policy.Parse("test", []byte("policies: [{name: pin, pin: c}]"), policy.Inventory{AllowUnknown: true})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	slow := State{Latency: 7 * time.Second}
	c := Conditions{
		State: func(target string) State {
			if target == "p/a" {
				return State{Open: true}
			}
			return slow
		},
		CacheHit: func(*provider.Target, int64, bool) CacheHit { return CacheHit{Read: 5} },
		Policies: pin,
	}

	d, err := Decide(&Input{Op: llm.Chat, Model: "auto", PromptSize: PromptSize{InputTokens: 10}}, snap, c)
	if err != nil {
		t.Fatal(err)
	}

	want := []Sighting{{Target: "p/a", Seen: State{Open: true}, Cache: CacheHit{Read: 5}}, {Target: "p/b", Seen: slow, Cache: CacheHit{Read: 5}}}
	if diff := cmp.Diff(want, d.Aside); diff != "" {
		t.Error(diff)
	}
	if got := d.Candidates[0]; got.Seen != slow || got.Cache.Read != 5 || d.Alone != "p/b" {
		t.Errorf("first candidate %+v, choice without policies %s; want p/b", got, d.Alone)
	}
}
