package wire_test

import (
	"io"
	"iter"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire/bedrock"
)

// TestUsageIsTheSameInEverySpelling replaces each number in a provider's usage by other spellings of the number, and by invalid counts.
func TestUsageIsTheSameInEverySpelling(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		body    string
		numbers string
		read    func(r io.Reader, stream bool) iter.Seq2[llm.Delta, error]
	}{
		"chat": {`{"id":"c","choices":[{"index":0,"message":{"content":"x"},"finish_reason":"stop"}],"usage":{"prompt_tokens":300,"completion_tokens":400,"total_tokens":700,` +
			`"prompt_tokens_details":{"cached_tokens":100,"cache_write_tokens":50,"audio_tokens":25},"completion_tokens_details":{"reasoning_tokens":200,"audio_tokens":35}}}`, "300 400 700 100 50 25 200 35", responseFormats[0].read},
		"messages": {`{"id":"m","content":[{"type":"text","text":"x"}],"stop_reason":"end_turn","usage":{"input_tokens":300,"cache_read_input_tokens":100,"cache_creation_input_tokens":50,` +
			`"cache_creation":{"ephemeral_1h_input_tokens":25},"output_tokens":400,"output_tokens_details":{"thinking_tokens":200},"server_tool_use":{"web_search_requests":7}}}`, "300 100 50 25 400 200 7", responseFormats[1].read},
		"responses": {`{"object":"response","status":"completed","output":[],"usage":{"input_tokens":300,"input_tokens_details":{"cached_tokens":100},` +
			`"output_tokens":400,"output_tokens_details":{"reasoning_tokens":200}}}`, "300 100 400 200", responseFormats[2].read},
		"gemini": {`{"candidates":[{"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":300,"cachedContentTokenCount":100,"candidatesTokenCount":400,` +
			`"thoughtsTokenCount":200,"toolUsePromptTokenCount":50,"totalTokenCount":950}}`, "300 100 400 200 50 950", responseFormats[3].read},
		"converse": {`{"output":{"message":{"content":[]}},"stopReason":"end_turn","usage":{"inputTokens":300,"outputTokens":400,"cacheReadInputTokens":100,` +
			`"cacheWriteInputTokens":50,"cacheDetails":[{"ttl":"1h","inputTokens":20}]}}`, "300 400 100 50 20", func(r io.Reader, _ bool) iter.Seq2[llm.Delta, error] {
			return bedrock.Deltas(r, bedrock.DeltaOptions{})
		}},
	} {
		usage := func(body string) (u *llm.Usage) {
			for d, err := range tc.read(strings.NewReader(body), false) {
				if err != nil {
					t.Fatalf("%s: %v in %s", name, err, body)
				}
				if d.Kind == llm.UsageDelta {
					u = d.Usage
				}
			}
			return u
		}
		want := usage(tc.body)
		if want == nil {
			t.Fatalf("%s: no usage in %s", name, tc.body)
		}
		for n := range strings.FieldsSeq(tc.numbers) {
			for _, same := range []string{n + ".0", n + "e0", n + "00E-2"} {
				if diff := cmp.Diff(want, usage(strings.Replace(tc.body, ":"+n, ":"+same, 1))); diff != "" {
					t.Errorf("%s: %s: %s", name, same, diff)
				}
			}
			for _, invalid := range []string{"-" + n, n + ".5", "1e13", "1e400"} {
				if got := usage(strings.Replace(tc.body, ":"+n, ":"+invalid, 1)); got != nil {
					t.Errorf("%s: %s instead of %s: usage %+v, want none", name, invalid, n, got)
				}
			}
		}
	}
}
