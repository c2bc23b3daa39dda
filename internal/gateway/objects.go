package gateway

import (
	"context"
	"net/http"
	"slices"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/modelapi"
	"fairlead.dev/internal/response"
	"fairlead.dev/internal/route"
	"fairlead.dev/internal/wire/show"
)

// objectRoute returns the index of the files or batches route that a path belongs to, or -1.
func (g *Gateway) objectRoute(path string) int {
	if g.Objects == nil {
		return -1
	}
	collection, _, _ := splitObjectPath(path)
	return slices.IndexFunc(g.Routes, func(rt modelapi.Route) bool {
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
func (g *Gateway) serveObject(ctx context.Context, in *incoming, identify identifier, out *response.Writer, rec *recorder) error {
	who, err := identify(in)
	rec.RecordCaller(who)
	if err != nil {
		return err
	}
	ctx, leave, err := g.admit(ctx, &in.Request, who.Grant.Key)
	if err != nil {
		return err
	}
	defer leave()
	ctx, stop := context.WithTimeout(ctx, in.Settings.Attempts.Total)
	defer stop()
	o := &objectRequest{objectService: &g.objects, In: &in.Request, Caller: who, Rec: rec, Out: out}
	o.Decide = func(op llm.Op, model string) (*route.Decision, error) {
		p := &prompt{req: &llm.Request{Op: op, Payload: llm.Payload{Format: in.Route.Format.Name()}, Model: model, ResponseOptions: llm.ResponseOptions{Choices: 1}}}
		policies := g.Routing.Policies.For(who.Grant.Workspace.ID)
		reading := readRequest(p, policies)
		return g.route(in, who, p, policies, reading)
	}
	return o.Serve(ctx, endpoint(in.HTTP.URL.Path))
}
