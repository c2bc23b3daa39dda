package gemini

import (
	"encoding/json"
	"strings"
	"testing"

	"fairlead.dev/internal/llm"
)

func TestUsageIsTheSameInEverySpelling(t *testing.T) {
	t.Parallel()
	const usage = `{"promptTokenCount":300,"cachedContentTokenCount":100,"candidatesTokenCount":400,"thoughtsTokenCount":200,"toolUsePromptTokenCount":50,"totalTokenCount":950}`
	read := func(raw string) (llm.Usage, bool) {
		var m usageMetadata
		if err := json.Unmarshal([]byte(raw), &m); err != nil {
			t.Fatal(err)
		}
		return m.usage()
	}
	want, _ := read(usage)
	for _, n := range []string{"300", "100", "400", "200", "50", "950"} {
		for _, same := range []string{n + ".0", n + "e0", n + "00E-2"} {
			if got, ok := read(strings.Replace(usage, ":"+n, ":"+same, 1)); !ok || got != want {
				t.Errorf("%s: %+v, want %+v", same, got, want)
			}
		}
		for _, invalid := range []string{"-" + n, n + ".5", "1e13", "1e400"} {
			if got, ok := read(strings.Replace(usage, ":"+n, ":"+invalid, 1)); ok {
				t.Errorf("%s instead of %s: usage %+v, want none", invalid, n, got)
			}
		}
	}
}
