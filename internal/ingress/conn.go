package ingress

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"slices"
	"sync"
	"time"
)

// conn is one connection of a client. Its goroutine reads a request, answers it, and begins again.
type conn struct {
	server *Server
	raw    net.Conn // without TLS
	fd     int      // its number with the system, for the watcher; negative when it has none
	wire   net.Conn // with, where the client has it
	remote string
	secure *tls.ConnectionState
	in     intake
	out    *output     // nil when nothing is to be written
	header http.Header // emptied by the latest answer, for the next; nil while one has it

	writeUntil time.Time // the handler's own deadline for writes; zero for that of the server
	writeArmed time.Time // the deadline of the connection
	unread     bool      // the client did not read in time

	mu      sync.Mutex
	active  bool // a request has begun to come
	closing bool
	waits   bool               // the request has come whole: the client has nothing to say until its answer
	began   int64              // at which tick of the watcher
	cancel  context.CancelFunc // of the request that is answered
}

func newConn(s *Server, wire net.Conn) *conn {
	raw := wire
	if secure, ok := wire.(*tls.Conn); ok {
		raw = secure.NetConn()
	}
	if plain, ok := raw.(*net.TCPConn); ok && s.Unread > 0 {
		_ = plain.SetWriteBuffer(s.Unread) // a connection that has just broken says so when it is read
		limitUnsent(plain, s.Unread/4)
	}
	return &conn{server: s, raw: raw, wire: wire, fd: number(raw), remote: raw.RemoteAddr().String(), in: intake{conn: wire}}
}

// serve answers requests until the connection ends.
func (c *conn) serve() {
	defer c.server.forget(c)
	if !c.shake() {
		return
	}
	defer c.close()
	for fresh := true; c.next(fresh) && !c.server.stopping.Load(); fresh = false {
	}
}

// close ends the connection. One that is not read is reset: otherwise the system would hold what was not sent for minutes.
func (c *conn) close() {
	if tcp, ok := c.raw.(*net.TCPConn); ok && c.unread {
		_ = tcp.SetLinger(0) // fails if it is closed already
		_ = tcp.Close()
	}
	_ = c.wire.Close() // the client has what it will get
}

// shake secures the connection, where it is to be, and reports whether it is ours: one of HTTP/2 is handed on.
func (c *conn) shake() bool {
	secure, ok := c.wire.(*tls.Conn)
	if !ok {
		return true
	}
	ctx, cancel := context.WithTimeout(c.server.Context(), c.server.HeaderTime)
	defer cancel()
	if err := secure.HandshakeContext(ctx); err != nil {
		c.refusePlain(err)
		_ = c.wire.Close()
		return false
	}
	state := secure.ConnectionState()
	if state.NegotiatedProtocol == "h2" {
		c.server.http2.conns.hand(c.wire)
		return false
	}
	c.secure = &state
	return true
}

// refusePlain answers a client that speaks http where https is spoken. To others that fail to secure their connection there is nothing to
// say it on.
func (c *conn) refusePlain(err error) {
	plain, ok := errors.AsType[tls.RecordHeaderError](err)
	if ok && plain.Conn != nil && slices.Contains(requestStarts, string(plain.RecordHeader[:])) {
		newConn(c.server, plain.Conn).refuse(malformed("This address speaks https: write https:// in front of it."))
	}
}

// requestStarts are the first bytes of requests, as many as a record of TLS has in front.
var requestStarts = []string{"GET /", "HEAD ", "POST ", "PUT /", "PATCH", "DELET", "OPTIO"}

// next answers one request and reports whether another may follow. What it calls may wait for as long as a stream is open, so it
// keeps little on the stack itself.
func (c *conn) next(fresh bool) bool {
	a, cancel := c.receive(fresh)
	if a == nil {
		return false
	}
	defer cancel()
	defer c.done()
	if !c.handle(a, a.request) {
		return false
	}
	again := a.finish()
	c.header = a.header
	clear(c.header)
	if a.body != nil {
		_ = a.body.Close() // whoever still has it reads no further
		if !again && a.err == nil && a.body.left != 0 {
			c.linger()
		}
	}
	return again
}

// receive waits for a request and makes its answer ready; nil where none comes. The request's context ends with the function.
func (c *conn) receive(fresh bool) (*answer, context.CancelFunc) {
	m, err := c.readMessage(fresh)
	if err != nil {
		c.refuse(err)
		return nil, nil
	}
	ctx, cancel := context.WithCancel(c.server.Context())
	r := m.request.WithContext(ctx)
	r.RemoteAddr, r.TLS, r.Body = c.remote, c.secure, http.NoBody
	a := &answer{conn: c, request: r, header: c.header, last: r.Close}
	c.header = nil
	if r.ContentLength != 0 {
		a.body = newBody(c, &m)
		r.Body = a.body
	}
	c.begin(cancel, r.ContentLength == 0)
	return a, cancel
}

// handle runs the handler. One that panics ends the connection and nothing else.
func (c *conn) handle(a *answer, r *http.Request) (ok bool) {
	defer func() {
		if p := recover(); p != nil && p != http.ErrAbortHandler { //nolint:errorlint // a panic's value, never wrapped
			c.server.Logger.Error("a handler panicked", "error", fmt.Sprint(p), "stack", string(debug.Stack()))
		}
	}()
	c.server.Handler.ServeHTTP(a, r)
	return true
}

// readMessage waits for the next head and reads it.
func (c *conn) readMessage(fresh bool) (m message, err error) {
	c.writeUntil = time.Time{}
	text, lines, err := c.readHead(fresh)
	if err != nil {
		return m, err
	}
	if m, err = parse(text, lines); err != nil {
		return m, err
	}
	if length := m.request.ContentLength; length < 0 || length > int64(len(c.in.pending())) {
		c.in.until = time.Now().Add(c.server.BodyTime)
	}
	return m, nil
}

// readHead reads up to the empty line. The time for it begins with its first byte, or with a fresh connection: whoever makes
// one has something to say.
func (c *conn) readHead(fresh bool) (text string, lines int, err error) {
	limit, begun := c.server.HeaderSize, false
	c.in.until = c.patience(fresh)
	for head := (search{}); ; {
		pending := c.in.pending()
		end, err := head.end(pending)
		switch {
		case err != nil:
			return "", 0, err
		case end > limit, end == 0 && len(pending) >= limit:
			return "", 0, refuse(http.StatusRequestHeaderFieldsTooLarge, "The head of the request is larger than the limit of %d bytes. Send fewer or shorter headers.", limit)
		case len(pending) > 0 && !begun && !c.wake():
			return "", 0, net.ErrClosed
		case end > 0:
			text := string(pending[:end])
			c.in.use(end)
			return text, head.lines, nil
		case len(pending) > 0 && !begun && !fresh:
			c.in.until = time.Now().Add(c.server.HeaderTime)
		}
		begun = begun || len(pending) > 0
		if err := c.in.fill(limit); err != nil {
			return "", 0, err
		}
	}
}

// patience is until when the next request may begin. A deadline that is good for most of that time stays as it is.
func (c *conn) patience(fresh bool) time.Time {
	now, wait := time.Now(), c.server.IdleTime
	if fresh {
		return now.Add(c.server.HeaderTime)
	}
	if left := c.in.armed.Sub(now); left <= wait && left > wait-wait/4 {
		return c.in.armed
	}
	return now.Add(wait)
}

// wake tells that a request has begun to come, and reports whether it may.
func (c *conn) wake() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.active = true
	return !c.closing
}

// closeIdle closes a connection on which no request has begun.
func (c *conn) closeIdle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.active {
		c.closing = true
		_ = c.raw.Close() // nobody has asked anything
	}
}

// begin and done are around the handler.
func (c *conn) begin(cancel context.CancelFunc, heard bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cancel, c.waits, c.began = cancel, heard, c.server.ticks.Load()
}

func (c *conn) done() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cancel, c.waits, c.active = nil, false, len(c.in.pending()) > 0
}

// heard tells that the request has come whole.
func (c *conn) heard() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waits = true
}

// leave ends the work for a client that is gone.
func (c *conn) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cancel != nil {
		c.cancel()
	}
}

// refuse answers what is no request, if there was anything to answer.
func (c *conn) refuse(err error) {
	var r *refusal
	switch {
	case errors.As(err, &r):
	case errors.Is(err, os.ErrDeadlineExceeded) && len(c.in.pending()) > 0:
		r = refuse(http.StatusRequestTimeout, "The head of the request did not arrive within %s.", c.server.HeaderTime)
	default:
		return
	}
	c.in.use(len(c.in.pending()))
	c.writeUntil = time.Now().Add(time.Second)
	a := &answer{conn: c, request: &http.Request{Method: http.MethodGet}, last: true}
	c.server.Refuse(a, r.status, r.why)
	a.finish()
	c.linger()
}

// tellContinue lets the client send its body.
func (c *conn) tellContinue() error {
	out := c.room()
	out.bytes = append(out.bytes, "HTTP/1.1 100 Continue\r\n\r\n"...)
	return c.send(nil)
}

// room is where the next bytes go.
func (c *conn) room() *output {
	if c.out == nil {
		c.out = outputs.Get().(*output)
	}
	return c.out
}

// sendSize is how much a client must read of a long answer to be given time for more.
const sendSize = 64 << 10

// send writes what was gathered, and then p.
func (c *conn) send(p []byte) error {
	out := c.out
	if out == nil {
		return c.write(p)
	}
	c.out = nil
	var err error
	switch {
	case len(p) == 0:
		err = c.write(out.bytes)
	case len(p) <= sendSize:
		if err = c.armWrite(); err == nil {
			_, err = (&net.Buffers{out.bytes, p}).WriteTo(c.wire)
		}
	default:
		if err = c.write(out.bytes); err == nil {
			err = c.write(p)
		}
	}
	if cap(out.bytes) <= 2*gathered {
		out.bytes = out.bytes[:0]
		outputs.Put(out)
	}
	return c.noteUnread(err)
}

// write sends p in pieces, each with time of its own, so that a client that reads slowly is not taken for one that has stopped.
func (c *conn) write(p []byte) error {
	for piece := range slices.Chunk(p, sendSize) {
		if err := c.armWrite(); err != nil {
			return err
		}
		if _, err := c.wire.Write(piece); err != nil {
			return c.noteUnread(err)
		}
	}
	return nil
}

// armWrite sets the deadline for the next write. That of the server is moved once a part of it has passed, not for each write.
func (c *conn) armWrite() error {
	until := c.writeUntil
	if pause := c.server.ReadPause; until.IsZero() && pause > 0 {
		now := time.Now()
		if left := c.writeArmed.Sub(now); left <= pause && left > pause-pause/16 {
			return nil
		}
		until = now.Add(pause)
	}
	if until.Equal(c.writeArmed) {
		return nil
	}
	if err := c.wire.SetWriteDeadline(until); err != nil {
		return err
	}
	c.writeArmed = until
	return nil
}

func (c *conn) noteUnread(err error) error {
	c.unread = c.unread || errors.Is(err, os.ErrDeadlineExceeded)
	return err
}

// How long a client is heard out that was answered before it had sent everything.
const (
	lingering     = 5 * time.Second
	lingeringStop = 500 * time.Millisecond // when the server waits to stop
)

// linger lets a client that is still sending read its answer: closing at once would take that from it, and one that is not read
// cannot finish. A stop need not wait for that.
func (c *conn) linger() {
	if half, ok := c.wire.(interface{ CloseWrite() error }); !ok || half.CloseWrite() != nil {
		return
	}
	c.mu.Lock()
	c.active = false
	c.mu.Unlock()
	c.in.until = time.Now().Add(lingering)
	if c.server.stopping.Load() {
		c.in.until = time.Now().Add(lingeringStop)
	}
	_, _ = io.Copy(io.Discard, &c.in) // whatever it says
}
