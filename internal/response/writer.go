// Package response writes model responses to clients. It holds a complete response until its end, flushes a stream
// event by event, sends keep-alives in silent streams, and buffers delivered text for the log.
package response

import (
	"bytes"
	"cmp"
	"io"
	"math"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/wire"
)

// Writer writes one response. It holds a complete response until its end and flushes a stream event by event. The
// keep-alive timer also writes, so every write takes the lock.
type Writer struct {
	client  connection
	framing wire.Framing
	trace   bool // whether the last event includes the full trace
	hold    time.Duration
	ping    time.Duration

	mu        sync.Mutex
	entry     *requestlog.Entry // describes the response in headers and in the trace; nil until Start
	stream    bool
	started   bool // whether the status line has been sent
	closed    bool
	whole     []byte
	media     string      // content type of a complete response that is not JSON
	raw       bool        // whether the response is sent as bytes of unknown length
	aborted   bool        // whether the raw response is incomplete
	held      []llm.Event // finish event and later events, held so that the trace can be added to the last event
	keepAlive *time.Timer
	events    int // number of events written
}

// connection sends bytes to one client. Sending fails if the client stops reading for too long.
type connection struct {
	http.ResponseWriter
	control http.ResponseController
	pause   time.Duration // maximum time that the client may stop reading
	until   time.Time     // write deadline
	bytes   int64         // number of body bytes sent
	// unflushed reports whether the connection's buffer contains events.
	unflushed bool
}

// Options configure a Writer.
type Options struct {
	Pause time.Duration // maximum time that the client may stop reading
	Hold  time.Duration // maximum wait for the first event of a stream before headers are sent
	Ping  time.Duration // time without an event after which a keep-alive message is sent
	Trace bool          // whether to add the full trace to the last event
}

// NewWriter returns a writer that uses the given framing for streams.
func NewWriter(w http.ResponseWriter, framing wire.Framing, o Options) *Writer {
	client := connection{ResponseWriter: w, control: *http.NewResponseController(w), pause: o.Pause}
	return &Writer{client: client, framing: framing, trace: o.Trace, hold: o.Hold, ping: o.Ping}
}

// Header returns the headers that are sent with the status line.
func (w *Writer) Header() http.Header { return w.client.Header() }

// Stream makes the response a stream and starts the keep-alive timer. If no event is sent before Options.Hold ends, the timer sends the
// headers and a keep-alive message. It sends further messages after every Options.Ping without an event.
func (w *Writer) Stream() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stream = true
	w.keepAlive = time.AfterFunc(w.hold, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.closed {
			return
		}
		w.sendStreamHeader()
		ignored := ": waiting\n\n"
		if t, ok := w.framing.(wire.StreamType); ok {
			ignored = t.KeepAlive()
		}
		_ = w.client.flush(func(out io.Writer) error { // a disconnected client is detected by the request's context
			_, err := io.WriteString(out, ignored)
			return err
		})
		w.keepAlive.Reset(w.ping)
	})
}

// Start sets the log entry that describes the response. Events that follow stay in the connection's buffer until Flush or End.
func (w *Writer) Start(e *requestlog.Entry) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.entry = e
	if w.stream {
		SetHeaders(w.client.Header(), e) // now, because the keep-alive timer may send the headers while the entry changes
	}
}

// Event writes one event or holds it. A complete response is held until its end, and the last events of a stream are
// held to add the trace.
func (w *Writer) Event(ev *llm.Event) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.stream {
		w.whole, w.media = ev.Data, ev.Type // the data is shared with the log, so it must not be modified
		return nil
	}
	if w.trace && (ev.Finish != "" || len(w.held) > 0) {
		w.held = append(w.held, ev.Clone())
		return nil
	}
	return w.writeEvent(*ev)
}

// Bytes sends a part of a response of unknown length. The first call sends the headers. An empty media type means JSON.
func (w *Writer) Bytes(data []byte, media string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.started {
		h := w.client.Header()
		h.Set("Content-Type", cmp.Or(media, "application/json"))
		h.Set("X-Content-Type-Options", "nosniff")
		w.started, w.raw = true, true
		w.client.WriteHeader(http.StatusOK)
	}
	return w.client.send(data)
}

// Aborted reports whether a response of unknown length ended with an error. The caller must close the connection, so that the client does
// not mistake the response for a complete response.
func (w *Writer) Aborted() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.aborted
}

func (w *Writer) writeEvent(ev llm.Event) error {
	w.sendStreamHeader()
	w.events++
	if w.keepAlive != nil {
		w.keepAlive.Reset(w.ping)
	}
	frame := func(out io.Writer) error { return w.framing.WriteEvent(out, ev) }
	if w.entry == nil {
		return w.client.flush(frame)
	}
	w.client.unflushed = true
	return w.client.write(frame)
}

// Unflushed reports whether written events have not been sent yet.
func (w *Writer) Unflushed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.client.unflushed
}

// Flush sends the events that were written. A connection error is returned by the next write.
func (w *Writer) Flush() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.client.unflushed {
		w.client.unflushed = false
		_ = w.client.control.Flush()
	}
}

// End completes the response.
func (w *Writer) End() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer w.close()
	if w.raw {
		return w.client.control.Flush()
	}
	if w.stream {
		for i, ev := range w.held {
			if i == len(w.held)-1 && w.entry != nil {
				ev.Data = rawjson.AppendMember(ev.Data, "fairlead", TraceOf(w.entry))
			}
			if err := w.writeEvent(ev); err != nil {
				return err
			}
		}
		w.sendStreamHeader()
		return w.client.flush(w.framing.WriteEnd)
	}
	data := w.whole
	if w.trace && w.media == "" && w.entry != nil {
		data = rawjson.AppendMember(data, "fairlead", TraceOf(w.entry))
	}
	h := w.client.Header()
	w.describe()
	h.Set("Content-Type", "application/json")
	if w.media != "" {
		h.Set("Content-Type", w.media)
		h.Set("X-Content-Type-Options", "nosniff")
	}
	h.Set("Content-Length", strconv.Itoa(len(data)))
	w.client.WriteHeader(http.StatusOK)
	if err := w.client.send(data); err != nil {
		return err
	}
	return w.client.control.Flush() // flush now, so that the client does not wait for the remaining work
}

// Fail reports an error to the client: as an error response if nothing was sent yet, otherwise in the last event of the stream. A response
// of unknown length is only marked as aborted.
func (w *Writer) Fail(e *llm.Error, body []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer w.close()
	w.client.extendDeadline()
	if w.raw {
		w.aborted = true
		return
	}
	if w.started {
		_ = w.client.flush(func(out io.Writer) error { // fails only when the client has disconnected
			return w.framing.WriteError(out, body, w.events)
		})
		return
	}
	w.describe()
	WriteError(w.client.ResponseWriter, e, body)
}

// Stop stops the keep-alive timer and reports whether anything was sent. The result does not change after the call.
func (w *Writer) Stop() (started bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.close()
	return w.started
}

// Sent returns the number of body bytes written so far, including a complete response that is held. Call it before End.
func (w *Writer) Sent() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.client.bytes + int64(len(w.whole))
}

func (w *Writer) close() {
	w.closed, w.client.unflushed = true, false
	if w.keepAlive != nil {
		w.keepAlive.Stop()
	}
}

// describe sets the headers that describe the decision and its cost, if they are known.
func (w *Writer) describe() {
	if w.entry != nil {
		SetHeaders(w.client.Header(), w.entry)
	}
}

func (w *Writer) sendStreamHeader() {
	if w.started {
		return
	}
	w.started = true
	h := w.client.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	if t, ok := w.framing.(wire.StreamType); ok {
		h.Set("Content-Type", t.ContentType())
	}
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no")
	w.client.WriteHeader(http.StatusOK)
}

// frames is a pool of buffers in which events are framed. An open stream uses a buffer only while it writes.
var frames = sync.Pool{New: func() any { return &bytes.Buffer{} }}

const (
	// maxFrame is the maximum capacity of a buffer that is returned to the pool.
	maxFrame = 64 << 10
	// sendSize is the number of bytes after which the write deadline of a long response is extended.
	sendSize = 64 << 10
	// deadlineParts is the number of parts into which the maximum pause is divided. The deadline is extended only after one part has
	// passed.
	deadlineParts = 16
)

// flush frames one event and sends it immediately.
func (c *connection) flush(frame func(io.Writer) error) error {
	if err := c.write(frame); err != nil {
		return err
	}
	c.unflushed = false
	return c.control.Flush()
}

// write frames events into the connection's buffer.
func (c *connection) write(frame func(io.Writer) error) error {
	buf := frames.Get().(*bytes.Buffer)
	defer func() {
		if buf.Cap() <= maxFrame {
			frames.Put(buf)
		}
	}()
	buf.Reset()
	if err := frame(buf); err != nil {
		return err
	}
	return c.send(buf.Bytes())
}

// send writes in chunks, so that a slow client is not mistaken for a client that has stopped reading.
func (c *connection) send(data []byte) error {
	for chunk := range slices.Chunk(data, sendSize) {
		c.extendDeadline()
		n, err := c.Write(chunk)
		c.bytes += int64(n)
		if err != nil {
			return err
		}
	}
	return nil
}

// extendDeadline sets the write deadline for the next chunk. To save system calls, it does nothing until one part of the maximum pause has
// passed.
func (c *connection) extendDeadline() {
	now, pause := time.Now(), c.pause
	if c.until.Sub(now) > pause-pause/deadlineParts {
		return
	}
	c.until = now.Add(pause)
	_ = c.control.SetWriteDeadline(c.until) // some connections do not support deadlines
}

// WriteError sends the status, the headers and the body of an error.
func WriteError(w http.ResponseWriter, e *llm.Error, body []byte) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff") // errors may quote the request, which browsers must not interpret as HTML
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("X-Fairlead-Error-Code", e.Kind.Code())
	h.Set("X-Should-Retry", strconv.FormatBool(e.Retryable()))
	status := e.Status()
	if (status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable) && e.Retryable() {
		seconds := math.Ceil(max(e.RetryAfter, time.Second).Seconds())
		h.Set("Retry-After", strconv.Itoa(int(min(seconds, 60)))) // at most one minute, because clients wait for this time before a retry
	}
	if status == http.StatusRequestEntityTooLarge {
		h.Set("Connection", "close") // the rest of the request body is not read
	}
	w.WriteHeader(status)
	_, _ = w.Write(body) // fails only when the client has disconnected
}
