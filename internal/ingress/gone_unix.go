//go:build unix

package ingress

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// number is what the system calls a connection.
func number(c net.Conn) int {
	fd := -1
	if sc, ok := c.(syscall.Conn); ok {
		if raw, err := sc.SyscallConn(); err == nil {
			_ = raw.Control(func(n uintptr) { fd = int(n) }) // closed already: then nobody is there to be watched
		}
	}
	return fd
}

// gone tells which of the clients have left, by one call for many of them.
func gone(requests []open) (which []int) {
	const most = 1024
	polls := make([]unix.PollFd, 0, min(most, len(requests)))
	for from := 0; from < len(requests); from += most {
		polls = polls[:0]
		for _, o := range requests[from:min(from+most, len(requests))] {
			polls = append(polls, unix.PollFd{Fd: int32(o.conn.fd), Events: hungUp}) //nolint:gosec // a file's number
		}
		if _, err := unix.Poll(polls, 0); err != nil {
			continue // interrupted: there is a next time
		}
		for i, p := range polls {
			if p.Revents != 0 && left(p) {
				which = append(which, from+i)
			}
		}
	}
	return which
}
