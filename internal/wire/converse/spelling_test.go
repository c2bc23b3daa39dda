package converse

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/llm"
)

func TestUsageIsTheSameInEverySpelling(t *testing.T) {
	t.Parallel()
	const text = `{"inputTokens":300,"outputTokens":400,"cacheReadInputTokens":100,"cacheWriteInputTokens":50,"cacheDetails":[{"ttl":"1h","inputTokens":20}]}`
	read := func(raw string) *llm.Usage {
		var u usage
		if err := json.Unmarshal([]byte(raw), &u); err != nil {
			t.Fatal(err)
		}
		return u.counts(nil)
	}
	want := read(text)
	for _, n := range []string{"300", "400", "100", "50", "20"} {
		for _, same := range []string{n + ".0", n + "e0", n + "00E-2"} {
			if diff := cmp.Diff(want, read(strings.Replace(text, ":"+n, ":"+same, 1))); diff != "" {
				t.Errorf("%s: %s", same, diff)
			}
		}
		for _, invalid := range []string{"-" + n, n + ".5", "1e13", "1e400"} {
			if got := read(strings.Replace(text, ":"+n, ":"+invalid, 1)); got != nil {
				t.Errorf("%s instead of %s: usage %+v, want none", invalid, n, got)
			}
		}
	}
}
