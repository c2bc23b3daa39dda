package egress

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"fairlead.dev/internal/llm"
)

func TestMetadataTransportCallsOnlyItsHosts(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.RedirectHandler("/elsewhere", http.StatusFound))
	defer server.Close()
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	get := func(address string) (*http.Response, error) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
		if err != nil {
			t.Fatal(err)
		}
		return NewMetadata(strings.TrimPrefix(server.URL, "http://")).RoundTrip(r)
	}
	resp, err := get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusFound {
		t.Errorf("status %d: a redirect was followed", resp.StatusCode)
	}
	if resp, err := get(other.URL); llm.AsError(err).Kind != llm.UpstreamConnect {
		t.Errorf("other host: got %v, %v; want UpstreamConnect", resp, err)
		_ = resp.Body.Close()
	}
}

func TestMetadataHostMayBeAName(t *testing.T) {
	t.Parallel()
	const host = "metadata.google.internal:80"
	address := netip.MustParseAddr("169.254.169.254")
	if m, ok := NewMetadata(host).(metadata); !ok || m.settings.guard.check(host, address) != nil {
		t.Errorf("%s at %s is rejected, want allowed", host, address)
	}
	if err := newSettings(Options{AllowHosts: []string{host}}).guard.check(host, address); err == nil {
		t.Errorf("a client of providers may call %s at %s, want an error", host, address)
	}
}

func TestOtherClientsDoNotReachTheMetadataAddress(t *testing.T) {
	t.Parallel()
	client := newClient(t, Options{})
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://169.254.169.254/latest/api/token", nil)
	if err != nil {
		t.Fatal(err)
	}
	if resp, err := client.Do(r); llm.AsError(err).Kind != llm.UpstreamConnect || !strings.Contains(err.Error(), "link-local") {
		t.Errorf("got %v, %v; want UpstreamConnect for a link-local address", resp, err)
	}
}
