package catalog

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/llm"
)

func TestBenchmarksArePlausible(t *testing.T) {
	t.Parallel()
	with, chat := 0, 0
	for _, m := range defaults(t).Models() {
		if m.Op != llm.Chat {
			if len(m.Benchmarks) > 0 {
				t.Errorf("%s is not a chat model but has scores", m.Name)
			}
			continue
		}
		chat++
		if len(m.Benchmarks) > 0 {
			with++
		}
		for _, b := range m.Benchmarks {
			if b.Name != strings.ToLower(b.Name) || strings.ContainsAny(b.Name, " -()") {
				t.Errorf("%s: benchmark name %q is not in lower case without separators", m.Name, b.Name)
			}
			if len(b.AsOf) < len("2026-01") || b.Source == "arena" {
				t.Errorf("%s: benchmark %s has source %q and date %q", m.Name, b.Name, b.Source, b.AsOf)
			}
		}
	}
	if with*100 < chat*95 {
		t.Errorf("%d of %d chat models have scores", with, chat)
	}
}

func TestNewModelInheritsScores(t *testing.T) {
	t.Parallel()
	c := defaults(t)
	young, _ := c.Model("gpt-6-sol")
	old, _ := c.Model("gpt-5.6-sol")
	if len(old.Benchmarks) == 0 {
		t.Fatal("the predecessor has no scores")
	}
	if diff := cmp.Diff(old.Benchmarks, young.Benchmarks); diff != "" {
		t.Error(diff)
	}
}

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
