package chatstream

import (
	"strings"
	"testing"
)

func TestUsageIsTheSameInEverySpelling(t *testing.T) {
	t.Parallel()
	const usage = `{"prompt_tokens":300,"completion_tokens":400,"total_tokens":700,` +
		`"prompt_tokens_details":{"cached_tokens":100,"cache_write_tokens":50,"audio_tokens":25},"completion_tokens_details":{"reasoning_tokens":200,"audio_tokens":35}}`
	want, ok := parseUsage([]byte(usage), false)
	if !ok {
		t.Fatal("parseUsage = false for valid usage")
	}
	for _, n := range []string{"300", "400", "700", "100", "50", "25", "200", "35"} {
		for _, same := range []string{n + ".0", n + "e0", n + "00E-2"} {
			if got, ok := parseUsage([]byte(strings.Replace(usage, ":"+n, ":"+same, 1)), false); !ok || got != want {
				t.Errorf("%s: %+v, want %+v", same, got, want)
			}
		}
		for _, invalid := range []string{"-" + n, n + ".5", "1e13", "1e400"} {
			if got, ok := parseUsage([]byte(strings.Replace(usage, ":"+n, ":"+invalid, 1)), false); ok {
				t.Errorf("%s instead of %s: usage %+v, want none", invalid, n, got)
			}
		}
	}
}
