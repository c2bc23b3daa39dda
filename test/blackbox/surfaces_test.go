package blackbox

import (
	"bytes"
	"net/http"
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
