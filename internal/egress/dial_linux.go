package egress

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// userTimeout closes a connection with unacknowledged data, during which the kernel sends no keep-alive probes.
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
