//go:build unix

package egress

import (
	"errors"
	"io"
	"syscall"

	"golang.org/x/sys/unix"
)

// bare is a connection as the system knows it, which can be waited for without a buffer. It is empty where there is TLS in between:
// what comes is not what is to be read then.
type bare struct {
	conn   syscall.RawConn
	try    func(fd uintptr) bool
	number number
}

func bareOf(c *conn) (b bare) {
	if plain, ok := c.Conn.(syscall.Conn); ok {
		if raw, err := plain.SyscallConn(); err == nil {
			b = bare{conn: raw, try: c.tryRead}
		}
	}
	return b
}

// wait returns when there is something to read, or an end. It reports whether it could.
func (b *bare) wait() bool {
	return b.conn != nil && b.conn.Read(b.try) == nil
}

// tryRead reads what has come, and reports false where nothing has. It never waits, so it has a buffer only for as long as it runs.
func (c *conn) tryRead(fd uintptr) bool {
	c.takeRoom()
	c.bare.number = number(fd)
	c.head.from = &c.bare.number
	_, err := c.reader.Peek(1)
	c.head.from = c.Conn
	if !errors.Is(err, unix.EAGAIN) {
		return true // the next read is told what went wrong, if anything did
	}
	c.head.err = nil
	c.leaveRoom()
	return false
}

// number is what the system calls a connection.
type number uintptr

func (fd *number) Read(p []byte) (int, error) {
	for {
		n, err := unix.Read(int(*fd), p) //nolint:gosec // a file's number
		switch {
		case err == nil && n > 0:
			return n, nil
		case err == nil:
			return 0, io.EOF
		case !errors.Is(err, unix.EINTR):
			return 0, err
		}
	}
}
