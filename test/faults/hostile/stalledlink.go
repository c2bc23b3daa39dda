package hostile

import (
	"encoding/pem"
	"fmt"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fairlead.dev/test/faults/scenario"
	"fairlead.dev/test/harness"
)

// StalledLink silently stops all traffic on the HTTP/2 connection that all calls to a provider share. Each call on the connection fails
// over within seconds, and later calls use a new connection.
func StalledLink(t *testing.T, size scenario.Size) string {
	server := httptest.NewUnstartedServer(scenario.Paced(20))
	link := &stallingListener{Listener: server.Listener}
	server.Listener, server.EnableHTTP2 = link, true
	server.StartTLS()
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	roots := filepath.Join(t.TempDir(), "roots.pem")
	if err := os.WriteFile(roots, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	beta := &scenario.Upstream{Answers: scenario.Paced(20)}
	g := harness.Start(t, harness.Options{Env: []string{"SSL_CERT_FILE=" + roots}, Config: harness.Config(t, []harness.Provider{
		{Name: "alpha", BaseURL: server.URL + "/v1", Models: []harness.Model{harness.Chat("plain", 0.4, 1.6, 0.5)}},
		{Name: "beta", BaseURL: harness.Serve(t, beta) + "/v1", Models: []harness.Model{harness.Chat("plain", 0.8, 3.2, 0.5)}},
	})})
	k := g.Key(t)
	const rate, cutAt = 25, 5 * time.Second
	time.AfterFunc(cutAt, link.stall)
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

// stallingListener accepts connections that can stop carrying data without being closed, like a link that is cut silently.
type stallingListener struct {
	net.Listener
	mu    sync.Mutex
	conns []*stallingConn
}

func (l *stallingListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	c := &stallingConn{Conn: conn}
	l.conns = append(l.conns, c)
	return c, nil
}

// stall cuts the open connections. New connections are not affected.
func (l *stallingListener) stall() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.conns {
		c.stalled.Store(true)
	}
}

type stallingConn struct {
	net.Conn
	stalled atomic.Bool
}

func (c *stallingConn) Read(p []byte) (int, error) {
	for {
		if n, err := c.Conn.Read(p); err != nil || !c.stalled.Load() {
			return n, err
		}
	}
}

func (c *stallingConn) Write(p []byte) (int, error) {
	if c.stalled.Load() {
		return len(p), nil
	}
	return c.Conn.Write(p)
}
