package gateway

import (
	"context"
	"net/http"
	"slices"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/route"
	"fairlead.dev/internal/wire/show"
)

// objectRoute returns the index of the files or batches route that a path belongs to, or -1.
func (g *Gateway) objectRoute(path string) int {
	if g.Objects == nil {
		return -1
	}
	collection, _, _ := splitObjectPath(path)
	return slices.IndexFunc(g.Routes, func(rt Route) bool {
		return (rt.Op == llm.FileObjects || rt.Op == llm.BatchObjects) && rt.Path == collection
	})
}

// checkObject rejects a request with an unknown path under /files or /batches, or with a method that the path does not allow.
func (g *Gateway) checkObject(w http.ResponseWriter, r *http.Request, requestID, path string) bool {
	methods := objectMethods(path)
	if methods == nil {
		g.reject(w, r, requestID, llm.Errorf(llm.NotFound, "%s does not exist. Use files/{id}, files/{id}/content, batches/{id} or batches/{id}/cancel.", show.Shorten(r.URL.Path)))
		return false
	}
	return g.requireMethod(w, r, requestID, methods...)
}

// serveObject handles the operations on files and batches.
func (o *objectRequest) serveObject(ctx context.Context) error {
	if err := checkScope(o.call.Grant); err != nil {
		return err
	}
	ctx, leave, err := o.admit(ctx, o.call.Grant.Key, o.settings)
	if err != nil {
		return err
	}
	defer leave()
	ctx, stop := context.WithTimeout(ctx, o.settings.Attempts.Total)
	defer stop()
	return o.Serve(ctx, endpoint(o.http.URL.Path))
}

// decideModel returns the routing decision for a request that names a model as provider/model.
func (o *objectRequest) decideModel(op llm.Op, model string) (*route.Decision, error) {
	p := &prompt{
		policies: o.Routing.Policies.For(o.call.Grant.Workspace.ID),
		req:      &llm.Request{Op: op, Payload: llm.Payload{Format: o.call.Route.Format.Name()}, Model: model, ResponseOptions: llm.ResponseOptions{Choices: 1}},
	}
	return o.route(p, readRequest(p))
}
