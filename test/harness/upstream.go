package harness

import (
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"fairlead.dev/internal/simulator"
)

// Upstream serves a scripted provider on loopback until the test ends. The address can be used as base_url.
func Upstream(t testing.TB) (mock *simulator.Mock, baseURL string) {
	t.Helper()
	mock = simulator.NewMock()
	return mock, Serve(t, mock) + "/v1"
}

// Serve serves any handler on loopback until the test ends, and returns its address without a path.
func Serve(t testing.TB, h http.Handler) string {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(func() {
		server.CloseClientConnections() // a scripted provider may be waiting for its client to disconnect
		server.Close()
	})
	return server.URL
}

// FreeAddress returns an unused loopback address that other programs are unlikely to use soon.
func FreeAddress(t testing.TB) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }() // the error is ignored: only the port number is needed
	return listener.Addr().String()
}
