package upstream

import (
	"context"
	"fmt"
	"net/http"

	"golang.org/x/sync/errgroup"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/provider"
)

// Batches splits embeddings requests with more inputs than a provider accepts, and joins the responses.
type Batches interface {
	// Split divides a request into requests of at most limit inputs, in order.
	Split(ctx context.Context, req *llm.Request, limit int) ([]*llm.Request, error)
	// Join combines the responses to the split requests, given in the order of Split.
	Join(req *llm.Request, parts []llm.Event) (llm.Event, error)
}

// batchCalls is the maximum number of concurrent calls for one split request.
const batchCalls = 4

// openBatches makes the calls of a split request. If one call fails, the attempt fails, because an incomplete list of
// vectors is useless.
func (a *Attempt) openBatches(ctx context.Context) error {
	batches, limit := a.series.Dispatcher.Batches, a.call.Target.EmbedBatch
	requests, err := batches.Split(ctx, a.call.Request, limit)
	if err != nil {
		return err
	}
	parts, bodies := make([]llm.Event, len(requests)), make([]countingReader, len(requests))
	calls, ctx := errgroup.WithContext(ctx)
	calls.SetLimit(batchCalls)
	for i, req := range requests {
		calls.Go(func() (err error) {
			call := *a.call
			call.Request, call.Warnings = req, nil
			parts[i], err = a.embed(ctx, &call, &bodies[i])
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
	whole, err := batches.Join(a.call.Request, parts)
	if err != nil {
		return err
	}
	a.note.Status = http.StatusOK
	a.call.Warn("sent in %d parts: %s accepts at most %d inputs per call", len(parts), a.provider.Name, limit)
	a.stream = llm.Single(whole, nil)
	a.limitSilence()
	return nil
}

// embed makes one embeddings call and reads its response.
func (a *Attempt) embed(ctx context.Context, call *provider.Call, body *countingReader) (llm.Event, error) {
	p := a.provider
	req, err := p.Embed.NewRequest(ctx, call)
	if err != nil {
		return llm.Event{}, err
	}
	resp, err := a.send(req)
	if err != nil {
		return llm.Event{}, err
	}
	defer func() { _ = resp.Body.Close() }() // the error is ignored, because the response has been read
	body.ReadCloser = resp.Body
	resp.Body = body
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return llm.Event{}, p.Embed.Failure(call, resp)
	}
	stream := redactStream(p.Embed.Events(call, resp), call.Access)
	defer stream.Close()
	ev, ok, err := stream.Next()
	if err == nil && !ok {
		err = &llm.Error{Kind: llm.UpstreamMalformed, Message: fmt.Sprintf("%s sent an empty response", p.Name)}
	}
	return ev.Clone(), err
}
