package vertex

import (
	"bytes"
	"context"
	"net/http"
	"net/url"

	"fairlead/internal/llm"
	"fairlead/internal/provider"
	"fairlead/internal/wire/embeddings"
	"fairlead/internal/wire/fault"
	"fairlead/internal/wire/gemini"
)

// caller is what both operations share.
type caller struct {
	name     string
	base     string
	project  string
	err      error // error in the settings
	settings provider.Settings
}

func (c caller) post(ctx context.Context, call *provider.Call, method string, body []byte, accept string) (*http.Request, error) {
	if c.err != nil {
		return nil, &llm.Error{Kind: llm.UpstreamAuth, Message: "The provider is not set up: " + c.err.Error() + ".", Err: c.err}
	}
	address := c.base + "/publishers/google/models/" + url.PathEscape(call.Target.Upstream) + ":" + method
	r, err := c.settings.Post(ctx, address, body, accept)
	if err != nil {
		return nil, err
	}
	if r.Header.Get("Authorization") == "" { // the operator's own header wins
		authorize(r.Header, call.Secret)
	}
	return r, nil
}

// Failure classifies an answer that is not 2xx. Refusals name the operator's project, which is not the caller's matter.
func (c caller) Failure(call *provider.Call, resp *http.Response) *llm.Error {
	body := provider.FailureBody(call, resp)
	if c.project != "" {
		body = bytes.ReplaceAll(body, []byte("projects/"+c.project), []byte("projects/[removed]"))
	}
	return fault.Failure(resp.StatusCode, resp.Header, body, c.settings.Clock()())
}

// conversation is how conversations are answered.
type conversation struct{ caller }

var _ provider.Exchange = conversation{}

func (e conversation) NewRequest(ctx context.Context, c *provider.Call) (*http.Request, error) {
	conv, err := c.Client.Conversation(ctx, c.Request)
	if err != nil {
		return nil, err
	}
	body, warnings, err := gemini.Render(ctx, conv, gemini.RenderOptions{
		Traits: traits(c.Target.Upstream), Provider: e.name, MaxOutput: c.MaxOutput, FixedSampling: c.Target.Model.FixedSampling,
	})
	if err != nil {
		return nil, err
	}
	for _, w := range warnings {
		c.Warn("%s", w)
	}
	if c.Request.Stream {
		return e.post(ctx, c, "streamGenerateContent?alt=sse", body, provider.AcceptEvents)
	}
	return e.post(ctx, c, "generateContent", body, provider.AcceptJSON)
}

func (e conversation) Events(c *provider.Call, resp *http.Response) llm.Stream {
	return llm.Pull(c.Client.EncodeResponse(c.Request, c.Target.Model.Name, gemini.Deltas(resp.Body, gemini.DeltaOptions{
		Stream: c.Request.Stream, ContentType: resp.Header.Get("Content-Type"), Provider: e.name,
		MaxLine: e.settings.MaxLine, MaxAnswer: e.settings.MaxAnswer, SizeHint: resp.ContentLength,
		Custom: c.CustomTool(), Warn: func(what string) { c.Warn("%s", what) },
	})))
}

// embedding is how texts are embedded.
type embedding struct{ caller }

var _ provider.Exchange = embedding{}

func (e embedding) NewRequest(ctx context.Context, c *provider.Call) (*http.Request, error) {
	texts, err := embeddings.Texts(c.Request)
	if err != nil {
		return nil, err
	}
	body, err := gemini.RenderPredict(texts, gemini.EmbedOptions{Model: c.Target.Upstream, Dimensions: c.Request.Dimensions})
	if err != nil {
		return nil, err
	}
	return e.post(ctx, c, "predict", body, provider.AcceptJSON)
}

func (e embedding) Events(c *provider.Call, resp *http.Response) llm.Stream {
	vectors, err := gemini.Vectors(resp.Body, gemini.VectorOptions{
		Inputs: c.Request.Inputs, ContentType: resp.Header.Get("Content-Type"), MaxAnswer: e.settings.MaxAnswer, SizeHint: resp.ContentLength,
	})
	if err != nil {
		return llm.Single(llm.Event{}, err)
	}
	return llm.Single(embeddings.WriteVectors(c.Request, c.Target.Model.Name, vectors))
}
