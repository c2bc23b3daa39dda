package azure

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/provider"
)

// azureCloud is a mock of Entra ID, the App Service endpoint and the instance metadata service.
func azureCloud(t *testing.T, status int) (*httptest.Server, *atomic.Int64) {
	t.Helper()
	requests := &atomic.Int64{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		q := r.URL.Query()
		resource := q.Get("resource") == "https://cognitiveservices.azure.com"
		switch {
		case status != http.StatusOK:
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(status)
			fmt.Fprintf(w, `{"error":"invalid_client","error_description":"bad %s%s"}`, r.PostFormValue("client_assertion"), r.Header.Get("X-Identity-Header"))
		case r.URL.Path == "/metadata/identity/oauth2/token" && r.Header.Get("Metadata") == "true" && resource && q.Get("client_id") == "user-assigned":
			fmt.Fprint(w, `{"access_token":"eyJ.imds.t","expires_in":"3599"}`)
		case r.URL.Path == "/msi" && r.Header.Get("X-Identity-Header") == "header-0123456789" && resource:
			fmt.Fprintf(w, `{"access_token":"opaque","expires_on":"%d"}`, time.Now().Add(time.Hour).Unix())
		case r.URL.Path == "/tenant-1/oauth2/v2.0/token" && r.PostFormValue("client_id") == "client-1" && r.PostFormValue("client_assertion") == "federated-0123456789":
			fmt.Fprint(w, `{"access_token":"eyJ.workload.t","expires_in":3599}`)
		default:
			w.WriteHeader(http.StatusTeapot)
		}
	}))
	t.Cleanup(server.Close)
	return server, requests
}

// redirected sends every request to one server, so that the fixed metadata address can be mocked.
type redirected struct{ host string }

func (d redirected) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Host = d.host
	return (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
}

func identityProvider(server *httptest.Server, source string, options map[string]string) *provider.Provider {
	transport := redirected{strings.TrimPrefix(server.URL, "http://")}
	return New(provider.Settings{
		BaseURL: "https://res.test", Options: options, Credentials: []provider.Credential{{Secret: provider.Identity, Source: source}},
		Fetch: &http.Client{Transport: transport}, Metadata: func(...string) http.RoundTripper { return transport },
	})
}

func identitySources(t *testing.T, server *httptest.Server) map[string]map[string]string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("federated-0123456789\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return map[string]map[string]string{
		"eyJ.imds.t":     {OptionClient: "user-assigned"},
		"Bearer opaque":  {optionEndpoint: server.URL + "/msi", optionHeader: "header-0123456789"},
		"eyJ.workload.t": {OptionTokenFile: file, optionEnvTenant: "tenant-1", optionEnvClient: "client-1", optionEnvAuthority: server.URL + "/"},
	}
}

func TestMachineIdentitySuppliesTokens(t *testing.T) {
	t.Parallel()
	server, requests := azureCloud(t, http.StatusOK)
	for want, options := range identitySources(t, server) {
		p, before := identityProvider(server, "file", options), requests.Load()
		for range 3 {
			if got, err := p.Login(t.Context(), provider.Identity); got != want || err != nil {
				t.Errorf("Login = %q, %v; want %q", got, err, want)
			}
		}
		if n := requests.Load() - before; n != 1 {
			t.Errorf("%s: %d requests, want 1", want, n)
		}
	}
}

func TestMachineIdentityFailuresAreClassified(t *testing.T) {
	t.Parallel()
	for status, kind := range map[int]llm.Kind{400: llm.UpstreamAuth, 307: llm.UpstreamAuth, 429: llm.UpstreamRateLimited, 500: llm.UpstreamServer} {
		server, requests := azureCloud(t, status)
		for name, options := range identitySources(t, server) {
			before := requests.Load()
			_, err := identityProvider(server, "file", options).Login(t.Context(), provider.Identity)
			e := llm.AsError(err)
			if err == nil || e.Kind != kind || strings.Contains(fmt.Sprintf("%v %v", e, e.Err), "0123456789") || requests.Load() != before+1 {
				t.Errorf("%s, status %d: %v of kind %s after %d requests; want %s without the secret after 1",
					name, status, err, e.Kind, requests.Load()-before, kind)
			}
		}
	}
}

func TestDashboardCredentialCannotUseTheMachine(t *testing.T) {
	t.Parallel()
	server, requests := azureCloud(t, http.StatusOK)
	_, err := identityProvider(server, provider.Dashboard, map[string]string{OptionClient: "user-assigned"}).Login(t.Context(), provider.Identity)
	if llm.AsError(err).Kind != llm.UpstreamAuth || requests.Load() != 0 {
		t.Errorf("Login: %v after %d requests, want UpstreamAuth without a request", err, requests.Load())
	}
}

func TestIdentityOfTheEnvironment(t *testing.T) {
	t.Parallel()
	for want, env := range map[string]map[string]string{
		"AZURE_FEDERATED_TOKEN_FILE": {"AZURE_TENANT_ID": "t", "AZURE_CLIENT_ID": "c", "AZURE_FEDERATED_TOKEN_FILE": "/f"},
		"IDENTITY_ENDPOINT":          {"IDENTITY_ENDPOINT": "http://127.0.0.1:1/msi", "IDENTITY_HEADER": "h"},
	} {
		if secret, source := Vendor.Key(func(name string) string { return env[name] }); secret != provider.Identity || source != want {
			t.Errorf("Key = %q from %q, want %q from %q", secret, source, provider.Identity, want)
		}
	}
}
