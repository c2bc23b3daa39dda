package bedrock

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/wire/openai"
	"fairlead.dev/internal/wire/strict"
	"fairlead.dev/internal/wire/upstream"
)

// embedding implements provider.Exchange for embeddings. Each model family has its own request and response format.
type embedding struct{ caller }

var _ provider.Exchange = embedding{}

// embedder is the request and response format of one model family.
type embedder struct {
	most  int // maximum number of inputs in one call
	write func(o embedOptions) any
	read  func(body []byte) ([]json.RawMessage, *int64, error)
}

type embedOptions struct {
	texts      []string
	dimensions int64
	inputType  string
}

// embedderOf returns the embedder for a model name.
func embedderOf(upstream string) embedder {
	switch {
	case strings.Contains(upstream, "cohere.embed"):
		return embedder{most: 96, read: readCohere, write: func(o embedOptions) any {
			return cohereRequest{Texts: o.texts, InputType: o.inputType, Types: []string{"float"}, Dimension: o.dimensions}
		}}
	case strings.Contains(upstream, "nova"):
		return embedder{most: 1, read: readNova, write: func(o embedOptions) any {
			return novaRequest{Task: "SINGLE_EMBEDDING", Params: novaParams{
				// Truncation would silently drop part of the input.
				Purpose: "GENERIC_INDEX", Dimension: o.dimensions, Text: novaText{Truncation: "NONE", Value: o.texts[0]},
			}}
		}}
	case strings.Contains(upstream, "titan-embed-text-v1"), strings.Contains(upstream, "titan-embed-g1"):
		return embedder{most: 1, read: readTitan, write: func(o embedOptions) any { return oldTitanRequest{o.texts[0]} }}
	}
	return embedder{most: 1, read: readTitan, write: func(o embedOptions) any {
		return titanRequest{Text: o.texts[0], Dimensions: o.dimensions, Normalize: true}
	}}
}

func (e embedding) NewRequest(ctx context.Context, c *provider.Call) (*http.Request, error) {
	texts, err := openai.Texts(c.Request)
	if err != nil {
		return nil, err
	}
	shape := embedderOf(c.Target.Upstream)
	if len(texts) > shape.most {
		return nil, llm.Errorf(llm.Untranslatable, "%s accepts %d inputs at a time for this model, not %d. Send fewer inputs.", title, shape.most, len(texts))
	}
	if c.Request.EndUser != "" {
		c.Warn("user was dropped: %s does not support it.", title)
	}
	body, err := json.Marshal(shape.write(embedOptions{
		texts: texts, dimensions: c.Request.Dimensions, inputType: cmp.Or(e.settings.Options[OptionInputType], "search_document"),
	}))
	if err != nil {
		return nil, fmt.Errorf("encode embeddings request: %w", err)
	}
	return e.post(ctx, c, "invoke", body, provider.AcceptJSON)
}

func (e embedding) Events(c *provider.Call, resp *http.Response) llm.Stream {
	return llm.Single(e.vectors(c, resp))
}

func (e embedding) vectors(c *provider.Call, resp *http.Response) (llm.Event, error) {
	maxBytes := cmp.Or(e.settings.MaxResponse, openai.DefaultMaxResponse)
	body, err := upstream.ReadAll(resp.Body, nil, maxBytes, resp.ContentLength)
	if err != nil {
		return llm.Event{}, err
	}
	if err := strict.CheckResponse(body, max(c.Request.Inputs, 1)); err != nil {
		return llm.Event{}, err
	}
	data, tokens, err := embedderOf(c.Target.Upstream).read(body)
	if err != nil {
		return llm.Event{}, &llm.Error{Kind: llm.UpstreamMalformed, Message: "The provider's response contains no valid vectors.", Err: err}
	}
	v := llm.Vectors{Data: data, Usage: embedUsage(resp.Header, tokens)}
	return openai.WriteVectors(c.Request, c.Target.Model.Name, v)
}

// embedUsage returns the usage from the token count of the response, or else from the response header.
func embedUsage(h http.Header, tokens *int64) *llm.Usage {
	if tokens == nil {
		n, err := strconv.ParseInt(h.Get("X-Amzn-Bedrock-Input-Token-Count"), 10, 64)
		if err != nil {
			return nil
		}
		tokens = &n
	}
	if *tokens < 0 {
		return nil
	}
	return &llm.Usage{Input: *tokens}
}
