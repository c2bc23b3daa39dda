package ingress

import (
	"net"

	"golang.org/x/sys/unix"
)

// limitUnsent limits how many bytes the kernel accepts before it can send them. The size of the send buffer is not enough,
// because the kernel doubles it for bookkeeping. Bytes in flight are not limited, so a fast client on a long path is not slowed
// down.
func limitUnsent(c *net.TCPConn, bytes int) {
	raw, err := c.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) { // the error is ignored, because a broken connection fails when it is read
		_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, bytes)
	})
}
