package compatible

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"net/http"
	"strings"
	"time"

	"fairlead/internal/llm"
	"fairlead/internal/provider"
	"fairlead/internal/wire/chat"
)

// Settings is what an operator decides about a vendor.
type Settings struct {
	Name        string // the vendor's own when empty
	BaseURL     string // the vendor's own when empty
	Credentials []provider.Credential
	Headers     map[string]string // sent with every call; they win over ours
	Targets     []*provider.Target
	UserAgent   string           // such as fairlead/1.2.0
	Collects    bool             // it may keep or train on what it is sent, whatever the row says
	MaxLine     int              // longest line of a stream; 0 for the format's own bound
	MaxAnswer   int64            // longest answer; 0 for the format's own bound
	Now         func() time.Time // time.Now when nil
}

// New makes the provider that a row and its settings describe. Targets of models that can do what the vendor cannot are
// replaced by narrower ones.
func New(v Vendor, s Settings) *provider.Provider {
	base := strings.TrimRight(cmp.Or(s.BaseURL, v.BaseURL), "/")
	v.Title = cmp.Or(v.Title, s.Name, v.Name)
	p := &provider.Provider{
		Name: cmp.Or(s.Name, v.Name), Title: v.Title, BaseURL: base,
		Credentials: s.Credentials, ModelsPath: v.ModelsPath, Authorize: v.authorize,
	}
	for _, t := range s.Targets {
		p.Targets = append(p.Targets, v.narrow(t, s.Collects))
	}
	call := caller{vendor: v, settings: s}
	if call.settings.Now == nil {
		call.settings.Now = time.Now
	}
	if v.ChatPath != "" {
		p.Chat = conversation{call.at(base + v.ChatPath)}
	}
	if v.EmbedPath != "" {
		p.Embed = embedding{call.at(base + v.EmbedPath)}
	}
	return p
}

// authorize presents the secret; a local server without one gets none.
func (v Vendor) authorize(h http.Header, secret string) {
	switch {
	case secret == "":
	case v.Auth == "":
		h.Set("Authorization", "Bearer "+secret)
	default:
		h.Set(v.Auth, secret)
	}
}

// narrow returns the target as this vendor can serve it.
func (v Vendor) narrow(t *provider.Target, collects bool) *provider.Target {
	narrowed := *t
	narrowed.Collects = t.Collects || v.Collects || collects
	if t.Model.Abilities&v.Lacks != 0 {
		model := *t.Model
		model.Abilities &^= v.Lacks
		narrowed.Model = &model
	}
	return &narrowed
}

// caller is what both operations of a vendor share.
type caller struct {
	vendor   Vendor
	settings Settings
	url      string
}

func (c caller) at(url string) caller {
	c.url = url
	return c
}

func (c caller) newRequest(ctx context.Context, secret string, body []byte, accept string) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", accept)
	r.Header.Set("User-Agent", cmp.Or(c.settings.UserAgent, "fairlead"))
	c.vendor.authorize(r.Header, secret)
	for name, value := range c.settings.Headers {
		r.Header.Set(name, value)
	}
	return r, nil
}

// maxFailure bounds what is read of an error's body.
const maxFailure = 64 << 10

// Failure classifies an answer that is not 2xx. Providers repeat a key that they refuse: it is taken out first.
func (c caller) Failure(call *provider.Call, resp *http.Response) *llm.Error {
	// A body that breaks off says as much as it says: the status classifies the failure.
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxFailure))
	if call.Secret != "" {
		body = bytes.ReplaceAll(body, []byte(call.Secret), []byte("[key]"))
	}
	return chat.Failure(resp.StatusCode, resp.Header, body, c.settings.Now())
}
