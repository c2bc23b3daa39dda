package app

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"time"

	"fairlead.dev/internal/llm"
)

// serveDebug serves profiles and runtime metrics at the address of --debug-listen, if it is set, and returns a function that stops. The
// listener has no authentication, and a heap profile shows how the server is used, so only loopback addresses are accepted.
func (a *App) serveDebug(ctx context.Context) (stop func(), err error) {
	address := a.options.DebugListen
	if address == "" {
		return func() {}, nil
	}
	if at, err := netip.ParseAddrPort(address); err != nil || !at.Addr().IsLoopback() {
		return nil, fmt.Errorf("--debug-listen: %q is not a loopback address with a port, such as 127.0.0.1:6060", address)
	}
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	a.log.Info("serving profiles", "listen", ln.Addr().String())
	server, done := &http.Server{Handler: a.debugHandler(), ReadHeaderTimeout: 10 * time.Second}, make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(ln) // returns when the server is closed
	}()
	return func() {
		_ = server.Close() // also ends a profile that is being recorded
		<-done
	}, nil
}

func (a *App) debugHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	mux.Handle("GET /metrics", a.metrics.Handler())
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// A web page can make a name of its own resolve to loopback and read the response, but it cannot choose the Host header.
		host, _, err := net.SplitHostPort(r.Host)
		if at, parseErr := netip.ParseAddr(host); err != nil || host != "localhost" && (parseErr != nil || !at.IsLoopback()) {
			a.edge.reject(w, r, llm.Errorf(llm.NotFound, "Not found. Address the debug listener by its loopback address."))
			return
		}
		mux.ServeHTTP(w, r)
	})
}
