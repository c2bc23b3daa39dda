package ingress

import "golang.org/x/sys/unix"

// hungUp is the end of what a client sends. It is told even behind bytes that nobody has read, such as the farewell of TLS.
const hungUp = unix.POLLRDHUP

func left(unix.PollFd) bool { return true }
