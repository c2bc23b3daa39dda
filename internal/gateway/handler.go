package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairlead/internal/account"
	"fairlead/internal/id"
	"fairlead/internal/llm"
	"fairlead/internal/policy"
	"fairlead/internal/rawjson"
	"fairlead/internal/requestlog"
	"fairlead/internal/response"
	"fairlead/internal/route"
	"fairlead/internal/wire"
	"fairlead/internal/wire/show"
)

// Prefix is the path of the model API.
const Prefix = "/proxy/v1"

// incoming is an HTTP request to the model API, with the settings and the snapshot that apply to it throughout.
type incoming struct {
	id       string
	route    Route
	w        http.ResponseWriter
	http     *http.Request
	start    time.Time
	settings *Settings
	snap     *route.Snapshot
	shadow   *shadowRun // nil for a request of a client
}

// ServeHTTP handles every path below Prefix. It collapses repeated slashes: clients whose base URL ends with a slash send them, and a
// redirect would turn their POST into a GET.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	requestID := assignRequestID(w)
	path := endpoint(r.URL.Path)
	if rest, ok := g.namedPath(r, path); ok {
		g.serveNamed(w, withQueryKey(r), requestID, rest)
		return
	}
	if i := g.objectRoute(path); i >= 0 {
		if g.checkObject(w, r, requestID, path) {
			g.handle(w, r, requestID, g.Routes[i], g.identifyKey)
		}
		return
	}
	if i := g.routeIndex(path); i >= 0 && g.Routes[i].Op == llm.Realtime {
		if g.requireMethod(w, r, requestID, http.MethodGet) && g.checkUpgrade(w, r, requestID) {
			g.handle(w, withProtocols(r), requestID, g.Routes[i], g.identifyKey)
		}
		return
	}
	if i := g.routeIndex(path); i >= 0 && !namesModel(g.Routes[i]) {
		if g.requireMethod(w, r, requestID, http.MethodPost) {
			g.handle(w, r, requestID, g.Routes[i], g.identifyKey)
		}
		return
	}
	switch stored := g.routeIndex(storedPath); {
	case stored >= 0 && strings.HasPrefix(path, storedPath+"/"):
		g.serveStored(w, r, requestID, g.Routes[stored].Format, path)
	case path == "/feedback":
		if g.requireMethod(w, r, requestID, http.MethodPost) {
			g.serveFeedback(w, r, requestID)
		}
	case path == "/models":
		if g.requireMethod(w, r, requestID, http.MethodGet) {
			g.listModels(w, r, requestID)
		}
	case strings.HasPrefix(path, "/models/"):
		if g.requireMethod(w, r, requestID, http.MethodGet) {
			g.showModel(w, r, requestID, strings.TrimPrefix(path, "/models/"))
		}
	default:
		var names []string
		for _, rt := range g.Routes {
			if namesModel(rt) {
				continue
			}
			names = append(names, strings.TrimPrefix(rt.Path, "/"))
		}
		g.reject(w, r, requestID, llm.Errorf(llm.NotFound,
			"%s does not exist. The model API has %s and models below %s.", show.Shorten(r.URL.Path), strings.Join(names, ", "), Prefix))
	}
}

// ServeAs handles a chat request of a dashboard user with a valid session, in the format of the first route.
func (g *Gateway) ServeAs(w http.ResponseWriter, r *http.Request, workspace *account.Workspace, accountID string) {
	g.handle(w, r, assignRequestID(w), g.Routes[0], func(in *incoming) (caller, error) {
		// The rules of the workspace apply, not those of a key.
		key := &account.Key{ID: accountID, WorkspaceID: workspace.ID, Name: "playground"}
		return caller{grant: &account.Grant{Key: key, Workspace: workspace}, accountID: accountID, tags: tags(nil, in.http.Header)}, nil
	})
}

// Sample describes a request of the sample traffic.
type Sample struct {
	Endpoint string // below Prefix
	Key      requestlog.SampleKey
	Models   []string    // models that the key allows; nil for all
	Policies *policy.Set // apply in addition to those of the workspace; may be nil
}

// ServeSample handles a request of the sample traffic.
func (g *Gateway) ServeSample(w http.ResponseWriter, r *http.Request, workspace *account.Workspace, s Sample) {
	i := max(0, g.routeIndex("/"+s.Endpoint))
	g.handle(w, r, assignRequestID(w), g.Routes[i], func(in *incoming) (caller, error) {
		free := *workspace
		free.Budget = nil // costs are simulated
		key := &account.Key{ID: s.Key.ID, WorkspaceID: workspace.ID, Name: s.Key.Name, AllowedModels: s.Models}
		return caller{grant: &account.Grant{Key: key, Workspace: &free}, tags: tags(nil, in.http.Header), sample: true, policies: s.Policies}, nil
	})
}

// endpoint returns the path below Prefix, without repeated slashes and a trailing slash.
func endpoint(path string) string {
	for strings.Contains(path, "//") {
		path = strings.ReplaceAll(path, "//", "/")
	}
	return strings.TrimSuffix(strings.TrimPrefix(path, Prefix), "/")
}

// routeIndex returns the index of the route with this endpoint, or -1.
func (g *Gateway) routeIndex(endpoint string) int {
	return slices.IndexFunc(g.Routes, func(rt Route) bool { return rt.Path == endpoint })
}

// assignRequestID creates the request id and sets both headers that client libraries read it from.
func assignRequestID(w http.ResponseWriter) string {
	requestID := id.New("req", time.Now())
	h, value := w.Header(), []string{requestID}
	h["X-Request-Id"], h["Request-Id"] = value, value // shares one slice, unlike Set
	return requestID
}

// requireMethod reports whether the request has one of the methods, and rejects it otherwise. HEAD is allowed with GET; a CORS preflight gets
// the error for calls from browsers.
func (g *Gateway) requireMethod(w http.ResponseWriter, r *http.Request, requestID string, allowed ...string) bool {
	switch {
	case slices.Contains(allowed, r.Method), r.Method == http.MethodHead && slices.Contains(allowed, http.MethodGet):
		return true
	case r.Method == http.MethodOptions && r.Header.Get("Origin") != "":
		g.reject(w, r, requestID, browserError())
	default:
		w.Header().Set("Allow", strings.Join(allowed, ", "))
		g.reject(w, r, requestID, llm.Errorf(llm.MethodNotAllowed, "Method %s is not allowed for %s. Use %s.", show.Shorten(r.Method), show.Shorten(r.URL.Path), strings.Join(allowed, " or ")))
	}
	return false
}

// reject responds with an error to a request that has no log entry.
func (g *Gateway) reject(w http.ResponseWriter, r *http.Request, requestID string, err error) {
	e := llm.AsError(err)
	g.logInternal(r.Context(), requestID, e)
	var format wire.Format
	if i := g.routeIndex(endpoint(r.URL.Path)); i >= 0 {
		format = g.Routes[i].Format
	} else if _, ok := g.namedPath(r, endpoint(r.URL.Path)); ok {
		if i := slices.IndexFunc(g.Routes, namesModel); i >= 0 {
			format = g.Routes[i].Format
		}
	}
	linked := e.Linked(g.settings.Load().PublicURL.For(r), "")
	response.WriteError(w, e, wire.ErrorBody(format, errorClient(r, nil), linked, requestID))
}

// ErrorBody returns the error object in the shape that the client of r can read, for an error outside the model API.
func ErrorBody(r *http.Request, e *llm.Error, requestID string) []byte {
	return wire.ErrorBody(nil, errorClient(r, nil), e, requestID)
}

func errorClient(r *http.Request, grant *account.Grant) wire.ErrorClient {
	c := wire.ErrorClient{Requested: r.Header.Get("X-Fairlead-Error-Format"), UserAgent: r.UserAgent()}
	if grant != nil {
		c.KeyFormat = grant.Key.ErrorFormat
	}
	return c
}

// handle serves one request and completes its log entry.
func (g *Gateway) handle(w http.ResponseWriter, r *http.Request, requestID string, route Route, identify identifier) {
	settings := g.settings.Load()
	in := &incoming{id: requestID, route: route, w: w, http: r, start: time.Now(), settings: settings, snap: g.snapshot.Load()}
	out := response.NewWriter(w, route.Format.Framing(), settings.ReadPause, r.Header.Get("X-Fairlead-Trace") == "full")
	rec := newRecorder(in, out)
	if g.Tracing != nil {
		rec.entry.Trace = g.Tracing.Begin(requestID, r.Header)
		rec.entry.TraceID = rec.entry.Trace.TraceID
	}
	if err := g.serveSafely(r.Context(), in, identify, out, rec); err != nil {
		g.fail(r.Context(), in, out, rec, llm.AsError(err))
	}
	if in.shadow != nil {
		in.shadow.entry = rec.entry
	}
	if rec.task != nil {
		go g.completeTask(rec.task) //nolint:contextcheck // the task continues after the request
		return
	}
	g.observe(r.Context(), rec)
	if out.Aborted() {
		panic(http.ErrAbortHandler)
	}
}

// observe reports a complete entry. It logs a usage that was not charged as the provider reported it.
func (g *Gateway) observe(ctx context.Context, rec *recorder) {
	if e := rec.entry; e.UsageFlag != "" {
		attrs := []any{
			"request_id", e.ID, "provider", e.Provider, "model", e.Model, "flag", string(e.UsageFlag),
			"charged_input", e.Usage.Prompt(), "charged_output", e.Usage.Output,
		}
		if i := slices.IndexFunc(e.Attempts, func(a requestlog.Attempt) bool { return a.Reported != nil }); i >= 0 {
			reported := e.Attempts[i].Reported
			attrs = append(attrs, "reported_input", reported.Prompt(), "reported_output", reported.Output)
		}
		g.Logger.WarnContext(ctx, "provider usage was not charged as reported", attrs...)
	}
	if rec.logged() {
		g.Observe(rec.entry)
	}
}

// serveSafely converts a panic into an error: one request never ends the process.
func (g *Gateway) serveSafely(ctx context.Context, in *incoming, identify identifier, out *response.Writer, rec *recorder) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	switch in.route.Op {
	case llm.FileObjects, llm.BatchObjects:
		return g.serveObject(ctx, in, identify, out, rec)
	case llm.Realtime:
		return g.serveRealtime(ctx, in, identify, out, rec)
	default:
		return g.serve(ctx, in, identify, out, rec)
	}
}

// fail records a failed request and reports the error to the client.
func (g *Gateway) fail(ctx context.Context, in *incoming, out *response.Writer, rec *recorder, e *llm.Error) {
	g.logInternal(ctx, in.id, e)
	started := out.StopKeepAlive()
	if rec.logged() {
		rec.recordError(e, started)
		if rec.task != nil {
			rec.complete() // the entry ends with the response
		} else if err := g.Log.End(rec.complete()); err != nil {
			e = llm.AsError(err)
		} else {
			rec.releaseText()
		}
	}
	if e.Kind == llm.ClientCancelled && started {
		return // before the start, the client may have closed only its sending side, and still reads
	}
	entryID := ""
	if rec.logged() {
		entryID = in.id
	}
	linked := e.Linked(in.settings.PublicURL.For(in.http), entryID)
	body := wire.ErrorBody(in.route.Format, errorClient(in.http, rec.caller.grant), linked, in.id)
	if out.Traces() && rec.entry.Decision != nil {
		body = rawjson.AppendMember(body, "fairlead", rec.Trace())
	}
	if rec.entry.Model != "" && !started {
		rec.SetHeaders(out.Header())
	}
	out.Fail(e, body)
}

func (g *Gateway) logInternal(ctx context.Context, requestID string, e *llm.Error) {
	if e.Kind == llm.Internal {
		g.Logger.ErrorContext(ctx, "internal error", "request_id", requestID, "error", e.Error())
	}
}

// writeJSON responds with v as JSON.
func writeJSON(w http.ResponseWriter, r *http.Request, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		response.WriteError(w, llm.AsError(err), llm.AsError(err).Body(w.Header().Get("X-Request-Id")))
		return
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // fails only when the client has disconnected
	}
}
