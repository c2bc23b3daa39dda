package egress

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

var errHeadTooLarge = errors.New("the answer's headers are larger than allowed")

// conn is one connection to a host. A single call uses it at a time.
type conn struct {
	net.Conn          // with TLS where the host has it
	raw      net.Conn // without
	pool     *pool
	key      string
	reader   bufio.Reader  // of head; empty while the connection has no buffer
	room     *bufio.Reader // whose buffer it has; nil for none
	bare     bare          // to wait without one
	head     headLimit
	idle     time.Time // since when
	release  func()    // leaves the host's place
	forget   func() bool
	ended    atomic.Bool
}

// headLimit bounds what is read until the headers of an answer are there; bodies are bounded by whoever reads them.
type headLimit struct {
	from io.Reader
	left int64 // negative for no bound
	err  error // that a read ended with: whoever waited may not have asked for it
}

func (h *headLimit) Read(p []byte) (int, error) {
	if h.err != nil {
		return 0, h.err
	}
	if h.left == 0 {
		return 0, errHeadTooLarge
	}
	if h.left > 0 && int64(len(p)) > h.left {
		p = p[:h.left]
	}
	n, err := h.from.Read(p)
	if h.left > 0 {
		h.left -= int64(n)
	}
	h.err = err
	return n, err
}

// exchange writes the request and reads the answer up to its body.
func (c *conn) exchange(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	c.ended.Store(false)
	c.forget = context.AfterFunc(ctx, c.wake)
	t := timing(ctx)
	written := c.write(req)
	t.hasWritten()
	// A host may answer and hang up before it has read everything: what it says is worth more than that.
	resp, err := c.readHead(req, t)
	if err != nil {
		return nil, errors.Join(written, err)
	}
	c.head.left = -1
	resp.Request = nil // it has been written: an answer that takes minutes need not keep its text
	whole := &body{ReadCloser: resp.Body, ctx: ctx, conn: c, keep: written == nil && !resp.Close && !req.Close && resp.StatusCode != http.StatusSwitchingProtocols}
	resp.Body = whole
	if whole.ReadCloser == http.NoBody {
		whole.finish(io.EOF)
	}
	return resp, nil
}

// wake ends a read or write that waits: the call is given up.
func (c *conn) wake() { _ = c.SetDeadline(time.Unix(1, 0)) }

func (c *conn) write(req *http.Request) error {
	w := writers.Get().(*bufio.Writer)
	w.Reset(c.Conn)
	err := req.Write(w)
	if err == nil {
		err = w.Flush()
	}
	w.Reset(io.Discard)
	writers.Put(w)
	return err
}

// readHead skips the informational answers before the real one.
func (c *conn) readHead(req *http.Request, t *Timing) (*http.Response, error) {
	c.head.from, c.head.left = c.Conn, maxHeaderBytes
	c.takeRoom()
	if _, err := c.reader.Peek(1); err != nil {
		return nil, err
	}
	t.gotFirstByte()
	for {
		resp, err := http.ReadResponse(&c.reader, req)
		if err != nil {
			return nil, err
		}
		informational := resp.StatusCode >= 100 && resp.StatusCode <= 199
		if !informational || resp.StatusCode == http.StatusSwitchingProtocols {
			return resp, nil
		}
	}
}

// takeRoom gives the connection a buffer, where it has none.
func (c *conn) takeRoom() {
	if c.room == nil {
		c.room = readers.Get().(*bufio.Reader)
		c.reader = *c.room
		c.reader.Reset(&c.head)
	}
}

// leaveRoom lets another connection have the buffer, unless there is something in it.
func (c *conn) leaveRoom() {
	if c.room == nil || c.reader.Buffered() > 0 {
		return
	}
	*c.room = c.reader
	c.room.Reset(nil)
	readers.Put(c.room)
	c.reader, c.room = bufio.Reader{}, nil
}

// await returns when there is something to read, or an end. Very many connections may be open, each with an answer that comes a word
// at a time: while nothing comes they have no buffer, as far as that can be done.
func (c *conn) await() {
	if c.leaveRoom(); c.room == nil && !c.bare.wait() {
		c.takeRoom()
		_, _ = c.reader.Peek(1) // what went wrong is said to the next read
	}
}

// end gives the connection to the next call, or closes it.
func (c *conn) end(keep bool) {
	if c.ended.Swap(true) {
		return
	}
	still := c.forget == nil || c.forget() // else the call was given up, and the connection has a deadline in the past
	release := c.release
	if keep { // else somebody may still read
		c.leaveRoom()
	}
	if !keep || !still || c.reader.Buffered() > 0 || !c.pool.put(c) {
		_ = c.Close() // nothing is left to go wrong
	}
	release()
}

// body is an answer's body. Its end gives the connection back; closing it before the end closes the connection.
type body struct {
	io.ReadCloser
	ctx  context.Context //nolint:containedctx // the call's own: why a read was woken
	conn *conn
	keep bool
	err  error // why there is no more
}

func (b *body) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	b.conn.takeRoom()
	n, err := b.ReadCloser.Read(p)
	if err == nil {
		return n, nil
	}
	if cause := b.ctx.Err(); cause != nil && !errors.Is(err, io.EOF) {
		err = cause
	}
	b.finish(err)
	return n, err
}

// Wait returns when there is something to read, or an end.
func (b *body) Wait() {
	if b.err == nil {
		b.conn.await()
	}
}

// Close never reads on: a stream may have no end.
func (b *body) Close() error {
	b.finish(http.ErrBodyReadAfterClose)
	return nil
}

// finish lets go of the connection. What came first is what later reads hear of.
func (b *body) finish(err error) {
	if b.err == nil {
		b.err = err
		b.conn.end(b.keep && errors.Is(err, io.EOF))
	}
}
