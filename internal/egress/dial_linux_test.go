package egress

import (
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A dead connection must be detected within 15 seconds: by keep-alive probes if it is idle or waiting, by the user timeout if
// data is unacknowledged, and by pings in HTTP/2.
func TestDeadConnectionsAreDetectedInTime(t *testing.T) {
	t.Parallel()
	server := newServer(t, func(http.ResponseWriter, *http.Request) {})
	d := &dialer{guard: newGuard(Options{AllowPrivate: loopback}), timeout: time.Second}
	conn, err := d.dial(t.Context(), "tcp", strings.TrimPrefix(server.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	option := func(name int) int {
		raw, err := conn.(*net.TCPConn).SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		value := 0
		if err := raw.Control(func(fd uintptr) { value, err = unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, name) }); err != nil {
			t.Fatal(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		return value
	}

	probes := option(unix.TCP_KEEPIDLE) + option(unix.TCP_KEEPINTVL)*option(unix.TCP_KEEPCNT)
	if probes < 1 || probes > 15 {
		t.Errorf("keep-alive gives up after %d s, want at most 15", probes)
	}
	if ms := option(unix.TCP_USER_TIMEOUT); ms < 1000 || ms > 15_000 {
		t.Errorf("user timeout is %d ms, want at most 15000", ms)
	}
	if pings := pingAfter + pingTimeout; pings > 15*time.Second {
		t.Errorf("HTTP/2 pings give up after %s, want at most 15 s", pings)
	}
}
