package gateway

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairlead/internal/limit"
	"fairlead/internal/llm"
	"fairlead/internal/modelapi"
	"fairlead/internal/provider"
	"fairlead/internal/response"
	"fairlead/internal/route"
	"fairlead/internal/wire"
	"fairlead/internal/wire/show"
)

// storedPath is the endpoint whose responses providers store.
const storedPath = "/responses"

// findStored returns the stored response that a client's id names, and the provider that holds it. An id of another workspace is
// unknown.
func (g *Gateway) findStored(snap *route.Snapshot, workspaceID, id string) (llm.StoredResponse, *provider.Provider, *llm.Error) {
	stored, ok := g.StoredIDs.Open(workspaceID, id)
	if !ok {
		return stored, nil, llm.Errorf(llm.NotFound, "Response %q was not found.", show.Shorten(id))
	}
	p, ok := snap.Provider(stored.Provider)
	if ok && holdsStored(p, stored) {
		return stored, p, nil
	}
	return stored, nil, llm.Errorf(llm.NotFound, "The response cannot be reached: the provider account that stored it was removed from the configuration.")
}

// holdsStored reports whether the provider has the credential of a stored response. A local server has none.
func holdsStored(p *provider.Provider, stored llm.StoredResponse) bool {
	if p.Stored == nil || stored.Credential == "" {
		return p.Stored != nil && len(p.Credentials) == 0
	}
	return slices.ContainsFunc(p.Credentials, func(c provider.Credential) bool { return c.ID == stored.Credential })
}

// bindStored binds a request that continues a stored response to the provider account that holds it.
func (g *Gateway) bindStored(snap *route.Snapshot, workspaceID string, req *llm.Request) error {
	if req.Previous == "" {
		return nil
	}
	stored, _, e := g.findStored(snap, workspaceID, req.Previous)
	if e != nil {
		e.Param, e.Message = "previous_response_id", e.Message+" Send the whole conversation in input."
		return e
	}
	only := &req.Controls.Provider.Only
	if len(*only) > 0 && !slices.Contains(*only, stored.Provider) {
		e := llm.Errorf(llm.InvalidRequest, "The previous response is stored by %s, which provider.only excludes.", stored.Provider)
		e.Param = "previous_response_id"
		return e
	}
	*only, req.Stored = []string{stored.Provider}, &stored
	return nil
}

// checkAccount rejects a request that refers to an object of one provider account, such as a conversation, if several accounts
// could serve it: the id of the object does not name its account.
func checkAccount(snap *route.Snapshot, req *llm.Request) error {
	if req.Account == "" || req.Stored != nil {
		return nil
	}
	var targets []*provider.Target
	for _, name := range append([]string{req.Model}, req.Controls.Models...) {
		if route.IsAuto(name) {
			targets = append(targets, snap.Targets()...)
		} else {
			targets = append(targets, snap.Named(name)...)
		}
	}
	only, ignore := req.Controls.Provider.Only, req.Controls.Provider.Ignore
	accounts := map[string]int{}
	for _, t := range targets {
		if t.Lacks.Has(llm.ResponsesAPI) || len(only) > 0 && !slices.Contains(only, t.Provider) || slices.Contains(ignore, t.Provider) {
			continue
		}
		if p, ok := snap.Provider(t.Provider); ok {
			accounts[p.Name] = max(1, len(p.Credentials))
		}
	}
	count := 0
	for _, credentials := range accounts {
		count += credentials
	}
	if count <= 1 {
		return nil
	}
	e := llm.Errorf(llm.InvalidRequest, "%s refers to an object of one provider account, and %d accounts could serve the request. Select a provider with one credential in provider.only, or continue a response with previous_response_id.", req.Account, count)
	e.Param = req.Account
	return e
}

// serveStored handles the operations on a stored response. They call no model, cost nothing and have no log entry.
func (g *Gateway) serveStored(w http.ResponseWriter, r *http.Request, requestID string, format wire.Format, path string) {
	id, part, _ := strings.Cut(strings.TrimPrefix(path, storedPath+"/"), "/")
	op := &provider.StoredOperation{Method: r.Method, Part: part, Query: r.URL.Query()}
	switch part {
	case "":
		if !g.requireMethod(w, r, requestID, http.MethodGet, http.MethodDelete) {
			return
		}
	case "input_items":
		if !g.requireMethod(w, r, requestID, http.MethodGet) {
			return
		}
	case "cancel":
		if !g.requireMethod(w, r, requestID, http.MethodPost) {
			return
		}
	default:
		g.reject(w, r, requestID, llm.Errorf(llm.NotFound, "%s does not exist. A stored response has input_items and cancel.", show.Shorten(r.URL.Path)))
		return
	}
	if r.Method == http.MethodHead {
		op.Method = http.MethodGet
	}
	stream, _ := strconv.ParseBool(op.Query.Get("stream")) // the provider rejects other values
	op.Stream = stream && part == "" && op.Method == http.MethodGet

	settings := g.settings.Load()
	in := &incoming{Request: modelapi.Request{ID: requestID, W: w, HTTP: r, Start: time.Now(), Settings: settings, Snapshot: g.snapshot.Load()}}
	out := response.NewWriter(w, format.Framing(), settings.ReadPause, false)
	who, err := g.identifyKey(in)
	if err == nil {
		err = g.callStored(r.Context(), in, who, id, op, out)
	}
	if err == nil {
		return
	}
	e := llm.AsError(err)
	g.logInternal(r.Context(), requestID, e)
	out.StopKeepAlive()
	out.Fail(e, wire.ErrorBody(format, modelapi.ErrorClient(r, who.Grant), e.Linked(settings.PublicURL.For(r), ""), requestID))
}

// callStored sends an operation to the provider account that holds the response and delivers the answer.
func (g *Gateway) callStored(ctx context.Context, in *incoming, who modelapi.Caller, id string, op *provider.StoredOperation, out *response.Writer) error {
	key, workspace := who.Grant.Key, who.Grant.Workspace
	ctx, leave, err := g.inflight.Enter(ctx, key.ID, in.Settings.MaxConcurrent)
	if err != nil {
		return err
	}
	defer leave()
	slot, err := g.Limits.Take(ctx, key.ID, limit.Limits(key.Limits), 0)
	if err != nil {
		return err
	}
	defer slot.Release()
	stored, p, e := g.findStored(in.Snapshot, workspace.ID, id)
	if e != nil {
		return e
	}
	op.Response = stored
	op.ModelName = func(reported string) string { // the name that clients see
		if targets := in.Snapshot.Named(p.Name + "/" + reported); len(targets) > 0 {
			return targets[0].Model.Name
		}
		return reported
	}
	if op.Stream {
		out.StartStream(in.Settings.Hold, in.Settings.Ping)
	}
	ctx, stop := context.WithTimeout(ctx, in.Settings.Attempts.Total)
	defer stop()
	stream, err := g.Dispatcher.CallStored(ctx, p, op, in.Settings.Attempts.Idle)
	if err != nil {
		return storedFailure(p, id, llm.AsError(err))
	}
	defer stream.Close()
	for {
		ev, ok, err := stream.Next()
		switch {
		case err != nil:
			return storedFailure(p, id, llm.AsError(err))
		case !ok:
			_ = out.End(response.ProviderSummary(p.Name)) // fails only when the client has disconnected
			return nil
		}
		if err := out.Event(&ev, response.ProviderSummary(p.Name)); err != nil {
			return &llm.Error{Kind: llm.ClientCancelled, Message: "The client stopped reading the response.", Err: err}
		}
	}
}

// storedFailure returns the error for the client. The provider's 404 means that the response was deleted or has expired.
func storedFailure(p *provider.Provider, id string, e *llm.Error) *llm.Error {
	if e.UpstreamStatus == http.StatusNotFound {
		return llm.Errorf(llm.NotFound, "Response %q was not found. It was deleted, or %s stores it no longer.", show.Shorten(id), p.Title).With("provider", p.Name)
	}
	if e.UpstreamStatus == 0 {
		return e
	}
	shown := *e
	shown.Message = fmt.Sprintf("%s returned an error: %s", p.Name, strings.TrimSpace(e.Message))
	return shown.With("provider", p.Name)
}
