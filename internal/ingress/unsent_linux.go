package ingress

import (
	"net"

	"golang.org/x/sys/unix"
)

// limitUnsent bounds the bytes that the system takes before it can send them. The write buffer alone does not: the system doubles it for
// its own bookkeeping. Bytes that are on their way are not limited, so a fast client on a long path is not slowed down.
func limitUnsent(c *net.TCPConn, bytes int) {
	raw, err := c.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) { // a connection that has just broken says so when it is read
		_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, bytes)
	})
}
