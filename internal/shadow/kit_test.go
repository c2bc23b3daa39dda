package shadow_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/cluster/redistest"
	"fairlead.dev/internal/gateway"
	"fairlead.dev/internal/gateway/upstream"
	"fairlead.dev/internal/health"
	"fairlead.dev/internal/judge"
	"fairlead.dev/internal/ledger"
	"fairlead.dev/internal/limit"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/proof"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/provider/compatible"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/route"
	"fairlead.dev/internal/shadow"
	"fairlead.dev/internal/simulator"
	"fairlead.dev/internal/upload"
	"fairlead.dev/internal/wire/anthropic"
	"fairlead.dev/internal/wire/openai"
	"fairlead.dev/internal/wire/responses"
)

func TestMain(m *testing.M) {
	code := redistest.Main(m)
	if err := goleak.Find(); code == 0 && err != nil {
		_, _ = os.Stderr.WriteString(err.Error() + "\n")
		code = 1
	}
	os.Exit(code)
}

// kit has a gateway for clients and a gateway for shadow calls. The simulators behind the gateways count their calls separately.
// Provider cheap has sim-small and sim-nano, provider best has sim-flagship and sim-large, and provider judges has sim-medium.
type kit struct {
	*testing.T
	clients, shadow *gateway.Gateway
	served, made    *callList // calls for clients, and shadow calls
	comparer        *shadow.Comparer
	offered         *offers
	store           *fakeStore
	log             *fakeLog
	ledger          *ledger.Memory
	health          *health.Tracker
	hook            func(*http.Request) (*http.Response, error)
	grant           *account.Grant
}

// everything returns settings that compare all requests with sim-flagship.
func everything() *account.Comparison {
	return &account.Comparison{Share: 1, Baseline: "sim-flagship", Budget: money.Dollar, Judge: "sim-medium"}
}

func newKit(t *testing.T, c *account.Comparison, judging simulator.Judging) *kit {
	t.Helper()
	k := &kit{
		T: t, served: &callList{}, made: &callList{}, offered: &offers{}, store: newFakeStore(), log: &fakeLog{}, health: health.New(health.Options{}),
		grant: &account.Grant{
			Key: &account.Key{
				ID: "key_1", WorkspaceID: "ws_1",
				KeySettings: account.KeySettings{
					Name: "ci", Scopes: []account.Scope{account.Inference},
					Budget: &account.Budget{Amount: money.Dollar, Period: account.Monthly}, Limits: account.Limits{RequestsPerMinute: 1000, TokensPerMinute: 1_000_000, Concurrent: 50},
				},
			},
			Workspace: &account.Workspace{ID: "ws_1", Name: "Home", LogBodies: true, Comparison: c},
		},
	}
	k.ledger = ledger.New(ledger.Options{Spent: k.store.spent})
	k.clients = k.gateway(k.served, k.health, k.ledger, k.log, k.offered, judging)
	k.shadow = k.gateway(k.made, health.New(health.Options{}), k.ledger, discardLog{}, nil, judging)
	k.comparer = k.newComparer(k.shadow)
	return k
}

func (k *kit) newComparer(caller shadow.Caller) *shadow.Comparer {
	return shadow.New(shadow.Options{
		Caller: caller, Store: k.store, Charged: func(proof.Charge) {},
		Hooks: doer(func(r *http.Request) (*http.Response, error) {
			if k.hook == nil {
				return nil, errors.New("no hook")
			}
			return k.hook(r)
		}),
		Redact: func(entries []requestlog.Entry) {
			for i := range entries {
				entries[i].Body.Response = []byte(strings.ReplaceAll(string(entries[i].Body.Response), "secret", "[redacted]"))
				for j, w := range entries[i].Warnings {
					entries[i].Warnings[j] = strings.ReplaceAll(w, "secret", "[redacted]")
				}
			}
		},
		Report: func(task string, err error) {
			if err != nil {
				k.Errorf("%s: %v", task, err)
			}
		},
	})
}

func (k *kit) gateway(calls *callList, tracker *health.Tracker, l ledger.Ledger, log gateway.Log, comparer gateway.Comparer, judging simulator.Judging) *gateway.Gateway {
	k.Helper()
	cat, err := readCatalog()
	if err != nil {
		k.Fatal(err)
	}
	sim := simulator.NewSimulator(simulator.Options{Judging: judging})
	var providers []*provider.Provider
	for name, models := range map[string][]string{"best": {"sim-flagship", "sim-large"}, "cheap": {"sim-small", "sim-nano"}, "judges": {"sim-medium"}} {
		providers = append(providers, simulated(name, sim, calls, models))
	}
	slices.SortFunc(providers, func(a, b *provider.Provider) int { return strings.Compare(a.Name, b.Name) })
	return gateway.New(gateway.Parts{
		Routes: []gateway.Route{
			{Path: "/chat/completions", Op: llm.Chat, Format: openai.Format{}},
			{Path: "/messages", Op: llm.Chat, Format: anthropic.Format{}},
			{Path: "/responses", Op: llm.Chat, Format: responses.Format{}},
		},
		Access: gateway.Access{Keys: fakeKeys{k.grant}, Limits: limit.NewMemory(time.Now), Ledger: l}, Health: tracker,
		Recording: gateway.Recording{
			Log: log, Observe: func(*requestlog.Entry) {}, Started: func(*requestlog.Entry) {}, Logger: slog.New(slog.DiscardHandler),
		},
		Dispatcher: &upstream.Dispatcher{Admission: tracker, Health: tracker, Batches: openai.Format{}, Random: rand.New(rand.NewPCG(1, 2)).Float64}, //nolint:gosec // every run must draw the same numbers
		Settings: gateway.Settings{
			LogBodies: true, BodyLimit: 1 << 20, MaxConcurrent: 2000, Upload: upload.Limits{Body: 1 << 20, Total: 64 << 20, Pause: time.Minute},
			Attempts: upstream.Settings{Attempts: 2, Backoff: time.Millisecond, Idle: 5 * time.Second, Total: time.Minute},
			Hold:     10 * time.Second, Ping: 15 * time.Second, ReadPause: time.Minute,
		},
		Snapshot: route.NewSnapshot(cat, providers, nil), Responses: gateway.Responses{Comparer: comparer},
	})
}

// readCatalog reads the tables once for all tests: a catalog is immutable.
var readCatalog = sync.OnceValues(catalog.Default)

// simulated returns a provider with some of the simulator's models.
func simulated(name string, sim *simulator.Simulator, calls *callList, models []string) *provider.Provider {
	var targets []*provider.Target
	for i, m := range sim.Models() {
		offer := sim.Offers()[i]
		for _, wanted := range models {
			if m.Name == wanted {
				targets = append(targets, &provider.Target{Provider: name, Model: &m, Upstream: offer.Upstream, Price: offer.Price, Simulated: true, FirstToken: 10 * time.Second})
			}
		}
	}
	p := compatible.New(compatible.Row{Name: name, ChatPath: "/chat/completions", ModelsPath: "/models"}, provider.Settings{BaseURL: "http://simulator.invalid/v1", Targets: targets})
	p.Simulated, p.Transport = true, simulator.Transport(calls.counted(sim))
	return p
}

// send sends a request of a client and compares it if it was chosen.
func (k *kit) send(path, body string, headers ...string) *httptest.ResponseRecorder {
	k.Helper()
	w := k.serve(path, body, headers...)
	for _, s := range k.offered.take() {
		k.comparer.Compare(k.Context(), s)
	}
	return w
}

func (k *kit) serve(path, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(k.Context(), http.MethodPost, gateway.Prefix+path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer good")
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	k.clients.ServeHTTP(w, r)
	return w
}

// record returns the only stored record.
func (k *kit) record() proof.Record {
	k.Helper()
	all := k.store.all()
	if len(all) != 1 {
		k.Fatalf("%d records stored, want 1", len(all))
	}
	return all[0]
}

// callList records the requested models of a simulator.
type callList struct {
	mu     sync.Mutex
	models []string
}

func (c *callList) counted(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := new(strings.Builder)
		r.Body = teeBody{r.Body, body}
		h.ServeHTTP(w, r)
		var q struct{ Model string }
		_ = json.Unmarshal([]byte(body.String()), &q) // if this fails, the recorded model is empty
		c.mu.Lock()
		defer c.mu.Unlock()
		c.models = append(c.models, q.Model)
	})
}

func (c *callList) list() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string{}, c.models...)
}

type teeBody struct {
	readCloser
	to *strings.Builder
}

type readCloser interface {
	Read(p []byte) (int, error)
	Close() error
}

func (t teeBody) Read(p []byte) (int, error) {
	n, err := t.readCloser.Read(p)
	t.to.Write(p[:n])
	return n, err
}

// offers collects the requests that were chosen for comparison.
type offers struct {
	mu   sync.Mutex
	list []*gateway.Served
}

func (o *offers) Offer(s *gateway.Served) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.list = append(o.list, s)
}

func (o *offers) take() []*gateway.Served {
	o.mu.Lock()
	defer o.mu.Unlock()
	list := o.list
	o.list = nil
	return list
}

// fakeStore keeps records in memory.
type fakeStore struct {
	mu      sync.Mutex
	records []proof.Record
	charges map[string]money.Amount // charges by budget
	biases  map[string]judge.Bias
}

func newFakeStore() *fakeStore {
	return &fakeStore{charges: map[string]money.Amount{}, biases: map[string]judge.Bias{}}
}

func (f *fakeStore) Save(_ context.Context, r *proof.Record) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.records = append(f.records, *r)
	return nil
}

func (f *fakeStore) Charge(_ context.Context, c proof.Charge) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.charges[c.Budget] += c.Amount
	return nil
}

func (f *fakeStore) Bias(_ context.Context, workspace, model, prompt string) (judge.Bias, time.Time, bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	b, ok := f.biases[workspace+model+prompt]
	return b, time.Time{}, ok, nil
}

func (f *fakeStore) SaveBias(_ context.Context, workspace, model, prompt string, b judge.Bias, _ time.Time) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.biases[workspace+model+prompt] = b
	return nil
}

func (f *fakeStore) spent(_ context.Context, budget string, _ time.Time) (money.Amount, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.charges[budget], nil
}

func (f *fakeStore) all() []proof.Record {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]proof.Record{}, f.records...)
}

// fakeLog keeps the entries of clients.
type fakeLog struct {
	mu      sync.Mutex
	entries []requestlog.Entry
}

func (*fakeLog) Begin(*requestlog.Entry) error { return nil }

func (f *fakeLog) End(e *requestlog.Entry) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.entries = append(f.entries, *e)
	return nil
}

type discardLog struct{}

type fakeKeys struct{ grant *account.Grant }

func (f fakeKeys) Authenticate(http.Header) (*account.Grant, error) { return f.grant, nil }
func (fakeKeys) Touch(string, string, time.Time)                    {}
func (f fakeKeys) Key(string) *account.Key                          { return f.grant.Key }
func (f fakeKeys) Workspace(string) *account.Workspace              { return f.grant.Workspace }

type doer func(*http.Request) (*http.Response, error)

func (d doer) Do(r *http.Request) (*http.Response, error) { return d(r) }

func (discardLog) Begin(*requestlog.Entry) error { return nil }
func (discardLog) End(*requestlog.Entry) error   { return nil }
