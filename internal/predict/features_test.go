package predict

import (
	"encoding/json"
	"math"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// shared parses the artefact once for all tests and benchmarks of the package.
var shared = sync.OnceValues(Embedded)

func embeddedPredictor(tb testing.TB) *Predictor {
	tb.Helper()
	p, err := shared()
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// The training script computed the expected vectors with its own implementation of the net, from the features of the Go code.
func TestFeaturesAgreeWithTraining(t *testing.T) {
	t.Parallel()
	p := embeddedPredictor(t)
	raw, err := os.ReadFile("testdata/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Text   string    `json:"text"`
		Skills []float64 `json:"skills"`
		Known  float64   `json:"known"`
	}
	if err := json.Unmarshal(raw, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) < 10 {
		t.Fatalf("%d golden vectors, want at least 10", len(cases))
	}
	for _, c := range cases {
		got := p.Features(Prompt{Text: c.Text})
		if len(got.Skills) != len(c.Skills) {
			t.Fatalf("%d skills, trained with %d", len(got.Skills), len(c.Skills))
		}
		for i, want := range c.Skills {
			if math.Abs(got.Skills[i]-want) > 1.01e-3 {
				t.Errorf("skill %d of %.40q = %v, want %v", i, c.Text, got.Skills[i], want)
			}
		}
		if math.Abs(got.Known-c.Known) > 1.01e-3 {
			t.Errorf("known of %.40q = %v, want %v", c.Text, got.Known, c.Known)
		}
	}
}

func FuzzFeatures(f *testing.F) {
	p := embeddedPredictor(f)
	for _, text := range []string{"", "a", "\xff\xfe", "Wie spät ist es?", "日本語の文章", strings.Repeat("x", 20000), "\n- A) 1\n(B) 2\n\t12. 3"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s := p.Features(Prompt{Text: text})
		if len(s.Skills) != p.Dimensions() {
			t.Fatalf("%d skills, want %d", len(s.Skills), p.Dimensions())
		}
		for i, z := range append(s.Skills, s.Known) {
			if math.IsNaN(z) || math.Abs(z) > 10 {
				t.Errorf("skill %d is %v, want a number up to 10", i, z)
			}
		}
		if diff := cmp.Diff(s, p.Features(Prompt{Text: text})); diff != "" {
			t.Errorf("second features differ:\n%s", diff)
		}
	})
}

// sample returns a text of n bytes that repeats the same words.
func sample(n int) string {
	const words = "The council of a small town wants to know how many buses it needs if 340 children must reach 3 schools before 8:15, and each bus holds 52. Explain your answer. "
	return strings.Repeat(words, n/len(words)+1)[:n]
}

// varied returns a text of n bytes with few repeated words.
func varied(n int) string {
	var b strings.Builder
	for i := uint32(1); b.Len() < n; i++ {
		for h := mix(i); h > 0; h /= 26 * 7 {
			b.WriteByte('a' + byte(h%26))
		}
		b.WriteByte(' ')
	}
	return b.String()[:n]
}

// english returns English prose of n bytes.
func english(n int) string {
	const prose = "When the harbour master retired after thirty years, the council could not agree on a successor. Some wanted an engineer who would " +
		"finally repair the lock gates; others asked for a merchant with friends in the northern ports. The lamp lighters, whose wages had not " +
		"risen since the flood, threatened to leave unless somebody listened. In the end a clerk named Ines Varga settled the quarrel by counting: " +
		"she drew a table of every vessel that had waited longer than two tides, multiplied the hours by the fees that had been lost, and laid the " +
		"paper on the mayor's desk. Nobody had known that delays cost the town more than new gates would. Summarise what happened, explain which " +
		"evidence changed the decision, and suggest three questions a journalist might ask before believing the figures. Mention possible biases, " +
		"such as storms in that particular year, missing entries, ships that never called because of rumours, or fees that were waived quietly. "
	return strings.Repeat(prose, n/len(prose)+1)[:n]
}
