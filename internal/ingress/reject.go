package ingress

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"strconv"
)

// listener wraps accepted connections so that errors written by net/http have the error format of the API.
type listener struct {
	net.Listener
	reject func(w http.ResponseWriter, status int, reason string)
}

// Accept implements net.Listener. TLS connections are returned unchanged, because net/http recognises HTTP/2 by their type.
func (l listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if tcp, ok := c.(*net.TCPConn); ok {
		return &rejectingConn{tcp, l.reject}, err
	}
	return c, err
}

// rejectingConn replaces the plain-text responses that net/http writes for malformed requests.
type rejectingConn struct {
	*net.TCPConn
	reject func(w http.ResponseWriter, status int, reason string)
}

// plainErrorHeaders follows the status line of the plain-text responses that net/http writes for malformed requests. Unlike the responses
// of handlers, they have no Date header.
var plainErrorHeaders = []byte("\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n")

// Write implements net.Conn.
func (c *rejectingConn) Write(p []byte) (int, error) {
	status, reason, ok := parsePlainError(p)
	if !ok {
		return c.TCPConn.Write(p)
	}
	w := &bufferedResponse{http.Response{StatusCode: status, ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{}, Close: true}, bytes.Buffer{}}
	c.reject(w, status, reason)
	w.response.Body, w.response.ContentLength = io.NopCloser(&w.body), int64(w.body.Len())
	var out bytes.Buffer
	if err := w.response.Write(&out); err != nil {
		return 0, err
	}
	if _, err := c.TCPConn.Write(out.Bytes()); err != nil {
		return 0, err
	}
	return len(p), nil
}

// parsePlainError returns the status and a reason if p is a plain-text error of net/http.
func parsePlainError(p []byte) (status int, reason string, ok bool) {
	if !bytes.HasPrefix(p, []byte("HTTP/1.1 ")) {
		return 0, "", false
	}
	line, _, found := bytes.Cut(p[:min(len(p), 1<<10)], plainErrorHeaders)
	if !found || len(line) < len("HTTP/1.1 400") || bytes.Contains(line, []byte("\r\n")) {
		return 0, "", false
	}
	status, err := strconv.Atoi(string(line[9:12]))
	if err != nil {
		return 0, "", false
	}
	switch status {
	case http.StatusRequestHeaderFieldsTooLarge:
		return status, "The request headers are too large. Send fewer or shorter headers.", true
	case http.StatusNotImplemented:
		return status, "Unsupported transfer encoding. Only chunked is supported.", true
	case http.StatusExpectationFailed:
		return status, "Unsupported expectation. Only 100-continue is supported.", true
	case http.StatusHTTPVersionNotSupported:
		return status, "Unsupported HTTP version. Use HTTP/1.1, or HTTP/2 over TLS.", true
	}
	if _, text, ok := bytes.Cut(line, []byte(": ")); ok { // as in "HTTP/1.1 400 Bad Request: missing required Host header"
		return status, "Malformed HTTP request: " + string(text) + ".", true
	}
	return status, "Malformed HTTP request.", true
}

// bufferedResponse is an http.ResponseWriter that buffers the response.
type bufferedResponse struct {
	response http.Response
	body     bytes.Buffer
}

func (b *bufferedResponse) Header() http.Header         { return b.response.Header }
func (b *bufferedResponse) WriteHeader(status int)      { b.response.StatusCode = status }
func (b *bufferedResponse) Write(p []byte) (int, error) { return b.body.Write(p) }
