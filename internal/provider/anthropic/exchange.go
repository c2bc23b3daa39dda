package anthropic

import (
	"context"
	"net/http"
	"regexp"
	"slices"
	"time"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/wire"
	messages "fairlead.dev/internal/wire/anthropic"
	"fairlead.dev/internal/wire/fault"
	"fairlead.dev/internal/wire/upstream"
)

// conversation implements provider.Exchange for chat.
type conversation struct {
	settings provider.Settings
	url      string
	post     postFunc // builds the HTTP request; nil for Anthropic's own address and headers
}

type postFunc = func(ctx context.Context, c *provider.Call, body []byte, accept string) (*http.Request, error)

// NewChat returns the chat exchange for a host that serves Anthropic's models with its own addresses and authentication. post builds the
// HTTP request for a body in the messages format.
func NewChat(s provider.Settings, post postFunc) provider.Exchange {
	return conversation{settings: s, post: post}
}

var _ provider.Exchange = conversation{}

func (e conversation) NewRequest(ctx context.Context, c *provider.Call) (*http.Request, error) {
	body, err := e.body(ctx, c)
	if err != nil {
		return nil, err
	}
	switch mark := wire.CacheControl(c.Cache.Mark); {
	case mark == nil:
	case e.post == nil:
		body = [][]byte{rawjson.AppendMember(slices.Concat(body...), "cache_control", mark)} // a top-level mark applies to the last message
	default: // other hosts accept marks in the content only
		marked, ok := wire.MarkEnd(slices.Concat(body...), c.Cache.Mark)
		if !ok {
			c.Cache.Mark = ""
		}
		body = [][]byte{marked}
	}
	accept := provider.AcceptJSON
	if c.Request.Stream {
		accept = provider.AcceptEvents
	}
	var r *http.Request
	if e.post == nil {
		r, err = e.settings.Post(ctx, e.url, accept, body...)
	} else {
		r, err = e.post(ctx, c, slices.Concat(body...), accept)
	}
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
		if r.Header.Get(name) == "" { // the operator's header takes precedence
			r.Header[name] = h[name]
		}
	}
	return r, nil
}

// feature matches a list of beta features; other values are not forwarded.
var feature = regexp.MustCompile(`^[a-z0-9-]{1,64}( ?, ?[a-z0-9-]{1,64}){0,15}$`)

// translates reports whether the request is converted instead of forwarded. This is necessary for requests in another format, and for
// requests in this format with a schema or a forced call that the model does not support.
func (m model) translates(c *provider.Call) bool {
	if c.Request.Format != messages.Name {
		return true
	}
	return !m.guessed && (c.Request.Needs.Has(llm.JSONSchema) && !m.Schemas || m.NoForcedTools && forcesCall(c))
}

// body returns the request body in pieces: the client's body with adaptations, or the encoded conversation if translates
// returns true.
func (e conversation) body(ctx context.Context, c *provider.Call) ([][]byte, error) {
	m := modelOf(c.Target)
	if !m.translates(c) {
		return m.rewrite(c), nil
	}
	conv, err := c.Conversation()
	if err != nil {
		return nil, err
	}
	if conv.MaxOutput == 0 && c.MaxOutput > 0 {
		c.WarnBound("max_tokens")
	}
	body, warnings, err := messages.Render(ctx, conv, messages.RenderOptions{
		Model: c.Target.Upstream, Stream: c.Request.Stream, MaxOutput: c.MaxOutput, ModelMax: c.Target.Model.MaxOutput,
		Signer: c.Target.ID(), Traits: m.Traits, Search: !c.Target.Lacks.Has(llm.WebSearch),
	})
	for _, warning := range warnings {
		c.Warn("%s", warning)
	}
	return [][]byte{body}, err
}

func (e conversation) Events(c *provider.Call, resp *http.Response) llm.Stream {
	reading := upstream.Reading{
		Stream: c.Request.Stream, ContentType: resp.Header.Get("Content-Type"),
		MaxLine: e.settings.MaxLine, MaxResponse: e.settings.MaxResponse,
		Warn: func(what string) { c.Warn("%s", what) },
	}
	m := modelOf(c.Target)
	if !m.translates(c) && !c.Joins {
		return messages.Read(resp.Body, messages.EventOptions{Reading: reading, Model: c.Target.Model.Name})
	}
	o := messages.DeltaOptions{Reading: reading, Signer: c.Target.ID()}
	o.SchemaTool, o.CustomTools = m.special(c)
	return llm.Pull(c.Client.EncodeResponse(c.Request, c.Target.Model.Name, messages.Deltas(resp.Body, o)))
}

// special returns the tools whose calls are converted.
func (m model) special(c *provider.Call) (schemaTool string, custom []string) {
	conv, err := c.Conversation()
	if err != nil {
		return "", nil // unreachable: the request was converted before the call
	}
	for _, tool := range conv.Tools {
		if tool.Custom {
			custom = append(custom, tool.Name)
		}
	}
	return messages.SchemaTool(conv, m.Traits), custom
}

// Failure implements provider.Exchange.
func (e conversation) Failure(c *provider.Call, resp *http.Response) *llm.Error {
	now := e.settings.Clock()()
	failure := fault.Failure(resp.StatusCode, resp.Header, provider.FailureBody(c, resp), now)
	if failure.Kind == llm.UpstreamRateLimited && failure.RetryAfter == 0 {
		failure.RetryAfter = untilReset(resp.Header, now)
	}
	return failure
}

// longestWait is the maximum wait accepted from a response header.
const longestWait = 5 * time.Minute

// untilReset returns the time until the exhausted limits reset, or 0 if the headers are missing.
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
