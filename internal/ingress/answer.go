package ingress

import (
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"
)

const (
	// held is how much of an answer waits for its end, so that its length can be told.
	held = 2 << 10
	// gathered is how much is written in one go; what is larger goes past the buffer.
	gathered = 8 << 10
)

// framing is how a client is told where an answer ends.
type framing uint8

const (
	undecided framing = iota
	byLength
	byChunks
	byClosing
	bodiless
)

// answer is the http.ResponseWriter of one request. It belongs to the goroutine that answers, or to one at a time.
type answer struct {
	conn     *conn
	request  *http.Request
	body     *body // nil when there is none
	header   http.Header
	status   int // 0 until it is settled
	framing  framing
	declared int64 // the length, or -1
	written  int64
	typed    bool   // the handler has said of what type it is
	last     bool   // the connection ends with it
	waiting  []byte // the beginning of the body, until the framing is decided
	err      error  // why no more can be sent
}

// Header is what the head will say, until WriteHeader.
func (a *answer) Header() http.Header {
	if a.header == nil {
		a.header = http.Header{}
	}
	return a.header
}

// WriteHeader settles the status and the headers. Informational answers are not sent.
func (a *answer) WriteHeader(status int) {
	if a.status != 0 || status >= 100 && status <= 199 {
		return
	}
	a.status = status
	if a.body != nil {
		a.body.answered()
	}
	out := a.conn.room()
	out.bytes = append(out.bytes, "HTTP/1.1 "...)
	out.bytes = strconv.AppendInt(out.bytes, int64(status), 10)
	out.bytes = append(out.bytes, ' ')
	out.bytes = append(out.bytes, http.StatusText(status)...)
	out.bytes = append(out.bytes, "\r\n"...)
	a.writeFields(out)
}

// writeFields writes the headers in the order of their names. Those that frame the answer are written when that is decided.
func (a *answer) writeFields(out *output) {
	a.declared = -1
	var few [24]string
	names := few[:0]
	for name := range a.header {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		values := a.header[name]
		switch name {
		case "Content-Length":
			if n, ok := declaredLength(values); ok {
				a.declared = n
			}
			continue
		case "Connection":
			a.last = a.last || hasToken(values, "close")
			continue
		case "Transfer-Encoding":
			continue
		case "Content-Type", "Content-Encoding":
			a.typed = true
		}
		if !isToken(name) {
			continue
		}
		for _, value := range values {
			out.field(name, value)
		}
	}
	if _, own := a.header["Date"]; !own {
		out.field("Date", a.conn.server.date.text(time.Now()))
	}
}

func declaredLength(values []string) (int64, bool) {
	if len(values) != 1 {
		return 0, false
	}
	return parseLength(values[0])
}

// Write sends a piece of the body, sooner or later.
func (a *answer) Write(p []byte) (int, error) {
	if a.status == 0 {
		a.WriteHeader(http.StatusOK)
	}
	if a.err != nil {
		return 0, a.err
	}
	if !bodyAllowed(a.status) {
		return 0, http.ErrBodyNotAllowed
	}
	if a.declared >= 0 && a.written+int64(len(p)) > a.declared {
		return 0, http.ErrContentLength
	}
	a.written += int64(len(p))
	if a.framing == undecided && a.declared < 0 && len(a.waiting)+len(p) <= held {
		a.waiting = append(a.waiting, p...)
		return len(p), nil
	}
	if a.framing == undecided {
		a.decide(p, false)
	}
	a.put(p)
	return len(p), a.err
}

// decide ends the head. Whole says that what waits is all there is; next is what follows it otherwise.
func (a *answer) decide(next []byte, whole bool) {
	out := a.conn.room()
	if len(a.waiting) > 0 {
		next = a.waiting
	}
	if !a.typed && len(next) > 0 {
		out.field("Content-Type", http.DetectContentType(next))
	}
	length := a.declared
	if whole && length < 0 && bodyAllowed(a.status) {
		length = a.written
	}
	switch {
	case !bodyAllowed(a.status):
		a.framing = bodiless
	case a.request.Method == http.MethodHead:
		a.framing = bodiless
		if length > 0 || a.declared == 0 {
			out.number("Content-Length", length)
		}
	case length >= 0:
		a.framing = byLength
		out.number("Content-Length", length)
	case a.request.ProtoMinor > 0:
		a.framing = byChunks
		out.field("Transfer-Encoding", "chunked")
	default:
		a.framing = byClosing
	}
	a.last = a.last || a.conn.server.stopping.Load() || a.body != nil && !a.body.skip()
	if a.last {
		out.field("Connection", "close")
	}
	out.bytes = append(out.bytes, "\r\n"...)
	if len(a.waiting) > 0 {
		a.put(a.waiting)
		a.waiting = nil
	}
}

func bodyAllowed(status int) bool {
	return status != http.StatusNoContent && status != http.StatusNotModified
}

// put frames a piece of the body.
func (a *answer) put(p []byte) {
	if len(p) == 0 || a.framing == bodiless || a.err != nil {
		return
	}
	out := a.conn.room()
	if a.framing == byChunks {
		out.bytes = strconv.AppendInt(out.bytes, int64(len(p)), 16)
		out.bytes = append(out.bytes, "\r\n"...)
	}
	if len(out.bytes)+len(p) <= gathered {
		out.bytes = append(out.bytes, p...)
	} else {
		a.note(a.conn.send(p))
	}
	if a.framing == byChunks && a.err == nil {
		out := a.conn.room()
		out.bytes = append(out.bytes, "\r\n"...)
	}
}

// note keeps the first thing that went wrong. The client is gone, and whoever works for it may stop.
func (a *answer) note(err error) {
	if err != nil && a.err == nil {
		a.err = err
		a.conn.leave()
	}
}

// FlushError sends what has been written.
func (a *answer) FlushError() error {
	if a.status == 0 {
		a.WriteHeader(http.StatusOK)
	}
	if a.err != nil {
		return a.err
	}
	if a.framing == undecided {
		a.decide(nil, false)
		a.header = nil // the rest may take long, and what they say is on its way
	}
	a.note(a.conn.send(nil))
	return a.err
}

// Flush sends what has been written.
func (a *answer) Flush() { _ = a.FlushError() } // whoever wants to know calls FlushError

// SetWriteDeadline is when a client that does not read has had its time.
func (a *answer) SetWriteDeadline(t time.Time) error {
	a.conn.writeUntil = t
	return nil
}

// SetReadDeadline is when a client that does not send has had its time.
func (a *answer) SetReadDeadline(t time.Time) error {
	a.conn.in.until = t
	return nil
}

// finish completes the answer and reports whether the connection can carry another.
func (a *answer) finish() bool {
	if a.status == 0 {
		a.WriteHeader(http.StatusOK)
	}
	if a.framing == undecided && a.err == nil {
		a.decide(nil, true)
	}
	if a.framing == byChunks {
		out := a.conn.room()
		out.bytes = append(out.bytes, "0\r\n\r\n"...)
	}
	if a.err == nil {
		a.note(a.conn.send(nil))
	}
	short := a.framing == byLength && a.written < a.declared
	return a.err == nil && !a.last && !short && a.framing != byClosing
}

// output is what is written next.
type output struct{ bytes []byte }

var outputs = sync.Pool{New: func() any { return &output{bytes: make([]byte, 0, gathered/2)} }}

func (o *output) field(name, value string) {
	o.bytes = append(o.bytes, name...)
	o.bytes = append(o.bytes, ": "...)
	from := len(o.bytes)
	o.bytes = append(o.bytes, value...)
	for i, c := range o.bytes[from:] {
		if c < ' ' && c != '\t' || c == 0x7f {
			o.bytes[from+i] = ' ' // a value never ends its line
		}
	}
	o.bytes = append(o.bytes, "\r\n"...)
}

func (o *output) number(name string, n int64) {
	var digits [20]byte
	o.field(name, string(strconv.AppendInt(digits[:0], n, 10)))
}
