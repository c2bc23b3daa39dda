package gateway

import (
	"context"
	"net/http"
	"slices"
	"strconv"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/response"
	"fairlead.dev/internal/route"
	"fairlead.dev/internal/wire/show"
)

// StoredIDs parses the ids of stored responses that clients send.
type StoredIDs interface {
	// Open returns the response that an id names. It reports false for an id that was not issued to the workspace.
	Open(workspaceID, id string) (llm.StoredResponse, bool)
}

// findStored returns the stored response that a client's id names, and the provider that holds it. An id of another workspace
// counts as unknown.
func findStored(ids StoredIDs, snap *route.Snapshot, workspaceID, id string) (llm.StoredResponse, *provider.Provider, *llm.Error) {
	stored, ok := ids.Open(workspaceID, id)
	if !ok {
		return stored, nil, llm.Errorf(llm.NotFound, "Response %q was not found.", show.Shorten(id))
	}
	p, ok := snap.Provider(stored.Provider)
	if ok && holdsStored(p, stored) {
		return stored, p, nil
	}
	return stored, nil, llm.Errorf(llm.NotFound, "The response cannot be reached: the provider account that stored it was removed from the configuration.")
}

// holdsStored reports whether the provider has the credential of a stored response. A local server has no credential.
func holdsStored(p *provider.Provider, stored llm.StoredResponse) bool {
	if p.Stored == nil || stored.Credential == "" {
		return p.Stored != nil && len(p.Credentials) == 0
	}
	return slices.ContainsFunc(p.Credentials, func(c provider.Credential) bool { return c.ID == stored.Credential })
}

// bindStored binds a request that continues a stored response to the provider account that holds it.
func bindStored(ids StoredIDs, snap *route.Snapshot, workspaceID string, req *llm.Request) error {
	if req.Previous == "" {
		return nil
	}
	stored, _, e := findStored(ids, snap, workspaceID, req.Previous)
	if e != nil {
		e.Param, e.Message = "previous_response_id", e.Message+" Send the whole conversation in input."
		return e
	}
	only := &req.Controls.Provider.Only
	if len(*only) > 0 && !slices.Contains(*only, stored.Provider) {
		e := llm.Errorf(llm.InvalidRequest, "The previous response is stored by %s, which provider.only excludes. Add the provider to provider.only, or send the whole conversation in input.", stored.Provider)
		e.Param = "previous_response_id"
		return e
	}
	*only, req.Stored = []string{stored.Provider}, &stored
	req.Holder = &llm.Account{Provider: stored.Provider, Credential: stored.Credential}
	return nil
}

// checkAccount rejects a request that refers to an object of one provider account, such as a conversation, if several accounts could
// serve the request. The id of the object does not contain its account.
func checkAccount(snap *route.Snapshot, req *llm.Request) error {
	if req.Account == "" || req.Holder != nil {
		return nil
	}
	var targets []*provider.Target
	for _, name := range append([]string{req.Model}, req.Controls.Models...) {
		if req.Routed && name == req.Model {
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
	e := llm.Errorf(llm.InvalidRequest, "%s refers to an object that only one provider account stores, but %d accounts could serve the request. Set provider.only to a provider with one credential, or use previous_response_id instead.", req.Account, count)
	e.Param = req.Account
	return e
}

// storedMethods returns the HTTP methods that are allowed for a stored response, or for its subresource input_items or cancel. An empty part
// stands for the response itself. storedMethods returns nil for other parts.
func storedMethods(part string) []string {
	switch part {
	case "":
		return []string{http.MethodGet, http.MethodDelete}
	case "input_items":
		return []string{http.MethodGet}
	case "cancel":
		return []string{http.MethodPost}
	}
	return nil
}

// storedOperation is a client operation on a stored response. It calls no model and costs nothing.
type storedOperation struct {
	*Gateway
	HTTP      *http.Request
	Settings  *Settings
	Snapshot  *route.Snapshot
	Workspace string
	ID        string // response id that the client sent
	Part      string // part of the response, such as input_items; empty for the response itself
	Out       *response.Writer
}

// Serve sends the operation to the provider account that holds the response, and returns the provider's response to the client.
func (o *storedOperation) Serve(ctx context.Context) error {
	out := o.Out
	op := &provider.StoredOperation{Method: o.HTTP.Method, Part: o.Part, Query: o.HTTP.URL.Query()}
	if op.Method == http.MethodHead {
		op.Method = http.MethodGet
	}
	stream, _ := strconv.ParseBool(op.Query.Get("stream")) // the provider rejects other values
	op.Stream = stream && op.Part == "" && op.Method == http.MethodGet
	stored, p, e := findStored(o.StoredIDs, o.Snapshot, o.Workspace, o.ID)
	if e != nil {
		return e
	}
	op.Response = stored
	op.ModelName = func(reported string) string { // the name of the model in responses to clients
		if targets := o.Snapshot.Named(p.Name + "/" + reported); len(targets) > 0 {
			return targets[0].Model.Name
		}
		return reported
	}
	if op.Stream {
		out.Stream()
	}
	ctx, stop := context.WithTimeout(ctx, o.Settings.Attempts.Total)
	defer stop()
	if op.Method != http.MethodGet {
		o.readEnd(ctx, stored)
	}
	answer, err := o.Dispatcher.CallStored(ctx, p, op, o.Settings.Attempts.Idle)
	if err != nil {
		return storedError(p, o.ID, llm.AsError(err))
	}
	defer answer.Close()
	out.Header().Set("X-Fairlead-Provider", p.Name)
	for {
		ev, ok, err := answer.Next()
		switch {
		case err != nil:
			return storedError(p, o.ID, llm.AsError(err))
		case !ok:
			_ = out.End() // fails only when the client has disconnected
			return nil
		}
		o.background.report(stored, &ev)
		if err := out.Event(&ev); err != nil {
			return &llm.Error{Kind: llm.ClientCancelled, Message: "The client stopped reading the response.", Err: err}
		}
	}
}

// storedError returns the error for the client. The provider's 404 means that the response was deleted or has expired.
func storedError(p *provider.Provider, id string, e *llm.Error) *llm.Error {
	if e.UpstreamStatus == http.StatusNotFound {
		return llm.Errorf(llm.NotFound, "Response %q was not found. It was deleted, or %s no longer stores it.", show.Shorten(id), p.Title).With("provider", p.Name)
	}
	return objectFailure(p, e)
}
