package requestlog

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestQuantilesAreWithinATenth(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Int64Range(int64(time.Microsecond), int64(2*time.Hour)), 1, 200).Draw(t, "durations")
		var left, right, whole Histogram
		for i, v := range values {
			whole.Add(time.Duration(v))
			if i%2 == 0 {
				left.Add(time.Duration(v))
			} else {
				right.Add(time.Duration(v))
			}
		}
		left.Merge(right)
		if left.String() != whole.String() {
			t.Fatalf("merged parts give %s, want %s", &left, &whole)
		}
		slices.Sort(values)
		for _, percent := range []int{1, 50, 95, 100} {
			want := values[(len(values)*percent+99)/100-1]
			got := int64(whole.Quantile(float64(percent) / 100))
			if off := max(want-got, got-want); off*10 > want {
				t.Fatalf("p%d is %d, want %d", percent, got, want)
			}
		}
		read, err := ParseHistogram(whole.String())
		if err != nil || read.String() != whole.String() {
			t.Fatalf("%s was parsed as %s, %v", &whole, &read, err)
		}
		twice, err := ParseHistogram(whole.String() + " " + right.String())
		whole.Merge(right)
		if err != nil || twice.String() != whole.String() {
			t.Fatalf("joined texts were parsed as %s, %v; want %s", &twice, err, &whole)
		}
	})
}

func TestHistogramIgnoresUnknownValues(t *testing.T) {
	t.Parallel()
	var h Histogram
	h.Add(0)
	h.Add(-time.Second)
	if h.String() != "" || h.Quantile(0.5) != 0 {
		t.Errorf("histogram is %q, want it empty", &h)
	}
	h.Add(1)
	h.Add(1000 * time.Hour)
	if diff := cmp.Diff("0:1 242:1", h.String()); diff != "" {
		t.Error(diff)
	}
}

func FuzzParseHistogram(f *testing.F) {
	for _, s := range []string{"", "1:2 3:4", "a:b", "-1:2", "9999:1", "1:-1", "1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		h, err := ParseHistogram(s)
		if err != nil {
			return
		}
		again, err := ParseHistogram(h.String())
		if err != nil || again.String() != h.String() {
			t.Errorf("%q was parsed as %q and then as %q, %v", s, &h, &again, err)
		}
	})
}
