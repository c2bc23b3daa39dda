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
