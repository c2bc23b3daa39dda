package app

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"fairlead.dev/docs"
	"fairlead.dev/internal/account"
	"fairlead.dev/internal/admin"
	"fairlead.dev/internal/admin/adminapi"
	"fairlead.dev/internal/config"
	"fairlead.dev/internal/gateway"
	"fairlead.dev/internal/id"
	"fairlead.dev/internal/ingress"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/manual"
	"fairlead.dev/internal/settings"
	"fairlead.dev/web"
)

// webParts holds the listeners, the admin API, the manual and the dashboard.
type webParts struct {
	listener, adminListener *listener
	edge                    edge
	admin                   *adminapi.Server
	manual                  *manual.Site
	dashboard               http.Handler
}

// listen opens the listeners. They reject requests until serve is called.
func (a *App) listen(ctx context.Context, c config.Config) (err error) {
	a.edge.publicURL = settings.PublicURL(c)
	var cert *tls.Config
	pair, err := a.loaded().Certificate()
	if err != nil {
		return err
	}
	if pair != nil {
		cert = &tls.Config{Certificates: []tls.Certificate{*pair}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}
	}
	a.listener, err = listen(ctx, c.Listen, cert, &c, a.log, a.edge.starting(), a.edge.rejectMalformed)
	if err != nil || c.AdminListen == "" {
		return err
	}
	a.adminListener, err = listen(ctx, c.AdminListen, nil, &c, a.log, a.edge.starting(), a.edge.rejectMalformed)
	return err
}

// openWeb creates the admin API, the manual and the dashboard.
func (a *App) openWeb() (err error) {
	if a.admin, err = admin.New(a.adminParts()); err != nil {
		return fmt.Errorf("build admin API: %w", err)
	}
	a.manual = manual.New(docs.Files, a.admin.OpenAPI, http.HandlerFunc(a.edge.notFound))
	a.dashboard = web.Handler(a.version, http.HandlerFunc(a.edge.notFound))
	return nil
}

// serve serves all requests. The background tasks must run, because keys and limits depend on them.
func (a *App) serve() {
	a.listener.serve(a.edge.devOnly(a.public()))
	if a.adminListener != nil {
		a.adminListener.serve(a.private())
	}
}

// listener is one listening address. Its handler is replaced when startup is complete.
type listener struct {
	net.Listener
	server  *ingress.Server
	handler atomic.Pointer[http.Handler]
	failed  chan error
	hangUp  context.CancelFunc // cancels running requests, such as live tails
}

// rejectFunc responds to a malformed HTTP request.
type rejectFunc func(w http.ResponseWriter, status int, reason string)

// listen opens the address and serves h until another handler is set.
func listen(ctx context.Context, address string, cert *tls.Config, c *config.Config, log *slog.Logger, h http.Handler, reject rejectFunc) (*listener, error) {
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	if cert != nil {
		ln = tls.NewListener(ln, cert)
	}
	base, hangUp := context.WithCancel(context.WithoutCancel(ctx))
	l := &listener{Listener: ln, failed: make(chan error, 1), hangUp: hangUp}
	l.handler.Store(&h)
	l.server = ingress.New(ingress.Options{
		Handler:    http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*l.handler.Load()).ServeHTTP(w, r) }),
		Reject:     reject,
		Context:    func() context.Context { return base },
		HeaderSize: int(c.Headers.Size),
		HeaderTime: c.Headers.Time,
		BodyTime:   5 * time.Minute, // enough for the largest body over a slow connection
		IdleTime:   2 * time.Minute,
		ReadPause:  c.Limits.ReadPause,
		Unread:     256 << 10,
		Logger:     log,
	})
	go func() { l.failed <- l.server.Serve(ln) }()
	return l, nil
}

func (l *listener) serve(h http.Handler) { l.handler.Store(&h) }

// stop closes the listener. Idle connections are closed immediately, and busy ones when ctx expires.
func (l *listener) stop(ctx context.Context) error {
	l.hangUp()
	err := l.server.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = l.server.Close()
	}
	<-l.failed
	return err
}

// edge handles requests that do not reach the model API, the admin API or the dashboard.
type edge struct {
	publicURL ingress.PublicURL // base URL for links in errors
	devToken  string            // session token of the developer; empty without --dev
}

// notFound handles unknown paths. The error contains the path of the model API, because many clients expect the API at /v1.
func (h edge) notFound(w http.ResponseWriter, r *http.Request) {
	h.reject(w, r, llm.Errorf(llm.NotFound, "Not found. The model API is below /proxy/v1."))
}

// public returns the handler of the public listener. Unknown paths under /proxy and /api get a JSON error. The dashboard handles all other
// unknown paths.
func (a *App) public() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := r.URL.Path
		switch {
		case strings.HasPrefix(path, "/proxy/v1/"), strings.HasPrefix(path, "//proxy/v1/"), path == "/proxy/v1",
			strings.HasPrefix(path, "/proxy/v1beta/"), strings.HasPrefix(path, "//proxy/v1beta/"):
			a.gateway.ServeHTTP(w, r)
		case path == "/health", path == "/livez", path == "/readyz", path == "/proxy/api/hello": // Claude Code probes the last one at start
			a.serveProbe(w, r)
		case path == "/metrics":
			a.serveMetrics(w, r)
		case path == "/config.schema.json":
			a.edge.serveSchema(w, r)
		case manual.Serves(path):
			a.manual.ServeHTTP(w, r)
		case path == "/api", strings.HasPrefix(path, "/api/"):
			a.admin.ServeHTTP(w, r)
		case path == "/proxy", strings.HasPrefix(path, "/proxy/"):
			a.edge.notFound(w, r)
		default:
			a.edge.signIn(w, r)
			a.dashboard.ServeHTTP(w, r)
		}
	})
}

func (a *App) serveProbe(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		a.edge.reject(w, r, llm.Errorf(llm.MethodNotAllowed, "Method %s is not allowed. Use GET or HEAD.", r.Method))
		return
	}
	if r.URL.Path == "/readyz" {
		a.serveReady(w, r)
		return
	}
	serveHealth(w, r)
}

// serveMetrics serves the metrics only to clients with a key of the operator's workspace, because metrics include the requests and costs of
// all workspaces. The admin listener requires no key.
func (a *App) serveMetrics(w http.ResponseWriter, r *http.Request) {
	var actor account.Actor
	grant, err := a.keyring.Authenticate(r.Header)
	if err == nil {
		actor, err = a.accounts.KeyActor(r.Context(), grant.Key)
	}
	if err == nil && (!actor.Operator || !actor.May(account.ReadFigures)) {
		err = llm.Errorf(llm.ScopeDenied, "Metrics require an API key of the operator's workspace with the \"read\" scope. The admin listener serves metrics without a key.")
	}
	if err != nil {
		a.edge.reject(w, r, llm.AsError(err))
		return
	}
	a.metrics.Handler().ServeHTTP(w, r)
}

// private returns the handler of the admin listener.
func (a *App) private() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", a.metrics.Handler())
	mux.HandleFunc("GET /health", serveHealth)
	mux.HandleFunc("GET /livez", serveHealth)
	mux.HandleFunc("GET /readyz", a.serveReady)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		a.edge.reject(w, r, llm.Errorf(llm.NotFound, "Not found. This listener serves /metrics, /health and /readyz."))
	})
	return mux
}

// starting returns the handler that serves requests until the store is open.
func (h edge) starting() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/health", "/livez":
			serveHealth(w, r)
		case "/readyz":
			w.Header().Set("Retry-After", "1")
			writeJSON(w, r, http.StatusServiceUnavailable, map[string]any{
				"status": "not ready",
				"checks": []check{{Name: "store", Note: "the database is not available yet"}},
			})
		default:
			w.Header().Set("Retry-After", "1")
			h.reject(w, r, llm.Errorf(llm.LedgerUnavailable, "The gateway is starting and its database is not available yet. Retry in 1 second."))
		}
	})
}

// rejectMalformed rejects a malformed HTTP request with the usual error body.
func (h edge) rejectMalformed(w http.ResponseWriter, status int, why string) {
	e, requestID := llm.Errorf(llm.InvalidRequest, "%s", why), id.New("req", time.Now())
	writeError(w, status, e, requestID, e.Linked(h.publicURL.For(&http.Request{}), "").Body(requestID))
}

// reject writes an error with a new request ID, in the error format of the client.
func (h edge) reject(w http.ResponseWriter, r *http.Request, e *llm.Error) {
	requestID := id.New("req", time.Now())
	writeError(w, e.Status(), e, requestID, gateway.ErrorBody(r, e.Linked(h.publicURL.For(r), ""), requestID))
}

func writeError(w http.ResponseWriter, status int, e *llm.Error, requestID string, body []byte) {
	h := w.Header()
	h.Set("X-Request-Id", requestID)
	h.Set("X-Fairlead-Error-Code", e.Kind.Code())
	h.Set("X-Should-Retry", strconv.FormatBool(e.Retryable()))
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client may have disconnected
}

// serveSchema returns the JSON Schema of the configuration file, for editors.
func (h edge) serveSchema(w http.ResponseWriter, r *http.Request) {
	schema, err := config.Schema()
	if err != nil {
		h.reject(w, r, llm.AsError(err))
		return
	}
	w.Header().Set("Content-Type", "application/schema+json")
	_, _ = w.Write(schema) // the client may have disconnected
}
