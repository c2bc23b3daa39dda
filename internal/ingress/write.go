package ingress

import (
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"
)

// pieceSize is the number of bytes of a response that a client must read within ReadPause.
const pieceSize = 32 << 10

// connWriter is the http.ResponseWriter of an HTTP/1.1 request. Each piece of a response has its own deadline, so that a slow
// reader is distinguished from a client that has stopped reading.
type connWriter struct {
	http.ResponseWriter
	control  *http.ResponseController
	tcp      *net.TCPConn // underlying connection; nil in tests
	body     requestBody
	deadline time.Time // current write deadline; net/http removes it after each request
	pause    time.Duration
	own      bool // whether the handler has set a deadline
}

// requestBody is a request body that keeps the error of a failed read.
type requestBody struct {
	io.ReadCloser
	err error
}

// Read implements io.Reader.
func (b *requestBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		b.err = err
	}
	return n, err
}

// Close does nothing: net/http closes the body after the handler. It does not see a handler close a body that it did not read to the end,
// because this type hides that body, and would read the rest as the next request.
func (*requestBody) Close() error { return nil }

// Unwrap lets http.ResponseController access the underlying writer.
func (w *connWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Write implements http.ResponseWriter.
func (w *connWriter) Write(data []byte) (n int, err error) {
	for {
		piece := data[n:min(n+pieceSize, len(data))]
		w.extendDeadline()
		m, err := w.ResponseWriter.Write(piece)
		if n += m; err != nil {
			return n, w.resetUnread(err)
		}
		if n == len(data) {
			return n, nil
		}
	}
}

// FlushError flushes the response for http.ResponseController.
func (w *connWriter) FlushError() error {
	w.extendDeadline()
	return w.resetUnread(w.control.Flush())
}

// Flush implements http.Flusher.
func (w *connWriter) Flush() { _ = w.FlushError() } // callers that need the error use FlushError

// SetWriteDeadline sets a deadline that replaces ReadPause.
func (w *connWriter) SetWriteDeadline(t time.Time) error {
	w.own = !t.IsZero()
	if !w.own {
		w.deadline = t
		return w.control.SetWriteDeadline(t)
	}
	return w.setDeadline(t, time.Until(t))
}

// extendDeadline sets the deadline for the next write.
func (w *connWriter) extendDeadline() {
	if w.pause > 0 && !w.own {
		_ = w.setDeadline(time.Now().Add(w.pause), w.pause) // the error is ignored, because a closed connection fails at the write
	}
}

// setDeadline sets the write deadline of the connection to t. left is the time until t. setDeadline keeps the current deadline if
// that is at most left/16 earlier than t, because setting a deadline costs as much as a small write.
func (w *connWriter) setDeadline(t time.Time, left time.Duration) error {
	if earlier := t.Sub(w.deadline); earlier >= 0 && earlier < left/16 {
		return nil
	}
	w.deadline = t
	return w.control.SetWriteDeadline(t)
}

// resetUnread discards the unsent data of a client that does not read, because the kernel would keep it for minutes.
func (w *connWriter) resetUnread(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) && w.tcp != nil {
		_ = w.tcp.SetLinger(0) // fails if the connection is already closed
	}
	return err
}

// drain sends the response and then reads the rest of the body, for at most lingerTime. If the connection was closed with unread data, the
// kernel would reset it, and the client could lose the response.
func (w *connWriter) drain(r *http.Request) {
	if w.body.err != nil {
		return // the rest does not arrive
	}
	_ = w.control.SetReadDeadline(time.Now().Add(drainTime)) // the error is ignored, because a closed connection fails at the read
	if r.Header.Get("Expect") != "" {
		return // reading would ask the client for the body
	}
	if _, err := io.CopyN(io.Discard, r.Body, keptBody); err != nil {
		return
	}
	if w.FlushError() == nil {
		_ = w.control.SetReadDeadline(time.Now().Add(lingerTime))
		_, _ = io.Copy(io.Discard, r.Body)
	}
}

// streamWriter is the http.ResponseWriter of an HTTP/2 request. In HTTP/2 a write deadline ends the stream even if the handler is
// not writing, so it is set only when a write has taken too long.
type streamWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	pause   time.Duration

	mu    sync.Mutex
	timer *time.Timer
	ended bool // whether the handler has returned
}

// Unwrap lets http.ResponseController access the underlying writer.
func (s *streamWriter) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// Write implements http.ResponseWriter.
func (s *streamWriter) Write(data []byte) (n int, err error) {
	if len(data) == 0 {
		return s.ResponseWriter.Write(nil) // sends the headers
	}
	for piece := range slices.Chunk(data, pieceSize) {
		stop := s.watch()
		m, err := s.ResponseWriter.Write(piece)
		stop()
		if n += m; err != nil {
			return n, err
		}
	}
	return n, nil
}

// FlushError flushes the response for http.ResponseController.
func (s *streamWriter) FlushError() error {
	defer s.watch()()
	return s.control.Flush()
}

// Flush implements http.Flusher.
func (s *streamWriter) Flush() { _ = s.FlushError() } // callers that need the error use FlushError

// watch resets the stream unless the returned function is called within the pause.
func (s *streamWriter) watch() (stop func() bool) {
	switch {
	case s.pause <= 0:
		return func() bool { return true }
	case s.timer == nil:
		s.timer = time.AfterFunc(s.pause, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			if !s.ended { // the underlying writer must not be used after the handler has returned
				_ = s.control.SetWriteDeadline(time.Unix(1, 0))
			}
		})
	default:
		s.timer.Reset(s.pause)
	}
	return s.timer.Stop
}

// end sets a deadline for the rest of the response, which the server sends after the handler has returned.
func (s *streamWriter) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	if s.pause > 0 {
		_ = s.control.SetWriteDeadline(time.Now().Add(s.pause))
	}
}
