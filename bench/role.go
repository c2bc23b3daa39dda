package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"

	"fairlead.dev/internal/simulator"
)

// serveUpstream runs a provider with minimal overhead.
func serveUpstream(ctx context.Context, out io.Writer) error {
	return serveHTTP(ctx, out, simulator.NewFixed().ServeHTTP)
}

// serveFloor runs a minimal gateway that uses only the standard library. It checks the key, reads the complete body, and
// forwards the request with httputil.ReverseProxy.
func serveFloor(ctx context.Context, args []string, out io.Writer) error {
	if len(args) != 1 {
		return errors.New("floor requires one argument: the address of the upstream")
	}
	target := &url.URL{Scheme: "http", Host: args[0]}
	proxy := &httputil.ReverseProxy{ // flushes event streams by default; a FlushInterval would write complete responses in two pieces
		Rewrite:    func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:  &http.Transport{MaxIdleConnsPerHost: 1 << 14, DisableCompression: true},
		BufferPool: new(copyBuffers),
		ErrorLog:   log.New(io.Discard, "", 0), // callers disconnect at the end of a run
	}
	return serveHTTP(ctx, out, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer bench" {
			http.Error(w, "invalid key", http.StatusUnauthorized)
			return
		}
		// Read the complete body first. If the response began while the body was still arriving, net/http would close the body
		// while the transport was reading it, and short streams would be lost.
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		proxy.ServeHTTP(w, r)
	})
}

// serveHTTP serves a handler until ctx is done.
func serveHTTP(ctx context.Context, out io.Writer, handler http.HandlerFunc) error {
	ln, err := listen(ctx, out)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// copyBuffers pools the buffers of the reverse proxy.
type copyBuffers struct{ pool sync.Pool }

func (c *copyBuffers) Get() []byte {
	if b, ok := c.pool.Get().(*[]byte); ok {
		return *b
	}
	return make([]byte, 16<<10)
}

func (c *copyBuffers) Put(b []byte) { c.pool.Put(&b) }

// listen listens on a loopback port and prints its address.
func listen(ctx context.Context, out io.Writer) (net.Listener, error) {
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err == nil {
		fmt.Fprintln(out, ln.Addr())
	}
	return ln, err
}
