package health

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/llm"
)

// recordHints returns a tracker and a pointer to the hints it sends.
func recordHints(t *testing.T) (*Tracker, *[]Hint) {
	t.Helper()
	hints := &[]Hint{}
	return New(Options{Random: func() float64 { return 0 }, OnHint: func(h Hint) { *hints = append(*hints, h) }}), hints
}

func TestOpenCircuitsAndBackoffsSendHints(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tr, hints := recordHints(t)
		tr.repeat(10, Report{Target: here, Credential: "openai#1", Err: fail(llm.UpstreamServer)})
		tr.repeat(3, limited(20*time.Second)) // three attempts were in flight
		tr.Report(limited(0))
		tr.Report(Report{Target: here, Credential: "openai#2", Err: fail(llm.UpstreamAuth)})
		want := []Hint{{Target: here, Credential: "openai#1"}, {Target: here, Credential: "openai#1", Backoff: 20 * time.Second}}
		if diff := cmp.Diff(want, *hints); diff != "" {
			t.Error(diff)
		}
	})
}

func TestHintedCircuitOpensAtNextFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for name, test := range map[string]struct {
			prepare func(*Tracker)
			want    bool
		}{
			"immediately":          {func(*Tracker) {}, true},
			"a success in between": {func(tr *Tracker) { tr.Report(Report{Target: here, Credential: "openai#1"}) }, false},
			"long ago":             {func(*Tracker) { time.Sleep(hintSpan) }, false},
		} {
			tr, hints := recordHints(t)
			tr.Report(Report{Target: here, Credential: "openai#1"})
			tr.ApplyHint(Hint{Target: here, Credential: "openai#1"})
			if tr.State(here).Open {
				t.Errorf("%s: a hint alone opened the circuit", name)
			}
			test.prepare(tr)
			tr.Report(Report{Target: here, Credential: "openai#1", Err: fail(llm.UpstreamConnect)})
			if got := tr.targets[here].circuit("openai#1").open; got != test.want {
				t.Errorf("%s: open %v after one failure, want %v", name, got, test.want)
			}
			if test.want && len(*hints) != 1 {
				t.Errorf("%s: sent hints %v, want one", name, *hints)
			}
		}
	})
}

func TestReceivedBackoffIsAppliedAndNotForwarded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tr, hints := recordHints(t)
		tr.ApplyHint(Hint{Credential: "openai#1", Backoff: time.Minute}) // no provider used here has this credential yet
		tr.ApplyHint(Hint{Target: here, Credential: "openai#1", Backoff: time.Minute})
		tr.pick("openai", two)
		if wait := tr.Wait(here, two[:1]); wait != 0 || len(tr.credentials) != 0 {
			t.Errorf("backs off %s with %d stored credentials; want no state for an unknown credential", wait, len(tr.credentials))
		}
		tr.ApplyHint(Hint{Credential: "openai#1", Backoff: 20 * time.Hour})
		if wait := tr.Wait(here, two[:1]); wait != maxBackoff || len(*hints) != 0 {
			t.Errorf("backs off %s, sent %v; want %s and no hints", wait, *hints, maxBackoff)
		}
		tr.ApplyHint(Hint{Target: here, Credential: "openai#2", Backoff: 20 * time.Hour})
		if wait := tr.Wait(here, two[1:]); wait != maxBackoff {
			t.Errorf("the target backs off %s, want %s", wait, maxBackoff)
		}
		if wait := tr.Wait("openai/gpt-4.1-mini", two[1:]); wait != 0 {
			t.Errorf("another target of the credential backs off %s, want 0", wait)
		}
	})
}

func TestHintsAreEncodedAsText(t *testing.T) {
	t.Parallel()
	for _, want := range []Hint{{Target: here, Credential: "openai#1"}, {Target: "ollama/m"}, {Credential: "a#1", Backoff: time.Second}} {
		text, err := want.Message()
		if err != nil {
			t.Fatal(err)
		}
		got, err := ParseHint(text)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Error(err, diff)
		}
	}
	for _, text := range []string{"", "null", `{"key":"key_1"}`, `{"hint":{}}`, `{"hint":{"credential":"a","rest_ns":-1}}`, `{"hint":{"rest_ns":"x"}}`} {
		if h, err := ParseHint(text); err == nil {
			t.Errorf("ParseHint(%q) = %+v, want an error", text, h)
		}
	}
}

func FuzzParseHint(f *testing.F) {
	f.Add(`{"hint":{"target":"a/m","credential":"a#1","rest_ns":5}}`)
	f.Fuzz(func(t *testing.T, text string) {
		h, err := ParseHint(text)
		if err != nil {
			return
		}
		tr := tracker()
		tr.pick("openai", two)
		tr.ApplyHint(h)
		if wait := tr.Wait(here, two); wait > maxBackoff {
			t.Fatalf("backs off %s, want at most %s", wait, maxBackoff)
		}
	})
}
