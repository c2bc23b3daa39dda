package gateway

import (
	"errors"
	"strings"

	"fairlead.dev/internal/ledger"
	"fairlead.dev/internal/limit"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/modelapi"
	"fairlead.dev/internal/promptcache"
	"fairlead.dev/internal/route"
	"fairlead.dev/internal/session"
	"fairlead.dev/internal/token"
	"fairlead.dev/internal/upload"
	"fairlead.dev/internal/wire"
)

// prompt is a decoded request with its length and the prefixes cached by targets.
type prompt struct {
	req       *llm.Request
	route     *route.Route // definition of the route that the request asks for; nil for a model and for auto without a definition
	tokens    int64        // model-independent estimate of the prompt length in tokens; 0 for a request that only counts tokens
	cache     promptcache.View
	session   session.Source  // origin of the session ID; empty before the session is known and for requests without a session
	budgets   []ledger.Budget // budgets of the session and the end user
	limited   bool            // whether a policy limits the session
	downgrade string          // reason why the request is routed by auto:cost; empty if it is routed as requested
}

// decode reads and decodes the body. The body counts towards the memory limit of all requests until it is released.
func (g *Gateway) decode(in *incoming, who modelapi.Caller) (*upload.Body, *prompt, error) {
	body, err := g.uploads.Read(in.W, in.HTTP, in.Route.Op, who.Grant.Workspace.ID, in.Settings.Upload)
	if err != nil {
		return nil, nil, err
	}
	req, err := g.decodeBody(in, who.Grant.Key.ID, body)
	if err != nil {
		body.Release()
		return nil, nil, err
	}
	req.Controls.SessionID, req.EndUser = session.Named(req, in.HTTP.Header), session.EndUser(req.EndUser)
	if f, ok := in.Route.Format.(wire.FeatureHeader); ok {
		req.Beta = strings.Join(in.HTTP.Header.Values(f.FeatureHeader()), ",")
	}
	p := &prompt{req: req}
	resolveRoute(p, in, who)
	if in.Route.Op != llm.Count {
		p.tokens = token.PromptOf(req).Estimate()
	}
	return body, p, nil
}

// decodeBody parses the body after acquiring a CPU slot. It returns Overloaded when the admission queue is full. A large body is decoded
// without a slot, because it would occupy the slot for too long.
func (g *Gateway) decodeBody(in *incoming, keyID string, body *upload.Body) (*llm.Request, error) {
	ctx := in.HTTP.Context()
	if !body.Large() {
		err := g.Admission.Acquire(ctx, keyID)
		if errors.Is(err, limit.ErrOverloaded) {
			return nil, modelapi.Overloaded("The gateway is overloaded. Retry in 1 second.")
		}
		if err == nil {
			defer g.Admission.Release()
		}
	}
	if err := llm.Cancelled(ctx); err != nil {
		return nil, err
	}
	req, err := in.Route.Format.DecodeRequest(ctx, in.Route.Op, body.Bytes)
	if err != nil {
		return nil, err
	}
	if in.shadow != nil {
		req.Model, req.Controls.Models = in.shadow.Model, nil
	}
	req.Measure()
	return req, llm.Cancelled(ctx)
}

// resolveRoute finds the route that the request asks for, once. The routes of the instance take precedence over those of the workspace.
func resolveRoute(p *prompt, in *incoming, who modelapi.Caller) {
	p.req.Model, p.route, p.req.Routed = in.Snapshot.Resolve(p.req.Model, in.Settings.Routes, who.Grant.Workspace.Routes)
}
