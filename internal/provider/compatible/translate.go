package compatible

import (
	"context"
	"fmt"
	"iter"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/wire/openai"
)

// translated converts a call in another format to a chat call. It returns a call in the chat format unchanged, unless the call has custom
// tools that the vendor does not accept.
func (r *Row) translated(ctx context.Context, c *provider.Call) (*provider.Call, error) {
	var body []byte
	var leftOut []string
	if c.Request.Format == openai.Name {
		if r.Takes.CustomTools {
			return c, nil
		}
		if body = openai.FunctionsOnly(c.Request); body == nil {
			return c, nil
		}
	} else {
		conv, err := c.Conversation()
		if err != nil {
			return nil, err
		}
		body, leftOut = openai.EncodeRequest(conv, openai.EncodeOptions{
			Model: c.Request.Model, Stream: c.Request.Stream, Accepts: r.Takes,
			Signers: func(provider string) bool { return provider == c.Target.ID() },
		})
	}
	req, err := openai.Format{}.DecodeRequest(ctx, c.Request.Op, body)
	if err != nil {
		return nil, fmt.Errorf("encode the %s request for the provider: %w", c.Request.Format, err)
	}
	own := *c
	own.Request = req
	for _, what := range leftOut {
		own.Warn("%s was dropped: %s does not support it.", displayName(what), r.Title)
	}
	return &own, nil
}

// signedBy sets the provider name of thinking and tool-call signatures that have no provider name.
func signedBy(name string, pieces iter.Seq2[llm.Delta, error]) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		for p, err := range pieces {
			if p.Thinking != nil && p.Thinking.Provider == "" {
				p.Thinking.Provider = name
			}
			if p.Call != nil && p.Call.Signature != "" && p.Call.Provider == "" {
				p.Call.Provider = name
			}
			if !yield(p, err) {
				return
			}
		}
	}
}
