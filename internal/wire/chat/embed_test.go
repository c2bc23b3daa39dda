package chat

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead/internal/llm"
)

func TestEmbedding(t *testing.T) {
	t.Parallel()
	const (
		floats = `[0.5,-1.0,2.500]`
		packed = `"AAAAPwAAgL8AACBA"`
		usage  = `"usage":{"prompt_tokens":3,"total_tokens":3}`
	)
	entry := func(index, value string) string {
		return `{"object":"embedding", "index":` + index + `,"embedding":` + value + `}`
	}
	answer := func(entries ...string) string {
		return `{"object":"list","model":"up","data":[` + strings.Join(entries, ",") + `],` + usage + `}`
	}
	tests := map[string]struct {
		body string
		o    EmbedOptions
		want string
	}{
		"numbers pass unrounded":    {answer(entry("0", `[0.10000000000000001, 1e-7]`)), EmbedOptions{Inputs: 1}, answer(entry("0", `[0.10000000000000001, 1e-7]`))},
		"base64 passes":             {answer(entry("0", packed)), EmbedOptions{Inputs: 1, Base64: true}, answer(entry("0", packed))},
		"numbers to base64":         {answer(entry("0", floats)), EmbedOptions{Inputs: 1, Base64: true}, answer(entry("0", packed))},
		"base64 to numbers":         {answer(entry("0", packed)), EmbedOptions{Inputs: 1}, answer(entry("0", `[0.5,-1,2.5]`))},
		"order by index":            {answer(entry("1", `[2]`), entry("0", `[1]`)), EmbedOptions{Inputs: 2}, answer(entry("0", `[1]`), entry("1", `[2]`))},
		"mixed encodings and order": {answer(entry("1", packed), entry("0", `[1]`)), EmbedOptions{Inputs: 2}, answer(entry("0", `[1]`), entry("1", `[0.5,-1,2.5]`))},
		"without index":             {`{"data":[{"embedding":[1]},{"embedding":[2]}]}`, EmbedOptions{Inputs: 2}, `{"data":[{"embedding":[1]},{"embedding":[2]}]}`},
		"the canonical model":       {answer(entry("0", `[1]`)), EmbedOptions{Model: "canon"}, strings.Replace(answer(entry("0", `[1]`)), `"up"`, `"canon"`, 1)},
		"the model is added":        {`{"data":[{"embedding":[1]}],"error":null}`, EmbedOptions{Model: "canon"}, `{"model":"canon","data":[{"embedding":[1]}]}`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ev, err := Embedding(strings.NewReader(tc.body), tc.o)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, string(ev.Data)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if strings.Contains(tc.body, "usage") && (ev.Usage == nil || *ev.Usage != llm.Usage{Input: 3} || ev.Model != "up" || !ev.Content) {
				t.Errorf("event %+v, usage %+v", ev, ev.Usage)
			}
		})
	}
}

func TestEmbeddingRefuses(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]llm.Kind{
		``: llm.UpstreamMalformed, `null`: llm.UpstreamMalformed, `<html>`: llm.UpstreamMalformed, `{}`: llm.UpstreamMalformed, `{"data":[]}`: llm.UpstreamMalformed,
		`{"data":{}}`:                            llm.UpstreamMalformed,
		`{"data":[[1],[2]]}`:                     llm.UpstreamMalformed,
		`{"data":[{"index":0,"embedding":[1]}]}`: llm.UpstreamMalformed,
		`{"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}]}`:  llm.UpstreamMalformed,
		`{"data":[{"index":0,"embedding":[1]},{"index":5,"embedding":[1]}]}`:  llm.UpstreamMalformed,
		`{"data":[{"index":-1,"embedding":[1]},{"index":1,"embedding":[1]}]}`: llm.UpstreamMalformed,
		`{"data":[{"embedding":[1]},{"embedding":null}]}`:                     llm.UpstreamMalformed,
		`{"data":[{"embedding":[1]},{"embedding":[]}]}`:                       llm.UpstreamMalformed,
		`{"data":[{"embedding":["x"]},{"embedding":[1]}]}`:                    llm.UpstreamMalformed,
		`{"data":[{"embedding":[1e99]},{"embedding":[1]}]}`:                   llm.UpstreamMalformed,
		`{"error":{"message":"Rate limit","code":"rate_limit_exceeded"}}`:     llm.UpstreamRateLimited,
	} {
		_, err := Embedding(strings.NewReader(body), EmbedOptions{Inputs: 2, Base64: true})
		if e, ok := errors.AsType[*llm.Error](err); !ok || e.Kind != want {
			t.Errorf("%s: %v, want %s", body, err, want)
		}
	}
	for _, value := range []string{`"AAAA"`, `"***"`, `"AADAfw=="`, `"AA=="`} {
		_, err := Embedding(strings.NewReader(`{"data":[{"embedding":`+value+`}]}`), EmbedOptions{})
		if e, ok := errors.AsType[*llm.Error](err); !ok || e.Kind != llm.UpstreamMalformed {
			t.Errorf("%s: %v", value, err)
		}
	}
}

func TestUsageJSONIsReadBack(t *testing.T) {
	t.Parallel()
	want := llm.Usage{Input: 1, CacheRead: 2, CacheWrite: 3, Output: 9, Reasoning: 5}
	raw := UsageJSON(want)
	got, ok := parseUsage(raw, false)
	if diff := cmp.Diff(want, got); !ok || diff != "" || !json.Valid(raw) {
		t.Errorf("%s is read as (-want +got):\n%s", raw, diff)
	}
}

func TestParseUsage(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		raw   string
		onTop bool
		want  *llm.Usage
	}{
		"plain":                       {`{"prompt_tokens":3,"completion_tokens":4}`, false, &llm.Usage{Input: 3, Output: 4}},
		"numbers with a point":        {`{"prompt_tokens":3.0,"completion_tokens":4e0}`, false, &llm.Usage{Input: 3, Output: 4}},
		"more cached than read":       {`{"prompt_tokens":3,"completion_tokens":0,"prompt_tokens_details":{"cached_tokens":9,"cache_write_tokens":9}}`, false, &llm.Usage{CacheRead: 3}},
		"reasoning beyond the output": {`{"completion_tokens":3,"completion_tokens_details":{"reasoning_tokens":9}}`, false, &llm.Usage{Output: 3, Reasoning: 3}},
		"reasoning on top":            {`{"prompt_tokens":1,"completion_tokens":3,"reasoning_tokens":9}`, true, &llm.Usage{Input: 1, Output: 12, Reasoning: 9}},
		"on top, but the total says it is inside": {
			`{"prompt_tokens":1,"completion_tokens":12,"total_tokens":13,"completion_tokens_details":{"reasoning_tokens":9}}`, true,
			&llm.Usage{Input: 1, Output: 12, Reasoning: 9},
		},
		"on top, and silent about it": {`{"prompt_tokens":12,"completion_tokens":3,"total_tokens":115}`, true, &llm.Usage{Input: 12, Output: 103}},
		"on top, but nothing thought": {`{"prompt_tokens":12,"completion_tokens":3,"total_tokens":15}`, true, &llm.Usage{Input: 12, Output: 3}},
		"a total below its parts":     {`{"prompt_tokens":12,"completion_tokens":3,"total_tokens":9}`, true, &llm.Usage{Input: 12, Output: 3}},
		"on top, without a total":     {`{"prompt_tokens":12,"completion_tokens":3}`, true, &llm.Usage{Input: 12, Output: 3}},
		"not on top, a larger total":  {`{"prompt_tokens":12,"completion_tokens":3,"total_tokens":115}`, false, &llm.Usage{Input: 12, Output: 3}},
		"nothing but a total":         {`{"total_tokens":115}`, false, nil},
		"null details":                {`{"prompt_tokens":1,"completion_tokens":0,"prompt_tokens_details":null,"completion_tokens_details":null}`, false, &llm.Usage{Input: 1}},
		"Moonshot":                    {`{"prompt_tokens":9,"completion_tokens":1,"cached_tokens":5}`, false, &llm.Usage{Input: 4, CacheRead: 5, Output: 1}},
		"empty":                       {`{}`, false, nil},
		"a list":                      {`[]`, false, nil},
		"negative":                    {`{"prompt_tokens":-3,"completion_tokens":4}`, false, nil},
		"huge":                        {`{"prompt_tokens":99999999999999999999,"completion_tokens":4}`, false, nil},
		"halves":                      {`{"prompt_tokens":3,"completion_tokens":4.5}`, false, nil},
		"strings":                     {`{"prompt_tokens":"3"}`, false, nil},
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
		"a total alone":      {`{"total_tokens":7}`, &llm.Usage{Input: 7}},
		"a null beside it":   {`{"prompt_tokens":null,"total_tokens":7}`, &llm.Usage{Input: 7}},
		"a zero is a figure": {`{"prompt_tokens":0,"total_tokens":7}`, &llm.Usage{}},
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
