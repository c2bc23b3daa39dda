package gateway_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"fairlead.dev/internal/simulator"
)

// errorObject holds the members that an error has in every format.
type errorObject struct {
	Code    string
	Details struct {
		DocURL    string  `json:"doc_url"`
		LogURL    *string `json:"log_url"`
		RequestID string  `json:"request_id"`
	}
}

func (o errorObject) check(t *testing.T, name, base string, logged bool) {
	t.Helper()
	if want := base + "/docs/errors#" + o.Code; o.Code == "" || o.Details.DocURL != want {
		t.Errorf("%s: doc_url %q, want %q", name, o.Details.DocURL, want)
	}
	switch url := o.Details.LogURL; {
	case !logged && url != nil:
		t.Errorf("%s: log_url %q of a request without an entry", name, *url)
	case logged && (url == nil || *url != base+"/requests/"+o.Details.RequestID):
		t.Errorf("%s: log_url %v, want the request %s", name, url, o.Details.RequestID)
	}
}

func TestErrorsLinkToDocumentationAndLog(t *testing.T) {
	t.Parallel()
	const base = "https://models.example.com"
	k := newKit(t, func(k *kit) { k.settings.PublicURL.Configured = base + "/" })
	k.alpha.Always(simulator.Fail(503))
	k.beta.Always(simulator.Fail(503))
	anthropic := `{"model":"large","max_tokens":5,"messages":[{"role":"user","content":"hi"}]}`
	for _, tc := range []struct {
		name, method, path, body string
		headers                  []string
		logged                   bool
	}{
		{"chat, providers fail", http.MethodPost, "/chat/completions", hello, nil, true},
		{"chat, OpenAI shape", http.MethodPost, "/chat/completions", hello, []string{"X-Fairlead-Error-Format", "openai"}, true},
		{"chat, invalid body", http.MethodPost, "/chat/completions", `{`, nil, true},
		{"chat, unknown model", http.MethodPost, "/chat/completions", withModel("none"), nil, true},
		{"chat, dry run", http.MethodPost, "/chat/completions", withModel("none"), []string{"X-Fairlead-Dry-Run", "true"}, false},
		{"messages, providers fail", http.MethodPost, "/messages", anthropic, nil, true},
		{"messages, no key", http.MethodPost, "/messages", anthropic, []string{"Authorization", ""}, false},
		{"responses, providers fail", http.MethodPost, "/responses", `{"model":"large","input":"hi"}`, nil, true},
		{"embeddings, invalid", http.MethodPost, "/embeddings", `{}`, nil, true},
		{"stored response", http.MethodGet, "/responses/resp_none", "", nil, false},
		{"unknown path", http.MethodPost, "/unknown", hello, nil, false},
		{"wrong method", http.MethodGet, "/chat/completions", "", nil, false},
		{"unknown model in the list", http.MethodGet, "/models/none", "", nil, false},
		{"no key", http.MethodPost, "/chat/completions", hello, []string{"Authorization", ""}, false},
	} {
		got := k.do(k.request(tc.method, tc.path, tc.body, tc.headers...))
		var o errorObject
		if err := json.Unmarshal([]byte(got.body), &o); err != nil {
			t.Errorf("%s: %v in %s", tc.name, err, got.body)
			continue
		}
		o.check(t, tc.name, base, tc.logged)
	}
}
