package gateway

import (
	"slices"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/reasoning"
)

// recall looks up the signed reasoning of earlier tool calls that the client did not send back. It adds the length of the reasoning to the
// request, so that the hold covers it. The returned function selects the client format for a target. If the target signs its reasoning,
// this format adds the recalled reasoning to the request and keeps the reasoning of the response. The function is nil when no target of
// the plan needs such a format.
func (r *run) recall(p plan) func(*provider.Target) provider.Client {
	if p.req.Op != llm.Chat || !slices.ContainsFunc(p.decision.Plan, func(t *provider.Target) bool { return losesSignatures(p.req, t) }) {
		return nil
	}
	session := r.Reasoning.Begin(r.call.Grant.Workspace.ID, !p.req.Controls.Provider.ZeroRetention)
	if p.req.Answers > 0 {
		// A conversion error is ignored, because the request then fails only at targets with another format.
		if conv, err := p.req.Translate(); err == nil {
			p.req.RestoredBytes = session.Recall(conv)
		}
	}
	format := provider.Client(r.call.Route.Format)
	return func(t *provider.Target) provider.Client {
		if !losesSignatures(p.req, t) {
			return format
		}
		return session.Client(format, t)
	}
}

// losesSignatures reports whether the target signs its reasoning and the request uses another format, in which clients may drop
// signatures.
func losesSignatures(req *llm.Request, t *provider.Target) bool {
	return t.Signs != "" && t.Signs != req.Format && (t.Model.Assumed || t.Model.Abilities.Has(llm.Reasoning))
}

// recordSignatures returns a recording of the signatures in a response, so that they are sent to no other target. It is nil for a target
// without reasoning.
func (d *delivery) recordSignatures(t *provider.Target) *reasoning.Recording {
	if d.plan.req.Op != llm.Chat || !t.Model.Assumed && !t.Model.Abilities.Has(llm.Reasoning) {
		return nil
	}
	return d.Reasoning.Record(d.call.Grant.Workspace.ID, t.ID())
}
