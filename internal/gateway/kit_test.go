package gateway_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/egress"
	"fairlead.dev/internal/gateway"
	"fairlead.dev/internal/gateway/upstream"
	"fairlead.dev/internal/health"
	"fairlead.dev/internal/ledger"
	"fairlead.dev/internal/limit"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/promptcache"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/provider/compatible"
	"fairlead.dev/internal/realtime"
	"fairlead.dev/internal/reasoning"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/responsecache"
	"fairlead.dev/internal/route"
	"fairlead.dev/internal/session"
	"fairlead.dev/internal/simulator"
	"fairlead.dev/internal/upload"
	"fairlead.dev/internal/wire/anthropic"
	"fairlead.dev/internal/wire/gemini"
	"fairlead.dev/internal/wire/media"
	"fairlead.dev/internal/wire/openai"
	"fairlead.dev/internal/wire/responses"
)

// kit is a gateway in front of two mock providers: alpha has large and small; beta has large, embed and judge, and supports
// legacy completions.
type kit struct {
	*testing.T
	gateway     *gateway.Gateway
	alpha, beta *simulator.Mock
	keys        *fakeKeys
	log         *fakeLog
	pins        *fakePins
	ledger      *ledger.Memory
	settings    gateway.Settings
	policies    gateway.Policies
	feedback    gateway.Feedback
	prefixes    *promptcache.Memory
	admission   *limit.AdmissionQueue
	reasoning   *reasoning.Store
	sessions    *session.Namer
	snapshot    *route.Snapshot
	comparer    gateway.Comparer
	cache       *responsecache.Cache
	objects     fakeObjects
	routes      []gateway.Route
	exchange    func(provider.Exchange) provider.Exchange // wraps the chat exchange of both providers; nil to leave it as it is
	server      *httptest.Server                          // nil if inside is set
	url         string
	client      *http.Client
	inside      bool // whether everything runs in the process without a network, as synctest requires
}

func newKit(t *testing.T, adjust ...func(*kit)) *kit {
	t.Helper()
	k := &kit{
		routes: routes(), T: t, alpha: simulator.NewMock(), beta: simulator.NewMock(),
		keys: newFakeKeys(), log: &fakeLog{ended: make(chan *requestlog.Entry, 100)}, pins: &fakePins{},
		settings: gateway.Settings{
			LogBodies: true, BodyLimit: 1 << 20, MaxConcurrent: 100, Rescue: true,
			Upload:   upload.Limits{Body: 1 << 20, Total: 8 << 20, Pause: time.Minute},
			Attempts: upstream.Settings{Attempts: 3, Backoff: time.Millisecond, Idle: 5 * time.Second, Total: time.Minute},
			Hold:     10 * time.Second, Ping: 15 * time.Second, ReadPause: time.Minute,
			Realtime: realtime.Limits{Message: 1 << 20, Idle: time.Minute, Total: time.Hour},
		},
	}
	for _, f := range adjust {
		f(k)
	}
	k.snapshot = route.NewSnapshot(defaultCatalog(t), []*provider.Provider{
		k.provider("alpha", k.alpha, target("large", 2, 8), target("small", 0.1, 0.4)),
		k.provider("beta", k.beta, target("large", 3, 9), embedding("embed", 0.02), moderating("judge")),
	}, nil)
	k.ledger = ledger.New(ledger.Options{
		Spent: func(context.Context, string, time.Time) (money.Amount, error) { return 0, nil }, Now: time.Now,
	})
	tracker := health.New(health.Options{})
	k.gateway = gateway.New(gateway.Parts{
		Routes: k.routes, Settings: k.settings, Snapshot: k.snapshot, Health: tracker, Sessions: k.sessions,
		Access: gateway.Access{Keys: k.keys, Limits: limit.NewMemory(time.Now), Ledger: k.ledger, Admission: k.admission},
		Recording: gateway.Recording{
			Log: k.log, Observe: func(*requestlog.Entry) {}, Started: func(*requestlog.Entry) {}, Logger: slog.New(slog.DiscardHandler),
		},
		Dispatcher: &upstream.Dispatcher{
			Admission: tracker, Health: tracker, Batches: openai.Format{}, Random: func() float64 { return 0.5 }, SealID: storedIDs.Seal,
			Egress: egress.New(egress.Options{AllowPrivate: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}),
		},
		StoredIDs: storedIDs, Objects: &k.objects, Owners: &k.objects,
		Responses: gateway.Responses{Reasoning: k.reasoning, Comparer: k.comparer, Cache: k.cache},
		Routing: gateway.Routing{
			Policies: k.policies, Feedback: k.feedback, Prefixes: k.prefixes, Pins: k.pins,
		},
	})
	if k.inside {
		return k
	}
	k.server = httptest.NewServer(k.gateway)
	t.Cleanup(k.server.Close)
	k.url, k.client = k.server.URL, k.server.Client()
	return k
}

func routes() []gateway.Route {
	return []gateway.Route{
		{Path: "/chat/completions", Op: llm.Chat, Format: openai.Format{}},
		{Path: "/embeddings", Op: llm.Embed, Format: openai.Format{}},
		{Path: "/completions", Op: llm.Complete, Format: openai.Format{}},
		{Path: "/moderations", Op: llm.Moderate, Format: openai.Format{}},
		{Path: "/messages", Op: llm.Chat, Format: anthropic.Format{}},
		{Path: "/messages/count_tokens", Op: llm.Count, Format: anthropic.Format{}},
		{Path: "/responses", Op: llm.Chat, Format: responses.Format{}},
		{Path: "/audio/speech", Op: llm.Speech, Format: media.Format{}},
		{Path: "/audio/transcriptions", Op: llm.Transcribe, Format: media.Format{}},
		{Path: "/images/generations", Op: llm.GenerateImages, Format: media.Format{}},
		{Path: "/rerank", Op: llm.Rerank, Format: media.Format{}},
		{Path: "/realtime", Op: llm.Realtime, Format: media.Format{}},
		{Path: "/files", Op: llm.FileObjects, Format: media.Format{}},
		{Path: "/batches", Op: llm.BatchObjects, Format: media.Format{}},
		{Path: "/generateContent", Op: llm.Chat, Format: gemini.Format{}},
		{Path: "/streamGenerateContent", Op: llm.Chat, Format: gemini.Format{Stream: true}},
		{Path: "/countTokens", Op: llm.Count, Format: gemini.Format{}},
		{Path: "/embedContent", Op: llm.Embed, Format: gemini.Format{}},
		{Path: "/batchEmbedContents", Op: llm.Embed, Format: gemini.Format{Batch: true}},
	}
}

func defaultCatalog(t *testing.T) *catalog.Catalog {
	t.Helper()
	cat, err := readCatalog()
	if err != nil {
		t.Fatal(err)
	}
	return cat
}

// readCatalog reads the tables once for all tests: a catalog is immutable.
var readCatalog = sync.OnceValues(catalog.Default)

func target(name string, in, out float64) *provider.Target {
	return &provider.Target{
		Model:    &catalog.Model{Name: name, Op: llm.Chat, Abilities: catalog.Common, Quality: 0.8 + in/100, Context: 100_000, MaxOutput: 8_000},
		Upstream: name + "-2026", FirstToken: 10 * time.Second,
		Price: &catalog.Price{Input: money.PerMillion(in), Output: money.PerMillion(out), Source: "test"},
	}
}

func embedding(name string, in float64) *provider.Target {
	t := target(name, in, 0)
	t.Model.Op = llm.Embed
	return t
}

// moderating returns a free moderation model.
func moderating(name string) *provider.Target {
	t := target(name, 0, 0)
	t.Model.Op = llm.Moderate
	return t
}

// provider returns a provider whose mock has a port of its own.
func (k *kit) provider(name string, mock *simulator.Mock, targets ...*provider.Target) *provider.Provider {
	url := "http://" + name + ".invalid"
	if !k.inside {
		server := httptest.NewServer(mock)
		k.Cleanup(server.Close)
		url = server.URL
	}
	for _, t := range targets {
		t.Provider = name
	}
	row := compatible.Row{
		Name: name, ChatPath: "/chat/completions", EmbedPath: "/embeddings", ModelsPath: "/models", Prefill: compatible.PlainPrefill,
	}
	if name == "beta" {
		row.CompletePath, row.ModeratePath = "/completions", "/moderations"
	}
	p := compatible.New(
		row,
		provider.Settings{
			BaseURL: url + "/v1", Targets: targets,
			Credentials: []provider.Credential{{ID: name + "#1", Secret: "sk-provider-secret-" + name, Source: "test"}},
		})
	if k.exchange != nil {
		p.Chat = k.exchange(p.Chat)
	}
	if k.inside {
		p.Transport = simulator.Transport(mock)
	}
	return p
}

// clientResponse is a response as the client received it.
type clientResponse struct {
	status int
	header http.Header
	body   string
}

func (r clientResponse) json(t *testing.T) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte(r.body), &v); err != nil {
		t.Fatalf("the response is not JSON: %v\n%s", err, r.body)
	}
	return v
}

// code returns the error code of the response.
func (r clientResponse) code(t *testing.T) string {
	t.Helper()
	code, _ := r.json(t)["code"].(string)
	return code
}

// post sends a body to a path below /proxy/v1 with the default key. headers alternates names and values.
func (k *kit) post(path, body string, headers ...string) clientResponse {
	k.Helper()
	return k.do(k.request(http.MethodPost, path, body, headers...))
}

func (k *kit) request(method, path, body string, headers ...string) *http.Request {
	k.Helper()
	req, err := http.NewRequestWithContext(k.Context(), method, k.url+gateway.Prefix+path, strings.NewReader(body))
	if err != nil {
		k.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer good")
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	return req
}

func (k *kit) do(req *http.Request) clientResponse {
	k.Helper()
	if k.inside {
		w := httptest.NewRecorder()
		k.gateway.ServeHTTP(w, req)
		return clientResponse{w.Code, w.Header(), w.Body.String()}
	}
	resp, err := k.client.Do(req)
	if err != nil {
		k.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		k.Fatal(err)
	}
	return clientResponse{resp.StatusCode, resp.Header, string(body)}
}

// entry waits for the next recorded entry.
func (k *kit) entry() *requestlog.Entry {
	k.Helper()
	select {
	case e := <-k.log.ended:
		return e
	case <-time.After(10 * time.Second):
		k.Fatal("no entry was recorded")
		return nil
	}
}

const hello = `{"model":"large","messages":[{"role":"user","content":"hello"}]}`

func withModel(model string) string { return strings.Replace(hello, `"large"`, `"`+model+`"`, 1) }

func streaming(model string) string {
	return `{"model":"` + model + `","stream":true,"messages":[{"role":"user","content":"hello"}]}`
}

// fakeKeys accepts the key "good" and those that the test adds.
type fakeKeys struct {
	grant  *account.Grant
	others map[string]*account.Grant // grants by key
	ended  atomic.Bool               // whether the key has expired
}

func newFakeKeys() *fakeKeys {
	return &fakeKeys{grant: &account.Grant{
		Key:       &account.Key{ID: "key_1", WorkspaceID: "ws_1", KeySettings: account.KeySettings{Name: "ci", Scopes: []account.Scope{account.Inference}}},
		Workspace: &account.Workspace{ID: "ws_1", Name: "Home", LogBodies: true},
	}}
}

func (f *fakeKeys) Authenticate(h http.Header) (*account.Grant, error) {
	if len(slices.Compact(slices.Clone(h.Values("Authorization")))) > 1 || len(slices.Compact(slices.Clone(h.Values("X-Goog-Api-Key")))) > 1 {
		return nil, llm.Errorf(llm.InvalidRequest, "The request contains two different API keys.")
	}
	switch token := cmp.Or(strings.TrimPrefix(h.Get("Authorization"), "Bearer "), h.Get("X-Goog-Api-Key")); token {
	case "good":
		if f.ended.Load() {
			return nil, llm.Errorf(llm.ExpiredAPIKey, "The API key has expired.")
		}
		return f.grant, nil
	case "":
		return nil, llm.Errorf(llm.MissingAPIKey, "Send an API key.")
	default:
		if grant := f.others[token]; grant != nil {
			return grant, nil
		}
		return nil, llm.Errorf(llm.InvalidAPIKey, "The API key is not valid.")
	}
}

func (f *fakeKeys) Workspace(workspaceID string) *account.Workspace {
	if f.grant.Workspace.ID == workspaceID {
		return f.grant.Workspace
	}
	return nil
}

func (f *fakeKeys) Key(keyID string) *account.Key {
	if f.grant.Key.ID == keyID {
		return f.grant.Key
	}
	for _, grant := range f.others {
		if grant.Key.ID == keyID {
			return grant.Key
		}
	}
	return nil
}

func (*fakeKeys) Touch(string, string, time.Time) {}

// fakeLog keeps entries in memory. If failing is set, its methods return failing.
type fakeLog struct {
	mu      sync.Mutex
	begun   []string
	failing error
	ended   chan *requestlog.Entry
}

func (f *fakeLog) Begin(e *requestlog.Entry) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.begun = append(f.begun, e.ID)
	return f.failing
}

func (f *fakeLog) End(e *requestlog.Entry) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failing != nil {
		return f.failing
	}
	kept := *e
	kept.Body.Request, kept.Body.Response = bytes.Clone(e.Body.Request), bytes.Clone(e.Body.Response)
	kept.Body.Unfold()
	f.ended <- &kept
	return nil
}

type fakePins struct {
	mu    sync.Mutex
	model string
}

func (f *fakePins) PinEmbedding(_ context.Context, _, model string) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.model = cmp.Or(f.model, model)
	return f.model, nil
}
