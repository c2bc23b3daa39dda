package blackbox

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"fairlead.dev/test/harness"
)

func TestProbes(t *testing.T) {
	t.Parallel()
	g, _ := serve(t)
	for path, word := range map[string]string{"/health": "ok", "/livez": "ok", "/readyz": "ready"} {
		answer := wantOK(t, g.Call(t, harness.Request{Method: "GET", Path: path}))
		var body struct {
			Status string
			Checks []struct {
				Name string
				OK   bool
			}
		}
		harness.Decode(t, answer.Body, &body)
		if body.Status != word || answer.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: got %s %v, want the status %q and Cache-Control no-store", path, answer.Body, answer.Header, word)
		}
		if path == "/readyz" && len(body.Checks) < 3 {
			t.Errorf("readyz has %d checks, want at least 3: %s", len(body.Checks), answer.Body)
		}
	}
	if _, stderr, code := g.CLI(t, "health", "--url", g.URL()); code != 0 {
		t.Errorf("fairlead health: exit code %d, want 0\n%s", code, stderr)
	}
}

func TestMetricsRequireAKeyOrTheAdminListener(t *testing.T) {
	t.Parallel()
	address := harness.FreeAddress(t)
	g, _ := serve(t, "admin_listen: "+address)
	k := g.Key(t)
	wantOK(t, g.Call(t, harness.Request{Key: k, Body: chat(small)}))

	wantError(t, g.Call(t, harness.Request{Method: "GET", Path: "/metrics"}), http.StatusUnauthorized, "MISSING_API_KEY")
	wantError(t, g.Call(t, harness.Request{Method: "GET", Path: "/metrics", Key: k}), http.StatusForbidden, "SCOPE_DENIED")
	public := wantOK(t, g.Call(t, harness.Request{Method: "GET", Path: "/metrics", Key: g.Key(t, "--scopes", "read")}))
	private := get(t, "http://"+address+"/metrics")
	for name, body := range map[string][]byte{"public": public.Body, "private": private.Body} {
		for _, want := range []string{
			`fairlead_requests_total{decision="expected",endpoint="chat/completions",model="small",outcome="ok",provider="alpha"} 1`,
			`fairlead_cost_dollars_total{model="small",provider="alpha"} 1.08e-05`,
			"go_goroutines ", "process_open_fds ", "fairlead_spool_entries ", "fairlead_build_info{",
		} {
			if !bytes.Contains(body, []byte(want)) {
				t.Errorf("the %s metrics lack %s", name, want)
			}
		}
	}
	if got := get(t, "http://"+address+"/api/v1/requests"); got.Status != http.StatusNotFound {
		t.Errorf("admin API on the metrics listener: status %d, want 404", got.Status)
	}
}

// Metrics count the requests of every workspace, so only the workspace that runs the gateway may read them.
func TestMetricsAreHiddenFromOtherWorkspaces(t *testing.T) {
	t.Parallel()
	g, _ := serve(t)
	register(t, g, "ann@example.com")
	tenant := register(t, g, "ben@example.com")
	for _, scope := range []string{"read", "manage"} {
		var made struct{ Secret string }
		harness.Decode(t, tenant.call(t, "POST", "/keys", `{"name":"watch","scopes":["`+scope+`"]}`).Body, &made)
		wantError(t, g.Call(t, harness.Request{Method: "GET", Path: "/metrics", Key: made.Secret}), http.StatusForbidden, "SCOPE_DENIED")
	}
}

// Metric labels contain only configured names, regardless of what callers send.
func TestCallersCannotCreateMetricSeries(t *testing.T) {
	t.Parallel()
	g, _ := serve(t)
	k := g.Key(t, "--scopes", "inference,read")
	g.Call(t, harness.Request{Key: k, Body: chat("made-up-model-name")})
	metrics := wantOK(t, g.Call(t, harness.Request{Method: "GET", Path: "/metrics", Key: k}))
	if bytes.Contains(metrics.Body, []byte("made-up-model-name")) {
		t.Error("the metrics contain a model name that a client sent")
	}
}

// get sends a request to an address other than the gateway's public one.
func get(t *testing.T, url string) harness.Answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := (&http.Client{}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var body bytes.Buffer
	if _, err := body.ReadFrom(resp.Body); err != nil {
		t.Fatal(err)
	}
	return harness.Answer{Status: resp.StatusCode, Header: resp.Header, Body: body.Bytes()}
}

func TestDocumentsAreServed(t *testing.T) {
	t.Parallel()
	g, _ := serve(t)
	var api struct {
		OpenAPI string
		Paths   map[string]any
	}
	harness.Decode(t, wantOK(t, g.Call(t, harness.Request{Method: "GET", Path: "/api/openapi.json"})).Body, &api)
	if !strings.HasPrefix(api.OpenAPI, "3.1") || len(api.Paths) < 20 {
		t.Errorf("openapi is %q with %d paths, want 3.1 and at least 20 paths", api.OpenAPI, len(api.Paths))
	}
	var schema struct {
		Type       string
		Properties map[string]any
	}
	harness.Decode(t, wantOK(t, g.Call(t, harness.Request{Method: "GET", Path: "/config.schema.json"})).Body, &schema)
	if schema.Type != "object" || schema.Properties["providers"] == nil {
		t.Errorf("the schema has the type %q and %d properties, want object and the property providers",
			schema.Type, len(schema.Properties))
	}
	stdout, stderr, code := g.CLI(t, "config", "schema")
	if code != 0 || !strings.Contains(stdout, `"providers"`) {
		t.Errorf("config schema: exit code %d, want 0 and the property providers\n%s", code, stderr)
	}
}

func TestDashboardPageHasSecurityHeaders(t *testing.T) {
	t.Parallel()
	g, _ := serve(t)
	for _, path := range []string{"/", "/requests", "/settings/keys"} {
		answer := wantOK(t, g.Call(t, harness.Request{Method: "GET", Path: path, Header: http.Header{"Accept": {"text/html"}}}))
		h := answer.Header
		csp := h.Get("Content-Security-Policy")
		for _, part := range []string{"default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'"} {
			if !strings.Contains(csp, part) {
				t.Errorf("%s: the Content-Security-Policy %q lacks %s", path, csp, part)
			}
		}
		if strings.Contains(csp, "unsafe-inline") || strings.Contains(csp, "unsafe-eval") || strings.Contains(csp, "*") {
			t.Errorf("%s: the Content-Security-Policy allows unsafe sources: %s", path, csp)
		}
		if h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Referrer-Policy") != "no-referrer" || !strings.HasPrefix(h.Get("Content-Type"), "text/html") {
			t.Errorf("%s: headers are %v, want nosniff, no-referrer and text/html", path, h)
		}
	}
}

func TestConfigCheckFindsProblems(t *testing.T) {
	t.Parallel()
	if _, stderr, code := harness.CLI(t, harness.Options{Config: "rescue: off\n"}, "config", "check"); code != 0 {
		t.Errorf("valid file: exit code %d, want 0\n%s", code, stderr)
	}
	stdout, stderr, code := harness.CLI(t, harness.Options{Config: "rescue: maybe\n"}, "config", "check")
	if code != 3 || !strings.Contains(stdout+stderr, "rescue") {
		t.Errorf("invalid file: exit code %d, want 3 and an error for rescue\n%s%s", code, stdout, stderr)
	}
}
