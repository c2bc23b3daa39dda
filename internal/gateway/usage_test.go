package gateway_test

import (
	"fmt"
	"strings"
	"testing"

	"fairlead.dev/internal/money"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/simulator"
)

// The target writes up to 8000 tokens and costs $2 per million input tokens and $8 per million output tokens. The request has
// fewer than a hundred bytes, and a provider may add 20000 tokens of its own.
func TestUsageIsAsReportedOrEstimated(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		usage string
		want  money.Amount // expected cost; 0 if the gateway must estimate the usage
	}{
		// 11 × 2/M = 22000; 3 × 8/M = 24000
		"reported": {`{"prompt_tokens":11,"completion_tokens":3,"total_tokens":14}`, 46_000},
		// 11 × 2/M = 22000; 8000 × 8/M = 64000000
		"maximum output": {`{"prompt_tokens":11,"completion_tokens":8000,"total_tokens":8011}`, 64_022_000},
		// 20000 × 2/M = 40000000; 3 × 8/M = 24000
		"prompt with tokens of the provider": {`{"prompt_tokens":20000,"completion_tokens":3,"total_tokens":20003}`, 40_024_000},

		"missing":                          {"none", 0},
		"null":                             {`null`, 0},
		"empty":                            {`{}`, 0},
		"no object":                        {`"many"`, 0},
		"all zero":                         {`{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0}`, 0},
		"a prompt without tokens":          {`{"prompt_tokens":0,"completion_tokens":3,"total_tokens":3}`, 0},
		"a negative prompt":                {`{"prompt_tokens":-11,"completion_tokens":3,"total_tokens":-8}`, 0},
		"a negative output":                {`{"prompt_tokens":11,"completion_tokens":-3,"total_tokens":8}`, 0},
		"no output tokens for a text":      {`{"prompt_tokens":11,"completion_tokens":0,"total_tokens":11}`, 0},
		"a negative part":                  {`{"prompt_tokens":11,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":-4}}`, 0},
		"half a token":                     {`{"prompt_tokens":11.5,"completion_tokens":3,"total_tokens":14.5}`, 0},
		"a prompt beyond the context":      {`{"prompt_tokens":100001,"completion_tokens":3,"total_tokens":100004}`, 0},
		"a prompt longer than the request": {`{"prompt_tokens":30000,"completion_tokens":3,"total_tokens":30003}`, 0},
		"a cached prompt beyond the context": {
			`{"prompt_tokens":100001,"completion_tokens":3,"total_tokens":100004,"prompt_tokens_details":{"cached_tokens":100000}}`, 0,
		},
		"more output than the model can write": {`{"prompt_tokens":11,"completion_tokens":8002,"total_tokens":8013}`, 0},
		"implausible output":                   {`{"prompt_tokens":11,"completion_tokens":9000000000000000000,"total_tokens":1}`, 0},
	} {
		for kind, body := range map[string]string{"whole": hello, "streamed": streaming("large")} {
			t.Run(name+", "+kind, func(t *testing.T) {
				t.Parallel()
				k := newKit(t)
				k.alpha.Always(simulator.Behaviour{Usage: tc.usage})
				k.beta.Always(simulator.Fail(503))
				k.post("/chat/completions", body)
				e := k.entry()
				checkCost(t, e, tc.want)
				if tc.want == 0 && e.Usage.Output == 0 {
					t.Error("the estimate has no output tokens")
				}
			})
		}
	}
}

// When a provider reports no usage, clients receive the recorded usage if their format has a field for it.
func TestClientsReceiveTheEstimateWithoutAReport(t *testing.T) {
	t.Parallel()
	const asked = `{"model":"large","max_tokens":99,"messages":[{"role":"user","content":"hello"}]`
	for name, tc := range map[string]struct {
		path, body, want string
		in, out          string // JSON paths of the input and output tokens in the last event that has usage
	}{
		"chat":             {"/chat/completions", asked + `,"stream":true,"stream_options":{"include_usage":true}}`, `"choices":[],"usage"`, "usage.prompt_tokens", "usage.completion_tokens"},
		"completions":      {"/completions", `{"model":"large","prompt":"hello","stream":true,"stream_options":{"include_usage":true}}`, `"choices":[],"usage"`, "usage.prompt_tokens", "usage.completion_tokens"},
		"messages":         {"/messages", asked + `,"stream":true}`, "message_delta", "usage.input_tokens", "usage.output_tokens"},
		"messages, whole":  {"/messages", asked + `}`, `"usage"`, "usage.input_tokens", "usage.output_tokens"},
		"responses":        {"/responses", `{"model":"large","input":"hello","stream":true}`, "response.completed", "response.usage.input_tokens", "response.usage.output_tokens"},
		"responses, whole": {"/responses", `{"model":"large","input":"hello"}`, `"usage"`, "usage.input_tokens", "usage.output_tokens"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newKit(t)
			for _, m := range []*simulator.Mock{k.alpha, k.beta} {
				m.Always(simulator.Behaviour{Usage: "none"})
			}
			got := k.post(tc.path, tc.body)
			e := k.entry()
			var sent string
			for line := range strings.Lines(got.body) {
				if data := strings.TrimPrefix(line, "data: "); strings.Contains(data, tc.want) {
					sent = data
				}
			}
			if !e.Usage.Estimated || e.Usage.Output == 0 || rawjson.ParseString(sent).Get(tc.in).Int() != e.Usage.Input || rawjson.ParseString(sent).Get(tc.out).Int() != e.Usage.Output {
				t.Errorf("sent %s, recorded %+v:\n%s", sent, e.Usage, got.body)
			}
		})
	}
}

// A response of 1280 bytes has at least ten tokens: the longest tokens have 128 bytes.
func TestReportedOutputIsAtLeastTheReceivedText(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		text string
		sent int64
		want int64 // expected output tokens; 0 if the gateway must estimate the usage
	}{
		"nothing":            {"", 0, 0},
		"fewest plausible":   {strings.Repeat("All hands. ", 128)[:1280], 10, 10},
		"implausibly few":    {strings.Repeat("All hands. ", 128)[:1280], 9, 0},
		"more than the text": {"Aye.", 500, 500},
	} {
		for kind, body := range map[string]string{"whole": hello, "streamed": streaming("large")} {
			t.Run(name+", "+kind, func(t *testing.T) {
				t.Parallel()
				k := newKit(t)
				k.alpha.Always(simulator.Behaviour{Text: []string{tc.text}, Usage: fmt.Sprintf(`{"prompt_tokens":11,"completion_tokens":%d}`, tc.sent)})
				k.beta.Always(simulator.Fail(503))
				k.post("/chat/completions", body)
				got := k.entry().Usage
				if sent := tc.want > 0 || tc.text == ""; got.Estimated == sent || sent && got.Output != tc.want {
					t.Errorf("%+v, want %d as reported (0: estimated)", got, tc.want)
				}
				if got.Estimated && got.Output < 100 {
					t.Errorf("the estimate is %d tokens for %d bytes, want at least 100", got.Output, len(tc.text))
				}
			})
		}
	}
}

// A prompt of 12800 bytes has at least a hundred tokens, cached or not. Content other than text can have any number of tokens.
func TestReportedPromptIsAtLeastItsText(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("All hands. ", 1200)[:12800]
	say := func(content string) string {
		return `{"model":"large","messages":[{"role":"user","content":` + content + `}]`
	}
	tool := func(kind string) string {
		return `{"model":"large","max_tokens":9,"tools":[{"type":"` + kind + `","name":"t","description":"` + text + `"}],"messages":[{"role":"user","content":"hello"}]}`
	}
	for name, tc := range map[string]struct {
		path, body   string
		sent, cached int64
		counted      bool // whether the gateway must replace the reported usage with its estimate
	}{
		"fewest plausible":     {"/chat/completions", say(`"`+text+`"`) + "}", 100, 0, false},
		"implausibly few":      {"/chat/completions", say(`"`+text+`"`) + "}", 99, 0, true},
		"cached":               {"/chat/completions", say(`"`+text+`"`) + "}", 100, 90, false},
		"messages":             {"/messages", say(`"`+text+`"`) + `,"max_tokens":9}`, 99, 0, true},
		"dropped by request":   {"/messages", say(`"`+text+`"`) + `,"max_tokens":9,"context_management":{"edits":[]}}`, 99, 0, false},
		"a tool of the caller": {"/messages", tool("custom"), 99, 0, true},
		"web search":           {"/messages", tool("web_search_20250305"), 99, 0, false},
		"a file":               {"/chat/completions", say(`[{"type":"file","file":{"file_data":"data:application/pdf;base64,`+strings.Repeat("QUJD", 3200)+`"}}]`) + "}", 5, 0, false},
		"a picture":            {"/chat/completions", say(`[{"type":"image_url","image_url":{"url":"data:image/png;base64,`+strings.Repeat("QUJD", 3200)+`"}}]`) + "}", 5, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newKit(t)
			usage := fmt.Sprintf(`{"prompt_tokens":%d,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":%d}}`, tc.sent, tc.cached)
			k.alpha.Always(simulator.Behaviour{Usage: usage})
			k.beta.Always(simulator.Fail(503))
			k.post(tc.path, tc.body)
			got := k.entry().Usage
			if got.Estimated != tc.counted || !tc.counted && got.Prompt() != tc.sent || tc.counted && got.Prompt() < 1000 {
				t.Errorf("%+v, reported %d, want estimated: %t", got, tc.sent, tc.counted)
			}
		})
	}
}

// fetched returns a request whose message consists of the given content part.
func fetched(part string) string {
	return `{"model":"large","max_tokens":9,"messages":[{"role":"user","content":[` + part + `]}]}`
}

func TestUsageOfFetchedInputIsAsReported(t *testing.T) {
	t.Parallel()
	const sent, beyond = `{"prompt_tokens":60000,"completion_tokens":3,"total_tokens":60003}`, `{"prompt_tokens":100001,"completion_tokens":3,"total_tokens":100004}`
	const file = `{"model":"large","messages":[{"role":"user","content":[{"type":"file","file":{"file_id":"file-1"}}]}]}`
	const search = `{"model":"large","web_search_options":{},"messages":[{"role":"user","content":"hello"}]}`
	const claude = `{"model":"large","max_tokens":9,"tools":[{"type":"web_search_20250305","name":"web_search"}],"messages":[{"role":"user","content":"hello"}]}`
	for name, tc := range map[string]struct {
		path, body, usage string
		want              money.Amount
	}{
		// 60000 × 2/M = 120000000; 3 × 8/M = 24000
		"a long file":        {"/chat/completions", file, sent, 120_024_000},
		"a video":            {"/chat/completions", fetched(`{"type":"video_url","video_url":{"url":"https://a.test/b.mp4"}}`), sent, 120_024_000},
		"audio":              {"/chat/completions", fetched(`{"type":"audio_url","audio_url":{"url":"https://a.test/b.mp3"}}`), sent, 120_024_000},
		"an unknown part":    {"/chat/completions", fetched(`{"type":"hologram","hologram":{"url":"https://a.test/b"}}`), sent, 120_024_000},
		"an unknown block":   {"/messages", fetched(`{"type":"video","source":{"type":"url","url":"https://a.test/b.mp4"}}`), sent, 120_024_000},
		"a text like media":  {"/chat/completions", fetched(`{"type":"text","text":"data:video/mp4;base64,AAAA"}`), sent, 0},
		"beyond the context": {"/chat/completions", file, beyond, 0},
		// 100001 × 2/M = 200002000; 3 × 8/M = 24000
		"search results read several times": {"/chat/completions", search, beyond, 200_026_000},
		"request without a search":          {"/chat/completions", strings.Replace(search, "{}", "null", 1), sent, 0},
		"implausible for a search":          {"/chat/completions", search, `{"prompt_tokens":2000000,"completion_tokens":3}`, 0},
		"results of a messages tool":        {"/messages", claude, sent, 120_024_000},
		"a tool that the caller runs":       {"/messages", strings.Replace(claude, "web_search_20250305", "custom", 1), sent, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newKit(t)
			k.alpha.Always(simulator.Behaviour{Usage: tc.usage})
			k.beta.Always(simulator.Fail(503))
			k.post(tc.path, tc.body)
			checkCost(t, k.entry(), tc.want)
		})
	}
}

// The target costs $0.02 per million tokens.
func TestUsageOfEmbeddingsIsAsReportedOrEstimated(t *testing.T) {
	t.Parallel()
	const vectors = `{"object":"list","data":[{"object":"embedding","index":0,"embedding":[0.1,0.2]}],"model":"embed-2026"USAGE}`
	for name, tc := range map[string]struct {
		usage string
		want  money.Amount // expected cost; 0 if the gateway must estimate the usage
	}{
		// 8 × 0.02/M = 160
		"reported":                    {`,"usage":{"prompt_tokens":8,"total_tokens":8}`, 160},
		"a total alone":               {`,"usage":{"total_tokens":8}`, 160},
		"missing":                     {``, 0},
		"a prompt without tokens":     {`,"usage":{"prompt_tokens":0,"total_tokens":0}`, 0},
		"negative":                    {`,"usage":{"prompt_tokens":-8,"total_tokens":-8}`, 0},
		"a prompt beyond the context": {`,"usage":{"prompt_tokens":100001,"total_tokens":100001}`, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newKit(t)
			k.beta.Always(simulator.Behaviour{Body: []byte(strings.Replace(vectors, "USAGE", tc.usage, 1))})
			k.post("/embeddings", `{"model":"embed","input":"What does this cost?"}`)
			checkCost(t, k.entry(), tc.want)
		})
	}
}

// checkCost compares the cost of an entry with want. If want is 0, the usage of the entry must be marked as estimated.
func checkCost(t *testing.T, e *requestlog.Entry, want money.Amount) {
	t.Helper()
	if e.Cost == nil || e.Bill == nil {
		t.Fatalf("the entry has no cost: %+v", e.Usage)
	}
	var sum money.Amount
	var tokens int64
	for _, row := range e.Bill.Rows {
		sum = sum.Add(row.Amount)
		tokens += row.Tokens
	}
	if sum != *e.Cost || tokens != e.Usage.Total() {
		t.Errorf("the rows have %d tokens for %d nano-dollars, the entry %d for %d", tokens, sum, e.Usage.Total(), *e.Cost)
	}
	if want > 0 {
		if *e.Cost != want || e.Usage.Estimated {
			t.Errorf("%d nano-dollars for %+v, want %d as reported", *e.Cost, e.Usage, want)
		}
		return
	}
	if u := e.Usage; !u.Estimated || u.Input <= 0 || u.Input > 300 || u.Output > 100 || *e.Cost <= 0 {
		t.Errorf("%d nano-dollars for %+v, want an estimate", *e.Cost, e.Usage)
	}
}
