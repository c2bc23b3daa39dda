package predict

import (
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

func hashesOf(text string) [blockCount][]uint32 {
	x := extractor{table: newWords()}
	x.read(text)
	return x.hashes
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
