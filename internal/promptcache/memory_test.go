package promptcache

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire/openai"
)

var noon = time.Date(2026, 10, 10, 12, 0, 0, 0, time.UTC)

// chain returns a fingerprint with links of the given lengths in tokens. The hashes start at seed.
func chain(seed uint64, tokens ...int64) (d Fingerprint) {
	for i, n := range tokens {
		d.Links = append(d.Links, Link{Hash: seed + uint64(i), Tokens: n})
	}
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

// look returns the view of a prompt.
func look(m *Memory, d Fingerprint, now time.Time) *View {
	v := m.Lookup("ws", d, now)
	return &v
}

// held returns the number of tokens that a target has cached.
func held(v *View, target string, rules catalog.CacheRule) int64 {
	return v.heldTokens(target, v.withEndMark(rules), rules)
}

// record records a prompt of a target. Without usage, the cached prefix follows from the rules.
func record(m *Memory, d Fingerprint, target string, rules catalog.CacheRule, now time.Time, reported ...llm.Usage) {
	u := llm.Usage{Estimated: true}
	if len(reported) > 0 {
		u = reported[0]
	}
	look(m, d, now).Record(target, rules, u)
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
			record(m, tc.before, "p/m", tc.rules, noon)
			w := look(m, tc.next, noon.Add(tc.after)).CacheHit("p/m", tc.rules)
			if want := int64(float64(tc.held)*tc.rules.HitRate + 0.5); w.Tokens != want {
				t.Errorf("expected read %d, want %d of %d", w.Tokens, want, tc.held)
			}
			wantWrites := tc.written
			if tc.rules.Writes { // everything not read is written
				wantWrites += tc.held - w.Tokens
			}
			if w.Writes != wantWrites {
				t.Errorf("written %d, want %d", w.Writes, wantWrites)
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
		record(m, d, "a/m", openAI, at)
		record(m, d, "b/m", claude, at)
	}
	v := look(m, d, noon.Add(20*time.Minute))
	if held(v, "a/m", openAI) != 3968 || held(v, "b/m", claude) != 2000 {
		t.Errorf("hits %+v and %+v, want 3968 and 2000 held", v.CacheHit("a/m", openAI), v.CacheHit("b/m", claude))
	}
}

// A later turn that reads a longer prefix than a marked one extends the lifetime of the marked prefix.
func TestReadingOverAMarkRefreshesIt(t *testing.T) {
	t.Parallel()
	m, d := NewMemory(100), chain(1, 2000, 4000, 6000)
	record(m, marked(d, ShortMark, 1), "p/m", claude, noon)
	record(m, marked(d, ShortMark, 2), "p/m", claude, noon.Add(4*time.Minute))
	branch := marked(append3(chain(1, 2000, 4000), 99, 9000), ShortMark, 2)
	if got := held(look(m, branch, noon.Add(8*time.Minute)), "p/m", claude); got != 4000 {
		t.Errorf("held %d, want 4000", got)
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
	record(m, marked(d, ShortMark, 10), "p/m", claude, noon)
	for mark, want := range map[int]int64{10: 3000, 30: 3000, 31: 0, 39: 0} {
		if got := held(look(m, marked(d, ShortMark, mark), noon), "p/m", claude); got != want {
			t.Errorf("from message %d: held %d, want %d", mark, got, want)
		}
	}
}

func TestWorkspacesAreIsolated(t *testing.T) {
	t.Parallel()
	m, d := NewMemory(1000), chain(1, 2000, 5000)
	d.Session = "same"
	record(m, d, "p/m", openAI, noon)
	v := m.Lookup("other", d, noon)
	if held(&v, "p/m", openAI) != 0 || v.Turns != 0 || v.Last != "" {
		t.Errorf("another workspace: held %d, %d turns, last %q; want none", held(&v, "p/m", openAI), v.Turns, v.Last)
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
		record(m, d, "p/m", claude, noon, tc.usage)
		if got := held(look(m, d, noon), "p/m", claude); got != tc.held {
			t.Errorf("%s: held %d, want %d", name, got, tc.held)
		}
	}
}

func TestMissesLowerTheHitRate(t *testing.T) {
	t.Parallel()
	m, d := NewMemory(100), chain(1, 2000, 8000)
	hit, miss := llm.Usage{Input: 64, CacheRead: 9936}, llm.Usage{Input: 10_000}
	chance := func() float64 { return float64(look(m, d, noon).CacheHit("p/m", openAI).Tokens) / 7936 }
	repeat := func(u llm.Usage, times int) float64 {
		for range times {
			record(m, d, "p/m", openAI, noon, u)
		}
		return chance()
	}
	record(m, d, "p/m", openAI, noon, miss) // the first request expects no read
	if got := chance(); math.Abs(got-openAI.HitRate) > 0.001 {
		t.Fatalf("hit rate %v, want the prior %v", got, openAI.HitRate)
	}
	low := repeat(miss, 10)
	lowest := repeat(miss, 200)
	high := repeat(hit, 200)
	if !(low < 0.35 && lowest < low && lowest < 0.12 && high > 0.95 && high <= 1) {
		t.Errorf("hit rate after misses %v, after more misses %v, after hits %v", low, lowest, high)
	}
	if half := repeat(llm.Usage{Input: 5040, CacheRead: 4960}, 500); half < 0.45 || half > 0.6 {
		t.Errorf("hit rate of a target that reads half is %v, want about 0.5", half)
	}
	if got := repeat(llm.Usage{Input: 10_000, Estimated: true}, 100); got < 0.45 {
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
			if want := before.Tokens() / 128 * 128; w.Tokens != want {
				t.Errorf("turn %d: the baseline has %+v, want %d tokens", i, w, want)
			}
			if v.Last != fmt.Sprintf("p/m%d", i-1) || v.Turns != i {
				t.Errorf("turn %d: last target %q, %d turns", i, v.Last, v.Turns)
			}
		}
		record(m, d, fmt.Sprintf("p/m%d", i), openAI, at, llm.Usage{Input: d.Tokens()})
		record(m, d, base, openAI, at, llm.Usage{Input: d.Tokens()}) // the usage of the served target does not apply to the baseline
		before = d
	}
}

func TestViewReportsTurnsAndLastTarget(t *testing.T) {
	t.Parallel()
	m := NewMemory(1000)
	first, second := chain(1, 10, 20), chain(1, 10, 20, 30, 40)
	if v := look(m, first, noon); v.Turns != 0 || v.Last != "" {
		t.Errorf("new conversation: %d turns, last %q; want 0 and none", v.Turns, v.Last)
	}
	record(m, first, "a/m", catalog.CacheRule{}, noon, llm.Usage{})
	if v := look(m, first, noon); v.Turns != 0 || v.Last != "a/m" {
		t.Errorf("repeated prompt: %d turns, last %q; want 0 and a/m", v.Turns, v.Last)
	}
	record(m, second, "b/m", catalog.CacheRule{}, noon, llm.Usage{})
	third := append3(append3(second, 98, 50), 99, 60)
	if v := look(m, third, noon.Add(59*time.Minute)); v.Turns != 2 || v.Last != "b/m" {
		t.Errorf("third turn: %d turns, last %q; want 2 and b/m", v.Turns, v.Last)
	}
	if v := look(m, third, noon.Add(61*time.Minute)); v.Turns != 0 || v.Last != "" {
		t.Errorf("after 61 minutes: %d turns, last %q; want 0 and none", v.Turns, v.Last)
	}
}

// A session continues even if the messages differ, for example after an agent replaced them by a summary.
func TestSessionContinuesWithOtherMessages(t *testing.T) {
	t.Parallel()
	m, d, other := NewMemory(1000), chain(1, 10, 20), chain(50, 10, 20)
	d.Session, other.Session = "s1", "s1"
	record(m, d, "a/m", openAI, noon, llm.Usage{})
	if v := look(m, other, noon); v.Turns != 1 || v.Last != "a/m" {
		t.Errorf("same session: %d turns, last %q; want 1 and a/m", v.Turns, v.Last)
	}
	other.Session = "s2"
	if v := look(m, other, noon); v.Turns != 0 || v.Last != "" {
		t.Errorf("another session: %d turns, last %q; want 0 and none", v.Turns, v.Last)
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
		record(m, chain(i*10, 2000, 3000, 4000), "p/m", openAI, now)
		if i%20 == 0 {
			for _, d := range hot {
				record(m, d, "p/m", openAI, now)
			}
		}
	}
	if kept := len(m.links); kept != 800 || m.order.Len() != 800 {
		t.Errorf("%d links are kept, want 800", kept)
	}
	for i, d := range hot {
		if held(look(m, d, noon.Add(100*time.Second)), "p/m", openAI) != 3968 {
			t.Errorf("conversation %d was evicted although it was used recently", i)
		}
	}
	if held(look(m, chain(10, 2000, 3000, 4000), noon.Add(100*time.Second)), "p/m", openAI) != 0 {
		t.Error("an old link was not evicted")
	}
}

func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	m := NewMemory(400)
	turns := agentTurns(t, 8, time.Second)
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			target := fmt.Sprintf("p/m%d", worker%3)
			for _, turn := range turns {
				for range 20 {
					look(m, turn.fingerprint, noon).CacheHit(target, openAI)
					record(m, turn.fingerprint, target, openAI, noon, llm.Usage{Input: turn.tokens / 2, CacheRead: turn.tokens / 2})
				}
			}
		})
	}
	all.Wait()
	if held(look(m, turns[7].fingerprint, noon), "p/m0", openAI) == 0 {
		t.Error("no cached prefix after recording")
	}
}

// agentTurn is one request of an agent's conversation.
type agentTurn struct {
	at          time.Time
	prompt      string // whole prompt, of four bytes per token
	tokens      int64
	fingerprint Fingerprint
}

// agentTurns generates a conversation with long instructions in which calls and tool results alternate.
func agentTurns(t testing.TB, turns int, pause time.Duration) (all []agentTurn) {
	t.Helper()
	draw := rand.New(rand.NewPCG(7, 40))
	words := func(size int) string {
		var b strings.Builder
		for b.Len() < size/2+draw.IntN(size+1) {
			fmt.Fprintf(&b, "%c%x ", 'a'+draw.IntN(26), draw.Uint32N(1<<20))
		}
		return b.String()
	}
	type message struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	messages, at := []message{{"system", words(12_000)}, {"user", words(400)}}, noon
	tools := []any{map[string]any{"type": "function", "function": map[string]any{"name": "run", "description": words(12_000)}}}
	for range turns {
		body, err := json.Marshal(map[string]any{"model": "auto", "messages": messages, "tools": tools})
		if err != nil {
			t.Fatal(err)
		}
		turn := agentTurn{at: at, prompt: fmt.Sprint(tools)}
		for _, m := range messages {
			turn.prompt += m.Role + m.Content
		}
		turn.tokens = int64(len(turn.prompt) / 4)
		turn.fingerprint = Build(decode(t, openai.Format{}, string(body)), turn.tokens)
		all = append(all, turn)
		messages = append(messages, message{"assistant", words(1200)}, message{"user", words(6000)})
		at = at.Add(time.Duration(float64(pause) * (0.2 + 1.6*draw.Float64())))
	}
	return all
}

// simulatedCache is the prompt cache of a provider.
type simulatedCache struct {
	step int64 // prefixes are cached at every multiple of step tokens; only whole prompts when 0
	life time.Duration
	read []agentTurn
}

// process returns the usage of a prompt, which extends the lifetime of its prefixes.
func (c *simulatedCache) process(turn agentTurn) llm.Usage {
	found := int64(0)
	for _, earlier := range c.read {
		if turn.at.Sub(earlier.at) < c.life && strings.HasPrefix(turn.prompt, earlier.prompt) {
			found = max(found, earlier.tokens/max(c.step, 1)*max(c.step, 1))
		}
	}
	c.read = append(c.read, turn)
	u := llm.Usage{Input: turn.tokens - found, CacheRead: found}
	if c.step == 0 && c.life > 0 {
		u.CacheWrite, u.Input = u.Input, 0
	}
	return u
}

// The estimates match the reads from a simulated provider cache in a long conversation.
func TestEstimatesMatchSimulatedCaches(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		rules    catalog.CacheRule
		provider simulatedCache
		pause    time.Duration
	}{
		"blocks":         {openAI, simulatedCache{step: 128, life: 5 * time.Minute}, 25 * time.Second},
		"slow turns":     {openAI, simulatedCache{step: 128, life: 5 * time.Minute}, 5 * time.Minute},
		"ends":           {openAIEnds, simulatedCache{life: 30 * time.Minute}, 25 * time.Second},
		"cache disabled": {openAI, simulatedCache{}, 25 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := NewMemory(1000)
			var expected, read, prompt float64
			for i, turn := range agentTurns(t, 40, tc.pause) {
				v := look(m, turn.fingerprint, turn.at)
				w := v.CacheHit("p/m", tc.rules).Usage(turn.tokens)
				u := tc.provider.process(turn)
				if i >= 10 { // measure only after the hit rate has been learned
					expected, read, prompt = expected+float64(w.CacheRead), read+float64(u.CacheRead), prompt+float64(turn.tokens)
				}
				v.Record("p/m", tc.rules, u)
			}
			if read == 0 && expected > 0.2*prompt || read > 0 && (expected < 0.95*read || expected > 1.03*read) {
				t.Errorf("expected %.0f of %.0f tokens to be read, want about %.0f", expected, prompt, read)
			}
		})
	}
}
