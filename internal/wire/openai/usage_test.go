package openai

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/llm"
)

func TestUsageJSONRoundTrip(t *testing.T) {
	t.Parallel()
	want := llm.Usage{Input: 1, CacheRead: 2, CacheWrite: 3, Output: 9, Reasoning: 5, Searches: 4}
	raw := UsageJSON(want)
	got, ok := parseUsage(raw, false)
	if diff := cmp.Diff(want, got); !ok || diff != "" || !json.Valid(raw) {
		t.Errorf("%s was parsed as (-want +got):\n%s", raw, diff)
	}
}

func TestParseUsage(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		raw   string
		onTop bool
		want  *llm.Usage
	}{
		"plain":                             {`{"prompt_tokens":3,"completion_tokens":4}`, false, &llm.Usage{Input: 3, Output: 4}},
		"numbers with a decimal point":      {`{"prompt_tokens":3.0,"completion_tokens":4e0}`, false, &llm.Usage{Input: 3, Output: 4}},
		"more cached than input tokens":     {`{"prompt_tokens":3,"completion_tokens":0,"prompt_tokens_details":{"cached_tokens":9,"cache_write_tokens":9}}`, false, &llm.Usage{CacheRead: 3}},
		"more reasoning than output tokens": {`{"completion_tokens":3,"completion_tokens_details":{"reasoning_tokens":9}}`, false, &llm.Usage{Output: 3, Reasoning: 3}},
		"reasoning on top":                  {`{"prompt_tokens":1,"completion_tokens":3,"reasoning_tokens":9}`, true, &llm.Usage{Input: 1, Output: 12, Reasoning: 9}},
		"on top, included in the total": {
			`{"prompt_tokens":1,"completion_tokens":12,"total_tokens":13,"completion_tokens_details":{"reasoning_tokens":9}}`, true,
			&llm.Usage{Input: 1, Output: 12, Reasoning: 9},
		},
		"on top, without a count":    {`{"prompt_tokens":12,"completion_tokens":3,"total_tokens":115}`, true, &llm.Usage{Input: 12, Output: 103}},
		"on top, no reasoning":       {`{"prompt_tokens":12,"completion_tokens":3,"total_tokens":15}`, true, &llm.Usage{Input: 12, Output: 3}},
		"a total below its parts":    {`{"prompt_tokens":12,"completion_tokens":3,"total_tokens":9}`, true, &llm.Usage{Input: 12, Output: 3}},
		"on top, without a total":    {`{"prompt_tokens":12,"completion_tokens":3}`, true, &llm.Usage{Input: 12, Output: 3}},
		"not on top, a larger total": {`{"prompt_tokens":12,"completion_tokens":3,"total_tokens":115}`, false, &llm.Usage{Input: 12, Output: 3}},
		"only a total":               {`{"total_tokens":115}`, false, nil},
		"null details":               {`{"prompt_tokens":1,"completion_tokens":0,"prompt_tokens_details":null,"completion_tokens_details":null}`, false, &llm.Usage{Input: 1}},
		"Moonshot":                   {`{"prompt_tokens":9,"completion_tokens":1,"cached_tokens":5}`, false, &llm.Usage{Input: 4, CacheRead: 5, Output: 1}},
		"OpenRouter":                 {`{"prompt_tokens":9,"completion_tokens":1,"server_tool_use":{"web_search_requests":2}}`, false, &llm.Usage{Input: 9, Output: 1, Searches: 2}},
		"Perplexity":                 {`{"prompt_tokens":9,"completion_tokens":1,"num_search_queries":3}`, false, &llm.Usage{Input: 9, Output: 1, Searches: 3}},
		"empty":                      {`{}`, false, nil},
		"a list":                     {`[]`, false, nil},
		"negative":                   {`{"prompt_tokens":-3,"completion_tokens":4}`, false, nil},
		"huge":                       {`{"prompt_tokens":99999999999999999999,"completion_tokens":4}`, false, nil},
		"halves":                     {`{"prompt_tokens":3,"completion_tokens":4.5}`, false, nil},
		"strings":                    {`{"prompt_tokens":"3"}`, false, nil},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, ok := parseUsage([]byte(tc.raw), tc.onTop)
			if ok != (tc.want != nil) || ok && got != *tc.want {
				t.Errorf("got %+v, %t; want %+v", got, ok, tc.want)
			}
		})
	}
}

func TestParseEmbedUsage(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		raw  string
		want *llm.Usage
	}{
		"both":               {`{"prompt_tokens":3,"total_tokens":3}`, &llm.Usage{Input: 3}},
		"only a total":       {`{"total_tokens":7}`, &llm.Usage{Input: 7}},
		"a null and a total": {`{"prompt_tokens":null,"total_tokens":7}`, &llm.Usage{Input: 7}},
		"a zero is a count":  {`{"prompt_tokens":0,"total_tokens":7}`, &llm.Usage{}},
		"no output":          {`{"prompt_tokens":3,"completion_tokens":5,"total_tokens":8}`, &llm.Usage{Input: 3}},
		"absurd":             {`{"total_tokens":-7}`, nil},
		"nothing":            {`{}`, nil},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, ok := parseEmbedUsage([]byte(tc.raw))
			if ok != (tc.want != nil) || ok && got != *tc.want {
				t.Errorf("got %+v, %t; want %+v", got, ok, tc.want)
			}
		})
	}
}
