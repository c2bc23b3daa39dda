package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMetricsOfABenchmark(t *testing.T) {
	t.Parallel()
	const output = "goos: linux\nin p99-µs as always\nBenchmarkDecide/candidates=60 \t 1000\t 88000 ns/op\t 81.5 p50-µs\t 143.2 p99-µs\n" +
		"BenchmarkDecide/candidates=60 \t 900\t 89000 ns/op\t 82.5 p50-µs\t 151 p99-µs\nPASS\n"
	if diff := cmp.Diff([]float64{143.2, 151}, metrics(output, "p99-µs")); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
	if got := metrics(output, "entries/s"); len(got) > 0 {
		t.Errorf("metrics of a missing unit = %v, want none", got)
	}
}

func TestExactlyMatchesOneBenchmark(t *testing.T) {
	t.Parallel()
	const want = "^BenchmarkDecide$/^candidates=6$/^policies=2$"
	if got := exactly("BenchmarkDecide/candidates=6/policies=2"); got != want {
		t.Errorf("exactly() = %q, want %q", got, want)
	}
}
