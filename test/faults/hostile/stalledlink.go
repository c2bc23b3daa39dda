package hostile

import (
	"encoding/pem"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fairlead.dev/test/faults/scenario"
	"fairlead.dev/test/harness"
)

// StalledLink silently stops all traffic on the HTTP/2 connection that all calls to a provider share. Each call on the connection fails
// over within seconds, and later calls use a new connection.
func StalledLink(t *testing.T, size scenario.Size) string {
	server := httptest.NewUnstartedServer(scenario.Paced(20))
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	roots := filepath.Join(t.TempDir(), "roots.pem")
	if err := os.WriteFile(roots, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	link := harness.NewForward(t, strings.TrimPrefix(server.URL, "https://"))
	link.Up(t)
	beta := &scenario.Upstream{Answers: scenario.Paced(20)}
	g := harness.Start(t, harness.Options{Env: []string{"SSL_CERT_FILE=" + roots}, Config: harness.Config(t, []harness.Provider{
		{Name: "alpha", BaseURL: "https://" + link.Address() + "/v1", Models: []harness.Model{harness.Chat("plain", 0.4, 1.6, 0.5)}},
		{Name: "beta", BaseURL: harness.Serve(t, beta) + "/v1", Models: []harness.Model{harness.Chat("plain", 0.8, 3.2, 0.5)}},
	})})
	k := g.Key(t)
	const rate, cutAt = 25, 5 * time.Second
	time.AfterFunc(cutAt, link.Stall)
	all := scenario.Fire(t, g, k, scenario.Chat("plain"), rate, time.Duration(size.Of(15, 30))*time.Second)

	good, longest := 0, time.Duration(0)
	for _, s := range all {
		if scenario.Answered(s) {
			good++
		}
		longest = max(longest, s.Took)
	}
	if share := float64(good) / float64(len(all)); share < 0.999 {
		t.Errorf("%d of %d requests were served, want at least 99.9 %%", good, len(all))
	}
	if longest > 8*time.Second {
		t.Errorf("the slowest request took %s, want at most 8 s", longest)
	}
	return fmt.Sprintf("%d of %d served, the slowest took %s", good, len(all), longest.Round(10*time.Millisecond))
}
