package compatible

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/wire/fault"
	"fairlead.dev/internal/wire/responses"
)

// New creates a provider from a row and settings. Targets have only the abilities that the vendor supports.
func New(row Row, s provider.Settings) *provider.Provider {
	base := strings.TrimRight(cmp.Or(s.BaseURL, row.BaseURL), "/")
	row.Title = cmp.Or(row.Title, s.Name, row.Name)
	lacks := row.Lacks | llm.MessagesAPI // abilities that the vendor does not support for any model
	if row.Prefill == NoPrefill {
		lacks |= llm.Prefill
	}
	if row.ResponsesPath == "" {
		lacks |= llm.Transport
	}
	p := &provider.Provider{
		Name: cmp.Or(s.Name, row.Name), Title: row.Title, BaseURL: base,
		Credentials: s.Credentials, ModelsPath: row.ModelsPath, Authorize: row.authorize,
		Targets: s.TargetsWithout(lacks),
	}
	for _, t := range p.Targets {
		t.Collects = t.Collects || row.Collects
	}
	if row.ResponsesPath == "" {
		p.Targets = slices.DeleteFunc(p.Targets, func(t *provider.Target) bool { return t.ResponsesOnly })
	}
	call := caller{row: row, settings: s}
	var chat conversation
	if row.ChatPath != "" {
		chat.chat = call.at(base + row.ChatPath)
	}
	if row.ResponsesPath != "" {
		chat.responses = call.at(base + row.ResponsesPath)
		p.Stored = storedResponses{call.at(base + row.ResponsesPath)}
	}
	if row.ChatPath != "" || row.ResponsesPath != "" {
		p.Chat = chat
	}
	for _, t := range p.Targets {
		t.CacheKey = row.CacheKey
		t.EndMark = row.Takes.CacheMarks && strings.Contains(t.Upstream, "claude")
		if row.ResponsesPath != "" && (t.ResponsesOnly || t.Model.Abilities.Has(llm.Reasoning)) {
			t.Signs = responses.Name
		}
		if t.ResponsesOnly {
			t.NoStream = t.Model.NoStream
			t.Lacks |= lacksOnResponses
			model := *t.Model
			model.Abilities &^= lacksOnResponses
			t.Model = &model
		}
	}
	if row.EmbedPath != "" {
		p.Embed = embedding{call.at(base + row.EmbedPath)}
		for _, t := range p.Targets {
			t.EmbedBatch = row.EmbedBatch
		}
	}
	if row.CompletePath != "" {
		p.Complete = prompting{call.at(base + row.CompletePath)}
		for _, t := range p.Targets {
			t.Completes = t.Model.Op == llm.Chat && !row.PromptsApart
		}
	}
	if row.ModeratePath != "" {
		p.Moderate = moderation{call.at(base + row.ModeratePath)}
	}
	if row.ChatPath != "" {
		p.Media = passing{call.at(base), base}
	}
	if row.RealtimePath != "" {
		p.Realtime = realtime{call.at(base + row.RealtimePath)}
	}
	if row.Batches {
		p.Objects = objects{call.at(base)}
	}
	return p
}

// authHeader returns the name of the header that contains the secret.
func (r Row) authHeader() string { return cmp.Or(r.Auth, "Authorization") }

// authorize sets the header with the secret. It sets no header if the secret is empty, for example for a local server.
func (r Row) authorize(h http.Header, secret string) {
	switch {
	case secret == "":
	case r.Auth == "":
		h.Set(r.authHeader(), "Bearer "+secret)
	default:
		h.Set(r.authHeader(), secret)
	}
}

// caller contains the settings and methods shared by the operations of a vendor.
type caller struct {
	row      Row
	settings provider.Settings
	url      string
}

func (c caller) at(url string) *caller {
	c.url = url
	return &c
}

func (c *caller) newRequest(ctx context.Context, secret, accept string, body ...[]byte) (*http.Request, error) {
	r, err := c.settings.Post(ctx, c.url, accept, body...)
	if err != nil {
		return nil, err
	}
	if r.Header.Get(c.row.authHeader()) == "" { // the operator's header takes precedence
		c.row.authorize(r.Header, secret)
	}
	return r, nil
}

// Failure implements provider.Exchange.
func (c *caller) Failure(call *provider.Call, resp *http.Response) *llm.Error {
	return fault.Failure(resp.StatusCode, resp.Header, provider.FailureBody(call, resp), c.settings.Clock()())
}
