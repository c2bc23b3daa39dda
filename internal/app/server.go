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

	"fairlead/internal/account"
	"fairlead/internal/config"
	"fairlead/internal/gateway"
	"fairlead/internal/id"
	"fairlead/internal/ingress"
	"fairlead/internal/llm"
)

// listener is one address we answer on. Its handler is swapped once everything stands.
type listener struct {
	net.Listener
	server  *ingress.Server
	handler atomic.Pointer[http.Handler]
	failed  chan error
	hangUp  context.CancelFunc // ends what still runs on its connections, such as live tails
}

// listen opens the address and answers with h until another handler is set.
func listen(ctx context.Context, address string, cert *tls.Config, c *config.Config, log *slog.Logger, h http.Handler) (*listener, error) {
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
		Handler:    http.HandlerFunc(l.answer),
		Reject:     refuseMessage,
		Context:    func() context.Context { return base },
		HeaderSize: int(c.Headers.Size),
		HeaderTime: c.Headers.Time,
		BodyTime:   5 * time.Minute, // one of the largest size over a slow line
		IdleTime:   2 * time.Minute,
		ReadPause:  c.Limits.ReadPause,
		Unread:     256 << 10,
		Logger:     log,
	})
	go func() { l.failed <- l.server.Serve(ln) }()
	return l, nil
}

// answer hands a request to the handler in force.
func (l *listener) answer(w http.ResponseWriter, r *http.Request) {
	(*l.handler.Load()).ServeHTTP(w, r)
}

func (l *listener) serve(h http.Handler) { l.handler.Store(&h) }

// stop ends the listener: idle connections at once, busy ones until ctx ends.
func (l *listener) stop(ctx context.Context) error {
	l.hangUp()
	err := l.server.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = l.server.Close()
	}
	<-l.failed
	return err
}

// nowhere answers for what nobody serves. Many a client looks for the model API below /v1.
func nowhere(w http.ResponseWriter, r *http.Request) {
	refuse(w, r, llm.Errorf(llm.NotFound, "There is nothing at this address. The model API is below /proxy/v1."))
}

// public routes the paths of the public listener. Unknown ones below /proxy and /api stay JSON; everything else is the
// dashboard's.
func (a *App) public() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := r.URL.Path
		switch {
		case strings.HasPrefix(path, "/proxy/v1/"), strings.HasPrefix(path, "//proxy/v1/"), path == "/proxy/v1":
			a.gateway.ServeHTTP(w, r)
		case path == "/health", path == "/livez", path == "/readyz":
			a.serveProbe(w, r)
		case path == "/metrics":
			a.serveMetrics(w, r)
		case path == "/config.schema.json":
			a.serveSchema(w, r)
		case path == "/api", strings.HasPrefix(path, "/api/"):
			a.admin.ServeHTTP(w, r)
		case path == "/proxy", strings.HasPrefix(path, "/proxy/"):
			nowhere(w, r)
		default:
			a.signIn(w, r)
			a.dashboard.ServeHTTP(w, r)
		}
	})
}

func (a *App) serveProbe(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		refuse(w, r, llm.Errorf(llm.MethodNotAllowed, "%s takes GET and HEAD.", r.URL.Path))
		return
	}
	if r.URL.Path == "/readyz" {
		a.serveReady(w, r)
		return
	}
	serveHealth(w, r)
}

// serveMetrics shows metrics to a key that may read. The admin listener shows them without.
func (a *App) serveMetrics(w http.ResponseWriter, r *http.Request) {
	if err := a.admitToMetrics(r); err != nil {
		refuse(w, r, llm.AsError(err))
		return
	}
	a.metrics.Handler().ServeHTTP(w, r)
}

// admitToMetrics lets keys through whose people run the gateway: metrics count the requests and the money of every workspace.
func (a *App) admitToMetrics(r *http.Request) error {
	grant, err := a.keyring.Authenticate(r.Header)
	if err != nil {
		return err
	}
	actor, err := a.accounts.KeyActor(r.Context(), grant.Key)
	if err != nil {
		return err
	}
	if !actor.Operator || !actor.May(account.ReadFigures) {
		return llm.Errorf(llm.ScopeDenied, "Metrics need a key with the scope read, of the workspace that runs the gateway. Or read them on the admin listener.")
	}
	return nil
}

// private routes the paths of the admin listener.
func (a *App) private() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", a.metrics.Handler())
	mux.HandleFunc("GET /health", serveHealth)
	mux.HandleFunc("GET /livez", serveHealth)
	mux.HandleFunc("GET /readyz", a.serveReady)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		refuse(w, r, llm.Errorf(llm.NotFound, "There is nothing at this address. This listener has /metrics, /health and /readyz."))
	})
	return mux
}

// starting answers while the store is not there yet: alive, but not ready.
func starting() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/health", "/livez":
			serveHealth(w, r)
		case "/readyz":
			serveStarting(w, r)
		default:
			e := llm.Errorf(llm.LedgerUnavailable, "The gateway is starting: its database does not answer yet. Repeat the request in a second.")
			w.Header().Set("Retry-After", "1")
			refuse(w, r, e)
		}
	})
}

// refuseMessage answers what is no request of HTTP, in the same shape as all errors.
func refuseMessage(w http.ResponseWriter, status int, why string) {
	e, requestID := llm.Errorf(llm.InvalidRequest, "%s", why), id.New("req", time.Now())
	refuseWith(w, status, e, requestID, e.Body(requestID))
}

// refuse answers with an error outside of the model and admin APIs, in the shape that the client can read.
func refuse(w http.ResponseWriter, r *http.Request, e *llm.Error) {
	requestID := id.New("req", time.Now())
	refuseWith(w, e.Status(), e, requestID, gateway.ErrorBody(r, e, requestID))
}

func refuseWith(w http.ResponseWriter, status int, e *llm.Error, requestID string, body []byte) {
	h := w.Header()
	h.Set("X-Request-Id", requestID)
	h.Set("X-Fairlead-Error-Code", e.Kind.Code())
	h.Set("X-Should-Retry", strconv.FormatBool(e.Retryable()))
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client may be gone
}

// serveSchema shows the JSON Schema of the configuration file, so that editors can point to it.
func (a *App) serveSchema(w http.ResponseWriter, r *http.Request) {
	schema, err := config.Schema()
	if err != nil {
		refuse(w, r, llm.AsError(err))
		return
	}
	w.Header().Set("Content-Type", "application/schema+json")
	_, _ = w.Write(schema) // a reader that left needs no answer
}
