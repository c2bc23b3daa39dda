// Package admin is the admin API under /api: the operations behind the dashboard and the command line, one file per
// resource. It decides who calls, whether that caller may, and what an answer looks like; what the answers say comes
// from the parts it is given. The model API is not here.
package admin

import (
	"errors"
	"fmt"
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

	"fairlead/internal/id"
	"fairlead/internal/llm"
)

// prefix is where the operations live; /api below it holds only the document.
const prefix = "/api/v1"

// maxBody is the largest body an operation reads.
const maxBody = 1 << 20

// API serves the admin API. Every answer carries x-request-id, and every error the shape of llm.Error.
type API struct {
	Parts
	mux        *http.ServeMux
	huma       huma.API
	operations []Operation
	ready      func()                 // registers the operations, once
	document   func() ([]byte, error) // made when first asked for
	origins    *http.CrossOriginProtection
	tails      tails
	sampling   chan struct{} // holds one while sample traffic is made
	backtests  *backtests
}

// New builds the admin API. It answers every path under /api/.
func New(p Parts) (*API, error) {
	origins, err := trustedOrigins(p.PublicURL)
	if err != nil {
		return nil, fmt.Errorf("trust the public URL %q: %w", p.PublicURL, err)
	}
	a := build(p)
	a.origins, a.document = origins, sync.OnceValues(a.openAPI)
	return a, nil
}

// Close ends what still runs for somebody who asked for it, and waits for that.
func (a *API) Close() { a.backtests.close() }

// build makes an API that registers its operations when it is first called: their schemas take megabytes, and many a gateway only serves
// models.
func build(p Parts) *API {
	if p.Now == nil {
		p.Now = time.Now
	}
	if p.Log == nil {
		p.Log = slog.New(slog.DiscardHandler)
	}
	a := &API{Parts: p, tails: tails{each: map[string]int{}}, sampling: make(chan struct{}, 1), backtests: newBacktests()}
	a.ready = sync.OnceFunc(a.register)
	return a
}

// register registers every operation.
func (a *API) register() {
	a.mux = http.NewServeMux()
	a.huma = huma.NewAPI(a.config(), humago.NewAdapter(a.mux, prefix))
	a.registerSession()
	a.registerRegistration()
	a.registerAccount()
	a.registerWorkspaces()
	a.registerRedaction()
	a.registerMembers()
	a.registerInvitations()
	a.registerKeys()
	a.registerRequests()
	a.registerRequestFigures()
	a.registerTail()
	a.registerExport()
	a.registerErase()
	a.registerOverview()
	a.registerAttention()
	a.registerModels()
	a.registerProviders()
	a.registerCredentials()
	a.registerSettings()
	a.registerAudit()
	a.registerExplain()
	a.registerPolicies()
	a.registerPolicyVersions()
	a.registerPolicyTrial()
	a.registerPolicyTraffic()
	a.registerBacktests()
	a.registerVerify()
	a.registerFeedback()
	a.registerPlayground()
	a.registerSamples()
	a.finishSchemas()
}

// ServeHTTP answers one call.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	requestID := id.New("adm", a.Now())
	out := &writer{ResponseWriter: w, requestID: requestID}
	h := w.Header()
	h.Set("X-Request-Id", requestID)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	defer a.catch(out, r)
	a.ready()
	a.serve(out, r)
}

func (a *API) serve(w *writer, r *http.Request) {
	if r.URL.Path == "/api/openapi.json" && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
		a.serveDocument(w)
		return
	}
	if fault := a.misdirected(r); fault != nil {
		a.refuse(w, fault)
		return
	}
	a.mux.ServeHTTP(w, r)
}

func (a *API) serveDocument(w *writer) {
	document, err := a.document()
	if err != nil {
		a.refuse(w, llm.AsError(err))
		return
	}
	w.Header().Set("Content-Type", "application/openapi+json")
	_, _ = w.Write(document) // nobody is left to tell
}

// misdirected says why no operation can take the request. The mux would answer in plain text, or redirect.
func (a *API) misdirected(r *http.Request) *llm.Error {
	if _, pattern := a.mux.Handler(r); pattern != "" && path.Clean(r.URL.Path) == r.URL.Path {
		return nil
	}
	if allowed := a.allowed(r.URL.Path); len(allowed) > 0 {
		return llm.Errorf(llm.MethodNotAllowed, "Method %s is not allowed. Use %s.", r.Method, strings.Join(allowed, ", ")).
			With("allow", allowed)
	}
	return llm.Errorf(llm.NotFound, "Not found. The operations are listed in /api/openapi.json.")
}

// allowed lists the methods that have an operation at this path.
func (a *API) allowed(at string) []string {
	methods := []string{}
	if at == "/api/openapi.json" {
		return append(methods, http.MethodGet)
	}
	if path.Clean(at) != at {
		return methods
	}
	for _, m := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		if _, pattern := a.mux.Handler(&http.Request{Method: m, URL: &url.URL{Path: at}}); pattern != "" {
			methods = append(methods, m)
		}
	}
	return methods
}

// refuse writes an error that no operation produced.
func (a *API) refuse(w *writer, e *llm.Error) {
	headers(w.Header(), e)
	w.WriteHeader(e.Status())
	_, _ = w.Write(e.Body(w.requestID))
}

// catch turns a panic into an INTERNAL_ERROR, so that a defect in one operation does not end the process.
func (a *API) catch(w *writer, r *http.Request) {
	cause := recover()
	if cause == nil {
		return
	}
	if err, ok := cause.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(cause)
	}
	a.Log.Error("admin operation panicked",
		"request_id", w.requestID, "method", r.Method, "path", r.URL.Path, "panic", cause, "stack", string(debug.Stack()))
	if w.started {
		panic(http.ErrAbortHandler) // the answer is half out: cut it, so that nobody takes it for whole
	}
	a.refuse(w, llm.AsError(errPanic))
}

var errPanic = errors.New("panic")

// writer notes whether an answer has begun.
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

// Unwrap lets http.ResponseController reach the connection.
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }
