package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/policy"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/responsecache"
	"fairlead.dev/internal/simulator"
)

// withCache returns an option that gives the kit a cache and, unless mode is empty, gives its key a cache mode.
func withCache(mode account.CacheMode) func(*kit) {
	return func(k *kit) {
		k.cache = responsecache.New(responsecache.Options{Memory: 1 << 20, Entry: 64 << 10})
		if mode != "" {
			k.keys.grant.Key.Cache = &account.ResponseCache{Mode: mode, TTL: time.Hour}
		}
	}
}

// calls returns the number of calls to both providers.
func (k *kit) calls() int { return len(k.alpha.Calls()) + len(k.beta.Calls()) }

func TestCacheIsUsedOnlyWhereItIsEnabled(t *testing.T) {
	t.Parallel()
	const ttl, off = `policies: [{name: faq, response_cache: 10m}]`, `policies: [{name: private, response_cache: off}]`
	for name, c := range map[string]struct {
		mode           account.CacheMode
		policy, header string
		second, reason string // cache status of the second of two equal requests, and the reason for the status
		calls          int
	}{
		"by default":                 {"", "", "", "", "", 2},
		"requested, not enabled":     {"", "", "on", "bypass", "not_enabled", 2},
		"enabled, not requested":     {account.CacheOnRequest, "", "", "", "", 2},
		"enabled and requested":      {account.CacheOnRequest, "", "on", "hit", "", 1},
		"always":                     {account.CacheAlways, "", "", "hit", "", 1},
		"always, disabled by header": {account.CacheAlways, "", "off", "bypass", "disabled_by_request", 2},
		"refreshed":                  {account.CacheAlways, "", "refresh", "miss", "", 2},
		"by a policy":                {"", ttl, "", "hit", "", 1},
		"a policy disables it":       {account.CacheAlways, off, "", "bypass", "disabled_by_policy", 2},
		"a policy wins over a header": {
			account.CacheOnRequest, off, "on", "bypass", "disabled_by_policy", 2,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newKit(t, withCache(c.mode), func(k *kit) {
				if c.policy != "" {
					set, problems := policy.Parse("workspace", []byte(c.policy), policy.Inventory{AllowUnknown: true})
					if len(problems) > 0 {
						t.Fatal(problems)
					}
					k.policies = fixedPolicies{set}
				}
			})
			var got clientResponse
			for range 2 {
				if got = k.post("/chat/completions", hello, "X-Fairlead-Cache", c.header); got.status != 200 {
					t.Fatalf("status %d, want 200: %s", got.status, got.body)
				}
			}
			if got.header.Get("X-Fairlead-Cache") != c.second || got.header.Get("X-Fairlead-Cache-Reason") != c.reason || k.calls() != c.calls {
				t.Errorf("cache %q (%q) after %d calls, want %q (%q) after %d", got.header.Get("X-Fairlead-Cache"),
					got.header.Get("X-Fairlead-Cache-Reason"), k.calls(), c.second, c.reason, c.calls)
			}
		})
	}
	k := newKit(t, withCache(account.CacheAlways))
	if got := k.post("/chat/completions", hello, "X-Fairlead-Cache", "maybe"); got.status != 400 || got.code(t) != "INVALID_REQUEST" || k.calls() != 0 {
		t.Errorf("unknown value: status %d, want 400 INVALID_REQUEST: %s", got.status, got.body)
	}
}

func TestSomeRequestsAreNeverCached(t *testing.T) {
	t.Parallel()
	const user = `"model":"large","messages":[{"role":"user","content":"hello"}]`
	for name, c := range map[string]struct{ path, body, reason string }{
		"tools":             {"/chat/completions", `{` + user + `,"tools":[{"type":"function","function":{"name":"pay"}}]}`, "tools"},
		"functions":         {"/chat/completions", `{` + user + `,"functions":[{"name":"pay"}]}`, "tools"},
		"messages tools":    {"/messages", `{` + user + `,"max_tokens":9,"tools":[{"name":"pay","input_schema":{"type":"object"}}]}`, "tools"},
		"stored at OpenAI":  {"/chat/completions", `{` + user + `,"store":true}`, "provider_state"},
		"stored response":   {"/responses", `{"model":"large","input":"hello"}`, "provider_state"},
		"zero retention":    {"/chat/completions", `{` + user + `,"provider":{"zdr":true}}`, "zero_retention"},
		"several choices":   {"/chat/completions", `{` + user + `,"n":2}`, "choices"},
		"another operation": {"/moderations", `{"model":"judge","input":"hello"}`, "endpoint"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newKit(t, withCache(account.CacheAlways))
			for _, p := range k.snapshot.Targets() {
				p.ZeroRetention = true
			}
			for range 2 {
				got := k.post(c.path, c.body)
				if e := k.entry(); got.status != 200 || e.Cache == nil || e.Cache.Status != requestlog.CacheBypass || e.Cache.Reason != c.reason {
					t.Fatalf("%d %s, cache %+v", got.status, got.body, e.Cache)
				}
			}
			if k.calls() != 2 {
				t.Errorf("got %d calls, want 2", k.calls())
			}
		})
	}
}

func TestUnsuitableResponsesAreNotStored(t *testing.T) {
	t.Parallel()
	finish := func(reason string) simulator.Behaviour {
		return simulator.Behaviour{Body: fmt.Appendf(nil, `{"id":"1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"x"},"finish_reason":%q}],"usage":{"prompt_tokens":5,"completion_tokens":1,"total_tokens":6}}`, reason)}
	}
	for name, c := range map[string]struct {
		body   string
		alpha  []simulator.Behaviour
		beta   []simulator.Behaviour
		reason string
	}{
		"length":         {hello, []simulator.Behaviour{finish("length")}, nil, "incomplete"},
		"tool calls":     {hello, []simulator.Behaviour{finish("tool_calls")}, nil, "incomplete"},
		"content filter": {hello, []simulator.Behaviour{finish("content_filter")}, nil, "incomplete"},
		"another model": {
			`{"model":"small","models":["large"],"messages":[{"role":"user","content":"hello"}]}`,
			[]simulator.Behaviour{simulator.Fail(404), {}},
			nil, "fallback_model",
		},
		"rescued stream": {streaming("large"), []simulator.Behaviour{{Text: []string{"Hello ", "there"}, CutAfter: 2}}, []simulator.Behaviour{{Text: []string{"there"}}}, "rescued"},
		"too large":      {hello, []simulator.Behaviour{{Text: []string{strings.Repeat("long ", 20_000)}}}, nil, "too_large"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newKit(t, withCache(account.CacheAlways))
			if name == "rescued stream" {
				k.prefills("alpha", "beta")
			}
			k.alpha.Then(c.alpha...)
			k.beta.Then(c.beta...)
			got := k.post("/chat/completions", c.body)
			e := k.entry()
			if got.status != 200 || e.Cache == nil || e.Cache.Reason != c.reason {
				t.Fatalf("%d %s after %d calls, cache %+v", got.status, got.body, k.calls(), e.Cache)
			}
			if got = k.post("/chat/completions", c.body); got.header.Get("X-Fairlead-Cache") != "miss" {
				t.Errorf("the next request is a %s, want miss", got.header.Get("X-Fairlead-Cache"))
			}
		})
	}
}

func TestFailedAndInterruptedResponsesAreNotStored(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body string
		does simulator.Behaviour
	}{
		"error":       {hello, simulator.Fail(500)},
		"interrupted": {streaming("large"), simulator.Behaviour{Text: []string{"a", "b", "c"}, CutAfter: 3}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newKit(t, withCache(account.CacheAlways), func(k *kit) { k.settings.Rescue = false })
			for range 6 {
				k.alpha.Then(c.does)
				k.beta.Then(c.does)
			}
			k.post("/chat/completions", c.body)
			if e := k.entry(); e.Outcome == requestlog.OK {
				t.Fatal("the first request succeeded, want a failure")
			}
			if got := k.post("/chat/completions", c.body); got.header.Get("X-Fairlead-Cache") == "hit" {
				t.Error("the failed response was stored")
			}
		})
	}
}

func TestCacheIsPrivateToWorkspaceAndKey(t *testing.T) {
	t.Parallel()
	grant := func(workspace, key string, shared bool) *account.Grant {
		return &account.Grant{
			Key: &account.Key{
				ID: key, WorkspaceID: workspace,
				KeySettings: account.KeySettings{
					Name: key, Scopes: []account.Scope{account.Inference},
					Cache: &account.ResponseCache{Mode: account.CacheAlways, TTL: time.Hour, Shared: shared},
				},
			},
			Workspace: &account.Workspace{ID: workspace, Name: workspace, LogBodies: true},
		}
	}
	k := newKit(t, withCache(""), func(k *kit) {
		k.keys.others = map[string]*account.Grant{
			"own": grant("ws_1", "key_own", false), "other": grant("ws_1", "key_other", false), "a": grant("ws_1", "key_a", true),
			"b": grant("ws_1", "key_b", true), "stranger": grant("ws_2", "key_s", true), "stranger-own": grant("ws_2", "key_own", false),
		}
	})
	for i, c := range []struct{ token, want string }{
		{"own", "miss"}, {"own", "hit"}, {"other", "miss"}, {"a", "miss"}, {"b", "hit"}, {"stranger", "miss"}, {"stranger-own", "miss"}, {"own", "hit"}, {"stranger", "hit"},
	} {
		got := k.post("/chat/completions", hello, "Authorization", "Bearer "+c.token)
		if got.header.Get("X-Fairlead-Cache") != c.want {
			t.Errorf("request %d of %s is a %s, want %s", i, c.token, got.header.Get("X-Fairlead-Cache"), c.want)
		}
	}
}

func TestHitCountsAsARequestAndCostsNothing(t *testing.T) {
	t.Parallel()
	k := newKit(t, withCache(account.CacheAlways), func(k *kit) {
		k.keys.grant.Key.Limits.RequestsPerMinute = 3
		k.keys.grant.Key.Budget = &account.Budget{Amount: money.Dollar, Period: account.Total}
	})
	k.post("/chat/completions", hello)
	spent := k.spent()
	k.keys.grant.Key.Budget.Amount = spent // the budget is used up
	if got := k.post("/chat/completions", hello); got.header.Get("X-Fairlead-Cache") != "hit" || k.spent() != spent {
		t.Errorf("%d %s, spent %v, then %v", got.status, got.body, spent, k.spent())
	}
	if got := k.post("/chat/completions", withModel("small")); got.code(t) != "BUDGET_EXCEEDED" {
		t.Errorf("miss without budget: status %d, want BUDGET_EXCEEDED: %s", got.status, got.body)
	}
	if got := k.post("/chat/completions", hello); got.code(t) != "RATE_LIMITED" {
		t.Errorf("hit above the rate limit: status %d, want RATE_LIMITED: %s", got.status, got.body)
	}
}

// If the client of the first request disconnects, the equal requests that wait for its response do not fail. One of them makes the call.
func TestFollowersSurviveTheirLeader(t *testing.T) {
	t.Parallel()
	for name, fails := range map[string]bool{"client disconnects": false, "provider fails": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				k := newKit(t, withCache(account.CacheAlways), func(k *kit) { k.inside = true })
				first := simulator.Behaviour{Silent: true}
				if fails {
					first = simulator.Fail(400)
					first.Before = func(*simulator.Call) { time.Sleep(time.Second) }
				}
				k.alpha.Then(first)
				k.alpha.Always(simulator.Behaviour{Before: func(*simulator.Call) { time.Sleep(time.Second) }})
				ctx, leave := context.WithCancel(t.Context())
				go k.gateway.ServeHTTP(httptest.NewRecorder(), k.request(http.MethodPost, "/chat/completions", withModel("small")).WithContext(ctx))
				synctest.Wait()
				var group sync.WaitGroup
				var mu sync.Mutex
				states := map[string]int{}
				for range 5 {
					group.Go(func() {
						got := k.post("/chat/completions", withModel("small"))
						mu.Lock()
						defer mu.Unlock()
						states[fmt.Sprint(got.status, " ", got.header.Get("X-Fairlead-Cache"))]++
					})
				}
				synctest.Wait()
				if n := len(k.alpha.Calls()); n != 1 {
					t.Errorf("got %d calls before the leader ends, want 1", n)
				}
				if !fails {
					leave()
				}
				group.Wait()
				leave()
				want := map[bool]string{false: "map[200 hit:4 200 miss:1]", true: "map[200 miss:5]"}[fails]
				if got := fmt.Sprint(states); got != want {
					t.Errorf("%s, want %s", got, want)
				}
				synctest.Wait()
			})
		})
	}
}

// TestEmbeddingsAreCachedByInput sends requests with some known inputs. The provider uses the numbers in the inputs as vectors.
func TestEmbeddingsAreCachedByInput(t *testing.T) {
	t.Parallel()
	k := newKit(t, withCache(account.CacheAlways))
	var asked [][]string
	k.beta.Always(simulator.Behaviour{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Input []string
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		asked = append(asked, body.Input)
		data := make([]string, len(body.Input))
		for i, n := range body.Input {
			data[i] = fmt.Sprintf(`{"object":"embedding","index":%d,"embedding":[%s.50]}`, i, n)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"object":"list","data":[%s],"model":"embed-2026","usage":{"prompt_tokens":%d,"total_tokens":%d}}`, strings.Join(data, ","), 2*len(data), 2*len(data))
	})})
	document := func(numbers ...string) string {
		data := make([]string, len(numbers))
		for i, n := range numbers {
			data[i] = fmt.Sprintf(`{"object":"embedding","index":%d,"embedding":[%s.50]}`, i, n)
		}
		return fmt.Sprintf(`{"object":"list","data":[%s],"model":"embed","usage":{"prompt_tokens":%d,"total_tokens":%d}}`, strings.Join(data, ","), 2*len(data), 2*len(data))
	}
	for i, c := range []struct {
		inputs []string
		extra  string
		asked  []string
		status string
		cached int
	}{
		{[]string{"1", "2"}, "", []string{"1", "2"}, "miss", 0},
		{[]string{"2", "3", "1", "4"}, "", []string{"3", "4"}, "miss", 2},
		{[]string{"4", "3", "2", "1"}, "", nil, "hit", 4},
		{[]string{"3"}, "", nil, "hit", 1},
		{[]string{"3"}, `,"user":"anna"`, []string{"3"}, "miss", 0},
	} {
		asked = nil
		list, _ := json.Marshal(c.inputs)
		got := k.post("/embeddings", `{"model":"embed","input":`+string(list)+c.extra+`}`)
		e := k.entry()
		if got.status != 200 || got.body != document(c.inputs...) {
			t.Fatalf("request %d: %d %s\nwant %s", i, got.status, got.body, document(c.inputs...))
		}
		if got.header.Get("X-Fairlead-Cache") != c.status || e.Cache.Inputs != c.cached {
			t.Errorf("request %d: %s, %+v", i, got.header.Get("X-Fairlead-Cache"), e.Cache)
		}
		if c.asked == nil && len(asked) > 0 || c.asked != nil && (len(asked) != 1 || !slices.Equal(asked[0], c.asked)) {
			t.Errorf("request %d: the provider was asked for %v, want %v", i, asked, c.asked)
		}
		if want := int64(2 * len(c.asked)); e.Usage.Input != want || string(e.Body.Response) != got.body {
			t.Errorf("request %d: %d tokens, want %d; stored response %s", i, e.Usage.Input, want, e.Body.Response)
		}
		if c.cached > 0 && (e.Cache.Saved == nil || *e.Cache.Saved != money.Amount(40*c.cached)) { // 2 tokens at $0.02 per million
			t.Errorf("request %d saved %v", i, e.Cache.Saved)
		}
	}
}
