package gateway_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/budget"
	"fairlead.dev/internal/cascade"
	"fairlead.dev/internal/gateway"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/policy"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/route"
	"fairlead.dev/internal/simulator"
)

// hookFunc is an HTTP client that responds to calls to hooks.
type hookFunc func(*http.Request) (*http.Response, error)

func (f hookFunc) Do(r *http.Request) (*http.Response, error) { return f(r) }

// checking returns an option for a gateway with a policy that checks responses. Only alpha serves requests.
func checking(t *testing.T, verify string, hook hookFunc) func(*kit) {
	t.Helper()
	return func(k *kit) {
		k.policies = parsedPolicies(t, "{name: checked, verify: "+verify+"}")
		k.checker = cascade.New(hook)
		k.keys.grant.Key.Budget = &account.Budget{Amount: money.Dollar, Period: account.Daily}
	}
}

// parsedPolicies returns two policies: the given policy, followed by a policy that excludes the provider beta.
func parsedPolicies(t *testing.T, first string) gateway.Policies {
	t.Helper()
	set, problems := policy.Parse("workspace", []byte("policies: ["+first+", {name: one, exclude: {providers: [beta]}}]"), policy.Inventory{AllowUnknown: true})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return fixedPolicies{set}
}

const (
	asPerson = `"response_format":{"type":"json_schema","json_schema":{"name":"person","schema":{"type":"object","required":["name"]}}}`
	withTool = `"tools":[{"type":"function","function":{"name":"weather","parameters":{"type":"object","required":["city"]}}}]`
	person   = `{"name":"Ada"}`

	smallCost = money.Amount(2700)  // cost of 11 input and 4 output tokens at small
	largeCost = money.Amount(54000) // cost of the same tokens at large
)

// listed returns a request that names the model small and, as a fallback, the model large.
func listed(members string) string {
	return `{"model":"small","models":["large"],"max_tokens":50,"messages":[{"role":"user","content":"hello"}],` + members + `}`
}

func says(text ...string) simulator.Behaviour { return simulator.Behaviour{Text: text} }

func calls(name, arguments string) simulator.Behaviour {
	return simulator.Behaviour{Body: []byte(`{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","content":null,` +
		`"tool_calls":[{"id":"call_1","type":"function","function":{"name":"` + name + `","arguments":"` + strings.ReplaceAll(arguments, `"`, `\"`) + `"}}]}}],"usage":{"prompt_tokens":11,"completion_tokens":4,"total_tokens":15}}`)}
}

func TestResponsesAreCheckedBeforeTheyAreServed(t *testing.T) {
	t.Parallel()
	hookSays := func(answer string) hookFunc {
		return func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(answer))}, nil
		}
	}
	const hooked = `{checks: [hook], hook: "https://checks.example.com", threshold: 0.7}`
	stream := `"stream":true,` + asPerson
	for name, tc := range map[string]struct {
		verify       string
		hook         hookFunc
		path, body   string
		small, large simulator.Behaviour
		want         string // text that the response body contains
		header       string
		attempts     []string
		cost         money.Amount
		warning      string
	}{
		"the first passes":      {"[schema]", nil, "", listed(asPerson), says(person), says(`{"name":"Eve"}`), `Ada`, "passed", []string{"small passed"}, smallCost, ""},
		"the second passes":     {"[schema]", nil, "", listed(asPerson), says("Ada"), says(person), `\"Ada\"`, "passed", []string{"small check_failed failed", "large passed"}, smallCost + largeCost, ""},
		"a stream":              {"[schema]", nil, "", listed(stream), says("A", "d", "a"), says(`{"name":`, `"Ada"}`), `{\"name\":`, "passed", []string{"small check_failed failed", "large passed"}, smallCost + largeCost, ""},
		"streams are excluded":  {"{checks: [schema], streams: false}", nil, "", listed(stream), says("A", "d", "a"), says(person), `"A"`, "", []string{"small"}, smallCost, ""},
		"both fail":             {"[schema]", nil, "", listed(asPerson), says("Ada"), says("Eve"), "Eve", "failed", []string{"small check_failed failed", "large failed"}, smallCost + largeCost, "failed its checks"},
		"the second is down":    {"[schema]", nil, "", listed(asPerson), says("Ada"), simulator.Fail(500), "Ada", "failed", []string{"small failed", "large server_error", "large server_error"}, smallCost, "did not respond"},
		"the first is down":     {"[schema]", nil, "", listed(asPerson), simulator.Fail(500), says("Eve"), "Eve", "failed", []string{"small server_error", "large failed"}, largeCost, "failed its checks"},
		"invalid arguments":     {"[tools]", nil, "", listed(withTool), calls("weather", `{"town":"Bern"}`), calls("weather", `{"city":"Bern"}`), "city", "passed", []string{"small check_failed failed", "large passed"}, smallCost + largeCost, ""},
		"no check applies":      {"[schema, tools]", nil, "", listed(`"temperature":0`), says("Ada"), says(person), "Ada", "", []string{"small"}, smallCost, ""},
		"a low score":           {hooked, hookSays(`{"score":0.5,"reason":"short"}`), "", listed(`"temperature":0`), says("Ada"), says("Ada Lovelace"), "Lovelace", "failed", []string{"small check_failed failed", "large failed"}, smallCost + largeCost, "score 0.5 is below 0.7. short"},
		"a high score":          {hooked, hookSays(`{"score":0.7}`), "", listed(`"temperature":0`), says("Ada"), says("Eve"), "Ada", "passed", []string{"small passed"}, smallCost, ""},
		"a hook that is down":   {hooked, func(*http.Request) (*http.Response, error) { return nil, errors.New("https://checks.example.com") }, "", listed(`"temperature":0`), says("Ada"), says("Eve"), "Ada", "not_checked", []string{"small not_checked"}, smallCost, "could not be reached"},
		"a hook without scores": {hooked, hookSays(`{"score":7}`), "", listed(`"temperature":0`), says("Ada"), says("Eve"), "Ada", "not_checked", []string{"small not_checked"}, smallCost, "no score between 0 and 1"},
		"the responses format": {
			"[schema]", nil, "/responses",
			`{"model":"small","models":["large"],"max_output_tokens":50,"input":"hello","text":{"format":{"type":"json_schema","name":"person","schema":{"type":"object","required":["name"]}}}}`,
			says("Ada"), says(person), `Ada`, "passed",
			[]string{"small check_failed failed", "large passed"},
			smallCost + largeCost, "",
		},
		"the messages format": {
			"[tools]", nil, "/messages",
			`{"model":"small","models":["large"],"max_tokens":50,"messages":[{"role":"user","content":"hello"}],"tools":[{"name":"weather","input_schema":{"type":"object","required":["city"]}}]}`,
			calls("weather", `{"town":"Bern"}`), calls("weather", `{"city":"Bern"}`), "city", "passed",
			[]string{"small check_failed failed", "large passed"},
			smallCost + largeCost, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newKit(t, checking(t, tc.verify, tc.hook))
			k.alpha.For("small-2026", tc.small)
			k.alpha.For("large-2026", tc.large)
			path := tc.path
			if path == "" {
				path = "/chat/completions"
			}
			got := k.post(path, tc.body)
			e := k.entry()
			if got.status != http.StatusOK || !strings.Contains(got.body, tc.want) || got.header.Get("X-Fairlead-Checks") != tc.header {
				t.Errorf("%d, checks %q: %s", got.status, got.header.Get("X-Fairlead-Checks"), got.body)
			}
			var attempts []string
			for _, a := range e.Attempts {
				attempts = append(attempts, strings.Join(strings.Fields(a.Model+" "+string(a.Class)+" "+string(a.Check)), " "))
			}
			if diff := cmp.Diff(tc.attempts, attempts); diff != "" {
				t.Errorf("attempts (-want +got):\n%s", diff)
			}
			s := k.ledger.Status(budget.Applied(k.keys.grant)[0])
			if e.Cost == nil || *e.Cost != tc.cost || s.Spent != tc.cost || s.Held != 0 || e.Bill.Total != tc.cost {
				t.Errorf("cost %v, %s spent and %s held, want %s", e.Cost, s.Spent, s.Held, tc.cost)
			}
			if warnings := strings.Join(e.Warnings, "; "); tc.warning != "" && !strings.Contains(warnings, tc.warning) || tc.warning == "" && warnings != "" {
				t.Errorf("warnings %q, want %q", warnings, tc.warning)
			}
			if strings.Contains(got.body, "check") || strings.Contains(strings.Join(e.Warnings, ""), "example.com") {
				t.Errorf("the response or its warnings %q reveal the check: %s", e.Warnings, got.body)
			}
		})
	}
}

func TestHoldCoversBothAttempts(t *testing.T) {
	t.Parallel()
	k := newKit(t, checking(t, "[schema]", nil))
	var held []money.Amount
	status := func() { held = append(held, k.ledger.Status(budget.Applied(k.keys.grant)[0]).Held) }
	small, large := says("Ada"), says(person)
	// The provider reports as many tokens as the hold covers.
	small.Usage = `{"prompt_tokens":11,"completion_tokens":50,"total_tokens":61}`
	large.Usage = small.Usage
	small.Before, large.Before = func(*simulator.Call) { status() }, func(*simulator.Call) { status() }
	k.alpha.For("small-2026", small)
	k.alpha.For("large-2026", large)
	k.post("/chat/completions", listed(asPerson))
	e := k.entry()
	if want := money.Amount(11*100 + 50*400 + 11*2000 + 50*8000); len(held) != 2 || held[0] < want || held[1] != held[0] || *e.Cost != want {
		t.Errorf("held %v, cost %s, want %s", held, e.Cost, want)
	}
	rows := map[string]money.Amount{}
	for _, row := range e.Bill.Rows {
		rows[row.Class] += row.Amount
	}
	if rows["failed_checks"] != 11*100+50*400 {
		t.Errorf("rows %v, want failed_checks %d", rows, 11*100+50*400)
	}
}

func TestBudgetMustCoverBothAttempts(t *testing.T) {
	t.Parallel()
	for verify, want := range map[string]int{"[tools]": http.StatusOK, "[schema]": http.StatusPaymentRequired} { // the request has no tools
		k := newKit(t, checking(t, verify, nil))
		k.keys.grant.Key.Budget = &account.Budget{Amount: 890_000, Period: account.Daily} // large alone may cost 870,000 nano-dollars
		if got := k.post("/chat/completions", listed(asPerson)); got.status != want {
			t.Errorf("%s: status %d after %d calls, want %d: %s", verify, got.status, len(k.alpha.Calls()), want, got.body)
		}
	}
}

func TestCheckedStreamSendsKeepAlivesWhileItWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t, checking(t, "[schema]", nil), func(k *kit) {
			k.inside = true
			k.settings.Hold, k.settings.Ping = time.Second, time.Second
		})
		slowly := func(text ...string) simulator.Behaviour {
			b := says(text...)
			b.BeforeEvent = func(*simulator.Call, int) { time.Sleep(time.Second) }
			return b
		}
		k.alpha.For("small-2026", slowly("A", "d", "a"))
		k.alpha.For("large-2026", slowly(`{"name":`, `"Ada"}`))
		got := k.post("/chat/completions", listed(`"stream":true,`+asPerson))
		waits := strings.Count(got.body, ": waiting")
		if first := strings.Index(got.body, "data:"); waits < 8 || strings.Count(got.body[:first], ": waiting") != waits || strings.Contains(got.body, `"A"`) {
			t.Errorf("%d keep-alives: %s", waits, got.body)
		}
		if e := k.entry(); *e.Cost != smallCost+largeCost || e.Attempts[0].Duration > 8*time.Second {
			t.Errorf("cost %s, first attempt %s", e.Cost, e.Attempts[0].Duration)
		}
	})
}

func TestDisconnectDuringTheSecondAttemptIsCharged(t *testing.T) {
	t.Parallel()
	k := newKit(t, checking(t, "[schema]", nil))
	k.alpha.For("small-2026", says("Ada"))
	k.alpha.For("large-2026", simulator.Behaviour{Silent: true})
	req := k.request(http.MethodPost, "/chat/completions", listed(asPerson))
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	done := make(chan struct{})
	go func() {
		defer close(done)
		if resp, err := k.client.Do(req.WithContext(ctx)); err == nil {
			_ = resp.Body.Close()
		}
	}()
	if _, err := k.alpha.Await(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	leave()
	<-done
	e := k.entry()
	s := k.ledger.Status(budget.Applied(k.keys.grant)[0])
	if e.Outcome != requestlog.Cancelled || e.Cost == nil || *e.Cost <= smallCost || s.Spent != *e.Cost || s.Held != 0 {
		t.Errorf("%s, cost %v, %s spent, %s held", e.Outcome, e.Cost, s.Spent, s.Held)
	}
}

func TestObservedFailuresChangeTheOrder(t *testing.T) {
	t.Parallel()
	k := newKit(t, checking(t, "[schema]", nil), func(k *kit) {
		k.policies = parsedPolicies(t, "{name: checked, verify: [schema], prefer: [small, large]}")
	})
	k.alpha.For("small-2026", says(person))
	k.alpha.For("large-2026", says(person))
	first := func() string {
		k.post("/chat/completions", `{"model":"auto","messages":[{"role":"user","content":"hello"}],`+asPerson+`}`)
		e := k.entry()
		if e.Decision.Cascade == nil || e.DecisionKind != route.Policy {
			t.Fatalf("%s decision with %+v", e.DecisionKind, e.Decision.Cascade)
		}
		return e.Attempts[0].Model
	}
	if got := first(); got != "large" { // the catalog predicts that 99 % of the responses of small fail
		t.Errorf("%s was tried before any response was checked", got)
	}
	for range 10 {
		k.post("/chat/completions", listed(asPerson))
		k.entry()
	}
	if got := first(); got != "small" {
		t.Errorf("%s was tried after responses of small passed, want small", got)
	}
}
