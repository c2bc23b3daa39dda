//go:build unix && !linux

package ingress

import "golang.org/x/sys/unix"

// hungUp is anything to read: the end is told from bytes by a look at them.
const hungUp = unix.POLLIN

func left(p unix.PollFd) bool {
	if p.Revents&(unix.POLLHUP|unix.POLLERR) != 0 {
		return true
	}
	var one [1]byte
	n, _, err := unix.Recvfrom(int(p.Fd), one[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
	return n == 0 && err == nil
}
