package promptcache

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/promptcache/cachetest"
)

var noon = time.Date(2026, 10, 10, 12, 0, 0, 0, time.UTC)

// chain returns a fingerprint with links of the given lengths in tokens. The hashes start at seed.
func chain(seed uint64, tokens ...int64) Fingerprint {
	d := Fingerprint{Previous: len(tokens) - 3}
	for i, n := range tokens {
		d.Links = append(d.Links, Link{Hash: seed + uint64(i), Tokens: n})
	}
	d.Previous = max(d.Previous, -1)
	return d
}

// marked returns a copy of the fingerprint with the mark on the given links.
func marked(d Fingerprint, mark Mark, links ...int) Fingerprint {
	d.Links = append([]Link(nil), d.Links...)
	for _, i := range links {
		d.Links[i].Mark = mark
	}
	return d
}

func look(m *Memory, d Fingerprint, now time.Time) View {
	return m.Lookup("ws", d, now)
}

func TestCacheHitFollowsRules(t *testing.T) {
	t.Parallel()
	before, next := chain(1, 2000, 2100, 5000), chain(1, 2000, 2100, 5000, 5300, 6000)
	for name, tc := range map[string]struct {
		rules         catalog.CacheRule
		before, next  Fingerprint
		after         time.Duration
		held, written int64
	}{
		"the previous turn, rounded to steps":    {rules: openAI, before: before, next: next, held: 4992},
		"before expiry":                          {rules: openAI, before: before, next: next, after: 299 * time.Second, held: 4992},
		"after expiry":                           {rules: openAI, before: before, next: next, after: 300 * time.Second},
		"shared instructions":                    {rules: openAI, before: before, next: append3(chain(1, 2000), 77, 4000), held: 1920},
		"too short to be cached":                 {rules: openAI, before: chain(1, 900), next: chain(1, 900, 1300)},
		"a prefix that is too short":             {rules: openAI, before: chain(1, 900, 3000), next: append3(chain(1, 900), 77, 4000)},
		"a price without a discount":             {rules: catalog.CacheRule{}, before: before, next: next},
		"longer on request":                      {rules: openAI, before: keep(before, 24*time.Hour), next: next, after: 20 * time.Hour, held: 4992},
		"no longer lifetime if not supported":    {rules: gemini, before: keep(before, 24*time.Hour), next: next, after: 20 * time.Hour},
		"ends: the whole previous turn":          {rules: openAIEnds, before: before, next: next, after: 29 * time.Minute, held: 5000, written: 1000},
		"ends: instructions alone are not found": {rules: openAIEnds, before: before, next: append3(chain(1, 2000), 77, 4000), written: 4000},
		"ends: only marks if requested":          {rules: openAIEnds, before: only(before), next: only(next)},
		"marks: none":                            {rules: claude, before: before, next: next},
		"marks: on the last message":             {rules: claude, before: marked(before, ShortMark, 2), next: marked(next, ShortMark, 4), held: 5000, written: 1000},
		"marks: none in the next turn":           {rules: claude, before: marked(before, ShortMark, 2), next: next},
		"marks: on the instructions alone":       {rules: claude, before: marked(before, ShortMark, 0), next: marked(next, ShortMark, 0), held: 2000},
		"marks: expired after five minutes":      {rules: claude, before: marked(before, ShortMark, 2), next: marked(next, ShortMark, 4), after: 5 * time.Minute, written: 6000},
		"marks: kept for an hour":                {rules: claude, before: marked(before, LongMark, 2), next: marked(next, LongMark, 4), after: 59 * time.Minute, held: 5000, written: 1000},
		"marks: minimum of the model":            {rules: claudeWithMinimum(5500), before: marked(before, ShortMark, 2), next: marked(next, ShortMark, 4), written: 6000},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := NewMemory(1000)
			m.Record("ws", tc.before, "p/m", tc.rules, llm.Usage{Estimated: true}, noon)
			w := look(m, tc.next, noon.Add(tc.after)).CacheHit("p/m", tc.rules)
			chance := tc.rules.HitRate
			if w.Held != tc.held || w.Tokens != int64(float64(tc.held)*chance+0.5) {
				t.Errorf("held %d, expected read %d; want held %d with hit rate %v", w.Held, w.Tokens, tc.held, chance)
			}
			wantWrites := tc.written
			if tc.rules.Writes { // everything not read is written
				wantWrites += tc.held - w.Tokens
			}
			if w.Writes != wantWrites {
				t.Errorf("written %d, want %d", w.Writes, wantWrites)
			}
			if (tc.held > 0) != w.Until.After(noon.Add(tc.after)) {
				t.Errorf("until %v, held %d at %v; want a later time only for a held prefix", w.Until, tc.held, noon.Add(tc.after))
			}
		})
	}
}

// append3 adds a link that no earlier prompt has.
func append3(d Fingerprint, hash uint64, tokens int64) Fingerprint {
	d.Links = append(d.Links, Link{Hash: hash, Tokens: tokens})
	return d
}

func keep(d Fingerprint, span time.Duration) Fingerprint { d.Retention = span; return d }

func only(d Fingerprint) Fingerprint { d.MarksOnly = true; return d }

func TestUseExtendsLifetime(t *testing.T) {
	t.Parallel()
	m, d := NewMemory(100), marked(chain(1, 2000, 4000), ShortMark, 0)
	for i := range 5 {
		at := noon.Add(time.Duration(i) * 4 * time.Minute)
		m.Record("ws", d, "a/m", openAI, llm.Usage{Estimated: true}, at)
		m.Record("ws", d, "b/m", claude, llm.Usage{Estimated: true}, at)
	}
	v := look(m, d, noon.Add(20*time.Minute))
	if v.CacheHit("a/m", openAI).Held != 3968 || v.CacheHit("b/m", claude).Held != 2000 {
		t.Errorf("hits %+v and %+v, want 3968 and 2000 held", v.CacheHit("a/m", openAI), v.CacheHit("b/m", claude))
	}
}

// A later turn that reads a longer prefix than a marked one extends the lifetime of the marked prefix.
func TestReadingOverAMarkRefreshesIt(t *testing.T) {
	t.Parallel()
	m, d := NewMemory(100), chain(1, 2000, 4000, 6000)
	m.Record("ws", marked(d, ShortMark, 1), "p/m", claude, llm.Usage{Estimated: true}, noon)
	m.Record("ws", marked(d, ShortMark, 2), "p/m", claude, llm.Usage{Estimated: true}, noon.Add(4*time.Minute))
	branch := marked(append3(chain(1, 2000, 4000), 99, 9000), ShortMark, 2)
	if w := look(m, branch, noon.Add(8*time.Minute)).CacheHit("p/m", claude); w.Held != 4000 {
		t.Errorf("held %d, want 4000", w.Held)
	}
}

func TestMarkIsFoundWithinLookback(t *testing.T) {
	t.Parallel()
	m := NewMemory(1000)
	lengths := []int64{}
	for i := range int64(40) {
		lengths = append(lengths, 2000+100*i)
	}
	d := chain(1, lengths...)
	m.Record("ws", marked(d, ShortMark, 10), "p/m", claude, llm.Usage{Estimated: true}, noon)
	for mark, want := range map[int]int64{10: 3000, 30: 3000, 31: 0, 39: 0} {
		if w := look(m, marked(d, ShortMark, mark), noon).CacheHit("p/m", claude); w.Held != want {
			t.Errorf("from message %d: held %d, want %d", mark, w.Held, want)
		}
	}
}

func TestWorkspacesAreIsolated(t *testing.T) {
	t.Parallel()
	m, d := NewMemory(1000), chain(1, 2000, 5000)
	d.Session = "same"
	m.Record("ws", d, "p/m", openAI, llm.Usage{Estimated: true}, noon)
	v := m.Lookup("other", d, noon)
	if v.CacheHit("p/m", openAI).Held != 0 || v.Turns() != 0 || v.Last() != "" {
		t.Errorf("another workspace: held %d, %d turns, last %q; want none", v.CacheHit("p/m", openAI).Held, v.Turns(), v.Last())
	}
}

func TestReportedUsageTakesPrecedence(t *testing.T) {
	t.Parallel()
	d := marked(chain(1, 2000, 5000, 8000), ShortMark, 0, 2)
	for name, tc := range map[string]struct {
		usage llm.Usage
		held  int64
	}{
		"all of it was written":           {llm.Usage{Input: 10, CacheWrite: 9990}, 8000},
		"read and written":                {llm.Usage{Input: 10, CacheRead: 2500, CacheWrite: 7490}, 8000},
		"only the instructions":           {llm.Usage{Input: 7500, CacheWrite: 2500}, 2000},
		"nothing: the marks were dropped": {llm.Usage{Input: 10_000}, 0},
		"no usage reported: by the rules": {llm.Usage{Input: 10_000, Estimated: true}, 8000},
	} {
		m := NewMemory(100)
		m.Record("ws", d, "p/m", claude, tc.usage, noon)
		if w := look(m, d, noon).CacheHit("p/m", claude); w.Held != tc.held {
			t.Errorf("%s: held %d, want %d", name, w.Held, tc.held)
		}
	}
}

func TestMissesLowerTheHitRate(t *testing.T) {
	t.Parallel()
	m, d := NewMemory(100), chain(1, 2000, 8000)
	hit, miss := llm.Usage{Input: 64, CacheRead: 9936}, llm.Usage{Input: 10_000}
	chance := func() float64 { return look(m, d, noon).CacheHit("p/m", openAI).HitRate }
	record := func(u llm.Usage, times int) float64 {
		for range times {
			m.Record("ws", d, "p/m", openAI, u, noon)
		}
		return chance()
	}
	m.Record("ws", d, "p/m", openAI, miss, noon) // the first request expects no read
	if got := chance(); got != openAI.HitRate {
		t.Fatalf("hit rate %v, want the prior %v", got, openAI.HitRate)
	}
	low := record(miss, 10)
	lowest := record(miss, 200)
	high := record(hit, 200)
	if !(low < 0.35 && lowest < low && lowest < 0.12 && high > 0.95 && high <= 1) {
		t.Errorf("hit rate after misses %v, after more misses %v, after hits %v", low, lowest, high)
	}
	if half := record(llm.Usage{Input: 5040, CacheRead: 4960}, 500); half < 0.45 || half > 0.6 {
		t.Errorf("hit rate of a target that reads half is %v, want about 0.5", half)
	}
	if got := record(llm.Usage{Input: 10_000, Estimated: true}, 100); got < 0.45 {
		t.Errorf("estimated usage lowered the hit rate to %v", got)
	}
	if w := look(m, d, noon).CacheHit("other/m", openAI); w.Tokens != 0 {
		t.Errorf("a target without requests has a cached prefix: %+v", w)
	}
}

func TestBaselineHasItsOwnCache(t *testing.T) {
	t.Parallel()
	m := NewMemory(1000)
	base := Baseline("gpt-4.1")
	var before Fingerprint
	for i, tokens := range [][]int64{{2000, 3000}, {2000, 3000, 3500, 5000}, {2000, 3000, 3500, 5000, 5500, 9000}} {
		d := chain(1, tokens...)
		at := noon.Add(time.Duration(i) * time.Minute)
		v := look(m, d, at)
		if i > 0 {
			w := v.CacheHit(base, openAI)
			if want := before.Tokens() / 128 * 128; w.Tokens != want || w.Held != want {
				t.Errorf("turn %d: the baseline has %+v, want %d tokens", i, w, want)
			}
			if v.Last() != fmt.Sprintf("p/m%d", i-1) || v.Turns() != i {
				t.Errorf("turn %d: last target %q, %d turns", i, v.Last(), v.Turns())
			}
		}
		m.Record("ws", d, fmt.Sprintf("p/m%d", i), openAI, llm.Usage{Input: d.Tokens()}, at)
		m.Record("ws", d, base, openAI, llm.Usage{Input: d.Tokens()}, at) // the usage of the served target does not apply to the baseline
		before = d
	}
}

func TestViewReportsTurnsAndLastTarget(t *testing.T) {
	t.Parallel()
	m := NewMemory(1000)
	first, second := chain(1, 10, 20), chain(1, 10, 20, 30, 40)
	if v := look(m, first, noon); v.Turns() != 0 || v.Last() != "" {
		t.Errorf("new conversation: %d turns, last %q; want 0 and none", v.Turns(), v.Last())
	}
	m.Record("ws", first, "a/m", catalog.CacheRule{}, llm.Usage{}, noon)
	if v := look(m, first, noon); v.Turns() != 0 || v.Last() != "a/m" {
		t.Errorf("repeated prompt: %d turns, last %q; want 0 and a/m", v.Turns(), v.Last())
	}
	m.Record("ws", second, "b/m", catalog.CacheRule{}, llm.Usage{}, noon)
	third := append3(append3(second, 98, 50), 99, 60)
	if v := look(m, third, noon.Add(59*time.Minute)); v.Turns() != 2 || v.Last() != "b/m" {
		t.Errorf("third turn: %d turns, last %q; want 2 and b/m", v.Turns(), v.Last())
	}
	if v := look(m, third, noon.Add(61*time.Minute)); v.Turns() != 0 || v.Last() != "" {
		t.Errorf("after 61 minutes: %d turns, last %q; want 0 and none", v.Turns(), v.Last())
	}
}

// A session continues even if the messages differ, for example after an agent replaced them by a summary.
func TestSessionContinuesWithOtherMessages(t *testing.T) {
	t.Parallel()
	m, d, other := NewMemory(1000), chain(1, 10, 20), chain(50, 10, 20)
	d.Session, other.Session = "s1", "s1"
	m.Record("ws", d, "a/m", openAI, llm.Usage{}, noon)
	if v := look(m, other, noon); v.Turns() != 1 || v.Last() != "a/m" {
		t.Errorf("same session: %d turns, last %q; want 1 and a/m", v.Turns(), v.Last())
	}
	other.Session = "s2"
	if v := look(m, other, noon); v.Turns() != 0 || v.Last() != "" {
		t.Errorf("another session: %d turns, last %q; want 0 and none", v.Turns(), v.Last())
	}
}

func TestUsageSplitsPrompt(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		warmth CacheHit
		prompt int64
		want   llm.Usage
	}{
		"no cache hit":                  {CacheHit{}, 500, llm.Usage{Input: 500}},
		"scaled to the target's tokens": {CacheHit{Prompt: 1000, Tokens: 600}, 2000, llm.Usage{Input: 800, CacheRead: 1200}},
		"with writes":                   {CacheHit{Prompt: 1000, Tokens: 600, Writes: 400}, 1100, llm.Usage{CacheRead: 660, CacheWrite: 440}},
		"long writes":                   {CacheHit{Prompt: 1000, Writes: 500, Long: true}, 1000, llm.Usage{Input: 500, CacheWrite: 500, CacheWriteLong: 500}},
		"at most the prompt":            {CacheHit{Prompt: 3, Tokens: 2, Writes: 1}, 1, llm.Usage{CacheRead: 1}},
		"no prompt":                     {CacheHit{Prompt: 1000, Tokens: 600}, -4, llm.Usage{}},
	} {
		if diff := cmp.Diff(tc.want, tc.warmth.Usage(tc.prompt)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	m := NewMemory(800)
	var hot []Fingerprint
	for i := range uint64(30) {
		hot = append(hot, chain((i+1)<<40, 2000, 4000))
	}
	for i := range uint64(5000) {
		now := noon.Add(time.Duration(i) * time.Second / 50)
		m.Record("ws", chain(i*10, 2000, 3000, 4000), "p/m", openAI, llm.Usage{Estimated: true}, now)
		if i%20 == 0 {
			for _, d := range hot {
				m.Record("ws", d, "p/m", openAI, llm.Usage{Estimated: true}, now)
			}
		}
	}
	if kept := len(m.links); kept != 800 || m.order.Len() != 800 {
		t.Errorf("%d links are kept, want 800", kept)
	}
	for i, d := range hot {
		if look(m, d, noon.Add(100*time.Second)).CacheHit("p/m", openAI).Held != 3968 {
			t.Errorf("conversation %d was evicted although it was used recently", i)
		}
	}
	if look(m, chain(10, 2000, 3000, 4000), noon.Add(100*time.Second)).CacheHit("p/m", openAI).Held != 0 {
		t.Error("an old link was not evicted")
	}
}

func TestEntryEvictsTargetThatExpiresFirst(t *testing.T) {
	t.Parallel()
	m, d := NewMemory(100), chain(1, 2000)
	for i := range maxTargets + 3 {
		m.Record("ws", d, fmt.Sprint("p/", i), openAI, llm.Usage{Estimated: true}, noon.Add(time.Duration(i)*time.Second))
	}
	v, cached := look(m, d, noon.Add(time.Minute)), 0
	for i := range maxTargets + 3 {
		if held := v.CacheHit(fmt.Sprint("p/", i), openAI).Held; held > 0 {
			cached++
		} else if i >= 3 {
			t.Errorf("target %d was evicted before an older one", i)
		}
	}
	if cached != maxTargets {
		t.Errorf("%d targets are cached, want %d", cached, maxTargets)
	}
}

func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	m := NewMemory(400)
	turns := cachetest.Conversation(cachetest.Shape{Turns: 8, System: 9000, Result: 900, Answer: 300, Pause: time.Second})
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			target := fmt.Sprintf("p/m%d", worker%3)
			for _, turn := range turns {
				d := Build(turn.Request, turn.Tokens)
				for range 20 {
					v := look(m, d, noon)
					v.CacheHit(target, openAI)
					_ = v.Last()
					m.Record("ws", d, target, openAI, llm.Usage{Input: turn.Tokens / 2, CacheRead: turn.Tokens / 2}, noon)
				}
			}
		})
	}
	all.Wait()
	d := Build(turns[7].Request, turns[7].Tokens)
	if look(m, d, noon).CacheHit("p/m0", openAI).Held == 0 {
		t.Error("no cached prefix after recording")
	}
}

// The estimates match the reads from a simulated provider cache in a long conversation.
func TestEstimatesMatchSimulatedCaches(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		rules    catalog.CacheRule
		provider cachetest.Settings
		pause    time.Duration
		least    float64 // minimum share of the real cache reads that must be expected
	}{
		"blocks":         {openAI, cachetest.Settings{Minimum: 1024, Step: 128, Lifetime: 5 * time.Minute}, 25 * time.Second, 0.95},
		"slow turns":     {openAI, cachetest.Settings{Minimum: 1024, Step: 128, Lifetime: 5 * time.Minute}, 5 * time.Minute, 0.95},
		"ends":           {openAIEnds, cachetest.Settings{Minimum: 1024, Lifetime: 30 * time.Minute, Writes: true}, 25 * time.Second, 0.95},
		"cache disabled": {openAI, cachetest.Settings{}, 25 * time.Second, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shape := cachetest.Agent(7)
			shape.Pause = tc.pause
			m, provider := NewMemory(1000), cachetest.NewCache(tc.provider)
			var expected, read, prompt float64
			for i, turn := range cachetest.Conversation(shape) {
				at, d := noon.Add(turn.At), Build(turn.Request, turn.Tokens)
				w := look(m, d, at).CacheHit("p/m", tc.rules).Usage(turn.Tokens)
				u := provider.Read(at, turn.Messages)
				if i >= 10 { // measure only after the hit rate has been learned
					expected, read, prompt = expected+float64(w.CacheRead), read+float64(u.CacheRead), prompt+float64(turn.Tokens)
				}
				m.Record("ws", d, "p/m", tc.rules, u, at)
			}
			if read == 0 && expected > 0.2*prompt || read > 0 && (expected < tc.least*read || expected > 1.03*read) {
				t.Errorf("expected %.0f of %.0f tokens to be read, want about %.0f", expected, prompt, read)
			}
		})
	}
}
