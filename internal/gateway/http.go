package gateway

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/id"
	"fairlead.dev/internal/limit"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/realtime"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/response"
	"fairlead.dev/internal/upload"
	"fairlead.dev/internal/wire"
	"fairlead.dev/internal/wire/show"
)

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
			g.handle(w, r, requestID, g.Routes[i])
		}
		return
	}
	if i := g.routeIndex(path); i >= 0 && g.Routes[i].Op == llm.Realtime {
		if g.requireMethod(w, r, requestID, http.MethodGet) && g.checkUpgrade(w, r, requestID) {
			g.handle(w, realtime.WithProtocols(r), requestID, g.Routes[i])
		}
		return
	}
	if i := g.routeIndex(path); i >= 0 && !namesModel(g.Routes[i]) {
		if g.requireMethod(w, r, requestID, http.MethodPost) {
			g.handle(w, r, requestID, g.Routes[i])
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
			"%s does not exist. The paths below %s are %s and models.", show.Shorten(r.URL.Path), Prefix, strings.Join(names, ", ")))
	}
}

// ServeAs serves a chat request of a dashboard user with a valid session, in the format of the first route. The rules of the workspace
// apply instead of those of a key.
func (g *Gateway) ServeAs(w http.ResponseWriter, r *http.Request, body []byte, workspace *account.Workspace, accountID string) {
	key := &account.Key{ID: accountID, WorkspaceID: workspace.ID, KeySettings: account.KeySettings{Name: "playground", Scopes: []account.Scope{account.Inference}}}
	g.respond(w, r, &Call{
		ID: assignRequestID(w), Start: time.Now(), Route: g.Routes[0], AccountID: accountID, Body: body,
		Grant: &account.Grant{Key: key, Workspace: workspace}, Tags: readTags(nil, r.Header),
	})
}

// endpoint returns the path relative to Prefix, without repeated slashes or a trailing slash.
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
		g.reject(w, r, requestID, browserError())
	case r.Method == http.MethodGet && strings.EqualFold(r.Header.Get("Upgrade"), "websocket"): // after this status, Codex immediately sends the request over HTTP
		g.reject(w, r, requestID, llm.Errorf(llm.UpgradeRequired, "%s is not a WebSocket. Send the request with %s.", show.Shorten(r.URL.Path), strings.Join(allowed, " or ")))
	default:
		w.Header().Set("Allow", strings.Join(allowed, ", "))
		g.reject(w, r, requestID, llm.Errorf(llm.MethodNotAllowed, "Method %s is not allowed for %s. Use %s.", show.Shorten(r.Method), show.Shorten(r.URL.Path), strings.Join(allowed, " or ")))
	}
	return false
}

// reject responds with an error to a request that has no log entry. The path selects the format.
func (g *Gateway) reject(w http.ResponseWriter, r *http.Request, requestID string, err error) {
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
	g.rejectAs(w, r, requestID, format, err)
}

func (g *Gateway) rejectAs(w http.ResponseWriter, r *http.Request, requestID string, format wire.Format, err error) {
	e := llm.AsError(err)
	g.logInternal(r.Context(), requestID, e)
	linked := e.Linked(g.settings.Load().PublicURL.For(r), "")
	response.WriteError(w, e, wire.ErrorBody(format, errorClient(r, nil), linked, requestID))
}

// admit admits a request that calls no model. It counts the request as running and applies the limits of its key.
func (g *Gateway) admit(ctx context.Context, key *account.Key, settings *Settings) (context.Context, func(), error) {
	ctx, leave, err := g.Enter(ctx, key.ID, settings.MaxConcurrent)
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
	return wire.ErrorBody(nil, errorClient(r, nil), e, requestID)
}

// handle authenticates a request and serves it.
func (g *Gateway) handle(w http.ResponseWriter, r *http.Request, requestID string, route Route) {
	settings, start := g.settings.Load(), time.Now()
	grant, err := authenticateKey(r, settings, g.Keys, start)
	if err != nil {
		g.rejectAs(w, r, requestID, route.Format, err)
		return
	}
	call := &Call{ID: requestID, Start: start, Route: route, Grant: grant, Tags: readTags(grant.Key.Tags, r.Header)}
	call.Upload = func() (*upload.Body, error) {
		return g.uploads.Read(w, r, route.Op, grant.Workspace.ID, settings.Upload)
	}
	g.respond(w, r, call)
}

// respond runs a call with the options in the headers of a request, and sends the response.
func (g *Gateway) respond(w http.ResponseWriter, r *http.Request, call *Call) {
	call.Options, call.Invalid = readOptions(r, call.Route.Format)
	objects := call.Route.Op == llm.FileObjects || call.Route.Op == llm.BatchObjects
	call.DryRun = call.DryRun && !objects // an operation on objects has no routing decision
	settings := g.settings.Load()
	out := response.NewWriter(w, call.Route.Format.Framing(), response.Options{
		Pause: settings.ReadPause, Hold: settings.Hold, Ping: settings.Ping, Trace: r.Header.Get("X-Fairlead-Trace") == "full",
	})
	result, err := g.record(r.Context(), call, out, func(run *run, ctx context.Context) error {
		switch {
		case objects:
			return (&objectRequest{run: run, out: out, http: r, w: w}).serveObject(ctx)
		case call.Route.Op == llm.Realtime:
			return (&realtimeSession{run: run, w: w, http: r}).serve(ctx)
		}
		return run.serve(ctx)
	})
	switch {
	case err != nil:
		g.respondError(r, call, out, result.Entry, llm.AsError(err))
	case call.Route.Op == llm.Count:
		var count any = map[string]int64{"input_tokens": result.Tokens}
		if f, ok := call.Route.Format.(wire.TokenCounter); ok {
			count = f.TokenCount(result.Tokens)
		}
		writeJSON(w, r, count)
	case call.DryRun:
		out.Stop()
		writeJSON(w, r, map[string]any{"object": "fairlead.decision", "request_id": call.ID, "decision": result.Entry.Decision})
	}
	if out.Aborted() {
		panic(http.ErrAbortHandler)
	}
}

// respondError reports the error of a call to the client.
func (g *Gateway) respondError(r *http.Request, call *Call, out *response.Writer, entry *requestlog.Entry, e *llm.Error) {
	if e.Kind == llm.ClientCancelled && out.Stop() {
		return // an error before the start of the response is sent, because the client may have closed only its sending side
	}
	entryID := ""
	if !call.DryRun {
		entryID = call.ID
	}
	linked := e.Linked(g.settings.Load().PublicURL.For(r), entryID)
	body := wire.ErrorBody(call.Route.Format, errorClient(r, call.Grant), linked, call.ID)
	if r.Header.Get("X-Fairlead-Trace") == "full" && entry.Decision != nil {
		body = rawjson.AppendMember(body, "fairlead", response.TraceOf(entry))
	}
	out.Fail(e, body)
}

// errorClient describes the client that gets an error. The grant is nil before authentication.
func errorClient(r *http.Request, grant *account.Grant) wire.ErrorClient {
	c := wire.ErrorClient{Requested: r.Header.Get("X-Fairlead-Error-Format"), UserAgent: r.UserAgent()}
	if grant != nil {
		c.KeyFormat = grant.Key.ErrorFormat
	}
	return c
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
