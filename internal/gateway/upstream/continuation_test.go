package upstream

import (
	"iter"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fairlead.dev/internal/llm"
)

// resumed passes deltas through a continuation and returns the output for the client.
func resumed(t rapid.TB, c *continuation, deltas ...llm.Delta) (text string, others []llm.DeltaKind, fits bool) {
	t.Helper()
	c.onDelta = func() {}
	var all iter.Seq2[llm.Delta, error] = func(yield func(llm.Delta, error) bool) {
		for _, p := range deltas {
			if !yield(p, nil) {
				return
			}
		}
	}
	for p, err := range c.join(all) {
		if err != nil {
			if llm.AsError(err).Kind != llm.ContinuationMismatch {
				t.Fatal(err)
			}
			return text, others, false
		}
		if p.Kind == llm.TextDelta {
			text += p.Text
		} else {
			others = append(others, p.Kind)
		}
	}
	return text, others, true
}

func texts(all ...string) []llm.Delta {
	var deltas []llm.Delta
	for _, text := range all {
		deltas = append(deltas, llm.Delta{Kind: llm.TextDelta, Text: text})
	}
	return append(deltas, llm.Delta{Kind: llm.FinishDelta, Finish: "stop"})
}

func TestRestartMustRepeatTheDeliveredText(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		delivered string
		sent      []string
		rest      string
		fits      bool
	}{
		"same chunks":             {"one two", []string{"one ", "two", " three"}, " three", true},
		"other chunks":            {"one two", []string{"on", "e two th", "ree"}, " three", true},
		"one chunk":               {"one two", []string{"one two three"}, " three", true},
		"only the delivered text": {"one two", []string{"one two"}, "", true},
		"another beginning":       {"one two", []string{"two"}, "", false},
		"another end":             {"one two", []string{"one ", "too"}, "", false},
		"too short":               {"one two", []string{"one "}, "", false},
		"nothing":                 {"one two", nil, "", false},
		"other white space":       {"one two", []string{"one  two three"}, "", false},
		"split rune":              {"é two", []string{"\xc3", "\xa9 two three"}, " three", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if rest, _, fits := resumed(t, &continuation{delivered: c.delivered}, texts(c.sent...)...); rest != c.rest || fits != c.fits {
				t.Errorf("got %q (fits %t), want %q (fits %t)", rest, fits, c.rest, c.fits)
			}
		})
	}
}

func TestPrefillRepeatedByTheTargetIsRemoved(t *testing.T) {
	t.Parallel()
	const delivered = "It was a dark and stormy night"
	for name, c := range map[string]struct {
		delivered, withheld string
		sent                []string
		rest                string
		fits                bool
	}{
		"nothing":                          {delivered, "", []string{"; the rain ", "fell"}, "; the rain fell", true},
		"the tail":                         {delivered, "", []string{"and ", "stormy ", "night; the rain"}, "; the rain", true},
		"all of it":                        {delivered, "", []string{delivered, "; the rain"}, "; the rain", true},
		"all of it in chunks":              {delivered, "", []string{"It was ", "a dark and", " stormy night; the rain"}, "; the rain", true},
		"a repetition too short to detect": {"and so the ", "", []string{"the rain"}, "the rain", true},
		"a middle part":                    {delivered, "", []string{"a dark and", " wet road"}, "a dark and wet road", true},
		"only the tail":                    {delivered, "", []string{"stormy night"}, "", true},
		"nothing at all":                   {delivered, "", nil, "", true},
		"a text that repeats":              {"tick tock tick tock ", "", []string{"tick tock ", "tick tock ", "boom"}, "tick tock tick tock boom", true},
		"the withheld space":               {"one ", " ", []string{" two"}, "two", true},
		"more space than withheld":         {"one\n", "\n", []string{"\n\n", "two"}, "\ntwo", true},
		"less space than withheld":         {"one \n", " \n", []string{" two"}, "", false},
		"no space":                         {"one ", " ", []string{"two"}, "", false},
		"only space":                       {"one \n", " \n", []string{" "}, "", true},
		"space and all of it":              {delivered + " ", " ", []string{delivered + " now"}, "now", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &continuation{delivered: c.delivered, withheld: c.withheld, prefilled: true}
			if rest, _, fits := resumed(t, s, texts(c.sent...)...); rest != c.rest || fits != c.fits {
				t.Errorf("got %q (fits %t), want %q (fits %t)", rest, fits, c.rest, c.fits)
			}
		})
	}
}

func TestThinkingAndOtherChoicesAreHidden(t *testing.T) {
	t.Parallel()
	deltas := []llm.Delta{
		{Kind: llm.BeginDelta},
		{Kind: llm.ThinkingDelta, Text: "hmm"},
		{Kind: llm.SignatureDelta, Thinking: &llm.Thinking{Signature: "s"}},
		{Kind: llm.TextDelta, Text: "one two"},
		{Kind: llm.TextDelta, Text: "another", Choice: 1},
		{Kind: llm.ThinkingDelta, Text: "hm"},
		{Kind: llm.CallDelta, Call: &llm.ToolCall{Name: "f"}},
		{Kind: llm.FinishDelta},
	}
	s := &continuation{delivered: "one"}

	rest, others, fits := resumed(t, s, deltas...)

	if rest != " two" || !fits || len(others) != 3 || others[1] != llm.CallDelta {
		t.Errorf("got %q, other deltas %v (fits %t)", rest, others, fits)
	}
	if s.hidden != (textBytes{ascii: int64(len("hmm" + "one" + "hm"))}) {
		t.Errorf("hidden bytes are %+v", s.hidden)
	}
}

func TestToolCallBeforeTheRepeatedTextIsAMismatch(t *testing.T) {
	t.Parallel()
	call := llm.Delta{Kind: llm.CallDelta, Call: &llm.ToolCall{Name: "f"}}
	if _, others, fits := resumed(t, &continuation{delivered: "one two"}, llm.Delta{Kind: llm.TextDelta, Text: "one"}, call); fits || len(others) > 0 {
		t.Errorf("fits %t with deltas %v, want a mismatch without deltas", fits, others)
	}
}

// split splits a text into random parts, as a provider might.
func split(t *rapid.T, text string) []string {
	var steps []string
	for text != "" {
		n := rapid.IntRange(1, len(text)).Draw(t, "step")
		steps = append(steps, text[:n])
		text = text[n:]
	}
	return steps
}

func TestDifferentTextsAreNeverJoined(t *testing.T) {
	t.Parallel()
	words := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "the ", "né", " ", "\n", "storm"}), 0, 12).Draw(t, "words"), "")
	})
	rapid.Check(t, func(t *rapid.T) {
		delivered, sent := words.Draw(t, "delivered"), words.Draw(t, "sent")
		if rapid.Bool().Draw(t, "the same beginning") {
			sent = delivered + sent
		}
		if delivered == "" {
			return
		}

		rest, _, fits := resumed(t, &continuation{delivered: delivered}, texts(split(t, sent)...)...)

		switch {
		case fits && delivered+rest != sent:
			t.Fatalf("delivered %q continues with %q, which is not what the target sent", delivered, rest)
		case !fits && (rest != "" || strings.HasPrefix(sent, delivered)):
			t.Fatalf("delivered %q does not fit the response %q, but %q was sent", delivered, sent, rest)
		}
	})
}

func TestPrefilledResponseLosesOnlyDeliveredText(t *testing.T) {
	t.Parallel()
	words := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "the ", "né", " ", "\n", "stormy night "}), 0, 12).Draw(t, "words"), "")
	})
	rapid.Check(t, func(t *rapid.T) {
		delivered, sent := words.Draw(t, "delivered"), words.Draw(t, "sent")
		withheld := delivered[len(strings.TrimRight(delivered, " \n")):]

		rest, _, fits := resumed(t, &continuation{delivered: delivered, withheld: withheld, prefilled: true}, texts(split(t, sent)...)...)

		left, isEnd := strings.CutSuffix(sent, rest)
		if fits && (!isEnd || !strings.HasSuffix(delivered, left) && left != withheld[:min(len(withheld), len(left))]) {
			t.Fatalf("delivered %q and response %q were joined to %q", delivered, sent, delivered+rest)
		}
		if !fits && (rest != "" || strings.HasPrefix(sent, withheld)) {
			t.Fatalf("delivered %q does not fit the response %q, but %q was sent", delivered, sent, rest)
		}
	})
}
