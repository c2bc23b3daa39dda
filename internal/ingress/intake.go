package ingress

import (
	"net"
	"sync"
	"time"
)

// firstRead is the room for a head that a connection begins with; most fit, with the body of a short request.
const firstRead = 4 << 10

var buffers = sync.Pool{New: func() any { return new([firstRead]byte) }}

// intake is the reading side of a connection: what has come and was not used yet. It holds no buffer while that is nothing.
type intake struct {
	conn  net.Conn
	buf   []byte
	r, w  int
	until time.Time // reads that wait do so until then
	armed time.Time // what the connection was told last
}

func (in *intake) pending() []byte { return in.buf[in.r:in.w] }

// use takes n bytes of what is pending.
func (in *intake) use(n int) {
	if in.r += n; in.r == in.w {
		in.rest()
	}
}

// rest lets go of the buffer while nothing is pending.
func (in *intake) rest() {
	if in.r < in.w {
		return
	}
	if len(in.buf) == firstRead {
		buffers.Put((*[firstRead]byte)(in.buf))
	}
	in.buf, in.r, in.w = nil, 0, 0
}

// fill reads more, with room for at most limit bytes that are pending.
func (in *intake) fill(limit int) error {
	switch {
	case in.buf == nil:
		in.buf = buffers.Get().(*[firstRead]byte)[:]
	case in.r > 0 && in.w == len(in.buf):
		copy(in.buf, in.pending())
		in.r, in.w = 0, in.w-in.r
	case in.w == len(in.buf):
		larger := make([]byte, min(limit, 4*len(in.buf)))
		copy(larger, in.buf)
		in.buf = larger
	}
	n, err := in.read(in.buf[in.w:])
	in.w += n
	if n > 0 {
		return nil // an error comes again
	}
	in.rest()
	return err
}

// Read gives what is pending, or else reads past the buffer.
func (in *intake) Read(p []byte) (int, error) {
	if in.r < in.w {
		n := copy(p, in.pending())
		in.use(n)
		return n, nil
	}
	return in.read(p)
}

// read waits for the client. Setting a deadline costs as much as everything else here, so it is told only once somebody waits.
func (in *intake) read(p []byte) (int, error) {
	if !in.until.Equal(in.armed) {
		if err := in.conn.SetReadDeadline(in.until); err != nil {
			return 0, err
		}
		in.armed = in.until
	}
	return in.conn.Read(p)
}
