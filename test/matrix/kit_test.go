// Package matrix sends every combination of client format, model and parameters through a gateway to strict mocks of the vendors.
package matrix

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/config"
	"fairlead.dev/internal/egress"
	"fairlead.dev/internal/gateway"
	"fairlead.dev/internal/gateway/upstream"
	"fairlead.dev/internal/health"
	"fairlead.dev/internal/ledger"
	"fairlead.dev/internal/limit"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/providerset"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/simulator"
	"fairlead.dev/internal/upload"
	"fairlead.dev/internal/wire/anthropic"
	"fairlead.dev/internal/wire/openai"
	"fairlead.dev/internal/wire/responses"
	"fairlead.dev/test/vendors"
)

// providers are the vendors behind the gateway.
var providers = []struct {
	config config.Provider
	mock   func() *simulator.Mock
}{
	{config.Provider{Name: "openai", BaseURL: "http://openai.invalid/v1", APIKeys: []string{"test-key"}}, vendors.OpenAI},
	{config.Provider{Name: "anthropic", BaseURL: "http://anthropic.invalid/v1", APIKeys: []string{"test-key"}}, vendors.Anthropic},
	{config.Provider{Name: "gemini", BaseURL: "http://gemini.invalid/v1beta", APIKeys: []string{"test-key"}}, vendors.Gemini},
	{config.Provider{
		Name: "bedrock", BaseURL: "http://bedrock.invalid", APIKeys: []string{"AKIDEXAMPLE:test-secret"}, Options: map[string]string{"region": "us-east-1"},
	}, vendors.Bedrock},
}

// deployment is a gateway and the mocks of all vendors, all in this process. It serves one request at a time.
type deployment struct {
	gateway *gateway.Gateway
	calls   sync.WaitGroup  // calls that a vendor is answering
	call    *simulator.Call // last call that a vendor received
}

// observed returns the transport to a vendor's mock. The transport counts running calls.
func (w *deployment) observed(mock *simulator.Mock) http.RoundTripper {
	check := mock.Check
	mock.Check = func(c *simulator.Call) error {
		w.call = c
		return check(c)
	}
	inside := simulator.Transport(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		defer w.calls.Done()
		mock.ServeHTTP(rw, r)
	}))
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		w.calls.Add(1)
		return inside.RoundTrip(r)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func newDeployment(t testing.TB) *deployment {
	t.Helper()
	w := &deployment{}
	builder := providerset.Builder{Config: config.Default(), Env: func(string) string { return "" }, Book: &catalog.PriceHistory{}}
	builder.Config.Detect, builder.Config.Simulator = false, "off"
	for _, v := range providers {
		builder.Config.Providers = append(builder.Config.Providers, v.config)
	}
	set, err := builder.Assemble()
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range providers {
		i := slices.IndexFunc(set.Providers, func(p *provider.Provider) bool { return p.Name == v.config.Name })
		set.Providers[i].Transport = w.observed(v.mock())
	}
	tracker := health.New(health.Options{})
	w.gateway = gateway.New(gateway.Parts{
		Routes: []gateway.Route{
			{Path: "/chat/completions", Op: llm.Chat, Format: openai.Format{}},
			{Path: "/messages", Op: llm.Chat, Format: anthropic.Format{}},
			{Path: "/responses", Op: llm.Chat, Format: responses.Format{}},
		},
		Access: gateway.Access{
			Keys: keys{}, Limits: limit.NewMemory(time.Now),
			Ledger: ledger.New(ledger.Options{
				Spent: func(context.Context, string, time.Time) (money.Amount, error) { return 0, nil }, Now: time.Now,
			}),
		},
		Health: tracker,
		Recording: gateway.Recording{
			Log: discard{}, Observe: func(*requestlog.Entry) {}, Started: func(*requestlog.Entry) {}, Logger: slog.New(slog.DiscardHandler),
		},
		Dispatcher: &upstream.Dispatcher{
			Admission: tracker, Health: tracker, Batches: openai.Format{}, Random: func() float64 { return 0.5 }, Egress: egress.New(egress.Options{}),
		},
		Snapshot: set.Routes,
		Settings: gateway.Settings{
			MaxConcurrent: 100, Upload: upload.Limits{Body: 1 << 20, Total: 8 << 20, Pause: time.Minute},
			Attempts: upstream.Settings{Attempts: 1, Idle: time.Minute, Total: time.Minute},
			Hold:     time.Minute, Ping: time.Minute, ReadPause: time.Minute,
		},
	})
	return w
}

// keys accepts every caller.
type keys struct{}

func (keys) Authenticate(http.Header) (*account.Grant, error) {
	return &account.Grant{
		Key:       &account.Key{ID: "key_1", WorkspaceID: "ws_1", KeySettings: account.KeySettings{Name: "test", Scopes: []account.Scope{account.Inference}}},
		Workspace: &account.Workspace{ID: "ws_1", Name: "Home"},
	}, nil
}

func (keys) Touch(string, string, time.Time) {}

func (keys) Key(string) *account.Key { return nil }

func (keys) Workspace(string) *account.Workspace { return nil }

// discard is a request log that stores nothing.
type discard struct{}

func (discard) Begin(*requestlog.Entry) error { return nil }
func (discard) End(*requestlog.Entry) error   { return nil }

// outcome is the result of one request.
type outcome struct {
	status   int
	body     string
	warnings string
	sent     *simulator.Call // last call to the vendor; nil if no vendor was called
}

// post sends a body to a path of the model API.
func (w *deployment) post(t testing.TB, path, body string) outcome {
	t.Helper()
	w.call = nil
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, gateway.Prefix+path, strings.NewReader(body))
	req.Header.Set("Authorization", "Bearer any")
	req.Header.Set("Content-Type", "application/json")
	recorder := httptest.NewRecorder()
	w.gateway.ServeHTTP(recorder, req)
	w.calls.Wait()
	text, err := io.ReadAll(recorder.Body)
	if err != nil {
		t.Fatal(err)
	}
	return outcome{recorder.Code, string(text), recorder.Header().Get("X-Fairlead-Warnings"), w.call}
}
