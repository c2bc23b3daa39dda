package egress

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// userTimeout is the time after which a connection with unacknowledged data is closed. The kernel sends no keep-alive probes on
// such a connection.
const userTimeout = 12 * time.Second

func setUserTimeout(conn syscall.RawConn) error {
	var optErr error
	err := conn.Control(func(fd uintptr) {
		optErr = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(userTimeout.Milliseconds()))
	})
	if err != nil {
		return err
	}
	return optErr
}
