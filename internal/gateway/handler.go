package gateway

import (
	"context"
	"fmt"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"fairlead/internal/account"
	"fairlead/internal/id"
	"fairlead/internal/llm"
	"fairlead/internal/requestlog"
	"fairlead/internal/wire"
)

// Prefix is where the model API lives.
const Prefix = "/proxy/v1"

// ServeHTTP answers everything below Prefix. Paths are read with their doubled slashes folded: clients whose base URL
// ends in a slash send them, and a redirect would turn their POST into a GET.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	requestID := named(w)
	path := endpoint(r.URL.Path)
	i := g.routeAt(path)
	switch {
	case i < 0:
		g.serveOther(w, r, requestID, path)
	case !g.takes(w, r, requestID, http.MethodPost):
	default:
		g.handle(w, r, requestID, g.Routes[i], g.byKey)
	}
}

// endpoint returns the path below Prefix, without a trailing slash.
func endpoint(path string) string {
	return strings.TrimSuffix(strings.TrimPrefix(fold(path), Prefix), "/")
}

// routeAt returns the index of the route with this endpoint, or -1.
func (g *Gateway) routeAt(endpoint string) int {
	return slices.IndexFunc(g.Routes, func(one Route) bool { return one.Path == endpoint })
}

// formatAt returns the format of the route at a path, or nil.
func (g *Gateway) formatAt(path string) wire.Format {
	if i := g.routeAt(endpoint(path)); i >= 0 {
		return g.Routes[i].Format
	}
	return nil
}

// serveOther answers what is no model's matter.
func (g *Gateway) serveOther(w http.ResponseWriter, r *http.Request, requestID, path string) {
	switch {
	case path == "/feedback":
		if g.takes(w, r, requestID, http.MethodPost) {
			g.rate(w, r, requestID)
		}
	case path == "/models":
		if g.takes(w, r, requestID, http.MethodGet) {
			g.listModels(w, r, requestID)
		}
	case strings.HasPrefix(path, "/models/"):
		if g.takes(w, r, requestID, http.MethodGet) {
			g.showModel(w, r, requestID, strings.TrimPrefix(path, "/models/"))
		}
	default:
		g.refuse(w, r, requestID, llm.Errorf(llm.NotFound,
			"There is no %s here. The model API has %s and models below %s.", shorten(r.URL.Path), g.paths(), Prefix))
	}
}

// named gives a request its id and tells the client, by both names that client libraries look for.
func named(w http.ResponseWriter) string {
	requestID := id.New("req", time.Now())
	h, value := w.Header(), []string{requestID}
	h["X-Request-Id"], h["Request-Id"] = value, value // as Set would, with one value for both
	return requestID
}

// paths names what is served, for people.
func (g *Gateway) paths() string {
	var names []string
	for _, one := range g.Routes {
		names = append(names, strings.TrimPrefix(one.Path, "/"))
	}
	return strings.Join(names, ", ")
}

// ServeAs answers a chat request of a person whose session was checked already, in the format of the first route.
func (g *Gateway) ServeAs(w http.ResponseWriter, r *http.Request, workspace *account.Workspace, accountID string) {
	requestID := named(w)
	g.handle(w, r, requestID, g.Routes[0], byPerson(workspace, accountID))
}

// ServeSample answers a request of sample traffic, which is allowed only the models given, or all when there are none.
// The endpoint is one of those below Prefix.
func (g *Gateway) ServeSample(w http.ResponseWriter, r *http.Request, workspace *account.Workspace, name string, models []string) {
	requestID := named(w)
	i := max(0, g.routeAt("/"+name))
	g.handle(w, r, requestID, g.Routes[i], bySample(workspace, models))
}

// fold collapses runs of slashes.
func fold(path string) string {
	for strings.Contains(path, "//") {
		path = strings.ReplaceAll(path, "//", "/")
	}
	return path
}

// shorten bounds what somebody else says and an entry keeps.
func shorten(s string) string { return shortenTo(s, 80) }

// shortenName does so with the name of a model; none that is known is longer.
func shortenName(s string) string { return shortenTo(s, 256) }

func shortenTo(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// takes lets only the right method pass, and refuses the others. HEAD goes with GET; a preflight is refused as a browser's call.
func (g *Gateway) takes(w http.ResponseWriter, r *http.Request, requestID, want string) bool {
	switch {
	case r.Method == want, want == http.MethodGet && r.Method == http.MethodHead:
		return true
	case r.Method == http.MethodOptions && r.Header.Get("Origin") != "":
		g.refuse(w, r, requestID, browserRefused())
	default:
		w.Header().Set("Allow", want)
		g.refuse(w, r, requestID, llm.Errorf(llm.MethodNotAllowed, "%s does not take %s. Use %s.", shorten(r.URL.Path), shorten(r.Method), want))
	}
	return false
}

// refuse answers a request that never became an exchange.
func (g *Gateway) refuse(w http.ResponseWriter, r *http.Request, requestID string, err error) {
	e := llm.AsError(err)
	g.logDefect(r.Context(), requestID, e)
	writeError(w, e, errorBody(r, g.formatAt(r.URL.Path), nil, e, requestID))
}

// handle runs one request from its entry to its last byte.
func (g *Gateway) handle(w http.ResponseWriter, r *http.Request, requestID string, route Route, identify func(*exchange) error) {
	x := g.newExchange(w, r, requestID, route)
	x.identify = identify
	err := g.protect(r.Context(), x)
	if err != nil {
		g.fail(r.Context(), x, llm.AsError(err))
	}
	if x.entry.UsageFlag != "" {
		g.logUsage(r.Context(), x.entry)
	}
	if (x.begun || x.grant != nil) && !x.dry {
		g.Observe(x.entry)
	}
}

// protect turns a panic into an error of ours: one request never ends the process.
func (g *Gateway) protect(ctx context.Context, x *exchange) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return g.serve(ctx, x)
}

func (g *Gateway) newExchange(w http.ResponseWriter, r *http.Request, requestID string, route Route) *exchange {
	now := time.Now()
	settings := g.settings.Load()
	return &exchange{
		op:       route.Op,
		format:   route.Format,
		r:        r,
		start:    now,
		settings: settings,
		snap:     g.snapshot.Load(),
		counter:  g.counter,
		w: &client{
			w: w, rc: http.NewResponseController(w), format: route.Format, patient: settings.ReadPause,
			trace: r.Header.Get("X-Fairlead-Trace") == "full",
		},
		entry: &requestlog.Entry{
			ID: requestID, Time: now, Endpoint: strings.TrimPrefix(route.Path, "/"), Format: route.Format.Name(),
			Attempts: []requestlog.Attempt{}, BodyState: requestlog.BodyNone,
			Client: shorten(r.UserAgent()), IP: address(r), TraceID: traceID(r),
		},
	}
}

// fail records a request that ended in an error and tells the client.
func (g *Gateway) fail(ctx context.Context, x *exchange, e *llm.Error) {
	g.logDefect(ctx, x.entry.ID, e)
	started := x.w.hush()
	if x.grant != nil && !x.dry {
		x.conclude(e, started)
		if err := g.record(x); err != nil {
			e = llm.AsError(err)
		}
	}
	if e.Kind == llm.ClientCancelled && started {
		return // else it is told: one that only sends no more still reads, and no word would be a 200
	}
	body := errorBody(x.r, x.format, x.grant, e, x.entry.ID)
	if x.w.trace && x.decision != nil {
		body = x.format.Attach(body, "fairlead", x.trace())
	}
	if x.entry.Model != "" && !started {
		x.describe(x.w.w.Header())
	}
	x.w.fail(e, body)
}

func (g *Gateway) logDefect(ctx context.Context, requestID string, e *llm.Error) {
	if e.Kind == llm.Internal {
		g.Logger.ErrorContext(ctx, "request failed by a defect", "request_id", requestID, "error", e.Error())
	}
}
