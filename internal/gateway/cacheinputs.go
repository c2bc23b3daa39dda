package gateway

import (
	"bytes"
	"context"
	"time"

	"fairlead/internal/llm"
	"fairlead/internal/money"
	"fairlead/internal/rawjson"
	"fairlead/internal/responsecache"
	"fairlead/internal/wire"
)

// inputQuery asks for the cached vectors of an embeddings request.
type inputQuery struct {
	format  wire.InputFormat
	maxAge  time.Duration
	shared  bool // with the other replicas
	refresh bool // ignore stored vectors
}

// cachedInputs is an embeddings request whose inputs are cached separately. Only missing inputs are sent to the provider.
type cachedInputs struct {
	inputQuery
	inputs  [][]byte
	keys    []responsecache.Key
	found   []*responsecache.Response // by input; nil for a missing one, until merge has set it
	missing []int                     // indexes of missing inputs
}

// lookupInputs returns the response to an embeddings request if every vector is cached. Otherwise it reduces the request to the missing inputs.
func (g *Gateway) lookupInputs(ctx context.Context, in *incoming, who caller, p plan, q inputQuery, rec *recorder) (*responsecache.Response, error) {
	c := &cachedInputs{inputQuery: q, inputs: q.format.Inputs(p.req)}
	c.keys = responsecache.InputKeys(identity(in, who, p), p.req, c.inputs)
	if c.found = make([]*responsecache.Response, len(c.keys)); !q.refresh {
		c.found = g.Cache.GetInputs(ctx, c.keys, q.maxAge, q.shared)
	}
	var rest [][]byte
	saved := money.Amount(0)
	for i, r := range c.found {
		switch {
		case r == nil:
			c.missing, rest = append(c.missing, i), append(rest, c.inputs[i])
		case r.Cost != nil:
			saved = saved.Add(*r.Cost)
		}
	}
	if len(c.missing) == 0 && len(c.found) > 0 {
		whole := c.whole()
		rec.recordCache(whole)
		rec.entry.Cache.Inputs = len(c.found)
		return whole, nil
	}
	rec.recordCache(nil)
	if len(rest) < len(c.inputs) {
		part, err := q.format.WithInputs(ctx, p.req, rest)
		if err != nil {
			return nil, err
		}
		part.Model, part.Controls, part.EndUser, part.Beta = p.req.Model, p.req.Controls, p.req.EndUser, p.req.Beta
		part.Measure()
		p.req = part
		rec.entry.Cache.Inputs, rec.entry.Cache.Saved = len(c.inputs)-len(rest), &saved
	}
	rec.cache.inputs = c
	return nil, nil
}

// whole returns the response to a request whose vectors are all known. It is as old as its oldest vector.
func (c *cachedInputs) whole() *responsecache.Response {
	first := c.found[0]
	r := &responsecache.Response{
		RequestID: first.RequestID, Created: first.Created, TTL: first.TTL, Provider: first.Provider, Model: first.Model, ServedAs: first.ServedAs,
		Simulated: first.Simulated, Cost: new(money.Amount),
	}
	vectors := make([][]byte, len(c.found))
	for i, f := range c.found {
		vectors[i] = f.Events[0].Data
		r.Tokens += f.Tokens
		if f.Created.Before(r.Created) {
			r.Created, r.RequestID = f.Created, f.RequestID
		}
		if r.Cost != nil && f.Cost != nil {
			r.Cost = new(r.Cost.Add(*f.Cost))
		} else {
			r.Cost = nil
		}
	}
	r.Events = []responsecache.Event{{Data: c.format.Document(first.Model, vectors, r.Tokens), Content: true}}
	return r
}

// merge adds the cached vectors to the response for the missing ones.
func (c *cachedInputs) merge(ev *llm.Event) (llm.Event, error) {
	vectors := c.format.Vectors(ev.Data)
	if len(vectors) != len(c.missing) {
		return llm.Event{}, llm.Errorf(llm.UpstreamMalformed, "The provider sent %d vectors for %d inputs.", len(vectors), len(c.missing))
	}
	length := 0
	for _, i := range c.missing {
		length += len(c.inputs[i])
	}
	tokens, all, known := int64(0), make([][]byte, len(c.inputs)), int64(0)
	if ev.Usage != nil {
		tokens = ev.Usage.Prompt()
	}
	for n, i := range c.missing {
		// The provider reports the tokens of all inputs together.
		share := tokens * int64(len(c.inputs[i])) / int64(max(length, 1))
		c.found[i] = &responsecache.Response{Tokens: share, Events: []responsecache.Event{{Data: bytes.Clone(vectors[n]), Content: true}}}
	}
	for i, f := range c.found {
		all[i] = f.Events[0].Data
		if f.Created.IsZero() {
			continue
		}
		known += f.Tokens
	}
	if len(c.missing) == len(c.inputs) {
		return ev.Clone(), nil
	}
	whole := *ev
	whole.Data, whole.Own = c.format.Document(rawjson.Get(ev.Data, "model").String(), all, tokens+known), true
	return whole, nil
}

// keepInputs stores the vectors that the provider sent. A vector has the share of the cost that its input has of the text.
func (g *Gateway) keepInputs(ctx context.Context, d *delivery, c *cachedInputs) {
	e := d.rec.entry
	length := 0
	for _, i := range c.missing {
		length += len(c.inputs[i])
	}
	keys, responses := make([]responsecache.Key, len(c.missing)), make([]*responsecache.Response, len(c.missing))
	now := time.Now()
	for n, i := range c.missing {
		r := c.found[i]
		if r == nil {
			return // the provider sent no vectors
		}
		r.RequestID, r.Created, r.TTL, r.Provider, r.Model, r.ServedAs, r.Simulated = e.ID, now, c.maxAge, e.Provider, e.Model, e.ServedAs, e.Simulated
		if e.Cost != nil {
			r.Cost = new(money.Amount(int64(*e.Cost) * int64(len(c.inputs[i])) / int64(max(length, 1))))
		}
		keys[n], responses[n] = c.keys[i], r
	}
	g.Cache.PutInputs(ctx, keys, responses, c.shared)
}
