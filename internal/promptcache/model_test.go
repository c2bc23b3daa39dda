package promptcache

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fairlead.dev/internal/llm"
)

// naive is a simple reference implementation. It stores every prompt of every target and searches all of them.
type naive struct{ prompts []naivePrompt }

type naivePrompt struct {
	workspace, target string
	hashes            []uint64
	at                time.Time
}

// held returns the length in tokens of the longest prefix that d shares with a prompt that the target has read recently. A later
// prompt with the same prefix extends its lifetime.
func (n *naive) held(workspace, target string, d Fingerprint, life time.Duration, step, least int64, now time.Time) int64 {
	var longest int64
	for _, p := range n.prompts {
		if p.workspace != workspace || p.target != target || now.Sub(p.at) >= life {
			continue
		}
		for i, link := range d.Links {
			if i >= len(p.hashes) || p.hashes[i] != link.Hash {
				break
			}
			longest = max(longest, link.Tokens/step*step)
		}
	}
	if longest < least {
		return 0
	}
	return longest
}

// Random conversations branch and grow. Below capacity the memory gives the same results as the naive model; above capacity it
// never reports a longer match.
func TestMemoryMatchesNaiveImplementation(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]int{"belowCapacity": 1 << 16, "tight": 16} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) { agree(t, NewMemory(size), size > 1000) })
		})
	}
}

func agree(t *rapid.T, m *Memory, belowCapacity bool) {
	model, now := &naive{}, noon
	known := []Fingerprint{chain(1, 1500)}
	workspaces, targets := []string{"ws_a", "ws_b"}, []string{"p/a", "p/b", "q/c", Baseline("b")}
	fresh := uint64(1000)
	for range rapid.IntRange(1, 40).Draw(t, "steps") {
		now = now.Add(time.Duration(rapid.IntRange(0, 200).Draw(t, "pause")) * time.Second)
		d := rapid.SampledFrom(known).Draw(t, "conversation")
		d.Links = slices.Clone(d.Links[:rapid.IntRange(1, len(d.Links)).Draw(t, "from")])
		for range rapid.IntRange(0, 3).Draw(t, "messages") {
			fresh++
			more := int64(rapid.IntRange(1, 900).Draw(t, "tokens"))
			d.Links = append(d.Links, Link{Hash: fresh, Tokens: d.Tokens() + more})
		}
		known = append(known, d)
		workspace := rapid.SampledFrom(workspaces).Draw(t, "workspace")
		v := m.Lookup(workspace, d, now)
		for _, target := range targets {
			want := model.held(workspace, target, d, openAI.Lifetime, openAI.Step, openAI.Minimum, now)
			got := held(&v, target, openAI)
			if got > want || belowCapacity && got != want {
				t.Fatalf("%s in %s: held %d of links %v, want %d", target, workspace, got, d.Links, want)
			}
			if read := v.CacheHit(target, openAI).Tokens; read > got || read < 0 {
				t.Fatalf("expected read is %d of %d held tokens", read, got)
			}
		}
		target := rapid.SampledFrom(targets).Draw(t, "target")
		prompt := int64(rapid.IntRange(1, 9000).Draw(t, "prompt"))
		read := int64(rapid.IntRange(0, int(prompt)).Draw(t, "read"))
		v.Record(target, openAI, llm.Usage{Input: prompt - read, CacheRead: read})
		model.prompts = append(model.prompts, naivePrompt{workspace, target, hashes(d), now})
	}
	if !belowCapacity && len(m.links) > 16 {
		t.Fatalf("%d links, want at most 16", len(m.links))
	}
}
