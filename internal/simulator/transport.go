package simulator

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"sync"
	"syscall"
)

// Reset breaks the connection with a TCP reset. An in-process call fails with ECONNRESET.
func Reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // close with RST instead of FIN
	}
	_ = conn.Close()
}

// Transport returns a round tripper that serves requests with h inside the process. It streams responses without a port or a copy of the
// body. The handler's context is cancelled when the request's context is done or when the response body is closed. If the handler panics,
// the call fails like a call with a broken connection. Every handler runs in its own goroutine. A handler that switches protocols can
// hijack the connection, which then stays open after the request's context is done.
func Transport(h http.Handler) http.RoundTripper { return inProcess{h} }

type inProcess struct{ handler http.Handler }

func (t inProcess) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(req.Context())
	reader, writer := io.Pipe()
	w := &responseWriter{
		header: http.Header{}, pipe: writer, ready: make(chan struct{}), failed: make(chan error, 1),
		head: req.Method == http.MethodHead,
	}
	// Close the pipe when the caller cancels the request. Otherwise a handler that is blocked in a write would never end.
	unwatch := context.AfterFunc(ctx, func() { _ = writer.CloseWithError(ctx.Err()) })
	trace := httptrace.ContextClientTrace(req.Context())
	if trace != nil && trace.GotConn != nil {
		trace.GotConn(httptrace.GotConnInfo{})
	}
	go func() {
		defer cancel()
		t.serve(w, serverRequest(ctx, req))
		unwatch()
		if req.Body != nil {
			_ = req.Body.Close()
		}
	}()

	select {
	case <-w.ready:
		if trace != nil && trace.GotFirstResponseByte != nil {
			trace.GotFirstResponseByte()
		}
		return w.response(req, &answerBody{PipeReader: reader, cancel: cancel}), nil
	case err := <-w.failed:
		return nil, err
	case <-req.Context().Done():
		cancel()
		return nil, req.Context().Err()
	}
}

// serve runs the handler and then closes the pipe, as a server closes the connection.
func (t inProcess) serve(w *responseWriter, r *http.Request) {
	defer func() {
		if w.conn != nil {
			_ = w.conn.Close()
		}
		switch cause := recover(); {
		case cause == nil && r.Context().Err() != nil:
			// The handler ended because the request was cancelled, so the caller must not receive a complete response.
			w.fail(r.Context().Err(), r.Context().Err())
		case cause == nil:
			w.WriteHeader(http.StatusOK)
			_ = w.pipe.Close()
		case cause == http.ErrAbortHandler: //nolint:errorlint // the cause is a panic value, which is never wrapped
			w.fail(fmt.Errorf("in-process provider: %w", syscall.ECONNRESET), io.ErrUnexpectedEOF)
		default:
			err := fmt.Errorf("in-process provider panicked: %v", cause)
			w.fail(err, err)
		}
	}()
	t.handler.ServeHTTP(w, r)
}

// serverRequest returns a copy of the request with the fields that a server sets for a handler.
func serverRequest(ctx context.Context, req *http.Request) *http.Request {
	r := req.Clone(ctx)
	r.RequestURI = req.URL.RequestURI()
	r.RemoteAddr = "in-process"
	r.Proto, r.ProtoMajor, r.ProtoMinor = "HTTP/1.1", 1, 1
	if r.Host == "" {
		r.Host = req.URL.Host
	}
	if r.Body == nil {
		r.Body = http.NoBody
	}
	return r
}

// answerBody is a response body that stops the handler when it is closed.
type answerBody struct {
	*io.PipeReader
	cancel context.CancelFunc
}

func (b *answerBody) Close() error {
	err := b.PipeReader.Close()
	b.cancel()
	return err
}

// responseWriter is the http.ResponseWriter of an in-process call.
type responseWriter struct {
	header http.Header
	pipe   *io.PipeWriter
	ready  chan struct{} // channel that is closed when the status is known
	failed chan error    // receives one error if the handler fails before the status is known
	head   bool

	mu     sync.Mutex
	status int
	sent   http.Header // copy of the header, made when the status was set
	conn   net.Conn    // the handler's end of a hijacked connection; otherwise nil
	peer   net.Conn    // the client's end of a hijacked connection; otherwise nil
}

func (w *responseWriter) Header() http.Header { return w.header }

func (w *responseWriter) WriteHeader(status int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	informational := status >= 100 && status < 200 && status != http.StatusSwitchingProtocols
	if w.status != 0 || informational {
		return
	}
	if status == http.StatusSwitchingProtocols {
		w.conn, w.peer = net.Pipe()
	}
	w.status, w.sent = status, w.header.Clone()
	close(w.ready)
}

func (w *responseWriter) Write(p []byte) (int, error) {
	if w.header.Get("Content-Type") == "" {
		w.header.Set("Content-Type", http.DetectContentType(p))
	}
	w.WriteHeader(http.StatusOK)
	if w.head {
		return len(p), nil
	}
	return w.pipe.Write(p)
}

// Hijack implements http.Hijacker for a handler that switches protocols.
func (w *responseWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	if w.conn == nil {
		return nil, nil, http.ErrNotSupported
	}
	return w.conn, bufio.NewReadWriter(bufio.NewReader(w.conn), bufio.NewWriter(w.conn)), nil
}

// Flush sends the header. Writes are not buffered and need no flush.
func (w *responseWriter) Flush() { w.WriteHeader(http.StatusOK) }

// fail makes the call fail. The caller receives beforeStatus if the status was not sent yet. Otherwise reading the body returns inBody.
func (w *responseWriter) fail(beforeStatus, inBody error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.status == 0 {
		w.failed <- beforeStatus
	}
	_ = w.pipe.CloseWithError(inBody)
}

func (w *responseWriter) response(req *http.Request, body io.ReadCloser) *http.Response {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.peer != nil {
		body = w.peer
	}
	length := int64(-1)
	if n, err := strconv.ParseInt(w.sent.Get("Content-Length"), 10, 64); err == nil {
		length = n
	}
	return &http.Response{
		StatusCode: w.status, Status: fmt.Sprintf("%d %s", w.status, http.StatusText(w.status)),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.sent, Body: body, ContentLength: length, Request: req,
	}
}
