package gateway

import (
	"net/http"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/token"
	"fairlead.dev/internal/wire"
)

// countTokens sets the gateway's own estimate of a conversation's length. It calls no provider and charges nothing. The entry does not
// store the conversation, which is logged when it is sent to a model.
func (r *run) countTokens(req *llm.Request) error {
	e := r.entry
	e.Outcome, e.Status, e.Cost = requestlog.OK, http.StatusOK, new(money.Amount)
	e.BodyState, e.Preview, e.Body = requestlog.BodyNone, "", requestlog.Body{}
	m := token.Model{Name: req.Model}
	if targets := r.snapshot.Named(req.Model); len(targets) > 0 {
		m = token.Model{Vendor: targets[0].Model.Vendor, Name: targets[0].Model.Name}
	} else if known, ok := r.snapshot.Catalog.Model(req.Model); ok {
		m = token.Model{Vendor: known.Vendor, Name: known.Name}
	} else if f, ok := r.call.Route.Format.(wire.VendorFormat); ok {
		m.Vendor = f.Vendor() // the most likely vendor of an unknown model
	}
	r.tokens = m.Prompt(token.PromptOf(req))
	if !r.logged() {
		return nil
	}
	return r.writeEntry()
}
