package gateway

import (
	"crypto/sha256"
	"encoding/binary"
	"net/http"
	"slices"
	"time"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/modelapi"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/response"
	"fairlead.dev/internal/route"
)

// Comparer compares served responses with responses from another model.
type Comparer interface {
	// Offer receives a served request that was chosen for comparison. The Comparer then owns the request. Offer never blocks.
	Offer(s *Served)
}

// Served is a request that was served and chosen for comparison.
type Served struct {
	ID         string
	Time       time.Time
	Grant      *account.Grant
	Tags       map[string]string
	Endpoint   string      // path relative to Prefix, with a leading slash
	Header     http.Header // request headers without credentials
	Format     string
	Request    []byte
	Response   requestlog.Body // contains only the response
	Stored     bool            // whether request text may be stored
	Simulated  bool
	Model      string // model that served the request
	Other      string // model to compare with
	Decision   *route.Decision
	Propensity float64 // probability with which the request was chosen
}

const (
	// maxCompared limits the size of a compared request and of its response, because both stay in memory until the comparison ends.
	maxCompared = 1 << 20
	// uniformBits is the number of hash bits in the result of UniformHash.
	uniformBits = 53
)

// UniformHash returns a uniformly distributed number from 0 to 1 that decides whether a request takes part in a comparison. It depends only
// on the request ID, so that it can be computed again from the log and does not change the random numbers of other decisions.
func UniformHash(requestID string) float64 { return uniformHash("comparison " + requestID) }

func uniformHash(text string) float64 {
	sum := sha256.Sum256([]byte(text))
	return float64(binary.BigEndian.Uint64(sum[:])>>(64-uniformBits)) / (1 << uniformBits)
}

// comparison returns the comparison settings for a request, or nil if the request does not take part. Requests that refer to data stored by
// a provider do not take part, because they cannot be sent to another provider. Requests from the dashboard do not take part, because they
// are not representative.
func (g *Gateway) comparison(in *incoming, who modelapi.Caller, req *llm.Request) *account.Comparison {
	c := who.Grant.Workspace.Comparison
	if c == nil || g.Comparer == nil || in.ID == "" || in.shadow != nil || who.AccountID != "" {
		return nil
	}
	if req.Op != llm.Chat || !req.Routed || req.Choices > 1 || req.Background || req.Previous != "" || req.Account != "" || req.Holder != nil || len(req.Body) > maxCompared {
		return nil
	}
	return c
}

// captureForComparison returns an empty Capture for the response to a request. It returns nil if the request is neither chosen for
// comparison nor a shadow call.
func (g *Gateway) captureForComparison(in *incoming, who modelapi.Caller, p plan) *capture {
	buffer := response.Buffer{Limit: maxCompared}
	if in.shadow != nil {
		return &capture{Buffer: buffer}
	}
	c := g.comparison(in, who, p.req)
	if c == nil {
		return nil
	}
	draw, propensity := UniformHash(in.ID), c.Holdout+c.Share
	if p.decision.HeldOut != "" {
		i := slices.IndexFunc(p.decision.Candidates, func(c route.Candidate) bool { return c.Target == p.decision.HeldOut })
		return &capture{Other: p.decision.Candidates[i].Model, Propensity: propensity, Buffer: buffer}
	}
	// A request drawn for the holdout is compared even if the baseline did not serve it, so that every request has the same propensity.
	if draw >= propensity {
		return nil
	}
	return &capture{Other: in.Snapshot.Canonical(c.Baseline), Propensity: propensity, Buffer: buffer}
}

// offer passes a response chosen for comparison to the Comparer. It is called after the client has received the whole response.
func (d *delivery) offer() {
	e, s := d.rec.Entry, d.rec.Capture
	if s == nil || s.Buffer.Full {
		return
	}
	body := requestlog.Body{Response: s.Buffer.Bytes(nil), Streamed: d.rec.Req.Stream, Folded: d.out.Streams()}
	if s.Buffer.InBlocks() {
		s.Buffer.Reset()
	}
	if d.in.shadow != nil {
		d.in.shadow.response = body
		return
	}
	header := d.in.HTTP.Header.Clone()
	for _, name := range []string{"Authorization", "X-Api-Key", "X-Goog-Api-Key", "Api-Key", "Cookie", "X-Fairlead-Dry-Run", "X-Fairlead-Trace", "Content-Length"} {
		header.Del(name)
	}
	d.gateway.Comparer.Offer(&Served{
		ID: e.ID, Time: e.Time, Grant: d.grant, Tags: e.Tags, Endpoint: d.in.Route.Path, Header: header, Format: e.Format,
		Request: slices.Clone(d.plan.req.Body), Response: body, Stored: d.rec.StoresText(), Simulated: e.Simulated, Model: e.Model, Other: s.Other,
		Decision: d.plan.decision, Propensity: s.Propensity,
	})
}
