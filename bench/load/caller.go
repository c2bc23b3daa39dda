package load

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"fairlead.dev/bench/agent"
)

// caller sends one request after another over its own connection.
type caller struct {
	*run
	in       *bufio.Reader
	part     []byte      // buffer for parts of a body
	conn     net.Conn    // nil when the next request needs a new connection
	forget   func() bool // cancels the function that closes conn when the run ends; see context.AfterFunc
	request  []byte
	serialAt [][]byte // parts of request that contain the serial number
	answer   []byte
	took     []time.Duration // durations until the last byte
	first    []time.Duration // durations until the first byte of the body
	bytes    int             // response bytes during the measurement
	size     int             // size of a complete response
	failures map[string]int  // connection failures during the measurement, by cause
	wrong    map[string]int  // incomplete responses and statuses other than 200, including those during the warm-up
	end      []byte          // text that occurs only in the last event of a stream
}

func newCaller(r *run) *caller {
	size := 16 << 10
	if r.Hold {
		size = 4 << 10 // there are many callers
	}
	c := idleCaller(r, agent.Chat, size)
	c.request = request(r.Target, r.Spec)
	for rest := c.request; ; {
		at := bytes.Index(rest, []byte(serial))
		if at < 0 {
			return c
		}
		c.serialAt = append(c.serialAt, rest[at:at+len(serial)])
		rest = rest[at+len(serial):]
	}
}

// idleCaller returns a caller without a request. The size of its buffers is buffer.
func idleCaller(r *run, format string, buffer int) *caller {
	return &caller{
		run: r, in: bufio.NewReaderSize(nil, buffer), part: make([]byte, buffer), failures: map[string]int{}, wrong: map[string]int{},
		end: streamEnd(format),
	}
}

// work sends requests until the run is over. The callers start at equal intervals within Spread, in the order of i.
func (c *caller) work(ctx context.Context, i int) {
	if c.Spread > 0 {
		sleep(ctx, c.Spread*time.Duration(i)/time.Duration(c.Callers))
	}
	defer c.drop()
	for ctx.Err() == nil && !c.over.Load() {
		if err := c.call(ctx); err != nil {
			c.fail(cause(err))
			c.drop()
			sleep(ctx, 10*time.Millisecond) // do not retry a failing server continuously
		}
	}
}

// dial opens a connection. When the run ends, the connection is closed if it is still open.
func (c *caller) dial(ctx context.Context) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", c.Address)
	if err != nil {
		return err
	}
	if c.TLS {
		conn = tls.Client(conn, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // the server is a process of this run
	}
	c.conn, c.forget = conn, context.AfterFunc(ctx, func() { _ = conn.Close() })
	c.in.Reset(conn)
	return nil
}

func (c *caller) drop() {
	if c.conn != nil {
		c.forget()
		_ = c.conn.Close()
		c.conn = nil
	}
}

// call sends a request, over a new connection if necessary, and reads the response.
func (c *caller) call(ctx context.Context) error {
	began := time.Now()
	if c.conn == nil {
		if err := c.dial(ctx); err != nil {
			return err
		}
	}
	number := fmt.Sprintf("%0*d", len(serial), c.sent.Add(1)%1e10)
	for _, at := range c.serialAt {
		copy(at, number)
	}
	if _, err := c.conn.Write(c.request); err != nil {
		return err
	}
	resp, err := http.ReadResponse(c.in, nil) //nolint:bodyclose // read closes the body
	if err != nil {
		return err
	}
	if err := c.read(began, resp); err != nil {
		return err
	}
	switch {
	case resp.StatusCode != http.StatusOK:
		c.reject("status " + strconv.Itoa(resp.StatusCode))
	case !c.whole():
		c.reject("incomplete response")
	default:
		c.size = len(c.answer)
		if c.measuring.Load() {
			c.took = append(c.took, time.Since(began))
		}
	}
	if resp.Close {
		c.drop()
	}
	return nil
}

// read reads the body of a response. A response with a status other than 200 does not count in the measurement.
func (c *caller) read(began time.Time, resp *http.Response) error {
	c.open.Add(1)
	defer c.open.Add(-1)
	defer func() { _ = resp.Body.Close() }()
	good := resp.StatusCode == http.StatusOK
	c.answer = c.answer[:0]
	n, err := resp.Body.Read(c.part)
	if c.Stream && good && n > 0 && c.measuring.Load() {
		c.first = append(c.first, time.Since(began))
	}
	for ; n > 0 || err == nil; n, err = resp.Body.Read(c.part) {
		if good && c.measuring.Load() {
			c.bytes += n
		}
		if !c.Hold {
			c.answer = append(c.answer, c.part[:n]...)
		}
		if err != nil {
			break // the last part may come together with io.EOF
		}
	}
	if !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// whole reports whether the response contains its end marker.
func (c *caller) whole() bool {
	if c.Stream && !c.ended() {
		return false
	}
	return bytes.Contains(c.answer, []byte(`"usage":`))
}

// reject counts an incomplete response or a response with a status other than 200.
func (c *caller) reject(what string) {
	if !c.over.Load() {
		c.wrong[what]++
	}
	c.fail(what)
}

// fail counts a failure. A request that is interrupted by the end of the run is not a failure.
func (c *caller) fail(what string) {
	if !c.over.Load() && (c.measuring.Load() || c.Hold) {
		c.failures[what]++
	}
}

// cause returns the text of an error without addresses, so that equal errors are counted together.
func cause(err error) string {
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		err = inner
	}
	return err.Error()
}
