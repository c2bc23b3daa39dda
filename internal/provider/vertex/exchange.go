package vertex

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"strings"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/provider"
	geminivendor "fairlead.dev/internal/provider/gemini"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/wire/fault"
	"fairlead.dev/internal/wire/gemini"
	"fairlead.dev/internal/wire/openai"
)

// caller contains the settings and methods that chat and embeddings share.
type caller struct {
	name     string
	base     string
	project  string
	err      error // error in the settings
	settings provider.Settings
}

func (c caller) post(ctx context.Context, call *provider.Call, publisher, method string, body []byte, accept string) (*http.Request, error) {
	if c.err != nil {
		return nil, &llm.Error{Kind: llm.UpstreamAuth, Message: "The provider is not set up: " + c.err.Error() + ".", Err: c.err}
	}
	address := c.base + "/publishers/" + publisher + "/models/" + url.PathEscape(call.Target.Upstream) + ":" + method
	r, err := c.settings.Post(ctx, address, accept, body)
	if err != nil {
		return nil, err
	}
	if r.Header.Get("Authorization") == "" { // the operator's header takes precedence
		authorize(r.Header, call.Secret)
	}
	return r, nil
}

// Failure implements provider.Exchange. It removes the name of the operator's project from the message.
func (c caller) Failure(call *provider.Call, resp *http.Response) *llm.Error {
	body := provider.FailureBody(call, resp)
	if c.project != "" {
		body = bytes.ReplaceAll(body, []byte("projects/"+c.project), []byte("projects/[removed]"))
	}
	return fault.Failure(resp.StatusCode, resp.Header, body, c.settings.Clock()())
}

// Model publishers.
const (
	google             = "google"
	anthropicPublisher = "anthropic"
)

// conversation implements provider.Exchange for chat: Google's models use the gemini format, Anthropic's models the
// messages format.
type conversation struct {
	caller
	claude provider.Exchange
}

// postClaude builds a call to an Anthropic model. The model name is in the address, not in the body. The API
// version is in the body, not in a header.
func (c caller) postClaude(ctx context.Context, call *provider.Call, body []byte, accept string) (*http.Request, error) {
	var out rawjson.Writer
	out.Open()
	rawjson.Parse(body).ForEach(func(key, value rawjson.Value) bool {
		if name := key.String(); name != "model" && name != "anthropic_version" {
			out.Raw(name, []byte(value.Raw))
		}
		return true
	})
	out.Str("anthropic_version", "vertex-2023-10-16")
	out.Close()
	method := "rawPredict"
	if call.Request.Stream {
		method = "streamRawPredict"
	}
	return c.post(ctx, call, anthropicPublisher, method, out.Out, accept)
}

func isClaude(t *provider.Target) bool { return strings.HasPrefix(t.Upstream, "claude-") }

var _ provider.Exchange = conversation{}

func (e conversation) NewRequest(ctx context.Context, c *provider.Call) (*http.Request, error) {
	if isClaude(c.Target) {
		return e.claude.NewRequest(ctx, c)
	}
	body, err := geminivendor.Body(ctx, c, traits(c.Target.Upstream))
	if err != nil {
		return nil, err
	}
	if c.Request.Stream {
		return e.post(ctx, c, google, "streamGenerateContent?alt=sse", body, provider.AcceptEvents)
	}
	return e.post(ctx, c, google, "generateContent", body, provider.AcceptJSON)
}

func (e conversation) Events(c *provider.Call, resp *http.Response) llm.Stream {
	if isClaude(c.Target) {
		return e.claude.Events(c, resp)
	}
	return geminivendor.Events(c, resp, traits(c.Target.Upstream), e.settings)
}

// embedding implements provider.Exchange for embeddings.
type embedding struct{ caller }

var _ provider.Exchange = embedding{}

func (e embedding) NewRequest(ctx context.Context, c *provider.Call) (*http.Request, error) {
	texts, err := openai.Texts(c.Request)
	if err != nil {
		return nil, err
	}
	body, err := gemini.RenderPredict(texts, gemini.EmbedOptions{Model: c.Target.Upstream, Dimensions: c.Request.Dimensions})
	if err != nil {
		return nil, err
	}
	return e.post(ctx, c, google, "predict", body, provider.AcceptJSON)
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
