package catalog

import "testing"

func TestManualQualityTakesPrecedenceOverBenchmarks(t *testing.T) {
	t.Parallel()
	quality := 0.3
	c := defaults(t).With(Overrides{{Model: "gpt-5", Quality: &quality}})
	m, _ := c.Model("gpt-5")
	if m.Quality != quality || len(m.Benchmarks) > 0 {
		t.Errorf("quality %v and %d scores, want %v and none", m.Quality, len(m.Benchmarks), quality)
	}
	if before, _ := defaults(t).Model("gpt-5"); len(before.Benchmarks) == 0 {
		t.Error("With removed the scores from the original catalog")
	}
}
