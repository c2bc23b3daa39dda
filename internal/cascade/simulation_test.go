package cascade

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/attempt"
	"fairlead.dev/internal/budget"
	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/gateway"
	"fairlead.dev/internal/health"
	"fairlead.dev/internal/ledger"
	"fairlead.dev/internal/limit"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/modelapi"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/policy"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/provider/compatible"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/route"
	"fairlead.dev/internal/simulator"
	"fairlead.dev/internal/simulator/inprocess"
	"fairlead.dev/internal/upload"
	"fairlead.dev/internal/wire/chat"
)

// failing maps each simulated model to the share of its responses that do not match the schema.
var failing = map[string]float64{"sim-small": 0.4, "sim-medium": 0.15, "sim-flagship": 0.02}

// broken wraps the simulator. For the share of tasks given by failing, the wrapped simulator returns text that does not match the schema.
func broken(sim http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		model := rawjson.Get(body, "model").String()
		h := fnv.New32a()
		_, _ = h.Write([]byte(model + " " + rawjson.Get(body, "messages.0.content").String()))
		if float64(h.Sum32()%1000) < 1000*failing[model] {
			var members map[string]json.RawMessage
			if json.Unmarshal(body, &members) == nil {
				members["response_format"] = json.RawMessage(`{"type":"json_object"}`)
				body, _ = json.Marshal(members)
			}
		}
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		sim.ServeHTTP(w, r)
	})
}

type simulation struct {
	gateway *gateway.Gateway
	entries []requestlog.Entry
	ledger  *ledger.Memory
	grant   *account.Grant
}

func (*simulation) Begin(*requestlog.Entry) error { return nil }

func (s *simulation) End(e *requestlog.Entry) error {
	s.entries = append(s.entries, *e)
	return nil
}

func (s *simulation) Authenticate(http.Header) (*account.Grant, error) { return s.grant, nil }
func (*simulation) Touch(string, string, time.Time)                    {}
func (s *simulation) Key(string) *account.Key                          { return s.grant.Key }

type fixedPolicies struct{ set *policy.Set }

func (f fixedPolicies) For(string) *policy.Set { return f.set }

func newSimulation(t *testing.T, policies string) *simulation {
	t.Helper()
	s := &simulation{grant: &account.Grant{
		Key:       &account.Key{ID: "key_1", WorkspaceID: "ws_1", KeySettings: account.KeySettings{Name: "ci", Scopes: []account.Scope{account.Inference}, Budget: &account.Budget{Amount: 100 * money.Dollar, Period: account.Monthly}}},
		Workspace: &account.Workspace{ID: "ws_1", Name: "Home"},
	}}
	set, problems := policy.Parse("workspace", []byte(policies), policy.Inventory{AllowUnknown: true})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	cat, err := catalog.Default()
	if err != nil {
		t.Fatal(err)
	}
	sim := simulator.NewSimulator(simulator.Options{Now: func() time.Time { return time.Unix(0, 0) }})
	var targets []*provider.Target
	for i, m := range sim.Models() {
		if _, used := failing[m.Name]; used {
			offer := sim.Offers()[i]
			targets = append(targets, &provider.Target{Provider: "sim", Model: &m, Upstream: offer.Upstream, Price: offer.Price, Simulated: true, FirstToken: 10 * time.Second})
		}
	}
	p := compatible.New(compatible.Row{Name: "sim", ChatPath: "/chat/completions", ModelsPath: "/models"}, provider.Settings{BaseURL: "http://simulator.invalid/v1", Targets: targets})
	p.Simulated, p.Transport = true, inprocess.Transport(broken(sim))
	s.ledger = ledger.New(ledger.Options{Spent: func(context.Context, string, time.Time) (money.Amount, error) { return 0, nil }, Now: time.Now})
	tracker := health.New(health.Options{})
	s.gateway = gateway.New(gateway.Parts{
		Routes: []modelapi.Route{{Path: "/chat/completions", Op: llm.Chat, Format: chat.Format{}}},
		Access: gateway.Access{Keys: s, Limits: limit.NewMemory(time.Now), Ledger: s.ledger}, Health: tracker,
		Recording: gateway.Recording{
			Log: s, Observe: func(*requestlog.Entry) {}, Started: func(*requestlog.Entry) {}, Logger: slog.New(slog.DiscardHandler),
		},
		Dispatcher: &attempt.Dispatcher{Admission: tracker, Health: tracker, Batches: chat.Format{}, Random: func() float64 { return 0.5 }},
		Settings: modelapi.Settings{
			BodyLimit: 1 << 20, MaxConcurrent: 10, Upload: upload.Limits{Body: 1 << 20, Total: 64 << 20, Pause: time.Minute},
			Attempts: attempt.Settings{Attempts: 3, Backoff: time.Millisecond, Idle: 5 * time.Second, Total: time.Minute}, Hold: 10 * time.Second, Ping: 15 * time.Second, ReadPause: time.Minute,
		},
		Snapshot: route.NewSnapshot(cat, []*provider.Provider{p}, nil), Responses: gateway.Responses{Checker: New(nil)},
		Routing: gateway.Routing{Policies: fixedPolicies{set}, Random: func() float64 { return 0.5 }},
	})
	return s
}

// run sends schema tasks to a model and returns how many responses match the schema, and the cost of all responses.
func (s *simulation) run(t *testing.T, model string, tasks int) result {
	t.Helper()
	const schema = `{"type":"object","required":["number","total"],"properties":{"number":{"type":"string"},"total":{"type":"number"}},"additionalProperties":false}`
	var r result
	for i := range tasks {
		body := fmt.Sprintf(`{"model":%q,"messages":[{"role":"user","content":"Read invoice %d: number A-%d, total %d.50."}],"response_format":{"type":"json_schema","json_schema":{"name":"invoice","schema":%s}}}`, model, i, i, i, schema)
		req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, modelapi.Prefix+"/chat/completions", strings.NewReader(body))
		req.Header.Set("Authorization", "Bearer good")
		req.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		s.gateway.ServeHTTP(w, req)
		if w.Code != http.StatusOK {
			t.Fatalf("status %d, want 200: %s", w.Code, w.Body)
		}
		var invoice struct {
			Number *string
			Total  *float64
		}
		if json.Unmarshal([]byte(rawjson.Get(w.Body.Bytes(), "choices.0.message.content").String()), &invoice) == nil && invoice.Number != nil && invoice.Total != nil {
			r.passed++
		}
	}
	var spent money.Amount
	for i := range s.entries {
		spent = spent.Add(*s.entries[i].Cost)
	}
	if status := s.ledger.Status(budget.Applied(s.grant)[0]); status.Spent != spent || status.Held != 0 {
		t.Errorf("the entries cost %s, the budget has %s spent and %s held", spent, status.Spent, status.Held)
	}
	r.cost = spent.Dollars()
	return r
}

// TestCascadeIsCheaperThanTheBestSingleModel sends schema tasks through the gateway. The flagship model passes most tasks.
func TestCascadeIsCheaperThanTheBestSingleModel(t *testing.T) {
	t.Parallel()
	const tasks = 500
	single := map[string]result{}
	for model := range failing {
		single[model] = newSimulation(t, `policies: [{name: none, enabled: false, verify: [schema]}]`).run(t, model, tasks)
	}
	name, best := bestSingle(single)
	s := newSimulation(t, `policies: [{name: checked, verify: [schema]}]`)
	cascade := s.run(t, "auto:quality", tasks)
	t.Logf("cascade %s; best single model %s %s: cost %+.0f %%", cascade, name, best, 100*(cascade.cost/best.cost-1))
	if cascade.passed < best.passed || cascade.cost > 0.8*best.cost {
		t.Errorf("cascade %s, best single model %s %s", cascade, name, best)
	}
	escalated := 0
	for i := range s.entries {
		e := &s.entries[i]
		if len(e.Attempts) == 1 {
			continue
		}
		escalated++
		if e.Attempts[0].Class != llm.CheckFailed || e.Cost == nil || *e.Cost != e.Attempts[0].Cost.Add(*e.Attempts[1].Cost) {
			t.Fatalf("attempts %+v cost %v", e.Attempts, e.Cost)
		}
	}
	if escalated == 0 {
		t.Error("no request escalated to the second model")
	}
}
