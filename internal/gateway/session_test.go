package gateway_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/policy"
	"fairlead.dev/internal/session"
	"fairlead.dev/internal/simulator"
)

func newNamer(t *testing.T) *session.Namer {
	t.Helper()
	namer, err := session.NewNamer([]byte(strings.Repeat("s", 32)))
	if err != nil {
		t.Fatal(err)
	}
	return namer
}

// A conversation longer than the fingerprint keeps its session.
func TestDerivedSessionOfALongConversation(t *testing.T) {
	t.Parallel()
	k := newKit(t, func(k *kit) { k.sessions = newNamer(t) })
	messages := []string{`{"role":"user","content":"start"}`}
	want := ""
	for range 4 {
		k.post("/chat/completions", `{"model":"large","messages":[`+strings.Join(messages, ",")+`]}`)
		got := (<-k.log.ended).Session
		if want == "" {
			want = got
		}
		if got != want || got == "" {
			t.Fatalf("%d messages: session %q, want %q", len(messages), got, want)
		}
		for range 100 {
			messages = append(messages, `{"role":"assistant","content":"a"}`, fmt.Sprintf(`{"role":"user","content":"%d"}`, len(messages)))
		}
	}
}

// A request that continues a stored response belongs to the session of that response.
func TestContinuedResponseKeepsItsSession(t *testing.T) {
	t.Parallel()
	k := newKit(t, func(k *kit) { k.sessions = newNamer(t) })
	upstream := httptest.NewServer(&responsesServer{answer: respond(200, storedResponse)})
	t.Cleanup(upstream.Close)
	k.useResponses(upstream.URL, "openai#1")
	body := `{"model":"large","input":"start"}`
	want := ""
	for turn := range 3 {
		got := k.post("/responses", body)
		e := <-k.log.ended
		if want == "" {
			want = e.Session
		}
		if got.status != http.StatusOK || e.Session != want || want == "" {
			t.Fatalf("turn %d: %d %s, session %q, want %q", turn, got.status, got.body, e.Session, want)
		}
		body = fmt.Sprintf(`{"model":"large","input":"turn %d","previous_response_id":%q}`, turn, got.json(t)["id"])
	}
}

// newSessionKit returns a kit whose key limits sessions, for use under synctest.
func newSessionKit(t *testing.T, limits account.SessionLimits) *kit {
	t.Helper()
	k := newKit(t, func(k *kit) { k.inside, k.sessions = true, newNamer(t) })
	k.keys.grant.Key.Sessions = &limits
	answer := simulator.Behaviour{Text: []string{"try again"}, Usage: `{"prompt_tokens":1000,"completion_tokens":100,"total_tokens":1100}`}
	k.alpha.Always(answer)
	k.beta.Always(answer)
	return k
}

// agentTurn returns the request of one turn of an agent whose tool calls keep failing.
func agentTurn(session string, turn int) string {
	return fmt.Sprintf(`{"model":"large","session_id":%q,"max_tokens":200,"messages":[{"role":"user","content":"fix it"},{"role":"user","content":"error %d: exit status 1"}]}`, session, turn)
}

// A loop of failing tool calls at five turns a second stops before it exceeds the budget of its session. The error names the session, and
// the session continues after the budget is raised.
func TestRunawaySessionStopsAtItsBudget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		budget := &account.Budget{Amount: money.Dollar / 10, Period: account.Total}
		k := newSessionKit(t, account.SessionLimits{Budget: budget})
		spent, served := money.Amount(0), 0
		var last clientResponse
		for turn := range 1000 {
			last = k.post("/chat/completions", agentTurn("loop", turn))
			e := <-k.log.ended
			if last.status != http.StatusOK {
				break
			}
			spent, served = spent.Add(*e.Cost), served+1
			time.Sleep(200 * time.Millisecond)
		}
		one := money.Amount(int64(spent) / int64(served))
		if last.status != http.StatusPaymentRequired || last.code(t) != "BUDGET_EXCEEDED" {
			t.Fatalf("%d %s after %d turns", last.status, last.body, served)
		}
		details, _ := last.json(t)["details"].(map[string]any)
		if details["session"] != "loop" || details["resumable"] != true {
			t.Errorf("the error does not name the session: %s", last.body)
		}
		if spent > budget.Amount || spent < budget.Amount.Sub(3*one) {
			t.Errorf("%s spent of %s, %s a turn", spent, budget.Amount, one)
		}
		if other := k.post("/chat/completions", agentTurn("other", 0)); other.status != http.StatusOK {
			t.Errorf("another session: status %d, want 200: %s", other.status, other.body)
		}
		budget.Amount = money.Dollar
		if resumed := k.post("/chat/completions", agentTurn("loop", 0)); resumed.status != http.StatusOK {
			t.Errorf("after raising the budget: status %d, want 200: %s", resumed.status, resumed.body)
		}
	})
}

func TestSessionIsDowngradedBeforeItIsRejected(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newSessionKit(t, account.SessionLimits{Budget: &account.Budget{Amount: money.Dollar / 20, Period: account.Total, WarnPercent: 50}, Downgrade: true})
		var models []string
		for turn := range 200 {
			got := k.post("/chat/completions", agentTurn("a", turn))
			e := <-k.log.ended
			if got.status != http.StatusOK {
				break
			}
			if len(models) == 0 || models[len(models)-1] != e.Model {
				models = append(models, e.Model)
			}
			if e.Model == "small" && (!strings.Contains(got.header.Get("X-Fairlead-Warnings"), "auto:cost") || len(e.Decision.Adjustments) == 0 || e.Requested != "large" || len(e.Subjects) != 1) {
				t.Fatalf("warnings %q, adjustments %v, requested %s", got.header.Get("X-Fairlead-Warnings"), e.Decision.Adjustments, e.Requested)
			}
		}
		if diff := cmp.Diff([]string{"large", "small"}, models); diff != "" {
			t.Error(diff)
		}
	})
}

func TestSessionLimitsPerMinute(t *testing.T) {
	t.Parallel()
	for name, limits := range map[string]account.SessionLimits{
		"turns": {TurnsPerMinute: 10},
		"spend": {SpendPerMinute: money.Dollar / 40},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				k := newSessionKit(t, limits)
				served := 0
				var last clientResponse
				for turn := range 50 {
					last = k.post("/chat/completions", agentTurn("a", turn))
					<-k.log.ended
					if last.status != http.StatusOK {
						break
					}
					served++
				}
				if served < 8 || served > 12 || last.status != http.StatusTooManyRequests || !strings.Contains(last.body, `"session":"a"`) || last.header.Get("Retry-After") == "" {
					t.Errorf("%d served, then %d %s", served, last.status, last.body)
				}
				if other := k.post("/chat/completions", agentTurn("b", 0)); other.status != http.StatusOK {
					t.Errorf("another session: status %d, want 200: %s", other.status, other.body)
				}
				time.Sleep(2 * time.Minute)
				if again := k.post("/chat/completions", agentTurn("a", 0)); again.status != http.StatusOK {
					t.Errorf("two minutes later: status %d, want 200: %s", again.status, again.body)
				}
			})
		})
	}
}

func TestEndUserBudgetAppliesAcrossSessions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newSessionKit(t, account.SessionLimits{UserBudget: &account.Budget{Amount: money.Dollar / 50, Period: account.Daily}})
		ask := func(user string, turn int) clientResponse {
			got := k.post("/chat/completions", strings.Replace(agentTurn(fmt.Sprint(turn), turn), "{", fmt.Sprintf(`{"user":%q,`, user), 1))
			<-k.log.ended
			return got
		}
		turn := 0
		for ; turn < 50 && ask("anna", turn).status == http.StatusOK; turn++ {
		}
		got := ask("anna", 99)
		if turn < 3 || got.status != http.StatusPaymentRequired || !strings.Contains(got.body, `"end_user":"anna"`) {
			t.Errorf("%d served, then %d %s", turn, got.status, got.body)
		}
		if other := ask("ben", 0); other.status != http.StatusOK {
			t.Errorf("another user: status %d, want 200: %s", other.status, other.body)
		}
		time.Sleep(24 * time.Hour)
		if next := ask("anna", 0); next.status != http.StatusOK {
			t.Errorf("the next day: status %d, want 200: %s", next.status, next.body)
		}
	})
}

// A policy limits the sessions of matching requests like a key does: requests are first downgraded, then rejected. If both set an amount,
// the lower amount applies.
func TestPolicyLimitsSessions(t *testing.T) {
	t.Parallel()
	set, problems := policy.Parse("workspace", []byte(`policies: [{name: agents, when: 'request.model == "large"', session_budget: {amount_usd: 0.05, warn_percent: 50, downgrade: true}}]`), policy.Inventory{AllowUnknown: true})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	for name, key := range map[string]*account.SessionLimits{
		"policy alone": nil,
		"higher key":   {Budget: &account.Budget{Amount: money.Dollar, Period: account.Total}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				k := newKit(t, func(k *kit) { k.inside, k.sessions, k.policies = true, newNamer(t), fixedPolicies{set} })
				k.keys.grant.Key.Sessions = key
				answer := simulator.Behaviour{Text: []string{"try again"}, Usage: `{"prompt_tokens":1000,"completion_tokens":100,"total_tokens":1100}`}
				k.alpha.Always(answer)
				k.beta.Always(answer)
				var models []string
				spent := money.Amount(0)
				var last clientResponse
				for turn := range 500 {
					last = k.post("/chat/completions", agentTurn("a", turn))
					e := <-k.log.ended
					if last.status != http.StatusOK {
						break
					}
					spent = spent.Add(*e.Cost)
					if len(e.Subjects) != 1 || !strings.HasPrefix(e.Subjects[0], "session:") {
						t.Fatalf("charged to %v", e.Subjects)
					}
					if len(models) == 0 || models[len(models)-1] != e.Model {
						models = append(models, e.Model)
					}
				}
				if diff := cmp.Diff([]string{"large", "small"}, models); diff != "" {
					t.Error(diff)
				}
				if last.status != http.StatusPaymentRequired || !strings.Contains(last.body, `"session":"a"`) || spent > money.Dollar/20 || spent < money.Dollar/25 {
					t.Errorf("%s spent, then %d %s", spent, last.status, last.body)
				}
				if other := k.post("/chat/completions", agentTurn("b", 0)); other.status != http.StatusOK {
					t.Errorf("another session: status %d, want 200: %s", other.status, other.body)
				}
			})
		})
	}
}

// Every operation that names a session counts towards the spending limit per minute of the session.
func TestSpendPerMinuteCountsEveryOperation(t *testing.T) {
	t.Parallel()
	const kind = "multipart/form-data; boundary=b1"
	form := func(extra string) string {
		return "--b1\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.wav\"\r\n\r\nRIFF\r\n--b1\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nwhisper\r\n" + extra + "--b1--\r\n"
	}
	for name, tc := range map[string]struct {
		path, body string
		headers    []string
	}{
		"speech":                {"/audio/speech", `{"model":"tts","input":"Hello","session_id":"s"}`, nil},
		"speech, header":        {"/audio/speech", `{"model":"tts","input":"Hello"}`, []string{"X-Fairlead-Session", "s"}},
		"transcription, form":   {"/audio/transcriptions", form("--b1\r\nContent-Disposition: form-data; name=\"session_id\"\r\n\r\ns\r\n"), []string{"Content-Type", kind}},
		"transcription, header": {"/audio/transcriptions", form(""), []string{"Content-Type", kind, "X-Fairlead-Session", "s"}},
		"image":                 {"/images/generations", `{"model":"img","prompt":"a boat","session_id":"s"}`, nil},
		"rerank":                {"/rerank", `{"model":"rr","query":"q","documents":["a"],"session_id":"s"}`, nil},
		"embeddings":            {"/embeddings", `{"model":"embed","input":"a","session_id":"s"}`, nil},
		"moderations":           {"/moderations", `{"model":"judge","input":"a","session_id":"s"}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sessions := func(k *kit) { k.sessions = newNamer(t) }
			k, v, _ := mediaKit(t, sessions)
			if tc.path == "/embeddings" || tc.path == "/moderations" {
				k = newKit(t, sessions)
			}
			k.keys.grant.Key.Sessions = &account.SessionLimits{SpendPerMinute: 5 * money.Dollar}
			for _, target := range k.snapshot.Targets() {
				target.Price = &catalog.Price{PerRequest: 4 * money.Dollar, Source: "test"}
			}
			for i, want := range []int{http.StatusOK, http.StatusOK, http.StatusTooManyRequests} {
				got := k.post(tc.path, tc.body, tc.headers...)
				e := k.entry()
				if got.status != want || e.Session != "s" || want == http.StatusTooManyRequests && !strings.Contains(got.body, "session_spend_per_minute_usd") {
					t.Fatalf("request %d: %d %s, session %q", i, got.status, got.body, e.Session)
				}
			}
			for _, call := range v.calls {
				if strings.Contains(call, "session_id") {
					t.Errorf("the provider received the session: %s", call)
				}
			}
		})
	}
}
