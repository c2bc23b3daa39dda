package shadow_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/cluster"
	"fairlead.dev/internal/cluster/redistest"
	"fairlead.dev/internal/gateway"
	"fairlead.dev/internal/health"
	"fairlead.dev/internal/judge"
	"fairlead.dev/internal/ledger"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/proof"
	"fairlead.dev/internal/shadow"
	"fairlead.dev/internal/simulator"
)

const hello = `{"model":"auto:cost","messages":[{"role":"user","content":"Tell me about secret routes."}]}`

func TestRoutedResponsesAreComparedWithTheBaseline(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ path, body string }{
		"chat":              {"/chat/completions", hello},
		"streamed chat":     {"/chat/completions", strings.Replace(hello, "{", `{"stream":true,`, 1)},
		"messages":          {"/messages", `{"model":"auto:cost","max_tokens":500,"messages":[{"role":"user","content":"Tell me about secret routes."}]}`},
		"streamed messages": {"/messages", `{"model":"auto:cost","stream":true,"max_tokens":500,"messages":[{"role":"user","content":"Tell me about secret routes."}]}`},
		"responses":         {"/responses", `{"model":"auto:cost","input":"Tell me about secret routes."}`},
		"streamed":          {"/responses", `{"model":"auto:cost","stream":true,"input":"Tell me about secret routes."}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newKit(t, everything(), simulator.Judging{Difference: -1})
			w := k.send(tc.path, tc.body)
			r := k.record()
			routed := w.Header().Get("X-Fairlead-Model")
			if w.Code != http.StatusOK || r.State != proof.Compared || r.Method != judge.Model || r.Difference != 1 {
				t.Fatalf("status %d, state %s by %s, difference %v: %s; want a comparison by the judge with difference 1",
					w.Code, r.State, r.Method, r.Difference, r.Reason)
			}
			want := proof.Sample{
				Request: w.Header().Get("X-Request-Id"), Shadow: r.Shadow, At: r.At, Key: "key_1", Task: r.Task, Model: routed, Baseline: "sim-flagship", Difference: 1, Propensity: 1,
				Method: judge.Model, Reason: "SIMULATED verdict.",
			}
			if diff := cmp.Diff(want, r.Sample); diff != "" || routed == "" || r.Shadow == "" {
				t.Errorf("routed model %q, shadow request %q, sample (-want +got):\n%s", routed, r.Shadow, diff)
			}
			var entry struct {
				Kind, ID, Model, Outcome string
				Of                       string `json:"request_id"`
			}
			if err := json.Unmarshal([]byte(r.Entry), &entry); err != nil || entry.Kind != "shadow" || entry.Of != r.Request || entry.ID != r.Shadow || entry.Model != "sim-flagship" || entry.Outcome != "ok" {
				t.Errorf("entry %s, %v", r.Entry, err)
			}
			if !strings.Contains(r.Response, " from sim-flagship.") || !strings.Contains(r.Response, "[redacted]") || strings.Contains(r.Response, "secret") {
				t.Errorf("stored response %s", r.Response)
			}
			if len(k.log.entries) != 1 || len(k.served.list()) != 1 || k.made.list()[0] != "sim-flagship" || r.Cost <= 0 || r.Versions != judge.PromptVersion {
				t.Errorf("%d entries, calls for clients %v, shadow calls %v, cost %s", len(k.log.entries), k.served.list(), k.made.list(), r.Cost)
			}
			if spent := k.store.charges["compare:ws_1"]; spent < r.Cost || spent != k.ledger.Status(shadow.BudgetOf("ws_1", everything())).Spent {
				t.Errorf("charged %s, ledger status %+v; want equal amounts", spent, k.ledger.Status(shadow.BudgetOf("ws_1", everything())))
			}
		})
	}
}

func TestOnlyRoutedRequestsOfKeysAreCompared(t *testing.T) {
	t.Parallel()
	k := newKit(t, everything(), simulator.Judging{})
	k.send("/chat/completions", strings.Replace(hello, "auto:cost", "sim-small", 1))
	k.send("/chat/completions", strings.Replace(hello, "{", `{"n":2,`, 1))
	k.send("/chat/completions", `{"model":"auto"}`)
	k.send("/responses", `{"model":"auto","input":"x","previous_response_id":"resp_unknown"}`)
	k.send("/chat/completions", hello, "X-Fairlead-Dry-Run", "true")
	if n := len(k.store.all()) + len(k.made.list()); n != 0 {
		t.Errorf("%d records and shadow calls, want 0: %v", n, k.made.list())
	}
	off := newKit(t, nil, simulator.Judging{})
	off.send("/chat/completions", hello)
	if n := len(off.store.all()) + len(off.made.list()); n != 0 {
		t.Errorf("%d records and shadow calls without a comparison, want 0", n)
	}
}

func TestRulesOfTheRequestApplyToShadowCalls(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		body   string
		allow  []string
		state  proof.State
		reason string
	}{
		"only another provider": {strings.Replace(hello, "{", `{"provider":{"only":["cheap"]},`, 1), nil, proof.Failed, "exclude"},
		"provider ignored":      {strings.Replace(hello, "{", `{"provider":{"ignore":["best"]},`, 1), nil, proof.Failed, "exclude"},
		"models of the request": {strings.Replace(hello, "{", `{"models":["sim-small","sim-nano"],`, 1), nil, proof.Failed, "exclude"},
		"models of the key":     {hello, []string{"sim-small", "sim-nano"}, proof.Failed, ""},
		"judge ignored":         {strings.Replace(hello, "{", `{"provider":{"ignore":["judges"]},`, 1), nil, proof.Unjudged, "judge"},
		"no rules":              {hello, nil, proof.Compared, ""},
	} {
		k := newKit(t, everything(), simulator.Judging{})
		k.grant.Key.AllowedModels = tc.allow
		w := k.send("/chat/completions", tc.body)
		r := k.record()
		if w.Code != http.StatusOK || r.State != tc.state || !strings.Contains(r.Reason, tc.reason) {
			t.Errorf("%s: status %d, state %s: %s; want state %s with %q", name, w.Code, r.State, r.Reason, tc.state, tc.reason)
		}
		if calls := k.made.list(); tc.state == proof.Failed && (len(calls) > 0 || k.store.charges["compare:ws_1"] != 0) {
			t.Errorf("%s: shadow calls %v, charged %s; want none", name, calls, k.store.charges["compare:ws_1"])
		}
	}
}

func TestTextsAreNotStoredIfTheRequestForbidsIt(t *testing.T) {
	t.Parallel()
	c := everything()
	c.Hook = "https://example.com/score"
	k := newKit(t, c, simulator.Judging{})
	k.hook = func(*http.Request) (*http.Response, error) {
		t.Error("the hook was called")
		return nil, io.EOF
	}
	k.send("/chat/completions", hello, "X-Fairlead-Log-Body", "false")
	if r := k.record(); r.State != proof.Compared || r.Response != "" || r.Reason != "" || strings.Contains(r.Entry, "secret") {
		t.Errorf("record %+v, want a comparison without texts", r)
	}
}

func TestHooksScoreResponses(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		status int
		body   string
		want   float64
		state  proof.State
	}{
		"a score":      {200, `{"score":-0.25,"reason":"the secret is wrong"}`, -0.25, proof.Compared},
		"no score":     {200, `{"reason":"?"}`, 0, proof.Unjudged},
		"out of range": {200, `{"score":2}`, 0, proof.Unjudged},
		"no JSON":      {200, `<html>`, 0, proof.Unjudged},
		"an error":     {500, `{"score":1}`, 0, proof.Unjudged},
		"not a number": {200, `{"score":"1"}`, 0, proof.Unjudged},
	} {
		c := everything()
		c.Judge, c.Hook = "", "https://example.com/score"
		k := newKit(t, c, simulator.Judging{})
		var got struct {
			RequestID        string `json:"request_id"`
			Request          struct{ Model string }
			Routed, Baseline judge.Response
		}
		k.hook = func(r *http.Request) (*http.Response, error) {
			if err := json.NewDecoder(r.Body).Decode(&got); err != nil || r.URL.String() != c.Hook || r.Method != http.MethodPost {
				t.Errorf("%s: %s %s, %v", name, r.Method, r.URL, err)
			}
			return &http.Response{StatusCode: tc.status, Body: io.NopCloser(strings.NewReader(tc.body))}, nil
		}
		k.send("/chat/completions", hello)
		r := k.record()
		if r.State != tc.state || r.Difference != tc.want || r.State == proof.Compared && (r.Method != judge.Hook || r.Reason != "the [redacted] is wrong") {
			t.Errorf("%s: sample %+v, want state %s with difference %v", name, r.Sample, tc.state, tc.want)
		}
		if got.RequestID != r.Request || got.Request.Model == "" || !strings.Contains(got.Routed.Text, r.Model) || !strings.Contains(got.Baseline.Text, "sim-flagship") {
			t.Errorf("%s: the hook received %+v", name, got)
		}
	}
}

func TestBiasedJudgeIsRejected(t *testing.T) {
	t.Parallel()
	k := newKit(t, everything(), simulator.Judging{PositionBias: 0.9})
	for range 3 {
		k.send("/chat/completions", hello)
	}
	for _, r := range k.store.all() {
		if r.State != proof.Unjudged || !strings.Contains(r.Reason, "position") || !strings.Contains(r.Reason, "points") {
			t.Errorf("sample %+v, want it unjudged because of the position bias", r.Sample)
		}
	}
	measured := 0
	for _, model := range k.made.list() {
		if model == "sim-medium" {
			measured++
		}
	}
	if measured == 0 || len(k.store.biases) != 1 {
		t.Fatalf("%d calls of the judge, stored biases %v; want calls and one bias", measured, k.store.biases)
	}
	again := newKit(t, everything(), simulator.Judging{PositionBias: 0.9})
	again.store.biases = k.store.biases
	again.send("/chat/completions", hello)
	if calls := again.made.list(); len(calls) != 1 {
		t.Errorf("a judge with a stored bias was measured again: %v", calls)
	}
}

func TestHoldoutServesTheBaseline(t *testing.T) {
	t.Parallel()
	c := everything()
	c.Share, c.Holdout = 0.5, 0.5
	k := newKit(t, c, simulator.Judging{Difference: -1})
	const n = 40
	byRequest := map[string]string{}
	for range n {
		w := k.send("/chat/completions", hello)
		byRequest[w.Header().Get("X-Request-Id")] = w.Header().Get("X-Fairlead-Model")
	}
	held := 0
	for _, r := range k.store.all() {
		served := r.Model
		if r.Holdout {
			held++
			served = r.Baseline
		}
		if byRequest[r.Request] != served || r.Baseline != "sim-flagship" || r.Model == r.Baseline || r.Propensity != 1 || r.State != proof.Compared || r.Difference != 1 {
			t.Errorf("%s was served by %s: %+v", r.Request, byRequest[r.Request], r)
		}
		if below := gateway.UniformHash(r.Request) < c.Holdout; below != r.Holdout {
			t.Errorf("%s: Holdout = %t with a draw of %v", r.Request, r.Holdout, gateway.UniformHash(r.Request))
		}
	}
	if len(k.store.all()) != n || held == 0 || held == n {
		t.Errorf("%d of %d requests held out, want %d records and a part held out", held, len(k.store.all()), n)
	}
}

// visible is the information about requests that clients, operators and the request log get.
type visible struct {
	Responses []string
	Calls     []string
	Entries   []string
	Health    []string
	Key       ledger.Status
	Limits    []int
}

// traffic sends the same requests and returns the visible information about them.
func traffic(t *testing.T, c *account.Comparison) (visible, int) {
	t.Helper()
	k := newKit(t, c, simulator.Judging{})
	k.grant.Key.Limits.RequestsPerMinute = 14
	var v visible
	for i := range 16 {
		body := fmt.Sprintf(`{"model":"auto:cost","stream":%t,"messages":[{"role":"user","content":"question %d"}]}`, i%2 == 0, i)
		if i%5 == 4 { // fails at the first target and falls back
			body = strings.Replace(body, "{", `{"metadata":{"simulate":"500@sim-nano"},`, 1)
		}
		w := k.send("/chat/completions", body)
		v.Limits = append(v.Limits, w.Code)
		v.Responses = append(v.Responses, clientView(w))
	}
	v.Calls = k.served.list()
	for _, e := range k.log.entries {
		cost := "unknown"
		if e.Cost != nil {
			cost = e.Cost.String()
		}
		v.Entries = append(v.Entries, fmt.Sprintf("%s %s %s %d attempts, %d tokens, %s, %s", e.Outcome, e.Model, e.DecisionKind, len(e.Attempts), e.Usage.Total(), cost, e.BodyState))
	}
	for _, h := range k.health.Snapshot() {
		v.Health = append(v.Health, fmt.Sprintf("%s %s %d calls, %d failures", h.Target, h.Circuit, h.Calls, h.Failures))
	}
	v.Key = k.ledger.Status(ledger.Budget{ID: "key:key_1", Name: "ci", Amount: money.Dollar, Period: ledger.Monthly})
	return v, len(k.made.list())
}

// clientView returns a response without ids and durations.
func clientView(w *httptest.ResponseRecorder) string {
	h := w.Header().Clone()
	for _, name := range []string{"X-Request-Id", "Request-Id", "X-Fairlead-Overhead-Us", "X-Fairlead-Wait-Us", "Retry-After"} {
		h.Del(name)
	}
	body := strings.ReplaceAll(w.Body.String(), w.Header().Get("X-Request-Id"), "id")
	if w.Code != http.StatusOK {
		body = "" // omitted, because the error message contains a wait time that varies
	}
	return fmt.Sprint(w.Code, h, body)
}

func TestComparisonIsInvisibleToClients(t *testing.T) {
	t.Parallel()
	var off, on visible
	var none, made int
	// Without real time, latencies and rates are the same in both runs.
	synctest.Test(t, func(t *testing.T) { off, none = traffic(t, nil) })
	synctest.Test(t, func(t *testing.T) { on, made = traffic(t, everything()) })
	if none != 0 || made == 0 {
		t.Fatalf("%d shadow calls without a comparison, %d with one", none, made)
	}
	if diff := cmp.Diff(off, on); diff != "" {
		t.Error(diff)
	}
}

// TestBudgetIsNeverExceeded makes 1,000 comparisons at the same time, on two replicas that share a ledger.
func TestBudgetIsNeverExceeded(t *testing.T) {
	t.Parallel()
	c := everything()
	c.Judge, c.Budget = "", 300*money.Dollar/1000
	k := newKit(t, c, simulator.Judging{})
	k.serve("/chat/completions", hello)
	served := k.offered.take()
	if len(served) != 1 {
		t.Fatalf("%d requests chosen, want 1", len(served))
	}
	server := redistest.Own(t)
	var replicas []*shadow.Comparer
	var links []*cluster.Client
	for range 2 {
		link := cluster.New(server.Client(t), cluster.Options{Budget: 5 * time.Second, Settling: time.Nanosecond})
		l := ledger.NewShared(link, ledger.Options{Spent: k.store.spent})
		ctx, stop := context.WithCancel(t.Context())
		var settling sync.WaitGroup // without Run, settled money would stay reserved
		settling.Go(func() { l.Run(ctx) })
		t.Cleanup(func() {
			stop()
			settling.Wait()
		})
		caller := k.gateway(k.made, health.New(health.Options{}), l, discardLog{}, nil, simulator.Judging{})
		links, replicas = append(links, link), append(replicas, k.newComparer(caller))
	}
	for range 2 {
		for _, l := range links {
			if !l.AwaitReady(t.Context(), 10*time.Second) {
				t.Fatal("Redis did not become ready")
			}
		}
	}
	var all sync.WaitGroup
	const n = 300
	compare := func(i int) {
		one := *served[0]
		one.Call.ID = fmt.Sprint("req_", i)
		replicas[i%2].Compare(t.Context(), &one)
	}
	// One call after another spends most of the budget. Then all others compete for the rest: a replica whose call finds it reserved by others
	// pauses the workspace.
	const alone = 220
	for i := range alone {
		compare(i)
	}
	for i := alone; i < n; i++ {
		all.Go(func() { compare(i) })
	}
	all.Wait()
	spent := k.store.charges["compare:ws_1"]
	if spent > c.Budget || spent < c.Budget/2 {
		t.Errorf("spent %s of a budget of %s, want at least half", spent, c.Budget)
	}
	states := map[proof.State]int{}
	for _, r := range k.store.all() {
		states[r.State]++
	}
	dropped := int(replicas[0].Dropped() + replicas[1].Dropped())
	if len(k.store.all())+dropped != n || states[proof.Unjudged] == 0 || states[proof.Failed] == 0 {
		t.Errorf("states %v and %d dropped of %d, want unjudged and failed comparisons", states, dropped, n)
	}
}

func TestJudgeOfAnotherVendorIsRequired(t *testing.T) {
	t.Parallel()
	snap := newKit(t, nil, simulator.Judging{}).clients.Targets()
	for _, tc := range []struct {
		judge, model string
		ok           bool
	}{
		{"claude-opus-4-1", "claude-sonnet-4-5", false}, {"gpt-4.1", "claude-sonnet-4-5", true}, {"sim-large", "sim-small", true},
	} {
		if err := shadow.CheckVendor(snap, tc.judge, "sim-nano", tc.model); (err == nil) != tc.ok {
			t.Errorf("CheckVendor(judge %s, model %s): %v", tc.judge, tc.model, err)
		}
	}
}

var _ gateway.Comparer = (*shadow.Comparer)(nil)
