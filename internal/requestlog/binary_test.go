package requestlog

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"fairlead.dev/internal/money"
)

// Binary sums are added like other sums. Malformed sums are rejected.
func TestBinarySumsAreMerged(t *testing.T) {
	t.Parallel()
	sums := func(n int64) *Sums {
		s := &Sums{Figures: Figures{RequestCounts: RequestCounts{Requests: n, Errors: 2 * n}, Spending: Spending{Cost: money.Amount(3 * n)}, CacheSaved: money.Amount(-n)}}
		for i := range n {
			s.Latency.Add(time.Duration(i*i) * time.Millisecond)
			s.TTFT.Add(time.Duration(n) * time.Second)
		}
		return s
	}
	want, got := sums(40), sums(40)
	want.Merge(sums(7))
	data := sums(7).AppendBinary(nil)
	rest, err := got.MergeBinary(append(data, "rest"...))
	if err != nil || string(rest) != "rest" {
		t.Fatalf("MergeBinary = %q, %v; want rest", rest, err)
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(Histogram{}, bucketCount{}), cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
	for n := range len(data) {
		if _, err := new(Sums).MergeBinary(data[:n]); err == nil {
			t.Errorf("MergeBinary accepted %d of %d bytes, want an error", n, len(data))
		}
	}
	if left := want.Without(&sums(7).Figures); left != sums(40).Figures {
		t.Errorf("Without = %+v, want %+v", left, sums(40).Figures)
	}
}
