package gateway_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/budget"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/route"
	"fairlead.dev/internal/simulator"
)

// prefills makes the models of the named providers accept a prefill.
func (k *kit) prefills(names ...string) {
	for _, t := range k.snapshot.Targets() {
		if slices.Contains(names, t.Provider) {
			t.Model.Abilities |= llm.Prefill
		}
	}
}

// text returns the text of a stream in any of the formats.
func (a clientResponse) text() string {
	var text strings.Builder
	for block := range strings.SplitSeq(a.body, "\n\n") {
		_, data, _ := strings.Cut(block, "data: ")
		v := rawjson.ParseString(data)
		text.WriteString(v.Get("choices.0.delta.content").String())
		text.WriteString(v.Get("delta.text").String())
		if v.Get("type").String() == "response.output_text.delta" {
			text.WriteString(v.Get("delta").String())
		}
	}
	return text.String()
}

// whole reports whether the stream ended with the event that marks a complete response.
func (a clientResponse) whole() bool {
	return strings.HasSuffix(a.body, "data: [DONE]\n\n") || strings.Contains(a.body, `"type":"message_stop"`) || strings.Contains(a.body, `"type":"response.completed"`)
}

// failed reports whether the stream ended with an error event. In the Responses format, response.failed follows it.
func (a clientResponse) failed() bool {
	events := strings.Split(strings.TrimSpace(a.body), "\n\n")
	last := len(events) - 1
	if last > 0 && strings.HasPrefix(events[last], "event: response.failed\n") {
		last--
	}
	return strings.Contains(events[last], `"request_id":"req_`)
}

func classes(e *requestlog.Entry) []string {
	var all []string
	for _, a := range e.Attempts {
		all = append(all, strings.TrimSpace(a.Provider+" "+string(a.Class)))
	}
	return all
}

// cutAfterTwo returns a response that is interrupted after the role and two words.
func cutAfterTwo() simulator.Behaviour {
	return simulator.Behaviour{Text: []string{"one ", "two ", "three"}, CutAfter: 3}
}

func TestEveryAttemptOfAnInterruptedStreamIsCharged(t *testing.T) {
	t.Parallel()
	k := newKit(t, func(k *kit) { k.sessions = newNamer(t) })
	k.keys.grant.Key.Budget = &account.Budget{Amount: money.Dollar, Period: account.Monthly}
	k.keys.grant.Key.Sessions = &account.SessionLimits{Budget: &account.Budget{Amount: money.Dollar, Period: account.Total}}
	k.prefills("beta")
	k.alpha.Always(cutAfterTwo())
	k.beta.Always(simulator.Behaviour{Text: []string{" three"}, Usage: `{"prompt_tokens":1000,"completion_tokens":500,"total_tokens":1500}`})

	got := k.post("/chat/completions", streaming("large"), "X-Fairlead-Session", "s")

	e := k.entry()
	first, second := e.Attempts[0], e.Attempts[1]
	if !got.whole() || first.Usage == nil || !first.Usage.Estimated || first.Usage.Input == 0 || first.Usage.Output == 0 || *first.Cost == 0 {
		t.Fatalf("the interrupted attempt used %+v for %s: %s", first.Usage, first.Cost, got.body)
	}
	if want := money.Amount(7_500_000); e.Usage.Input != 1000 || e.Usage.Output != 500 || *second.Cost != want {
		t.Errorf("the second attempt used %+v for %s, want %s", e.Usage, second.Cost, want)
	}
	if *e.Cost != first.Cost.Add(*second.Cost) {
		t.Errorf("the request cost %s, want the sum of %s and %s", e.Cost, first.Cost, second.Cost)
	}
	var rows money.Amount
	for _, row := range e.Bill.Rows {
		rows = rows.Add(row.Amount)
	}
	if rows != *e.Cost || e.Bill.Total != *e.Cost || e.Bill.Rows[len(e.Bill.Rows)-1].Class != "broken_attempts" {
		t.Errorf("bill %+v", e.Bill)
	}
	for _, b := range append(budget.Applied(k.keys.grant), k.sessions.Budgets(k.keys.grant, "s", "")...) {
		if s := k.ledger.Status(b); s.Spent != *e.Cost || s.Held != 0 {
			t.Errorf("%s: %s spent, %s held, the request cost %s", b.ID, s.Spent, s.Held, e.Cost)
		}
	}
}

func TestNextTargetIsTriedWhenOneCannotContinue(t *testing.T) {
	t.Parallel()
	k := newKit(t, func(k *kit) { k.settings.Attempts.Attempts = 4 })
	k.prefills("beta")
	k.alpha.For("large-2026", cutAfterTwo())
	k.beta.Always(simulator.Fail(503))
	k.alpha.For("small-2026", simulator.Behaviour{Text: []string{"one two three"}})

	got := k.post("/chat/completions", `{"model":"large","models":["small"],"stream":true,"messages":[{"role":"user","content":"hello"}]}`)

	if got.text() != "one two three" || !got.whole() {
		t.Fatalf("text %q: %s", got.text(), got.body)
	}
	if diff := cmp.Diff([]string{"alpha stream_interrupted", "beta overload", "alpha"}, classes(k.entry())); diff != "" {
		t.Error(diff)
	}
}

func TestSameTargetContinuesWhenNoOtherIsLeft(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.prefills("alpha")
	k.alpha.Then(cutAfterTwo(), simulator.Behaviour{Text: []string{" three"}})

	got := k.post("/chat/completions", streaming("small"))

	if got.text() != "one two three" || !got.whole() {
		t.Fatalf("text %q: %s", got.text(), got.body)
	}
	if e := k.entry(); e.DecisionKind != route.Expected || len(e.Attempts) != 2 {
		t.Errorf("decision %s, attempts %v", e.DecisionKind, classes(e))
	}
}

func TestRescueWorksWithoutStoredText(t *testing.T) {
	t.Parallel()
	k := newKit(t, func(k *kit) { k.settings.LogBodies = false })
	k.prefills("beta")
	k.alpha.Always(cutAfterTwo())
	k.beta.Always(simulator.Behaviour{Text: []string{" three"}})

	got := k.post("/chat/completions", streaming("large"))

	if got.text() != "one two three" || !got.whole() {
		t.Fatalf("text %q: %s", got.text(), got.body)
	}
	e := k.entry()
	if text, err := json.Marshal(e); err != nil || len(e.Body.Response) > 0 || strings.Contains(string(text), "three") {
		t.Errorf("%v: the entry holds text: %s %s", err, text, e.Body.Response)
	}
}

func TestOtherFormatsAreContinuedToo(t *testing.T) {
	t.Parallel()
	bodies := map[string]string{
		"/messages":  `{"model":"large","max_tokens":100,"stream":true,"messages":[{"role":"user","content":"hello"}]}`,
		"/responses": `{"model":"large","stream":true,"input":"hello"}`,
	}
	for path, body := range bodies {
		for name, second := range map[string]simulator.Behaviour{
			"prefill": {Text: []string{" three"}},
			"restart": {Text: []string{"one two ", "three"}},
			"deviate": {Text: []string{"uno"}},
		} {
			t.Run(path+" "+name, func(t *testing.T) {
				t.Parallel()
				k := newKit(t)
				if name == "prefill" {
					k.prefills("beta")
				}
				k.alpha.Always(cutAfterTwo())
				k.beta.Always(second)

				got := k.post(path, body)

				for i, data := range got.data() {
					if n := rawjson.ParseString(data).Get("sequence_number"); n.Exists() && n.Int() != int64(i) {
						t.Errorf("event %d has number %d", i, n.Int())
					}
				}
				if name == "deviate" {
					if got.text() != "one two " || got.whole() || !got.failed() {
						t.Errorf("text %q: %s", got.text(), got.body)
					}
					return
				}
				if got.text() != "one two three" || !got.whole() || got.failed() {
					t.Fatalf("text %q: %s", got.text(), got.body)
				}
				if kind := k.entry().DecisionKind; kind != route.Fallback {
					t.Errorf("decision %s, want fallback", kind)
				}
				if path == "/responses" && !strings.Contains(got.body, `"text":"one two three"`) {
					t.Errorf("the last event lacks the whole text: %s", got.body)
				}
			})
		}
	}
}

// data returns the data of events with or without names.
func (a clientResponse) data() []string {
	var all []string
	for block := range strings.SplitSeq(a.body, "\n\n") {
		if _, data, ok := strings.Cut(block, "data: "); ok {
			all = append(all, data)
		}
	}
	return all
}

// drawText draws a text of few words, so that two texts often have the same beginning.
func drawText(t *rapid.T, label string) []string {
	return rapid.SliceOfN(rapid.SampledFrom([]string{"one ", "two ", "é", "\n", "a \"b\" "}), 1, 6).Draw(t, label)
}

func TestClientReceivesOneTextOrAnError(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		first, second := drawText(rt, "first"), drawText(rt, "second")
		if rapid.Bool().Draw(rt, "the same model") {
			second = first
		}
		cut := rapid.IntRange(2, len(first)+1).Draw(rt, "events before the cut")
		prefills := rapid.Bool().Draw(rt, "beta accepts a prefill")
		k := newKit(t, func(k *kit) { k.inside, k.settings.Attempts.Attempts = true, 2 })
		if prefills {
			k.prefills("beta")
		}
		k.alpha.Always(simulator.Behaviour{Text: first, CutAfter: cut})
		k.beta.Always(simulator.Behaviour{Text: second})

		got := k.post("/chat/completions", streaming("large"))

		e := k.entry()
		delivered, other := strings.Join(first[:cut-1], ""), strings.Join(second, "")
		switch {
		case got.status != 200 || got.whole() == got.failed():
			rt.Fatalf("status %d: %s", got.status, got.body)
		case got.failed() && (got.text() != delivered || e.Outcome != requestlog.Partial):
			rt.Fatalf("got an error after the text %q, want it after %q; outcome %s", got.text(), delivered, e.Outcome)
		case got.whole() && got.text() != other && (!prefills || !continuation(delivered, other, got.text())):
			rt.Fatalf("text %q, want %q, or %q followed by %q", got.text(), other, delivered, other)
		}
		if len(e.Attempts) != 2 {
			rt.Fatalf("attempts %v, want 2", classes(e))
		}
	})
}

// continuation reports whether all is the concatenation of first and second. The beginning of second may be missing from all if it repeats
// the end of first.
func continuation(first, second, all string) bool {
	rest, ok := strings.CutPrefix(all, first)
	repeated, ends := strings.CutSuffix(second, rest)
	return ok && ends && strings.HasSuffix(first, repeated)
}
