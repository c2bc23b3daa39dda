package gateway

import (
	"net/http"
	"strings"
	"time"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/response"
	"fairlead.dev/internal/wire"
	"fairlead.dev/internal/wire/show"
)

// storedPath is the endpoint whose responses providers store.
const storedPath = "/responses"

// serveStored handles the operations on a stored response. They call no model, cost nothing and have no log entry.
func (g *Gateway) serveStored(w http.ResponseWriter, r *http.Request, requestID string, format wire.Format, path string) {
	id, part, _ := strings.Cut(strings.TrimPrefix(path, storedPath+"/"), "/")
	methods := storedMethods(part)
	if methods == nil {
		g.reject(w, r, requestID, llm.Errorf(llm.NotFound, "%s does not exist. Use responses/{id}, responses/{id}/input_items or responses/{id}/cancel.", show.Shorten(r.URL.Path)))
		return
	}
	if !g.requireMethod(w, r, requestID, methods...) {
		return
	}
	settings := g.settings.Load()
	out := response.NewWriter(w, format.Framing(), response.Options{Pause: settings.ReadPause, Hold: settings.Hold, Ping: settings.Ping})
	grant, err := authenticateKey(r, settings, g.Keys, time.Now())
	if err == nil {
		err = checkScope(grant)
	}
	if err == nil {
		err = g.callStored(r, grant, id, part, out)
	}
	if err == nil {
		return
	}
	e := llm.AsError(err)
	g.logInternal(r.Context(), requestID, e)
	out.Stop()
	out.Fail(e, wire.ErrorBody(format, errorClient(r, grant), e.Linked(settings.PublicURL.For(r), ""), requestID))
}

// callStored performs an operation on a stored response within the limits of the key.
func (g *Gateway) callStored(r *http.Request, grant *account.Grant, id, part string, out *response.Writer) error {
	ctx, leave, err := g.admit(r.Context(), grant.Key, g.settings.Load())
	if err != nil {
		return err
	}
	defer leave()
	op := &storedOperation{
		Gateway: g, HTTP: r, Settings: g.settings.Load(), Snapshot: g.snapshot.Load(), Workspace: grant.Workspace.ID, ID: id, Part: part, Out: out,
	}
	return op.Serve(ctx)
}
