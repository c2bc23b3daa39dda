package messagesstream

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
)

func TestUsageIsTheSameInEverySpelling(t *testing.T) {
	t.Parallel()
	const usage = `{"input_tokens":300,"cache_read_input_tokens":100,"cache_creation_input_tokens":50,` +
		`"cache_creation":{"ephemeral_1h_input_tokens":25},"output_tokens":400,"output_tokens_details":{"thinking_tokens":200},"server_tool_use":{"web_search_requests":7}}`
	read := func(raw string) *llm.Usage {
		var c Counts
		c.End(rawjson.ParseString(raw))
		return c.Usage()
	}
	want := read(usage)
	for _, n := range []string{"300", "100", "50", "25", "400", "200", "7"} {
		for _, same := range []string{n + ".0", n + "e0", n + "00E-2"} {
			if diff := cmp.Diff(want, read(strings.Replace(usage, ":"+n, ":"+same, 1))); diff != "" {
				t.Errorf("%s: %s", same, diff)
			}
		}
		for _, invalid := range []string{"-" + n, n + ".5", "1e13", "1e400"} {
			if got := read(strings.Replace(usage, ":"+n, ":"+invalid, 1)); got != nil {
				t.Errorf("%s instead of %s: usage %+v, want none", invalid, n, got)
			}
		}
	}
}
