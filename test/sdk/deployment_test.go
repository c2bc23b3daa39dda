package sdk

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"testing"
	"time"

	"fairlead.dev/internal/simulator"
	"fairlead.dev/test/harness"
)

// deployment is the environment of the suites: a gateway with its simulator, a gateway in front of a scripted provider, and a control
// address where suites can query the requests that the provider received.
type deployment struct {
	simulated *harness.Gateway
	scripted  *harness.Gateway
	mock      *simulator.Mock
	reader    string // a key that can read the log of the scripted gateway
	control   string
}

func newDeployment(t *testing.T, all []suite) *deployment {
	t.Helper()
	mock, baseURL := harness.Upstream(t)
	w := &deployment{mock: mock}
	w.simulated = harness.Start(t, harness.Options{})
	// One attempt per request, so that only the client retries. No rescue, so that an interrupted stream is not continued.
	w.scripted = harness.Start(t, harness.Options{Config: harness.Config(t, w.providers(t, all, baseURL),
		"retries: {attempts: 1}", "rescue: off", "limits: {body: 2MiB}")})
	w.reader = w.scripted.Key(t, "--scopes", "read")
	w.control = harness.Serve(t, w.routes())
	return w
}

// scripts returns the behaviours of the provider by model. Each suite has its own copy of these models.
func scripts() map[string][]simulator.Behaviour {
	return map[string][]simulator.Behaviour{
		"echo":          {{Echo: true}},
		"unprocessable": {simulator.Fail(http.StatusUnprocessableEntity)},
		"down":          {simulator.Fail(http.StatusInternalServerError)},
		"flaky":         {simulator.Fail(http.StatusServiceUnavailable), {}},
		"cut":           {{CutAfter: 3}},
		"endless":       {{SilentAfter: 3}},
	}
}

func (w *deployment) providers(t *testing.T, all []suite, baseURL string) []harness.Provider {
	t.Helper()
	mock := harness.Provider{Name: "mock", BaseURL: baseURL, APIKeys: []string{"upstream-secret"}, Models: []harness.Model{chat("vendor/slashed")}}
	dead := harness.Provider{Name: "dead", BaseURL: "http://" + harness.FreeAddress(t) + "/v1"}
	list := []harness.Provider{}
	for _, s := range all {
		for name, behaviours := range scripts() {
			model := name + "-" + s.name
			w.mock.For(model, behaviours...)
			mock.Models = append(mock.Models, chat(model))
		}
		dead.Models = append(dead.Models, chat("dead-"+s.name))
		// A separate provider: its 429 must not affect the others.
		busy := "busy-" + s.name
		w.mock.For(busy, simulator.Fail(http.StatusTooManyRequests, "Retry-After", "2"), simulator.Behaviour{})
		list = append(list, harness.Provider{Name: busy, BaseURL: baseURL, Models: []harness.Model{chat(busy)}})
	}
	return append(list, mock, dead)
}

// chat returns a model whose context window fits the largest prompt of the suites.
func chat(name string) harness.Model {
	m := harness.Chat(name, 1, 2, 0.5)
	m.Context = 4_000_000
	return m
}

// env returns the environment of a suite's program.
func (w *deployment) env(t *testing.T, s suite) []string {
	t.Helper()
	return []string{
		"SDK_NAME=" + s.name,
		"CONTROL_URL=" + w.control,
		"SIM_URL=" + w.simulated.BaseURL(),
		"SIM_KEY=" + w.simulated.Key(t),
		"MOCK_URL=" + w.scripted.BaseURL(),
		"MOCK_KEY=" + w.scripted.Key(t),
		"READ_KEY=" + w.scripted.Key(t, "--scopes", "read"),
		"NARROW_KEY=" + w.scripted.Key(t, "--models", "vendor/*"),
		"LIMITED_KEY=" + w.scripted.Key(t, "--rpm", "1"),
		"BROKE_KEY=" + w.scripted.Key(t, "--budget", "0.000001", "--period", "total"),
	}
}

// routes returns the handler of the control address, where suites query the requests that the provider received.
func (w *deployment) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /calls", func(rw http.ResponseWriter, r *http.Request) {
		reply(rw, http.StatusOK, map[string]any{"calls": len(w.calls(r.FormValue("model")))})
	})
	// The time limit is generous. Fault case F22 measures on an idle machine how soon a disconnect is detected.
	mux.HandleFunc("GET /gone", func(rw http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), 10*time.Second)
		defer cancel()
		status := http.StatusGatewayTimeout
		for _, call := range w.calls(r.FormValue("model")) {
			select {
			case <-call.Gone():
				status = http.StatusOK
			case <-ctx.Done():
			}
		}
		reply(rw, status, map[string]any{})
	})
	mux.HandleFunc("GET /entry", w.serveEntry)
	return mux
}

// serveEntry waits until the log contains a request and returns its record.
func (w *deployment) serveEntry(rw http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), 10*time.Second)
	defer cancel()
	for {
		status, body := w.lookUp(ctx, r.FormValue("id"))
		if status != http.StatusNotFound || ctx.Err() != nil {
			rw.WriteHeader(status)
			rw.Write(body)
			return
		}
		time.Sleep(20 * time.Millisecond) // the log belongs to another process, so the test must poll
	}
}

// lookUp reads one record through the admin API.
func (w *deployment) lookUp(ctx context.Context, id string) (status int, body []byte) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.scripted.URL()+"/api/v1/requests/"+url.PathEscape(id), http.NoBody)
	if err != nil {
		return http.StatusBadRequest, []byte(err.Error())
	}
	req.Header.Set("Authorization", "Bearer "+w.reader)
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return http.StatusBadGateway, []byte(err.Error())
	}
	defer resp.Body.Close()
	if body, err = io.ReadAll(resp.Body); err != nil {
		return http.StatusBadGateway, []byte(err.Error())
	}
	return resp.StatusCode, body
}

func (w *deployment) calls(model string) []*simulator.Call {
	var calls []*simulator.Call
	for _, call := range w.mock.Calls() {
		if call.Model == model {
			calls = append(calls, call)
		}
	}
	return calls
}

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // an error means that the suite has disconnected
}
