package gateway

import (
	"bytes"
	"context"
	"net/http"
	"slices"
	"time"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/ledger"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/modelapi"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/wire"
)

// ShadowCall is a call that no client waits for. The gateway that makes shadow calls must not share limits, health, caches or the log with
// the gateway that serves clients.
type ShadowCall struct {
	ID       string // request ID of the call
	Grant    *account.Grant
	Endpoint string // path relative to Prefix, with a leading slash
	Header   http.Header
	Body     []byte
	Model    string        // replaces the model in the body
	Budget   ledger.Budget // budget charged for the call instead of the budgets of the key and the workspace
	// MaxOutput limits the output tokens if the body sets no limit.
	MaxOutput int64
	Excluded  func(t *provider.Target) bool
}

// shadowRun is a shadow call and its result.
type shadowRun struct {
	*ShadowCall
	entry    *requestlog.Entry
	response requestlog.Body
}

// Shadow makes a call and returns its entry with the request and the response. If the call fails, it returns an error and the entry with
// the cost.
func (g *Gateway) Shadow(ctx context.Context, call *ShadowCall) (*requestlog.Entry, error) {
	i := g.routeIndex(call.Endpoint)
	if i < 0 {
		return &requestlog.Entry{ID: call.ID}, llm.Errorf(llm.NotFound, "%s does not exist.", call.Endpoint)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://gateway.invalid"+modelapi.Prefix+call.Endpoint, bytes.NewReader(call.Body))
	if err != nil {
		return &requestlog.Entry{ID: call.ID}, err
	}
	if r.Header = call.Header.Clone(); r.Header == nil {
		r.Header = http.Header{}
	}
	r.Header.Set("Content-Type", "application/json")
	run := &shadowRun{ShadowCall: call}
	route := g.Routes[i]
	if f, ok := route.Format.(wire.ModelPath); ok {
		route.Format = f.ForModel(call.Model, nil)
	}
	g.handle(discard{http.Header{}}, r, call.ID, route, func(in *incoming) (modelapi.Caller, error) {
		in.shadow = run
		return modelapi.Caller{Grant: call.Grant, Tags: modelapi.Tags(call.Grant.Key.Tags, in.HTTP.Header)}, nil
	})
	e := run.entry
	e.Body = run.response
	switch {
	case e.Error != nil:
		return e, llm.Errorf(llm.Internal, "%s: %s", e.Error.Code, e.Error.Message)
	case len(e.Body.Response) == 0:
		return e, llm.Errorf(llm.Internal, "The response is too long to be compared.")
	}
	e.Body.Request = call.Body
	return e, nil
}

// restrict removes the excluded targets from the plan of a shadow call, and limits its output.
func (s *shadowRun) restrict(p *plan) error {
	d := p.decision
	d.Plan = slices.DeleteFunc(d.Plan, func(t *provider.Target) bool { return s.Excluded != nil && s.Excluded(t) })
	if len(d.Plan) == 0 {
		return llm.Errorf(llm.NoRoute, "The constraints of the request exclude every provider of %s.", s.Model)
	}
	if d.MaxOutput == 0 && p.req.MaxOutput == 0 {
		d.MaxOutput = s.MaxOutput
	}
	return nil
}

// discard is a client connection that discards all data.
type discard struct{ header http.Header }

func (d discard) Header() http.Header            { return d.header }
func (discard) Write(p []byte) (int, error)      { return len(p), nil }
func (discard) WriteHeader(int)                  {}
func (discard) Flush()                           {}
func (discard) SetReadDeadline(time.Time) error  { return nil }
func (discard) SetWriteDeadline(time.Time) error { return nil }
