package gateway_test

import (
	"bytes"
	"testing"

	"fairlead.dev/internal/llm"
)

// In every format, auto selects a model with the capabilities the request needs, and no model receives a field that it rejects.
func TestReasoningRequestsUseReasoningModels(t *testing.T) {
	t.Parallel()
	const user = `"messages":[{"role":"user","content":"hello"}]`
	for name, tc := range map[string]struct {
		path, asks string
		reasons    bool
	}{
		"effort":             {"/chat/completions", user + `,"reasoning_effort":"high"`, true},
		"low effort":         {"/chat/completions", user + `,"reasoning_effort":"low"`, true},
		"minimal effort":     {"/chat/completions", user + `,"reasoning_effort":"minimal"`, false},
		"no effort":          {"/chat/completions", user + `,"reasoning_effort":"none"`, false},
		"null effort":        {"/chat/completions", user + `,"reasoning_effort":null`, false},
		"object":             {"/chat/completions", user + `,"reasoning":{"effort":"high"}`, true},
		"budget":             {"/chat/completions", user + `,"reasoning":{"max_tokens":2000}`, true},
		"enabled":            {"/chat/completions", user + `,"reasoning":{"enabled":true}`, true},
		"switched off":       {"/chat/completions", user + `,"reasoning":{"enabled":false}`, false},
		"how it is shown":    {"/chat/completions", user + `,"reasoning":{"exclude":true}`, false},
		"thinking":           {"/chat/completions", user + `,"thinking":{"type":"enabled"}`, true},
		"thinking off":       {"/chat/completions", user + `,"thinking":{"type":"disabled"}`, false},
		"messages":           {"/messages", user + `,"max_tokens":4000,"thinking":{"type":"enabled","budget_tokens":2000}`, true},
		"messages off":       {"/messages", user + `,"max_tokens":4000,"thinking":{"type":"disabled"}`, false},
		"responses":          {"/responses", `"input":"hello","reasoning":{"effort":"medium"}`, true},
		"responses, summary": {"/responses", `"input":"hello","reasoning":{"summary":"auto"}`, false},
		"responses, minimal": {"/responses", `"input":"hello","reasoning":{"effort":"minimal"}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newKit(t, func(k *kit) { k.inside = true })
			for _, p := range []string{"alpha", "beta"} {
				one, _ := k.snapshot.Provider(p)
				if large, ok := one.Target("large"); ok {
					large.Model.Abilities |= llm.Reasoning
				}
			}
			want := "small"
			if tc.reasons {
				want = "large"
			}

			if got := k.post(tc.path, `{"model":"auto:cost",`+tc.asks+`}`); got.status != 200 || got.header.Get("X-Fairlead-Model") != want {
				t.Errorf("status %d, served by %q, want %q: %s", got.status, got.header.Get("X-Fairlead-Model"), want, got.body)
			}
			got := k.post(tc.path, `{"model":"small",`+tc.asks+`}`)
			calls := k.alpha.Calls()
			sent := calls[len(calls)-1].Body
			if got.status != 200 || bytes.Contains(sent, []byte("reasoning")) || bytes.Contains(sent, []byte("thinking")) {
				t.Errorf("status %d, sent %s", got.status, sent)
			}
			if warned := got.header.Get("X-Fairlead-Warnings") != ""; warned != tc.reasons {
				t.Errorf("warned = %t, want %t: %s", warned, tc.reasons, got.header.Get("X-Fairlead-Warnings"))
			}
		})
	}
}
