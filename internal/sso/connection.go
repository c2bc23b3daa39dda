package sso

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

// Limits of calls to the identity provider.
const (
	callTimeout     = 10 * time.Second
	maxResponse     = 1 << 20
	discoverAgain   = 2 * time.Second // minimum time between attempts to read the provider's metadata
	discoverRefresh = time.Hour       // minimum age at which the metadata is read again
	downPause       = 5 * time.Second // pause in the checks after the provider could not be reached
)

// connection is the configured provider with its metadata, which is read on first use.
type connection struct {
	options Options
	client  *http.Client
	now     func() time.Time

	mu         sync.Mutex
	provider   *oidc.Provider // nil until the metadata has been read
	discovered time.Time
	tried      time.Time
	lastError  error
	downUntil  time.Time
}

// bounded is a transport that limits the size of responses.
type bounded struct {
	do func(*http.Request) (*http.Response, error)
}

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := b.do(r)
	if err != nil {
		return nil, err
	}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.LimitReader(resp.Body, maxResponse), resp.Body}
	return resp, nil
}

// context returns a context that passes the HTTP client to the OIDC and OAuth libraries.
func (c *connection) context(ctx context.Context) context.Context {
	return oidc.ClientContext(ctx, c.client)
}

// discover returns the provider. It reads the metadata if it has not been read or is old. If reading fails, it returns the earlier
// metadata if there is any, otherwise the error.
func (c *connection) discover(ctx context.Context) (*oidc.Provider, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	if c.provider != nil && now.Sub(c.discovered) < discoverRefresh {
		return c.provider, nil
	}
	if !c.tried.IsZero() && now.Sub(c.tried) < discoverAgain {
		return c.provider, c.unless(c.lastError)
	}
	c.tried = now
	// Other requests use the result too, so the end of this request must not cancel the discovery.
	found, err := oidc.NewProvider(c.context(context.WithoutCancel(ctx)), c.options.Issuer)
	if err == nil {
		err = checkEndpoints(c.options.Issuer, found)
	}
	if c.lastError = err; err != nil {
		c.lastError = fmt.Errorf("read the metadata of the identity provider: %w", err)
		return c.provider, c.unless(c.lastError)
	}
	c.provider, c.discovered = found, now
	return found, nil
}

// unless returns nil if earlier metadata is available, otherwise err.
func (c *connection) unless(err error) error {
	if c.provider != nil {
		return nil
	}
	return err
}

// checkEndpoints returns an error if a required endpoint is missing from the metadata, or if an endpoint uses neither https nor the
// scheme of the issuer.
func checkEndpoints(issuer string, p *oidc.Provider) error {
	var endpoints struct {
		Authorization string `json:"authorization_endpoint"`
		Token         string `json:"token_endpoint"`
		Keys          string `json:"jwks_uri"`
		UserInfo      string `json:"userinfo_endpoint"`
	}
	if err := p.Claims(&endpoints); err != nil {
		return err
	}
	if endpoints.Authorization == "" || endpoints.Token == "" || endpoints.Keys == "" {
		return errors.New("the metadata must contain authorization_endpoint, token_endpoint and jwks_uri")
	}
	own, err := url.Parse(issuer)
	if err != nil {
		return err
	}
	for _, text := range []string{endpoints.Authorization, endpoints.Token, endpoints.Keys, endpoints.UserInfo} {
		u, err := url.Parse(text)
		if err != nil || text != "" && u.Scheme != "https" && u.Scheme != own.Scheme {
			return fmt.Errorf("the metadata names an endpoint that does not use https: %q", cleaned(text))
		}
	}
	return nil
}

// oauth returns the settings of the authorization code flow.
func (c *connection) oauth(p *oidc.Provider, redirect string) *oauth2.Config {
	return &oauth2.Config{
		ClientID: c.options.ClientID, ClientSecret: c.options.ClientSecret, Endpoint: p.Endpoint(),
		RedirectURL: redirect, Scopes: c.options.Scopes,
	}
}

// down reports whether a recent attempt to reach the provider failed.
func (c *connection) down() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now().Before(c.downUntil)
}

// markDown records that the provider could not be reached, which pauses the checks.
func (c *connection) markDown() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.downUntil = c.now().Add(downPause)
}
