package limit

import (
	"net"
	"runtime"
	"testing"
	"time"
)

// TestThePollerComesRound: when it has, whoever waits for the network has heard what had come before.
func TestThePollerComesRound(t *testing.T) {
	t.Parallel()
	var p poller
	client, server := pair(t)
	for range 100 {
		heard := make(chan struct{})
		go func() {
			_, _ = server.Read(make([]byte, 1))
			close(heard)
		}()
		runtime.Gosched()
		_, _ = client.Write([]byte{1})
		p.comeRound()
		select {
		case <-heard:
		case <-time.After(10 * time.Second):
			t.Fatal("nobody heard of it")
		}
	}
}

func pair(t *testing.T) (client, server net.Conn) {
	t.Helper()
	var lc net.ListenConfig
	ln, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ln.Close() }()
	var d net.Dialer
	if client, err = d.DialContext(t.Context(), "tcp", ln.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if server, err = ln.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = client.Close()
		_ = server.Close()
	})
	return client, server
}
