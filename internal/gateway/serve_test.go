package gateway_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/budget"
	"fairlead.dev/internal/gateway"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/simulator"
	"fairlead.dev/internal/wire/openai"
)

func TestEveryRejectionHasItsStatusCodeAndShape(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name   string
		adjust func(*kit)
		send   func(*kit) clientResponse
		status int
		code   string
		logged bool
	}{
		{"key checked before body", nil, func(k *kit) clientResponse { return k.post("/chat/completions", "{", "Authorization", "Bearer bad") }, 401, "INVALID_API_KEY", false},
		{"browser fetch", nil, func(k *kit) clientResponse { return k.post("/chat/completions", hello, "Sec-Fetch-Mode", "cors") }, 403, "BROWSER_NOT_ALLOWED", false},
		{"browser fetch of the same site", nil, func(k *kit) clientResponse {
			return k.post("/chat/completions", hello, "Sec-Fetch-Mode", "cors", "Sec-Fetch-Site", "same-origin", "Accept-Language", "*")
		}, 403, "BROWSER_NOT_ALLOWED", false},
		{"repeated key", nil, func(k *kit) clientResponse {
			return k.post("/chat/completions", `{"model":"large","messages":[{"role":"user","content":"x"}],"model":"small"}`)
		}, 400, "INVALID_REQUEST", true},
		{"confusable key", nil, func(k *kit) clientResponse {
			return k.post("/chat/completions", `{"model":"large","messages":[{"role":"user","content":"x"}],"Model":"small"}`)
		}, 400, "INVALID_REQUEST", true},
		{"unknown objective", nil, func(k *kit) clientResponse { return k.post("/chat/completions", withModel("auto:fun")) }, 400, "INVALID_REQUEST", true},
		{"bad trade-off", nil, func(k *kit) clientResponse {
			return k.post("/chat/completions", withModel("auto"), "X-Fairlead-Tradeoff", "7")
		}, 400, "INVALID_REQUEST", true},
		{"buffers full", func(k *kit) { k.settings.Upload.Total = 10 }, func(k *kit) clientResponse { return k.post("/chat/completions", hello) }, 503, "OVERLOADED", true},
		{"log broken", func(k *kit) { k.log.failing = llm.Errorf(llm.LedgerUnavailable, "disk full") }, func(k *kit) clientResponse { return k.post("/chat/completions", hello) }, 503, "LEDGER_UNAVAILABLE", false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var adjust []func(*kit)
			if c.adjust != nil {
				adjust = append(adjust, c.adjust)
			}
			k := newKit(t, adjust...)

			got := c.send(k)

			if got.status != c.status || got.code(t) != c.code {
				t.Fatalf("got %d %s, want %d %s\n%s", got.status, got.code(t), c.status, c.code, got.body)
			}
			checkErrorShape(t, got)
			if calls := len(k.alpha.Calls()) + len(k.beta.Calls()); calls != 0 {
				t.Errorf("%d calls reached a provider, want 0", calls)
			}
			if c.logged {
				e := k.entry()
				if e.Status != c.status || e.Error == nil || e.Error.Code != c.code || e.ID != got.header.Get("X-Request-Id") {
					t.Errorf("entry %+v", e)
				}
			} else if len(k.log.ended) != 0 {
				t.Errorf("%d log entries, want 0", len(k.log.ended))
			}
		})
	}
}

// checkErrorShape checks the flat object of an error, its details, and the matching headers.
func checkErrorShape(t *testing.T, got clientResponse) {
	t.Helper()
	v := got.json(t)
	if text, ok := v["error"].(string); !ok || text == "" {
		t.Errorf("error is %v, want a sentence", v["error"])
	}
	details, ok := v["details"].(map[string]any)
	if !ok {
		t.Fatalf("details is %v, want an object", v["details"])
	}
	if details["request_id"] != got.header.Get("X-Request-Id") {
		t.Errorf("request_id %v does not match the header %q", details["request_id"], got.header.Get("X-Request-Id"))
	}
	if details["origin"] == nil || details["retryable"] == nil {
		t.Errorf("details lack origin or retryable: %v", details)
	}
	retry := "false"
	if details["retryable"] == true {
		retry = "true"
	}
	if got.header.Get("X-Should-Retry") != retry {
		t.Errorf("x-should-retry is %q, retryable is %v", got.header.Get("X-Should-Retry"), details["retryable"])
	}
	if got.header.Get("X-Fairlead-Error-Code") != v["code"] || got.header.Get("Content-Type") != "application/json" {
		t.Errorf("headers %v", got.header)
	}
	if got.header.Get("Access-Control-Allow-Origin") != "" {
		t.Error("an error carries CORS headers")
	}
}

func TestErrorShapeFollowsTheClient(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	for agent, nested := range map[string]bool{
		"OpenAI/Go 3.90.0": true, "OpenAI/Go 3.53.0": true, "OpenAI/Go 4.0.0": true, "OpenAI/Go 3.52.1": false,
		"OpenAI/Python 3.3.0": true, "AsyncOpenAI/Python 3.49.0": true, "AsyncAzureOpenAI/Python 4.0.0": true,
		"OpenAI/Python 2.9.0": false, "OpenAI/Python": false,
		"ai/7.0.1 ai-sdk/provider-utils/5.0.0 runtime/node.js/20": true, "ai-sdk/openai-compatible/2.0.0": true,
		"OpenAI/JS 7.53.0": false, "curl/8": false, "": false,
	} {
		for _, path := range []string{"/chat/completions", "/embeddings", "/models/none", "/unknown"} {
			got := k.post(path, hello, "Authorization", "", "User-Agent", agent).json(t)
			if _, isObject := got["error"].(map[string]any); isObject != nested {
				t.Errorf("%s on %s: error %v, want an object: %t", agent, path, got["error"], nested)
			}
			if got["code"] == nil || got["details"] == nil {
				t.Errorf("%s on %s got no code or details: %v", agent, path, got)
			}
		}
	}
}

func TestOnlyTheDashboardMayTestAKeyFromAPage(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	for _, c := range []struct {
		name    string
		headers []string
		status  int
	}{
		{"dashboard", []string{"X-Fairlead-Dashboard", "key-test", "Sec-Fetch-Site", "same-origin", "Origin", "http://anything"}, 200},
		{"dashboard on plain HTTP", []string{"X-Fairlead-Dashboard", "key-test", "Origin", k.url}, 200},
		{"another site", []string{"X-Fairlead-Dashboard", "key-test", "Sec-Fetch-Site", "cross-site", "Origin", k.url}, 403},
		{"another origin of the same site", []string{"X-Fairlead-Dashboard", "key-test", "Sec-Fetch-Site", "same-site"}, 403},
		{"another origin on plain HTTP", []string{"X-Fairlead-Dashboard", "key-test", "Origin", "http://example.com"}, 403},
		{"null origin", []string{"X-Fairlead-Dashboard", "key-test", "Origin", "null"}, 403},
		{"same origin without the header", []string{"Sec-Fetch-Site", "same-origin", "Origin", k.url}, 403},
		{"fetch of Node, which is not a browser", []string{"Accept-Language", "*"}, 200},
	} {
		headers := append([]string{"Sec-Fetch-Mode", "cors"}, c.headers...)
		if got := k.post("/chat/completions", hello, headers...); got.status != c.status {
			t.Errorf("%s: status %d, want %d: %s", c.name, got.status, c.status, got.body)
		}
	}
}

func TestEmbeddingsPinTheWorkspacesModel(t *testing.T) {
	t.Parallel()
	k := newKit(t)

	got := k.post("/embeddings", `{"model":"auto","input":["a","b"],"encoding_format":"base64"}`)

	if got.status != 200 {
		t.Fatalf("status %d, want 200: %s", got.status, got.body)
	}
	var list struct {
		Model string
		Data  []struct{ Embedding any }
	}
	if err := json.Unmarshal([]byte(got.body), &list); err != nil || list.Model != "embed" || len(list.Data) != 2 {
		t.Fatalf("response %s (%v)", got.body, err)
	}
	if _, isText := list.Data[0].Embedding.(string); !isText {
		t.Errorf("embedding is %T, want base64", list.Data[0].Embedding)
	}
	if k.pins.model != "embed" {
		t.Errorf("pinned %q, want embed", k.pins.model)
	}
	if e := k.entry(); e.Endpoint != "embeddings" || e.Cost == nil {
		t.Errorf("entry %+v", e)
	}
}

func TestAutoHasAnAliasAndIsCaseInsensitive(t *testing.T) {
	t.Parallel()
	for asked, want := range map[string]string{"AUTO": "auto", "Auto:Cost": "auto:cost", "claude-auto": "auto", "Claude-Auto:speed": "auto:speed"} {
		k := newKit(t)
		got := k.post("/chat/completions", withModel(asked))
		if e := k.entry(); got.status != 200 || e.Requested != want {
			t.Errorf("%s: status %d, requested model %q, want %q: %s", asked, got.status, e.Requested, want, got.body)
		}
		if got := k.do(k.request(http.MethodGet, "/models/"+asked, "")); got.status != 200 || got.json(t)["kind"] != "auto" {
			t.Errorf("GET models/%s: %d %s", asked, got.status, got.body)
		}
		req, err := openai.Format{}.DecodeRequest(t.Context(), llm.Chat, []byte(withModel(asked)))
		if err != nil {
			t.Fatal(err)
		}
		if d, err := k.gateway.Explain(t.Context(), gateway.Call{Grant: k.keys.grant}, req, nil); err != nil || d.Input.Model != want {
			t.Errorf("explain %s: %v, %v", asked, d, err)
		}
	}
}

func TestModelWithProviderPrefixShowsOnlyThatProvider(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	for name, want := range map[string]string{"large": `"providers":["alpha","beta"]`, "beta/large": `"owned_by":"beta"`, "alpha/large": `"providers":["alpha"]`} {
		if got := k.do(k.request(http.MethodGet, "/models/"+name, "")); got.status != 200 || got.json(t)["id"] != name || !strings.Contains(got.body, want) {
			t.Errorf("GET models/%s: %d %s, want %s", name, got.status, got.body, want)
		}
	}
	k.keys.grant.Key.AllowedModels = []string{"alpha/large"}
	if got := k.do(k.request(http.MethodGet, "/models/beta/large", "")); got.status != 404 || !strings.Contains(got.body, `"suggestions":["large"]`) {
		t.Errorf("GET models/beta/large with a key for alpha: %d %s", got.status, got.body)
	}
}

func TestTextIsNotStoredWhenDisabled(t *testing.T) {
	t.Parallel()
	off := false
	cases := map[string]struct {
		adjust func(*kit)
		header []string
		want   requestlog.BodyState
	}{
		"instance":          {func(k *kit) { k.settings.LogBodies = false }, nil, requestlog.BodyDisabled},
		"workspace":         {func(k *kit) { k.keys.grant.Workspace.LogBodies = false }, nil, requestlog.BodyDisabled},
		"key":               {func(k *kit) { k.keys.grant.Key.LogBodies = &off }, nil, requestlog.BodyDisabledForKey},
		"request":           {func(*kit) {}, []string{"X-Fairlead-Log-Body", "false"}, requestlog.BodyDisabledByRequest},
		"request, in words": {func(*kit) {}, []string{"X-Fairlead-Log-Body", "no"}, requestlog.BodyDisabledByRequest},
		"too large":         {func(k *kit) { k.settings.BodyLimit = 5 }, nil, requestlog.BodyTooLarge},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newKit(t, c.adjust)
			k.alpha.Then(simulator.Behaviour{Status: 500, Body: []byte(`{"error":{"message":"cannot say canary-word"}}`)})

			k.post("/chat/completions", strings.Replace(hello, "hello", "canary-word", 1), c.header...)

			e := k.entry()
			text, err := json.Marshal(e)
			if err != nil {
				t.Fatal(err)
			}
			if e.BodyState != c.want || e.Preview != "" || len(e.Body.Request)+len(e.Body.Response) != 0 {
				t.Errorf("state %q, preview %q, body %d bytes", e.BodyState, e.Preview, len(e.Body.Request))
			}
			if strings.Contains(string(text), "canary-word") {
				t.Errorf("the entry holds the text: %s", text)
			}
		})
	}
}

func TestResponseIsCompleteBeforeTheEntryIsObserved(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	answered := make(chan struct{})
	k.gateway.Observe = func(*requestlog.Entry) {
		select {
		case <-answered:
		case <-time.After(10 * time.Second):
			t.Error("the response waits for the observer of the entry")
		}
	}

	got := k.post("/chat/completions", hello)
	close(answered)

	if got.status != http.StatusOK {
		t.Errorf("status %d, want 200: %s", got.status, got.body)
	}
}

func TestBudgetCoversInputThatTheProviderFetches(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"a file":            `{"model":"large","max_tokens":9,"messages":[{"role":"user","content":[{"type":"file","file":{"file_id":"file-1"}}]}]}`,
		"what a tool finds": `{"model":"large","max_tokens":9,"web_search_options":{},"messages":[{"role":"user","content":"hello"}]}`,
	} {
		for amount, want := range map[money.Amount]int{money.Dollar / 10: 402, money.Dollar: 200} { // a full context window costs at least $0.20
			k := newKit(t)
			k.keys.grant.Key.Budget = &account.Budget{Amount: amount, Period: account.Daily}
			if got := k.post("/chat/completions", body); got.status != want {
				t.Errorf("%s, of %s: status %d, want %d: %s", name, amount, got.status, want, got.body)
			}
		}
	}
}

// Requests with and without an output limit wait for budget that other requests have reserved.
func TestReservedBudgetIsAwaitedThenRateLimited(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"output limit":    strings.Replace(hello, `"messages"`, `"max_tokens":1000,"messages"`, 1),
		"no output limit": hello,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				k := newKit(t, func(k *kit) { k.inside = true })
				k.keys.grant.Key.Budget = &account.Budget{Amount: 100 * money.Dollar / 1000, Period: account.Daily}
				running, err := k.ledger.Hold(t.Context(), budget.Applied(k.keys.grant), 99*money.Dollar/1000)
				if err != nil {
					t.Fatal(err)
				}
				refused := k.post("/chat/completions", body)
				if refused.status != 429 || refused.code(t) != "RATE_LIMITED" || refused.header.Get("Retry-After") != "1" || refused.header.Get("X-Should-Retry") != "true" {
					t.Errorf("got %d %v %s", refused.status, refused.header, refused.body)
				}
				served := make(chan clientResponse)
				go func() { served <- k.post("/chat/completions", body) }()
				synctest.Wait()
				running.Settle(money.Dollar / 1000)
				if got := <-served; got.status != 200 || (body != hello && got.header.Get("X-Fairlead-Warnings") != "") {
					t.Errorf("got %d %q %s", got.status, got.header.Get("X-Fairlead-Warnings"), got.body)
				}
			})
		})
	}
}

func TestBudgetLimitsOutputWithoutACallersLimit(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.keys.grant.Key.Budget = &account.Budget{Amount: 20 * money.Dollar / 1000, Period: account.Daily}

	got := k.post("/chat/completions", hello) // 8,000 output tokens would cost $0.072

	if got.status != 200 || !strings.Contains(got.header.Get("X-Fairlead-Warnings"), "max_tokens set to") {
		t.Fatalf("status %d, warnings %q: %s", got.status, got.header.Get("X-Fairlead-Warnings"), got.body)
	}
	var sent struct {
		MaxTokens int64 `json:"max_tokens"`
	}
	if err := json.Unmarshal(k.alpha.Calls()[0].Body, &sent); err != nil {
		t.Fatal(err)
	}
	if sent.MaxTokens < 1100 || sent.MaxTokens > 1250 { // half of the budget pays for 1,250 tokens at $8 a million
		t.Errorf("the provider received max_tokens %d, want 1100 to 1250", sent.MaxTokens)
	}
}

func (k *kit) decode(body string) (*llm.Request, error) {
	return k.gateway.Routes[0].Format.DecodeRequest(context.Background(), llm.Chat, []byte(body))
}

func TestManyInputsAreSentInBatchesAndJoinedInOrder(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	beta, _ := k.snapshot.Provider("beta")
	embed, _ := beta.Target("embed")
	embed.EmbedBatch = 2

	got := k.post("/embeddings", `{"model":"embed","input":["one","two","three","four","five"]}`)

	if n := k.entry().Attempts[0].Bytes; n < int64(len(got.body)) {
		t.Errorf("the attempt has %d bytes, want at least the %d of the response", n, len(got.body))
	}
	var list struct {
		Data []struct {
			Index     int
			Embedding []float64
		}
	}
	if err := json.Unmarshal([]byte(got.body), &list); err != nil || len(list.Data) != 5 {
		t.Fatalf("got %s, %v", got.body, err)
	}
	alone := k.post("/embeddings", `{"model":"embed","input":"five"}`)
	var one struct {
		Data []struct{ Embedding []float64 }
	}
	if err := json.Unmarshal([]byte(alone.body), &one); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(one.Data[0].Embedding, list.Data[4].Embedding); diff != "" {
		t.Errorf("the last vector is not that of the last input: %s", diff)
	}
	for i, d := range list.Data {
		if d.Index != i {
			t.Errorf("vector %d has index %d", i, d.Index)
		}
	}
	if n := len(k.beta.Calls()); n != 4 {
		t.Errorf("%d calls, want 4: three parts and a single request", n)
	}
	if !strings.Contains(got.header.Get("X-Fairlead-Warnings"), "3 parts") {
		t.Errorf("the response has no warning: %q", got.header.Get("X-Fairlead-Warnings"))
	}
}

func TestFailedBatchFailsTheAttempt(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	beta, _ := k.snapshot.Provider("beta")
	embed, _ := beta.Target("embed")
	embed.EmbedBatch = 1
	k.beta.Always(simulator.Behaviour{Status: 500})

	got := k.post("/embeddings", `{"model":"embed","input":["one","two"]}`)

	if got.status != 502 || len(k.entry().Attempts) == 0 {
		t.Errorf("got %d %s", got.status, got.body)
	}
}
