package gateway

import (
	"context"
	"net/http"
	"strings"
	"time"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/modelapi"
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
	in := &modelapi.Request{ID: requestID, W: w, HTTP: r, Start: time.Now(), Settings: settings, Snapshot: g.snapshot.Load()}
	out := response.NewWriter(w, format.Framing(), settings.ReadPause, false)
	who, err := in.Authenticate(g.Keys)
	if err == nil {
		err = g.callStored(r.Context(), in, who, id, part, out)
	}
	if err == nil {
		return
	}
	e := llm.AsError(err)
	g.logInternal(r.Context(), requestID, e)
	out.StopKeepAlive()
	out.Fail(e, wire.ErrorBody(format, modelapi.ErrorClient(r, who.Grant), e.Linked(settings.PublicURL.For(r), ""), requestID))
}

// callStored performs an operation on a stored response within the limits of the key.
func (g *Gateway) callStored(ctx context.Context, in *modelapi.Request, who modelapi.Caller, id, part string, out *response.Writer) error {
	ctx, leave, err := g.admit(ctx, in, who.Grant.Key)
	if err != nil {
		return err
	}
	defer leave()
	op := &storedOperation{Gateway: g, In: in, Workspace: who.Grant.Workspace.ID, ID: id, Part: part, Out: out}
	return op.Serve(ctx)
}
