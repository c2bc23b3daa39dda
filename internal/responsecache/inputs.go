package responsecache

import (
	"bytes"
	"context"
	"time"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/wire"
)

// InputQuery selects the cached vectors for an embeddings request.
type InputQuery struct {
	Format  wire.InputFormat
	MaxAge  time.Duration
	Shared  bool // whether vectors are shared with the other replicas
	Refresh bool // whether to ignore stored vectors
}

// Inputs is an embeddings request whose inputs are cached separately. Only missing inputs are sent to the provider.
type Inputs struct {
	InputQuery
	Known   int          // number of cached inputs
	Saved   money.Amount // cost of the cached vectors
	inputs  [][]byte
	keys    []Key
	found   []*Response // vectors by input; nil for a missing vector until Merge sets it
	missing []int       // indexes of missing inputs
}

// FindInputs looks up the vectors for an embeddings request.
func (c *Cache) FindInputs(ctx context.Context, id *Identity, req *llm.Request, q InputQuery) *Inputs {
	in := &Inputs{InputQuery: q, inputs: q.Format.Inputs(req)}
	in.keys = InputKeys(id, req, in.inputs)
	if in.found = make([]*Response, len(in.keys)); !q.Refresh {
		in.found = c.getInputs(ctx, in.keys, q.MaxAge, q.Shared)
	}
	for i, r := range in.found {
		switch {
		case r == nil:
			in.missing = append(in.missing, i)
		case r.Cost != nil:
			in.Saved = in.Saved.Add(*r.Cost)
		}
	}
	in.Known = len(in.found) - len(in.missing)
	return in
}

// Reduce returns a request for only the missing inputs.
func (c *Inputs) Reduce(ctx context.Context, req *llm.Request) (*llm.Request, error) {
	if c.Known == 0 {
		return req, nil
	}
	rest := make([][]byte, len(c.missing))
	for n, i := range c.missing {
		rest[n] = c.inputs[i]
	}
	part, err := c.Format.WithInputs(ctx, req, rest)
	if err != nil {
		return nil, err
	}
	part.Model, part.Controls, part.EndUser, part.Beta = req.Model, req.Controls, req.EndUser, req.Beta
	return part, nil
}

// Whole returns the response if all vectors of the request are cached, otherwise nil. The age of the response is the age of its oldest
// vector.
func (c *Inputs) Whole() *Response {
	if len(c.missing) > 0 || len(c.found) == 0 {
		return nil
	}
	first := c.found[0]
	r := &Response{
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
	r.Events = []Event{{Data: c.Format.Document(first.Model, vectors, r.Tokens), Content: true}}
	return r
}

// Merge adds the cached vectors to the response for the missing inputs.
func (c *Inputs) Merge(ev *llm.Event) (llm.Event, error) {
	vectors := c.Format.Vectors(ev.Data)
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
		// The provider reports only the total number of tokens. It is divided among the inputs in proportion to their lengths.
		share := tokens * int64(len(c.inputs[i])) / int64(max(length, 1))
		c.found[i] = &Response{Tokens: share, Events: []Event{{Data: bytes.Clone(vectors[n]), Content: true}}}
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
	whole.Data, whole.Own = c.Format.Document(rawjson.Get(ev.Data, "model").String(), all, tokens+known), true
	return whole, nil
}

// KeepInputs stores the vectors from a provider's response. It divides the cost of the response among the vectors in proportion to the
// lengths of their inputs.
func (c *Cache) KeepInputs(ctx context.Context, in *Inputs, whole Response) {
	length := 0
	for _, i := range in.missing {
		length += len(in.inputs[i])
	}
	keys, responses := make([]Key, len(in.missing)), make([]*Response, len(in.missing))
	now := time.Now()
	for n, i := range in.missing {
		r := in.found[i]
		if r == nil {
			return // the provider sent no vectors
		}
		r.RequestID, r.Created, r.TTL, r.Provider, r.Model, r.ServedAs, r.Simulated = whole.RequestID, now, in.MaxAge, whole.Provider, whole.Model, whole.ServedAs, whole.Simulated
		if whole.Cost != nil {
			r.Cost = new(money.Amount(int64(*whole.Cost) * int64(len(in.inputs[i])) / int64(max(length, 1))))
		}
		keys[n], responses[n] = in.keys[i], r
	}
	c.putInputs(ctx, keys, responses, in.Shared)
}
