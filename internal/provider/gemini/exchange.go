package gemini

import (
	"context"
	"net/http"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/wire/fault"
	"fairlead.dev/internal/wire/gemini"
	"fairlead.dev/internal/wire/openai"
)

// caller contains the settings and methods that chat and embeddings share.
type caller struct {
	base     string
	settings provider.Settings
}

func (c caller) post(ctx context.Context, url, secret string, body []byte, accept string) (*http.Request, error) {
	r, err := c.settings.Post(ctx, url, accept, body)
	if err != nil {
		return nil, err
	}
	if r.Header.Get(keyHeader) == "" { // the operator's header takes precedence
		authorize(r.Header, secret)
	}
	return r, nil
}

// Failure implements provider.Exchange.
func (c caller) Failure(call *provider.Call, resp *http.Response) *llm.Error {
	return fault.Failure(resp.StatusCode, resp.Header, provider.FailureBody(call, resp), c.settings.Clock()())
}

// conversation implements provider.Exchange for chat.
type conversation struct{ caller }

var _ provider.Exchange = conversation{}

func (e conversation) NewRequest(ctx context.Context, c *provider.Call) (*http.Request, error) {
	body, err := Body(ctx, c, gemini.TraitsOf(c.Target.Upstream))
	if err != nil {
		return nil, err
	}
	if c.Request.Stream {
		return e.post(ctx, e.modelURL(c.Target.Upstream, "streamGenerateContent?alt=sse"), c.Secret, body, provider.AcceptEvents)
	}
	return e.post(ctx, e.modelURL(c.Target.Upstream, "generateContent"), c.Secret, body, provider.AcceptJSON)
}

func (e conversation) Events(c *provider.Call, resp *http.Response) llm.Stream {
	return Events(c, resp, gemini.TraitsOf(c.Target.Upstream), e.settings)
}

// Body returns the request body for a model that uses the Gemini format: the client's body if it has the same format, otherwise the encoded
// conversation.
func Body(ctx context.Context, c *provider.Call, traits gemini.Traits) ([]byte, error) {
	var body []byte
	var warnings []string
	if gemini.Passes(c.Request, traits) {
		body, warnings = gemini.Rewrite(c.Request, gemini.RewriteOptions{
			Traits: traits, MaxOutput: c.MaxOutput, ModelMax: c.Target.Model.MaxOutput, FixedSampling: c.Target.Model.FixedSampling, Effort: c.Target.Effort,
		})
	} else {
		conv, err := c.Conversation()
		if err != nil {
			return nil, err
		}
		body, warnings, err = gemini.Render(ctx, conv, gemini.RenderOptions{
			Traits: traits, Provider: c.Target.ID(), MaxOutput: c.MaxOutput, FixedSampling: c.Target.Model.FixedSampling,
		})
		if err != nil {
			return nil, err
		}
	}
	for _, w := range warnings {
		c.Warn("%s", w)
	}
	return body, nil
}

// Events decodes a response in the Gemini format.
func Events(c *provider.Call, resp *http.Response, traits gemini.Traits, s provider.Settings) llm.Stream {
	o := gemini.DeltaOptions{
		Stream: c.Request.Stream, ContentType: resp.Header.Get("Content-Type"), Provider: c.Target.ID(), Request: c.Request.Body, Search: c.Request.Needs.Has(llm.WebSearch),
		ServiceTier: resp.Header.Get("X-Gemini-Service-Tier"), // only AI Studio sends this header
		MaxLine:     s.MaxLine, MaxResponse: s.MaxResponse, SizeHint: resp.ContentLength,
		Warn: func(what string) { c.Warn("%s", what) },
	}
	if !c.Joins && gemini.Passes(c.Request, traits) {
		return llm.Pull(gemini.Events(resp.Body, o, c.Target.Model.Name))
	}
	o.Custom = c.CustomTool()
	return llm.Pull(c.Client.EncodeResponse(c.Request, c.Target.Model.Name, gemini.Deltas(resp.Body, o)))
}

// embedding implements provider.Exchange for embeddings.
type embedding struct{ caller }

var _ provider.Exchange = embedding{}

func (e embedding) NewRequest(ctx context.Context, c *provider.Call) (*http.Request, error) {
	texts, err := openai.Texts(c.Request)
	if err != nil {
		return nil, err
	}
	body, err := gemini.RenderEmbed(texts, gemini.EmbedOptions{Model: c.Target.Upstream, Dimensions: c.Request.Dimensions})
	if err != nil {
		return nil, err
	}
	return e.post(ctx, e.modelURL(c.Target.Upstream, "batchEmbedContents"), c.Secret, body, provider.AcceptJSON)
}

func (e embedding) Events(c *provider.Call, resp *http.Response) llm.Stream {
	vectors, err := gemini.Vectors(resp.Body, gemini.VectorOptions{
		Inputs: c.Request.Inputs, ContentType: resp.Header.Get("Content-Type"), MaxResponse: e.settings.MaxResponse, SizeHint: resp.ContentLength,
	})
	if err != nil {
		return llm.Single(llm.Event{}, err)
	}
	return llm.Single(openai.WriteVectors(c.Request, c.Target.Model.Name, vectors))
}
