package gateway

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"fairlead/internal/llm"
	"fairlead/internal/wire"
)

// client is the receiving side of one request. A whole answer is held until its end, a stream is flushed event by event.
// A timer of its own keeps a silent stream alive, so every write takes the lock.
type client struct {
	w      http.ResponseWriter
	rc     *http.ResponseController
	format wire.Format
	stream bool
	trace  bool // the caller wants the whole trace in the answer's last piece

	mu      sync.Mutex
	started bool // the status line has gone out
	closed  bool
	whole   []byte
	held    []llm.Event // the finish and what follows, waiting for the trace
	timer   *time.Timer
	silence time.Duration
	patient time.Duration // how long the client may stop reading
	until   time.Time     // it has time for what was written last
	bytes   int64
	events  int // that have gone out
}

// keepAlive starts the clock that ends silence: headers go out after hold, then a comment every ping.
func (c *client) keepAlive(hold, ping time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.silence = ping
	c.timer = time.AfterFunc(hold, c.ping)
}

func (c *client) ping() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	c.startStream()
	_ = c.emit(func(w io.Writer) error { // a client that is gone is noticed by its request's context
		_, err := io.WriteString(w, ": waiting\n\n")
		return err
	})
	c.timer.Reset(c.silence)
}

// event passes one piece on.
func (c *client) event(x *exchange, ev *llm.Event) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.stream {
		c.whole = ev.Data // the log has the same bytes: nobody changes them
		return nil
	}
	if c.trace && (ev.Finish != "" || len(c.held) > 0) {
		c.held = append(c.held, keep(*ev))
		return nil
	}
	if !c.started {
		x.describe(c.w.Header())
	}
	return c.write(*ev)
}

func (c *client) write(ev llm.Event) error {
	c.startStream()
	c.events++
	if c.timer != nil {
		c.timer.Reset(c.silence)
	}
	return c.emit(func(w io.Writer) error { return c.format.WriteEvent(w, ev) })
}

// end completes the answer.
func (c *client) end(x *exchange) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.close()
	if !c.stream {
		return c.endWhole(x)
	}
	for i, ev := range c.held {
		if i == len(c.held)-1 {
			ev.Data = c.format.Attach(ev.Data, "fairlead", x.trace())
		}
		if err := c.write(ev); err != nil {
			return err
		}
	}
	c.startStream()
	return c.emit(c.format.WriteEnd)
}

func (c *client) endWhole(x *exchange) error {
	data := c.whole
	if c.trace {
		data = c.format.Attach(data, "fairlead", x.trace())
	}
	h := c.w.Header()
	x.describe(h)
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(data)))
	c.w.WriteHeader(http.StatusOK)
	if err := c.send(data); err != nil {
		return err
	}
	return c.rc.Flush() // what is left to do is not for the client to wait for
}

// fail tells the client of an error: by status where nothing has gone out, else by the stream's last event.
func (c *client) fail(e *llm.Error, body []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.close()
	c.allowTime()
	if c.started {
		_ = c.emit(func(w io.Writer) error { // the last thing we can say; nobody may be left to hear it
			return c.format.WriteError(w, body, c.events)
		})
		return
	}
	writeError(c.w, e, body)
}

// hush ends the keep-alive clock for good and reports whether anything has gone out; from here on that stands.
func (c *client) hush() (started bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.close()
	return c.started
}

// size is how many bytes of body the client gets, as far as known.
func (c *client) size() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bytes + int64(len(c.whole))
}

// close ends the keep-alive clock.
func (c *client) close() {
	c.closed = true
	if c.timer != nil {
		c.timer.Stop()
	}
}

func (c *client) startStream() {
	if c.started {
		return
	}
	c.started = true
	h := c.w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no")
	c.w.WriteHeader(http.StatusOK)
}

// frames are the buffers that events are framed in. Few are framed at a time, however many streams are open.
var frames = sync.Pool{New: func() any { return &bytes.Buffer{} }}

// largestFrame is the most room that a buffer is kept with.
const largestFrame = 64 << 10

// emit sends one event at once.
func (c *client) emit(write func(io.Writer) error) error {
	buf := frames.Get().(*bytes.Buffer)
	defer func() {
		if buf.Cap() <= largestFrame {
			frames.Put(buf)
		}
	}()
	buf.Reset()
	if err := write(buf); err != nil {
		return err
	}
	if err := c.send(buf.Bytes()); err != nil {
		return err
	}
	return c.rc.Flush()
}

// sendSize is how much the client must read of a long answer to be given time for more.
const sendSize = 64 << 10

// send writes in pieces, so that a client that reads slowly, but reads, is not taken for one that has stopped.
func (c *client) send(data []byte) error {
	for piece := range slices.Chunk(data, sendSize) {
		c.allowTime()
		n, err := c.w.Write(piece)
		c.bytes += int64(n)
		if err != nil {
			return err
		}
	}
	return nil
}

// allowTime gives the client its time to read what is written next. A stream has many pieces: the deadline is moved once a
// part of it has passed, not for each of them.
func (c *client) allowTime() {
	now := time.Now()
	if c.until.Sub(now) > c.patient-c.patient/patientParts {
		return
	}
	c.until = now.Add(c.patient)
	_ = c.rc.SetWriteDeadline(c.until) // not every writer has deadlines
}

// patientParts is the part of its time that a client may get less than promised.
const patientParts = 16

// describe sets the headers that say what was chosen and what it costs.
func (x *exchange) describe(h http.Header) {
	e := x.entry
	set := headers{h, make([]string, 0, 12)}
	set.text("X-Fairlead-Decision", string(e.DecisionKind))
	set.text("X-Fairlead-Model", e.Model)
	set.text("X-Fairlead-Provider", e.Provider)
	set.text("X-Fairlead-Attempts", strconv.Itoa(len(e.Attempts)))
	if e.Policy != "" {
		set.text("X-Fairlead-Policy", headerText(e.Policy))
	}
	if e.BaselineModel != "" {
		set.text("X-Fairlead-Baseline-Model", e.BaselineModel)
	}
	if e.Cost != nil {
		set.text("X-Fairlead-Cost", e.Cost.String())
	}
	if e.BaselineCost != nil {
		set.text("X-Fairlead-Baseline-Cost", e.BaselineCost.String())
	}
	if e.Simulated {
		set.text("X-Fairlead-Simulated", "true")
	}
	if len(e.Warnings) > 0 {
		set.text("X-Fairlead-Warnings", headerText(strings.Join(e.Warnings, "; ")))
	}
	set.text("X-Fairlead-Overhead-Us", strconv.FormatInt(x.overhead().Microseconds(), 10))
	if e.Wait > 0 {
		set.text("X-Fairlead-Wait-Us", strconv.FormatInt(e.Wait.Microseconds(), 10))
	}
}

// headers sets many fields with room for all their values in one piece. Names must be in their canonical form.
type headers struct {
	to   http.Header
	room []string
}

func (s *headers) text(name, value string) {
	s.room = append(s.room, value)
	s.to[name] = s.room[len(s.room)-1 : len(s.room) : len(s.room)]
}

// headerText makes a text fit for a header: printable ASCII, of bounded length.
func headerText(s string) string {
	if len(s) > 1000 {
		s = s[:1000]
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, s)
}
