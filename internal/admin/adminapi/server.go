// Package adminapi serves the admin API under /api: authentication, permissions, errors and the OpenAPI document. Resource
// packages add their operations with Register.
package adminapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"path"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/id"
	"fairlead.dev/internal/ingress"
	"fairlead.dev/internal/llm"
)

// Prefix is the path prefix of all operations. The OpenAPI document is at /api/openapi.json.
const Prefix = "/api/v1"

// maxBody is the maximum size of a request body.
const maxBody = 1 << 20

// Server serves the admin API. Every response has an x-request-id, and every error is an llm.Error.
type Server struct {
	Options
	mux        *http.ServeMux
	huma       huma.API
	operations []Operation
	ready      func()                 // registers the operations on first use
	document   func() ([]byte, error) // returns the API document, which is generated on first use
	origins    *http.CrossOriginProtection

	mu      sync.Mutex
	onClose []func()
}

// Options configures a Server.
type Options struct {
	Sessions    Sessions
	Memberships Memberships
	Keyring     Keyring
	Audit       Recorder

	Unreachable func(error) bool // reports whether an error means that the store is unavailable; may be nil
	PublicURL   string           // URL of the dashboard; requests from its origin can change data
	TrustProxy  bool             // whether to trust X-Forwarded-Proto and X-Forwarded-For
	Log         *slog.Logger
	Now         func() time.Time
}

// Sessions authenticates session tokens.
type Sessions interface {
	Session(ctx context.Context, token string) (account.Account, account.Session, error)
}

// Recorder writes to the audit log.
type Recorder interface {
	// Note records before and after as JSON, unless they are nil.
	Note(ctx context.Context, by account.Actor, action, object string, before, after any) error
}

// New returns a server for all paths under /api/. mount registers the operations. It is called on the first request, because the
// schemas take megabytes of memory and many gateways only serve the model API.
func New(o Options, mount func(*Server)) (*Server, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	origins := http.NewCrossOriginProtection()
	public, err := url.Parse(o.PublicURL)
	if err == nil && public.Host != "" { // the public host is trusted explicitly, because a proxy can change the Host header
		err = origins.AddTrustedOrigin(public.Scheme + "://" + public.Host)
	}
	if err != nil {
		return nil, fmt.Errorf("add public URL %q to the trusted origins: %w", o.PublicURL, err)
	}
	s := &Server{Options: o, origins: origins}
	s.document = sync.OnceValues(s.openAPI)
	s.ready = sync.OnceFunc(func() {
		s.mux = http.NewServeMux()
		s.huma = huma.NewAPI(s.config(), humago.NewAdapter(s.mux, Prefix))
		mount(s)
		s.finishSchemas()
	})
	return s, nil
}

// OnClose registers a function that Close calls.
func (s *Server) OnClose(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onClose = append(s.onClose, f)
}

// Close stops the background work of all operations and waits for it to end.
func (s *Server) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.onClose {
		f()
	}
}

// Record writes an event to the audit log.
func (s *Server) Record(ctx context.Context, by account.Actor, action, object string, before, after any) error {
	return s.Audit.Note(ctx, by, action, object, before, after)
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	requestID := id.New("adm", s.Now())
	out := &writer{ResponseWriter: w, requestID: requestID}
	h := w.Header()
	h.Set("X-Request-Id", requestID)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	defer s.catch(out, r)
	s.ready()
	if r.URL.Path == "/api/openapi.json" && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
		document, err := s.document()
		if err != nil {
			s.reject(out, r, llm.AsError(err))
			return
		}
		h.Set("Content-Type", "application/openapi+json")
		_, _ = out.Write(document) // an error means that the client has disconnected
		return
	}
	if fault := s.misdirected(r); fault != nil {
		s.reject(out, r, fault)
		return
	}
	s.mux.ServeHTTP(out, r)
}

// misdirected returns an error if no operation matches the request. Without this check, the mux would respond in plain text or redirect.
func (s *Server) misdirected(r *http.Request) *llm.Error {
	if _, pattern := s.mux.Handler(r); pattern != "" && path.Clean(r.URL.Path) == r.URL.Path {
		return nil
	}
	if allowed := s.allowed(r.URL.Path); len(allowed) > 0 {
		return llm.Errorf(llm.MethodNotAllowed, "Method %s is not allowed. Use %s.", r.Method, strings.Join(allowed, ", ")).
			With("allow", allowed)
	}
	return llm.Errorf(llm.NotFound, "Not found. The operations are listed in /api/openapi.json.")
}

// allowed lists the methods that the operations at the path accept.
func (s *Server) allowed(at string) []string {
	methods := []string{}
	if at == "/api/openapi.json" {
		return append(methods, http.MethodGet)
	}
	if path.Clean(at) != at {
		return methods
	}
	for _, m := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		if _, pattern := s.mux.Handler(&http.Request{Method: m, URL: &url.URL{Path: at}}); pattern != "" {
			methods = append(methods, m)
		}
	}
	return methods
}

// reject writes an error response for a request that no operation handled or whose operation panicked.
func (s *Server) reject(w *writer, r *http.Request, e *llm.Error) {
	headers(w.Header(), e)
	w.WriteHeader(e.Status())
	_, _ = w.Write(e.Linked(s.baseURL(r), "").Body(w.requestID))
}

// baseURL returns the address of the gateway for links.
func (s *Server) baseURL(r *http.Request) string {
	return ingress.PublicURL{Configured: s.PublicURL, TrustProxy: s.TrustProxy}.For(r)
}

// catch converts a panic to INTERNAL_ERROR, so that a bug in one operation does not end the process.
func (s *Server) catch(w *writer, r *http.Request) {
	cause := recover()
	if cause == nil {
		return
	}
	if err, ok := cause.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(cause)
	}
	s.Log.Error("admin operation panicked",
		"request_id", w.requestID, "method", r.Method, "path", r.URL.Path, "panic", cause, "stack", string(debug.Stack()))
	if w.started {
		panic(http.ErrAbortHandler) // abort the connection, so that the partial response is not mistaken for a complete one
	}
	s.reject(w, r, llm.AsError(errors.New("panic")))
}

// writer records whether the response has started.
type writer struct {
	http.ResponseWriter
	requestID string
	started   bool
}

func (w *writer) WriteHeader(status int) {
	w.started = true
	w.ResponseWriter.WriteHeader(status)
}

func (w *writer) Write(b []byte) (int, error) {
	w.started = true
	return w.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController access the underlying writer.
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Flush sends buffered data. It returns an error if the client does not read the data within the given timeout.
func Flush(w io.Writer, patience time.Duration) error {
	rw, ok := w.(http.ResponseWriter)
	if !ok {
		return nil
	}
	control := http.NewResponseController(rw)
	_ = control.SetWriteDeadline(time.Now().Add(patience)) // the error is ignored: not every connection supports deadlines
	if err := control.Flush(); !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil
}
