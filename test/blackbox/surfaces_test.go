package blackbox

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"fairlead.dev/test/faults/scenario"
	"fairlead.dev/test/harness"
)

func TestMetricsRequireAKeyOrTheAdminListener(t *testing.T) {
	t.Parallel()
	address := harness.FreeAddress(t)
	g, _ := serve(t, "admin_listen: "+address)
	k := g.Key(t)
	wantOK(t, g.Call(t, harness.Request{Key: k, Body: scenario.Chat(small)}))

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

func TestProfilesAreServedOnLoopbackOnly(t *testing.T) {
	t.Parallel()
	address := harness.FreeAddress(t)
	g := harness.Start(t, harness.Options{Args: []string{"--debug-listen", address}})
	for path, want := range map[string]string{"/debug/pprof/goroutine?debug=1": "goroutine profile", "/metrics": "go_goroutines"} {
		if got := get(t, "http://"+address+path); got.Status != http.StatusOK || !bytes.Contains(got.Body, []byte(want)) {
			t.Errorf("%s: status %d, want 200 with %q", path, got.Status, want)
		}
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/debug/pprof/", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Host = "rebound.example.com:6060"
	resp, err := (&http.Client{}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusNotFound {
		t.Errorf("with the Host of a web page: status %d, want 404", resp.StatusCode)
	}
	if got := get(t, g.URL()+"/debug/pprof/"); bytes.Contains(got.Body, []byte("goroutine")) {
		t.Error("the public listener serves profiles")
	}
	if _, stderr, code := harness.CLI(t, harness.Options{}, "serve", "--debug-listen", "0.0.0.0:0"); code != 1 || !strings.Contains(stderr, "is not a loopback address") {
		t.Errorf("serve with a public address: exit code %d, output %q", code, stderr)
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
