package explain

import (
	"bytes"
	"context"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/gateway"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/outline"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/route"
	"fairlead.dev/internal/route/predict"
)

// redactionMark is the start of the text that replaces redacted parts of a stored prompt.
const redactionMark = "[redacted: "

// Features returns the features of a logged request and the version of the predictor that computed them. It recomputes the features of a
// chat request if they are missing because the request named its model, or if an earlier predictor computed them, provided that the prompt
// was stored unchanged. Otherwise it returns the recorded features.
func (s *Service) Features(ctx context.Context, e *requestlog.Entry) (features predict.Features, predictor string) {
	if e.Decision == nil {
		return predict.Features{}, ""
	}
	in := &e.Decision.Input
	if in.Op != llm.Chat || in.Predictor == predict.Version() {
		return in.Features, in.Predictor
	}
	body, err := s.Store.Log.EntryBody(ctx, e.WorkspaceID, e.ID)
	if err != nil {
		return in.Features, in.Predictor
	}
	if f := s.features(ctx, in, body.Request); f != nil {
		return *f, predict.Version()
	}
	return in.Features, in.Predictor
}

// features computes the features of a stored request body. It returns nil when the body is missing, incomplete or redacted.
func (s *Service) features(ctx context.Context, in *route.Input, body []byte) *predict.Features {
	if len(body) == 0 || bytes.Contains(body, []byte(redactionMark)) || bytes.Contains(body, []byte(outline.Gone)) {
		return nil
	}
	for _, one := range s.Routes {
		if one.Op != in.Op || one.Format.Name() != in.Format {
			continue
		}
		req, err := one.Format.DecodeRequest(ctx, in.Op, body)
		if err != nil {
			return nil
		}
		req.Model = "auto"
		d, _ := s.Gateway.Explain(ctx, gateway.Call{Grant: &account.Grant{Key: &account.Key{}, Workspace: &account.Workspace{}}}, req, nil) // if no target is available, d still has the input
		if d == nil {
			return nil
		}
		return &d.Input.Features
	}
	return nil
}
