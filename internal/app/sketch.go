package app

import (
	"bytes"
	"context"

	"fairlead/internal/account"
	"fairlead/internal/llm"
	"fairlead/internal/predict"
	"fairlead/internal/requestlog"
	"fairlead/internal/route"
)

// redacted is how a place begins where something was taken out of a stored text.
const redacted = "[redacted: "

// sketchAgain is what the predictor sees in the stored text of a request that it saw when the request came; nil when it is
// another predictor than then, or the text not the same.
func (a *App) sketchAgain(ctx context.Context, e *requestlog.Entry, text []byte) *predict.Features {
	if e.Decision == nil || e.Decision.Input.Predictor == "" || e.Decision.Input.Predictor != a.predictor.Version() {
		return nil
	}
	return a.sketch(ctx, &e.Decision.Input, text)
}

// sketchNow is what the predictor in use makes of a logged request, and that predictor's version. A request that named its
// model was not looked at when it came, and one of before an update by an earlier predictor: their stored text is. Where
// none is stored as it came, what the log has is all there is.
func (a *App) sketchNow(ctx context.Context, e *requestlog.Entry) (predict.Features, string) {
	if e.Decision == nil {
		return predict.Features{}, ""
	}
	in := &e.Decision.Input
	if in.Op != llm.Chat || in.Predictor == a.predictor.Version() {
		return in.Features, in.Predictor
	}
	body, err := a.db.Log.EntryBody(ctx, e.WorkspaceID, e.ID)
	if err != nil {
		return in.Features, in.Predictor
	}
	if s := a.sketch(ctx, in, body.Request); s != nil {
		return *s, a.predictor.Version()
	}
	return in.Features, in.Predictor
}

// sketch is what the predictor in use sees in the stored text of a request; nil when it is not the text that came.
func (a *App) sketch(ctx context.Context, in *route.Input, text []byte) *predict.Features {
	if len(text) == 0 || bytes.Contains(text, []byte(redacted)) {
		return nil
	}
	for _, one := range routes() {
		if one.Op != in.Op || one.Format.Name() != in.Format {
			continue
		}
		req, err := one.Format.DecodeRequest(ctx, in.Op, text)
		if err != nil {
			return nil
		}
		return a.seen(ctx, req)
	}
	return nil
}

// seen is what the gateway sees in a request for auto.
func (a *App) seen(ctx context.Context, req *llm.Request) *predict.Features {
	req.Model = "auto"
	d, _ := a.gateway.Explain(ctx, &account.Grant{Key: &account.Key{}, Workspace: &account.Workspace{}}, req, "", nil) // a refusal has its input too
	if d == nil {
		return nil
	}
	return &d.Input.Features
}
