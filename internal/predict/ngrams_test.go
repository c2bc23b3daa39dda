package predict

import (
	"math"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func denseOf(text string) [denseCount]float64 {
	x := extractor{table: newWords()}
	x.read(text)
	return x.dense
}

func TestDenseFeaturesCount(t *testing.T) {
	t.Parallel()
	options := "Which is largest?\n(A) 3 kg\n(B) 70 g\n(C) a feather\n"
	for _, c := range []struct {
		name, text string
		feature    int
		want       float64
	}{
		{"words", "one two  three", denseWords, math.Log1p(3)},
		{"numbers", "12 apples and 7.5 pears", denseNumbers, math.Log1p(3)},
		{"digits of the longest number", "12 and 12345", denseNumberSize, math.Log1p(5)},
		{"lines", "a\nb\nc", denseLines, math.Log1p(2)},
		{"bullets", "- a thing\n* another\nplain text", denseBullets, math.Log1p(2)},
		{"numbered lines", "1. first\n2) second\n12. twelfth\nno", denseNumbered, math.Log1p(3)},
		{"options", options, denseOptions, math.Log1p(3)},
		{"the last option", options, denseOptionMax, math.Log1p(3)},
		{"options with quantities", options, denseOptionSums, 2.0 / 3},
		{"options after bullets", "- (A) yes or no\n- (B) both of them\n", denseOptions, math.Log1p(2)},
		{"commas", "a, b, c", denseCommas, math.Log1p(2)},
		{"questions", "Who? Where?", denseQuestions, math.Log1p(2)},
		{"upper case", "ABcd", denseUpper, 0.5},
		{"long words", "extraordinary cat", denseLongWords, 0.5},
		{"a kind of word", "How many are left and how much?", denseKinds + 6, math.Log1p(2)},
		{"the share of a kind", "how many", denseShares + 5, 0.5},
		{"Cyrillic letters", "да", denseCyrillic, 2.0 / 5},
		{"nothing", "", denseWords, 0},
	} {
		if got := denseOf(c.text)[c.feature]; math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%s: feature %d of %q = %v, want %v", c.name, c.feature, c.text, got, c.want)
		}
	}
}

func hashesOf(text string) [blockCount][]uint32 {
	x := extractor{table: newWords()}
	x.read(text)
	return x.hashes
}

func TestHashesIgnoreCaseSpacesAndDigits(t *testing.T) {
	t.Parallel()
	want := hashesOf("room 10, gate 27")
	for _, same := range []string{"Room 10, GATE 27", "room  10,\n\tgate 27", "room 99, gate 35"} {
		if diff := cmp.Diff(want, hashesOf(same)); diff != "" {
			t.Errorf("%q has other hashes (-want +got):\n%s", same, diff)
		}
	}
	for _, other := range []string{"room 100, gate 27", "room 10 gate 27", "gate 27, room 10"} {
		if cmp.Equal(want, hashesOf(other)) {
			t.Errorf("%q has the same hashes", other)
		}
	}
}

func TestPairAndLeadHashes(t *testing.T) {
	t.Parallel()
	h := hashesOf("one two three four")
	if got := [...]int{len(h[blockWord]), len(h[blockPair]), len(h[blockLead])}; got != [...]int{4, 5, 2 * leadWords} {
		t.Errorf("words, pairs and leads = %v, want 4, 5 (with both ends) and %d", got, 2*leadWords)
	}
	if h[blockLead][4] != hashesOf("one two three five")[blockLead][4] {
		t.Error("the same first three words have different hashes")
	}
}

func TestLongTextsAreSampled(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		text string
		most int
	}{
		{"at the limit the whole text is read", varied(sampleAbove), sampleAbove},
		{"above the limit a sample is read", varied(sampleAbove + 1), 2*sampleEnd + sampleMid*sampleBlock},
		{"a megabyte", varied(1 << 20), 2*sampleEnd + sampleMid*sampleBlock},
		{"runes of three bytes", strings.Repeat("語", 100_000), 2*sampleEnd + sampleMid*sampleBlock + 20},
	} {
		read := 0
		eachPart(c.text, func(part string) {
			read += len(part)
			if !utf8.ValidString(part) {
				t.Errorf("%s: a part splits a rune", c.name)
			}
		})
		if read > c.most || read < min(len(c.text), c.most-40) {
			t.Errorf("%s: %d bytes read, want about %d", c.name, read, c.most)
		}
	}
}

func TestSampleContainsHeadMiddleAndTail(t *testing.T) {
	t.Parallel()
	const question = " Solve the equation for x. "
	filler := strings.Repeat("filler text ", 4000)
	seen := func(text string) []float64 { return slices.Clone(NewReader().Read(text, func(int, uint32) {})) }
	plain := seen(filler)
	for name, at := range map[string]int{
		"head":   0,
		"middle": len(filler) / 2,
		"tail":   len(filler) - len(question),
	} {
		text := filler[:at] + question + filler[at+len(question):] // the texts have equal length, because the features depend on it
		if cmp.Equal(plain, seen(text)) {
			t.Errorf("a question at the %s of the text does not change the features", name)
		}
	}
}

func TestEveryWordHasOneKind(t *testing.T) {
	t.Parallel()
	table, seen := newWords(), map[string]int{}
	for kind, list := range kinds() {
		for word := range strings.FieldsSeq(list) {
			if before, ok := seen[word]; ok {
				t.Errorf("%q has kinds %d and %d, want one kind", word, before, kind)
			}
			seen[word] = kind
			if got := table.kind(hashWord(word)); got != kind {
				t.Errorf("kind of %q = %d, want %d", word, got, kind)
			}
		}
	}
	if got := table.kind(hashWord("zeppelin")); got != 0 {
		t.Errorf("kind of an unlisted word = %d, want 0", got)
	}
}

func TestReaderMatchesFeatures(t *testing.T) {
	t.Parallel()
	const text = "Two trains, 3 stations."
	want, got := hashesOf(text), [blockCount][]uint32{}
	dense := NewReader().Read(text, func(block int, hash uint32) { got[block] = append(got[block], hash) })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("hashes differ (-want +got):\n%s", diff)
	}
	features := denseOf(text)
	if diff := cmp.Diff(features[:], dense); diff != "" {
		t.Errorf("dense features differ (-want +got):\n%s", diff)
	}
}
