package gateway

import (
	"context"
	"fmt"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/id"
	"fairlead.dev/internal/limit"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/modelapi"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/realtime"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/response"
	"fairlead.dev/internal/wire"
	"fairlead.dev/internal/wire/show"
)

// incoming is a client request or a shadow call.
type incoming struct {
	modelapi.Request
	shadow *shadowRun // state of a shadow call; nil for a client request
}

// identifier returns the caller of a request. If it returns an error, the caller's grant may still be set.
type identifier func(in *incoming) (modelapi.Caller, error)

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
			g.handle(w, realtime.WithProtocols(r), requestID, g.Routes[i], g.identifyKey)
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
	case path == "/messages/batches", strings.HasPrefix(path, "/messages/batches/"):
		g.reject(w, r, requestID, llm.Errorf(llm.NotFound, "The gateway does not offer batches of messages. Send each request to /messages, or create a batch of chat requests with /files and /batches."))
	case path == storedPath+"/compact":
		g.reject(w, r, requestID, llm.Errorf(llm.NotFound, "The gateway does not offer /responses/compact. Ask for a summary of the conversation with a request to /responses."))
	case stored >= 0 && strings.HasPrefix(path, storedPath+"/"):
		g.serveStored(w, r, requestID, g.Routes[stored].Format, path)
	case path == "/feedback":
		if g.requireMethod(w, r, requestID, http.MethodPost) {
			g.serveFeedback(w, r, requestID)
		}
	case path == "/models":
		if g.requireMethod(w, r, requestID, http.MethodGet) {
			g.serveModels(w, r, requestID, func(o modelOffer) (any, error) { return o.List(r) })
		}
	case strings.HasPrefix(path, "/models/"):
		if g.requireMethod(w, r, requestID, http.MethodGet) {
			name := strings.TrimPrefix(path, "/models/")
			g.serveModels(w, r, requestID, func(o modelOffer) (any, error) { return o.Show(r, name) })
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
			"%s does not exist. The paths below %s are %s and models.", show.Shorten(r.URL.Path), modelapi.Prefix, strings.Join(names, ", ")))
	}
}

// ServeAs handles a chat request of a dashboard user with a valid session, in the format of the first route.
func (g *Gateway) ServeAs(w http.ResponseWriter, r *http.Request, workspace *account.Workspace, accountID string) {
	g.handle(w, r, assignRequestID(w), g.Routes[0], func(in *incoming) (modelapi.Caller, error) {
		// The rules of the workspace apply instead of those of a key.
		key := &account.Key{ID: accountID, WorkspaceID: workspace.ID, KeySettings: account.KeySettings{Name: "playground"}}
		return modelapi.Caller{Grant: &account.Grant{Key: key, Workspace: workspace}, AccountID: accountID, Tags: modelapi.Tags(nil, in.HTTP.Header)}, nil
	})
}

// endpoint returns the path relative to Prefix, without repeated slashes or a trailing slash.
func endpoint(path string) string {
	for strings.Contains(path, "//") {
		path = strings.ReplaceAll(path, "//", "/")
	}
	return strings.TrimSuffix(strings.TrimPrefix(path, modelapi.Prefix), "/")
}

// routeIndex returns the index of the route with this endpoint, or -1.
func (g *Gateway) routeIndex(endpoint string) int {
	return slices.IndexFunc(g.Routes, func(rt modelapi.Route) bool { return rt.Path == endpoint })
}

// assignRequestID creates the request ID and sets both headers that client libraries read it from.
func assignRequestID(w http.ResponseWriter) string {
	requestID := id.New("req", time.Now())
	h, value := w.Header(), []string{requestID}
	h["X-Request-Id"], h["Request-Id"] = value, value // both headers share one slice; Set would allocate two
	return requestID
}

// requireMethod reports whether the request has one of the methods, and rejects it otherwise. HEAD is allowed with GET. A CORS preflight
// request is rejected with the error for calls from web pages.
func (g *Gateway) requireMethod(w http.ResponseWriter, r *http.Request, requestID string, allowed ...string) bool {
	switch {
	case slices.Contains(allowed, r.Method), r.Method == http.MethodHead && slices.Contains(allowed, http.MethodGet):
		return true
	case r.Method == http.MethodOptions && r.Header.Get("Origin") != "":
		g.reject(w, r, requestID, modelapi.BrowserError())
	case r.Method == http.MethodGet && strings.EqualFold(r.Header.Get("Upgrade"), "websocket"): // after this status, Codex immediately sends the request over HTTP
		g.reject(w, r, requestID, llm.Errorf(llm.UpgradeRequired, "%s is not a WebSocket. Send the request with %s.", show.Shorten(r.URL.Path), strings.Join(allowed, " or ")))
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
	collection, _, _ := splitObjectPath(endpoint(r.URL.Path))
	if i := g.routeIndex(endpoint(r.URL.Path)); i >= 0 {
		format = g.Routes[i].Format
	} else if i := g.routeIndex(collection); i >= 0 {
		format = g.Routes[i].Format
	} else if _, ok := g.namedPath(r, endpoint(r.URL.Path)); ok {
		if i := slices.IndexFunc(g.Routes, namesModel); i >= 0 {
			format = g.Routes[i].Format
		}
	}
	linked := e.Linked(g.settings.Load().PublicURL.For(r), "")
	response.WriteError(w, e, wire.ErrorBody(format, modelapi.ErrorClient(r, nil), linked, requestID))
}

// identifyKey authenticates the API key of a request.
func (g *Gateway) identifyKey(in *incoming) (modelapi.Caller, error) { return in.Authenticate(g.Keys) }

// admit admits a request that calls no model. It counts the request as running and applies the limits of its key.
func (g *Gateway) admit(ctx context.Context, in *modelapi.Request, key *account.Key) (context.Context, func(), error) {
	ctx, leave, err := g.Enter(ctx, key.ID, in.Settings.MaxConcurrent)
	if err != nil {
		return nil, nil, err
	}
	slot, err := g.Limits.Take(ctx, key.ID, limit.Limits(key.Limits), 0)
	if err != nil {
		leave()
		return nil, nil, err
	}
	return ctx, func() {
		slot.Release()
		leave()
	}, nil
}

// ErrorBody returns the error object in the format that the client of r expects, for an error outside the model API.
func ErrorBody(r *http.Request, e *llm.Error, requestID string) []byte {
	return wire.ErrorBody(nil, modelapi.ErrorClient(r, nil), e, requestID)
}

// handle serves one request and completes its log entry.
func (g *Gateway) handle(w http.ResponseWriter, r *http.Request, requestID string, route modelapi.Route, identify identifier) {
	settings := g.settings.Load()
	in := &incoming{Request: modelapi.Request{ID: requestID, Route: route, W: w, HTTP: r, Start: time.Now(), Settings: settings, Snapshot: g.snapshot.Load()}}
	out := response.NewWriter(w, route.Format.Framing(), settings.ReadPause, r.Header.Get("X-Fairlead-Trace") == "full")
	rec := newRecorder(&in.Request, out)
	if g.Tracing != nil {
		rec.Entry.Trace = g.Tracing.Begin(requestID, r.Header)
		rec.Entry.TraceID = rec.Entry.Trace.TraceID
	}
	if err := g.serveSafely(r.Context(), in, identify, out, rec); err != nil {
		g.fail(r.Context(), in, out, rec, llm.AsError(err))
	}
	if in.shadow != nil {
		in.shadow.entry = rec.Entry
	}
	if rec.Task != nil {
		go rec.Task()
		return
	}
	g.observe(r.Context(), rec)
	if out.Aborted() {
		panic(http.ErrAbortHandler)
	}
}

// observe passes a complete entry to Observe. It logs a warning if the usage was not charged as the provider reported it.
func (g *Gateway) observe(ctx context.Context, rec *recorder) {
	if e := rec.Entry; e.UsageFlag != "" {
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
	if rec.Logged() {
		g.Observe(rec.Entry)
	}
}

// serveSafely converts a panic into an error, so that one request cannot end the process.
func (g *Gateway) serveSafely(ctx context.Context, in *incoming, identify identifier, out *response.Writer, rec *recorder) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	switch in.Route.Op {
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
	g.logInternal(ctx, in.ID, e)
	started := out.StopKeepAlive()
	if rec.Logged() {
		rec.RecordError(e, started)
		if rec.Task != nil {
			rec.Complete() // the background task writes the entry when the response ends
		} else if err := g.Log.End(rec.Complete()); err != nil {
			e = llm.AsError(err)
		} else {
			rec.ReleaseText()
		}
	}
	if e.Kind == llm.ClientCancelled && started {
		return // an error before the start of the response is sent, because the client may have closed only its sending side
	}
	entryID := ""
	if rec.Logged() {
		entryID = in.ID
	}
	linked := e.Linked(in.Settings.PublicURL.For(in.HTTP), entryID)
	body := wire.ErrorBody(in.Route.Format, modelapi.ErrorClient(in.HTTP, rec.Caller.Grant), linked, in.ID)
	if out.Traces() && rec.Entry.Decision != nil {
		body = rawjson.AppendMember(body, "fairlead", rec.Trace())
	}
	if rec.Entry.Model != "" && !started {
		rec.SetHeaders(out.Header())
	}
	out.Fail(e, body)
}

func (g *Gateway) logInternal(ctx context.Context, requestID string, e *llm.Error) {
	if e.Kind == llm.Internal {
		g.Logger.ErrorContext(ctx, "internal error", "request_id", requestID, "error", e.Error())
	}
}
