package gateway_test

import (
	"encoding/json"
	"strings"
	"testing"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/simulator"
)

const prompt = `{"model":"large","prompt":"hello"}`

func TestCompletionIsServedAndRecorded(t *testing.T) {
	t.Parallel()
	k := newKit(t)

	got := k.post("/completions", prompt)

	body := got.json(t)
	if got.status != 200 || body["model"] != "large" || body["object"] != "text_completion" {
		t.Fatalf("got %d %s", got.status, got.body)
	}
	if text := body["choices"].([]any)[0].(map[string]any)["text"]; text != "Hello from large-2026." {
		t.Errorf("text %q, want %q", text, "Hello from large-2026.")
	}
	if calls := k.beta.Calls(); len(calls) != 1 || calls[0].Path != "/v1/completions" || len(k.alpha.Calls()) != 0 {
		t.Errorf("got %d calls to beta, %d to alpha; want the prompt at beta only", len(calls), len(k.alpha.Calls()))
	}
	e := k.entry()
	if e.Endpoint != "completions" || e.Model != "large" || e.Provider != "beta" || e.Outcome != requestlog.OK || e.Preview != "hello" || e.Finish != "stop" {
		t.Errorf("entry %+v", e)
	}
	if (e.Usage != llm.Usage{Input: 11, Output: 4}) || e.Cost == nil || *e.Cost != money.Amount(11*3000+4*9000) {
		t.Errorf("usage %+v, cost %v", e.Usage, e.Cost)
	}
}

func TestCompletionIsStreamed(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	for options, wantUsage := range map[string]bool{`{"include_usage":true}`: true, `null`: false} {
		got := k.post("/completions", `{"model":"large","prompt":"hello","stream":true,"stream_options":`+options+`}`)

		text, usages := "", 0
		for line := range strings.SplitSeq(got.body, "\n\n") {
			data, ok := strings.CutPrefix(line, "data: {")
			if !ok {
				continue
			}
			var c struct {
				Object, Model string
				Choices       []struct{ Text string }
				Usage         json.RawMessage
			}
			if err := json.Unmarshal([]byte("{"+data), &c); err != nil || c.Object != "text_completion" || c.Model != "large" {
				t.Fatalf("%s: %v", line, err)
			}
			if c.Usage != nil {
				usages++
			}
			for _, choice := range c.Choices {
				text += choice.Text
			}
		}
		if text != "Hello from large-2026." || !strings.HasSuffix(got.body, "data: [DONE]\n\n") || (usages == 1) != wantUsage {
			t.Errorf("%s: %q, %d usages\n%s", options, text, usages, got.body)
		}
		if e := k.entry(); e.Usage.Output != 4 || e.Usage.Estimated || e.TTFT <= 0 || !e.Stream {
			t.Errorf("entry %+v", e)
		}
	}
}

func TestAutoForACompletionChoosesTargetsThatSupportIt(t *testing.T) {
	t.Parallel()
	k := newKit(t)

	got := k.post("/completions", `{"model":"auto:cost","prompt":"hello"}`)

	if got.status != 200 || got.header.Get("X-Fairlead-Provider") != "beta" || got.header.Get("X-Fairlead-Model") != "large" {
		t.Errorf("got %d %s from %s", got.status, got.body, got.header.Get("X-Fairlead-Provider"))
	}
	if got := k.post("/completions", `{"model":"small","prompt":"hello"}`); got.status != 400 || got.code(t) != "NO_ROUTE" || !strings.Contains(got.body, "only supports chat") {
		t.Errorf("model without completions: status %d, want 400 NO_ROUTE: %s", got.status, got.body)
	}
}

func TestCompletionOutputIsLimitedByTheBudget(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.keys.grant.Key.Budget = &account.Budget{Amount: money.Amount(20_000_000), Period: account.Total} // the budget is two cents

	got := k.post("/completions", prompt)

	if got.status != 200 || !strings.Contains(string(k.beta.Calls()[0].Body), `"max_tokens":`) {
		t.Errorf("got %d %s", got.status, got.body)
	}
	if !strings.Contains(got.header.Get("X-Fairlead-Warnings"), "max_tokens set to") {
		t.Errorf("the response has no warning: %q", got.header.Get("X-Fairlead-Warnings"))
	}
	if got := k.post("/completions", `{"model":"large","prompt":"hello","max_tokens":8000,"n":4}`); got.code(t) != "BUDGET_EXCEEDED" {
		t.Errorf("four long outputs: status %d, want BUDGET_EXCEEDED: %s", got.status, got.body)
	}
}

func TestModerationIsFreeAndNotEstimated(t *testing.T) {
	t.Parallel()
	k := newKit(t)

	got := k.post("/moderations", `{"model":"auto","input":["one","two"],"provider":{"only":["beta"]}}`)

	body := got.json(t)
	if got.status != 200 || body["model"] != "judge" || len(body["results"].([]any)) != 2 || body["usage"] != nil {
		t.Fatalf("got %d %s", got.status, got.body)
	}
	if sent := string(k.beta.Calls()[0].Body); !strings.Contains(sent, `"model":"judge-2026"`) || strings.Contains(sent, "only") {
		t.Errorf("sent %s", sent)
	}
	e := k.entry()
	if e.Endpoint != "moderations" || e.Preview != "one" || e.Outcome != requestlog.OK || e.Usage != (llm.Usage{}) || e.Cost == nil || *e.Cost != 0 {
		t.Errorf("entry %+v, usage %+v, cost %v", e, e.Usage, e.Cost)
	}
}

func TestModerationWithAPriceIsCharged(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	beta, _ := k.snapshot.Provider("beta")
	judge, _ := beta.Target("judge")
	judge.Price.Input = money.PerMillion(0.1)
	k.beta.Then(simulator.Behaviour{Usage: `{"prompt_tokens":9,"total_tokens":9,"completion_tokens":0}`}, simulator.Behaviour{})

	k.post("/moderations", `{"model":"judge","input":"one two three"}`)
	if e := k.entry(); (e.Usage != llm.Usage{Input: 9}) || *e.Cost != 900 {
		t.Errorf("reported: %+v, %v", e.Usage, *e.Cost)
	}
	k.post("/moderations", `{"model":"judge","input":"one two three"}`)
	if e := k.entry(); !e.Usage.Estimated || e.Usage.Input == 0 || e.Usage.Output != 0 || *e.Cost == 0 {
		t.Errorf("not reported: %+v, %v", e.Usage, *e.Cost)
	}
}

func TestProviderWithoutTheOperationIsSkipped(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	alpha, _ := k.snapshot.Provider("alpha")
	large, _ := alpha.Target("large")
	large.Completes = true // a misconfiguration: alpha does not offer completions

	got := k.post("/completions", prompt)

	if got.status != 200 || got.header.Get("X-Fairlead-Provider") != "beta" || got.header.Get("X-Fairlead-Decision") != "fallback" {
		t.Errorf("got %d %s", got.status, got.body)
	}
}
