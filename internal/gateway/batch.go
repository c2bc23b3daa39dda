package gateway

import (
	"context"
	"fmt"
	"net/http"

	"golang.org/x/sync/errgroup"

	"fairlead/internal/llm"
	"fairlead/internal/provider"
)

// Batches divides embeddings requests that a provider cannot take at once, and joins the answers.
type Batches interface {
	// Split divides a request into requests of at most most inputs, in order.
	Split(ctx context.Context, req *llm.Request, most int) ([]*llm.Request, error)
	// Join makes one answer of the answers to the parts, in their order.
	Join(req *llm.Request, parts []llm.Event) (llm.Event, error)
}

// batchCalls is how many parts of one request are under way at a time.
const batchCalls = 4

// tooMany reports whether the request has more inputs than one call takes.
func tooMany(c *provider.Call) bool {
	most := c.Target.EmbedBatch
	return c.Request.Op == llm.Embed && most > 0 && c.Request.Inputs > most
}

// openBatches makes the calls of a divided request. One that fails fails them all: half the vectors are no answer.
func (a *answer) openBatches(ctx context.Context, p *provider.Provider) error {
	requests, err := a.gateway.Batches.Split(ctx, a.call.Request, a.target.EmbedBatch)
	if err != nil {
		return err
	}
	parts, bodies := make([]llm.Event, len(requests)), make([]received, len(requests))
	calls, ctx := errgroup.WithContext(ctx)
	calls.SetLimit(batchCalls)
	for i, req := range requests {
		calls.Go(func() (err error) {
			call := *a.call
			call.Request, call.Warnings = req, nil
			parts[i], err = a.gateway.embed(ctx, p, &call, &bodies[i])
			return err
		})
	}
	err = calls.Wait()
	for i := range bodies {
		a.body.bytes += bodies[i].bytes
	}
	if err != nil {
		return err
	}
	whole, err := a.gateway.Batches.Join(a.call.Request, parts)
	if err != nil {
		return err
	}
	a.attempt().Status = http.StatusOK
	a.call.Warn("sent in %d parts: %s takes at most %d inputs at a time", len(parts), p.Name, a.target.EmbedBatch)
	a.stream = llm.Single(whole, nil)
	a.watchSilence()
	return nil
}

// embed makes one embeddings call and reads its answer, whose bytes body counts.
func (g *Gateway) embed(ctx context.Context, p *provider.Provider, call *provider.Call, body *received) (llm.Event, error) {
	req, err := p.Embed.NewRequest(ctx, call)
	if err != nil {
		return llm.Event{}, err
	}
	resp, err := g.send(p, req)
	if err != nil {
		return llm.Event{}, err
	}
	defer func() { _ = resp.Body.Close() }() // what matters of it has been read
	body.from = resp.Body
	resp.Body = body
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return llm.Event{}, p.Embed.Failure(call, resp)
	}
	stream := conceal(p.Embed.Events(call, resp), call)
	defer stream.Close()
	ev, ok, err := stream.Next()
	if err == nil && !ok {
		err = &llm.Error{Kind: llm.UpstreamMalformed, Message: fmt.Sprintf("%s sent an empty answer", p.Name)}
	}
	return keep(ev), err
}
