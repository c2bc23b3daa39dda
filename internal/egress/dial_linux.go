package egress

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// userTimeout ends a connection with unacknowledged data: keep-alive probes run only without such data.
const userTimeout = 12 * time.Second

func setUserTimeout(conn syscall.RawConn) error {
	var failed error
	err := conn.Control(func(fd uintptr) {
		failed = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(userTimeout.Milliseconds()))
	})
	if err != nil {
		return err
	}
	return failed
}
