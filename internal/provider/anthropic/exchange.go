package anthropic

import (
	"bytes"
	"context"
	"net/http"
	"regexp"
	"time"

	"fairlead/internal/llm"
	"fairlead/internal/provider"
	"fairlead/internal/wire/fault"
	"fairlead/internal/wire/messages"
	"fairlead/internal/wire/messagesconv"
	"fairlead/internal/wire/messagesstream"
)

// conversation is how a provider of the format answers conversations.
type conversation struct {
	settings provider.Settings
	url      string
	post     postFunc // nil for Anthropic's own address and headers
}

type postFunc = func(ctx context.Context, c *provider.Call, body []byte, accept string) (*http.Request, error)

// NewChat returns the chat exchange for a host that serves Anthropic's models with its own addresses and authentication. post
// builds the HTTP request for a body of the messages format.
func NewChat(s provider.Settings, post postFunc) provider.Exchange {
	return conversation{settings: s, post: post}
}

var _ provider.Exchange = conversation{}

func (e conversation) NewRequest(ctx context.Context, c *provider.Call) (*http.Request, error) {
	body, err := e.body(ctx, c)
	if err != nil {
		return nil, err
	}
	accept := provider.AcceptJSON
	if c.Request.Stream {
		accept = provider.AcceptEvents
	}
	post := e.post
	if post == nil {
		post = func(ctx context.Context, _ *provider.Call, body []byte, accept string) (*http.Request, error) {
			return e.settings.Post(ctx, e.url, body, accept)
		}
	}
	r, err := post(ctx, c, body, accept)
	if err != nil {
		return nil, err
	}
	h := http.Header{}
	if e.post == nil {
		authorize(h, c.Secret)
	}
	if c.Request.Format == messages.Name && feature.MatchString(c.Request.Beta) {
		h.Set("Anthropic-Beta", c.Request.Beta)
	}
	for name := range h {
		if r.Header.Get(name) == "" { // the operator's own header wins
			r.Header[name] = h[name]
		}
	}
	return r, nil
}

// feature is how names of beta features look; anything else stays here.
var feature = regexp.MustCompile(`^[a-z0-9-]{1,64}( ?, ?[a-z0-9-]{1,64}){0,15}$`)

// body is the caller's own where it speaks the format, else what it says.
func (e conversation) body(ctx context.Context, c *provider.Call) ([]byte, error) {
	m := find(c.Target)
	if c.Request.Format == messages.Name {
		return m.rewrite(c), nil
	}
	conv, err := c.Client.Conversation(ctx, c.Request)
	if err != nil {
		return nil, err
	}
	if conv.MaxOutput == 0 && c.MaxOutput > 0 {
		c.WarnBound("max_tokens")
	}
	body, warnings, err := messagesconv.Render(ctx, conv, messagesconv.RenderOptions{
		Model: c.Target.Upstream, Stream: c.Request.Stream, MaxOutput: c.MaxOutput, ModelMax: c.Target.Model.MaxOutput,
		Signer: m.signer(c.Target), Traits: m.Traits,
	})
	for _, warning := range warnings {
		c.Warn("%s", warning)
	}
	return body, err
}

// signer is the name under which signatures on thinking are kept. Those of a model that reads only its own carry the
// model's name too.
func (m model) signer(t *provider.Target) string {
	if m.ownSeals {
		return t.ID()
	}
	return t.Provider
}

func (e conversation) Events(c *provider.Call, resp *http.Response) llm.Stream {
	reading := messagesstream.Reading{
		Stream: c.Request.Stream, ContentType: resp.Header.Get("Content-Type"),
		MaxLine: e.settings.MaxLine, MaxAnswer: e.settings.MaxAnswer,
		Warn: func(what string) { c.Warn("%s", what) },
	}
	if c.Request.Format == messages.Name && !c.Joins {
		return messagesstream.Read(resp.Body, messagesstream.EventOptions{Reading: reading, Model: c.Target.Model.Name})
	}
	m := find(c.Target)
	o := messagesconv.DeltaOptions{Reading: reading, Signer: m.signer(c.Target)}
	o.SchemaTool, o.CustomTools = m.special(c)
	return llm.Pull(c.Client.EncodeResponse(c.Request, c.Target.Model.Name, messagesconv.Deltas(resp.Body, o)))
}

// special names the tools whose calls are not what they seem. Few requests have any, so only those that may are read again.
func (m model) special(c *provider.Call) (schemaTool string, custom []string) {
	mayHave := c.Request.Needs.Has(llm.JSONSchema) && !m.Schemas || bytes.Contains(c.Request.Body, []byte(`"custom"`))
	if !mayHave {
		return "", nil
	}
	conv, err := c.Client.Conversation(context.Background(), c.Request)
	if err != nil {
		return "", nil // it was read before the call was made
	}
	for _, tool := range conv.Tools {
		if tool.Custom {
			custom = append(custom, tool.Name)
		}
	}
	return messagesconv.SchemaTool(conv, m.Traits), custom
}

// Failure classifies an answer that is not 2xx.
func (e conversation) Failure(c *provider.Call, resp *http.Response) *llm.Error {
	now := e.settings.Clock()()
	failure := fault.Failure(resp.StatusCode, resp.Header, provider.FailureBody(c, resp), now)
	if failure.Kind == llm.UpstreamRateLimited && failure.RetryAfter == 0 {
		failure.RetryAfter = untilReset(resp.Header, now)
	}
	return failure
}

// longestWait bounds what a header may ask for.
const longestWait = 5 * time.Minute

// untilReset is how long until the limits that are used up start again; 0 when the headers do not say.
func untilReset(h http.Header, now time.Time) (wait time.Duration) {
	for _, what := range []string{"Requests", "Tokens", "Input-Tokens", "Output-Tokens"} {
		if h.Get("Anthropic-Ratelimit-"+what+"-Remaining") != "0" {
			continue
		}
		if at, err := time.Parse(time.RFC3339, h.Get("Anthropic-Ratelimit-"+what+"-Reset")); err == nil {
			wait = max(wait, at.Sub(now))
		}
	}
	return min(wait, longestWait)
}
