package gateway

import (
	"iter"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fairlead/internal/llm"
)

// joined tells pieces to a seam and returns what the client would see after it.
func joined(t rapid.TB, s *seam, pieces ...llm.Delta) (text string, others []llm.DeltaKind, fits bool) {
	t.Helper()
	s.alive = func() {}
	var all iter.Seq2[llm.Delta, error] = func(yield func(llm.Delta, error) bool) {
		for _, p := range pieces {
			if !yield(p, nil) {
				return
			}
		}
	}
	for p, err := range s.join(all) {
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
	var pieces []llm.Delta
	for _, text := range all {
		pieces = append(pieces, llm.Delta{Kind: llm.TextDelta, Text: text})
	}
	return append(pieces, llm.Delta{Kind: llm.FinishDelta, Finish: "stop"})
}

func TestAnAnswerGivenAnewMustRepeatTheOld(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		said string
		says []string
		rest string
		fits bool
	}{
		"in the same steps":     {"one two", []string{"one ", "two", " three"}, " three", true},
		"in other steps":        {"one two", []string{"on", "e two th", "ree"}, " three", true},
		"in one":                {"one two", []string{"one two three"}, " three", true},
		"and no more":           {"one two", []string{"one two"}, "", true},
		"another beginning":     {"one two", []string{"two"}, "", false},
		"another end":           {"one two", []string{"one ", "too"}, "", false},
		"too short":             {"one two", []string{"one "}, "", false},
		"nothing":               {"one two", nil, "", false},
		"other white space":     {"one two", []string{"one  two three"}, "", false},
		"the same in two bytes": {"é two", []string{"\xc3", "\xa9 two three"}, " three", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if rest, _, fits := joined(t, &seam{said: c.said}, texts(c.says...)...); rest != c.rest || fits != c.fits {
				t.Errorf("got %q (%t), want %q (%t)", rest, fits, c.rest, c.fits)
			}
		})
	}
}

func TestWhatATargetRepeatsOfThePrefillIsLeftOut(t *testing.T) {
	t.Parallel()
	const said = "It was a dark and stormy night"
	for name, c := range map[string]struct {
		said, untold string
		says         []string
		rest         string
		fits         bool
	}{
		"nothing":                 {said, "", []string{"; the rain ", "fell"}, "; the rain fell", true},
		"the tail":                {said, "", []string{"and ", "stormy ", "night; the rain"}, "; the rain", true},
		"all of it":               {said, "", []string{said, "; the rain"}, "; the rain", true},
		"all of it in steps":      {said, "", []string{"It was ", "a dark and", " stormy night; the rain"}, "; the rain", true},
		"less than chance":        {"and so the ", "", []string{"the rain"}, "the rain", true},
		"a middle part":           {said, "", []string{"a dark and", " wet road"}, "a dark and wet road", true},
		"only the tail":           {said, "", []string{"stormy night"}, "", true},
		"nothing at all":          {said, "", nil, "", true},
		"a text that repeats":     {"tick tock tick tock ", "", []string{"tick tock ", "tick tock ", "boom"}, "tick tock tick tock boom", true},
		"the space it was spared": {"one ", " ", []string{" two"}, "two", true},
		"more space than that":    {"one\n", "\n", []string{"\n\n", "two"}, "\ntwo", true},
		"less space than that":    {"one \n", " \n", []string{" two"}, "", false},
		"no space":                {"one ", " ", []string{"two"}, "", false},
		"no more than the space":  {"one \n", " \n", []string{" "}, "", true},
		"space and all of it":     {said + " ", " ", []string{said + " now"}, "now", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &seam{said: c.said, untold: c.untold, prefilled: true}
			if rest, _, fits := joined(t, s, texts(c.says...)...); rest != c.rest || fits != c.fits {
				t.Errorf("got %q (%t), want %q (%t)", rest, fits, c.rest, c.fits)
			}
		})
	}
}

func TestThinkingAndOtherChoicesStayUnseen(t *testing.T) {
	t.Parallel()
	pieces := []llm.Delta{
		{Kind: llm.BeginDelta},
		{Kind: llm.ThinkingDelta, Text: "hmm"},
		{Kind: llm.SignatureDelta, Thinking: &llm.Thinking{Signature: "s"}},
		{Kind: llm.TextDelta, Text: "one two"},
		{Kind: llm.TextDelta, Text: "another", Choice: 1},
		{Kind: llm.ThinkingDelta, Text: "hm"},
		{Kind: llm.CallDelta, Call: &llm.ToolCall{Name: "f"}},
		{Kind: llm.FinishDelta},
	}
	s := &seam{said: "one"}

	rest, others, fits := joined(t, s, pieces...)

	if rest != " two" || !fits || len(others) != 3 || others[1] != llm.CallDelta {
		t.Errorf("got %q, %v (%t)", rest, others, fits)
	}
	if s.unseen != (textBytes{ascii: int64(len("hmm" + "one" + "hm"))}) {
		t.Errorf("%+v bytes were not seen", s.unseen)
	}
}

func TestACallBeforeTheTextWasRepeatedDoesNotFit(t *testing.T) {
	t.Parallel()
	call := llm.Delta{Kind: llm.CallDelta, Call: &llm.ToolCall{Name: "f"}}
	if _, others, fits := joined(t, &seam{said: "one two"}, llm.Delta{Kind: llm.TextDelta, Text: "one"}, call); fits || len(others) > 0 {
		t.Errorf("%v was shown", others)
	}
}

// split cuts a text into steps as a provider might.
func split(t *rapid.T, text string) []string {
	var steps []string
	for text != "" {
		n := rapid.IntRange(1, len(text)).Draw(t, "step")
		steps = append(steps, text[:n])
		text = text[n:]
	}
	return steps
}

func TestTwoTextsAreNeverSpliced(t *testing.T) {
	t.Parallel()
	words := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "the ", "né", " ", "\n", "storm"}), 0, 12).Draw(t, "words"), "")
	})
	rapid.Check(t, func(t *rapid.T) {
		said, says := words.Draw(t, "said"), words.Draw(t, "says")
		if rapid.Bool().Draw(t, "the same beginning") {
			says = said + says
		}
		if said == "" {
			return
		}

		rest, _, fits := joined(t, &seam{said: said}, texts(split(t, says)...)...)

		switch {
		case fits && said+rest != says:
			t.Fatalf("%q goes on with %q, which nobody said", said, rest)
		case !fits && (rest != "" || strings.HasPrefix(says, said)):
			t.Fatalf("%q does not go on with %q; %q was shown", said, says, rest)
		}
	})
}

func TestAPrefilledAnswerLosesNothingButWhatTheClientHas(t *testing.T) {
	t.Parallel()
	words := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "the ", "né", " ", "\n", "stormy night "}), 0, 12).Draw(t, "words"), "")
	})
	rapid.Check(t, func(t *rapid.T) {
		said, says := words.Draw(t, "said"), words.Draw(t, "says")
		untold := said[len(strings.TrimRight(said, " \n")):]

		rest, _, fits := joined(t, &seam{said: said, untold: untold, prefilled: true}, texts(split(t, says)...)...)

		left, isEnd := strings.CutSuffix(says, rest)
		if fits && (!isEnd || !strings.HasSuffix(said, left) && left != untold[:min(len(untold), len(left))]) {
			t.Fatalf("%q and %q became %q", said, says, said+rest)
		}
		if !fits && (rest != "" || strings.HasPrefix(says, untold)) {
			t.Fatalf("%q does not go on with %q; %q was shown", said, says, rest)
		}
	})
}
