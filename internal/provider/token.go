package provider

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"fairlead.dev/internal/llm"
)

const (
	renewAhead   = 5 * time.Minute  // time before expiry at which a token is renewed
	minLifetime  = 30 * time.Second // minimum remaining lifetime of a cached token; a token that expires sooner may expire in transit
	renewTimeout = 2 * time.Second  // maximum time that a request waits for a new token while the old one is valid
	renewPause   = 15 * time.Second // pause after a failed renewal while the old token is valid
	fetchTimeout = 15 * time.Second
	lifetime     = 10 * time.Minute // lifetime assumed for tokens without an expiry
)

// Identity is the secret of a credential that uses the machine's cloud identity. No key is configured; Login finds the credential in the
// same way as the cloud's SDK.
const Identity = "identity:default"

// Dashboard is the Source of credentials that were added in the dashboard.
const Dashboard = "dashboard"

// Trusted reports whether a secret comes from the configuration file or the environment. Only such a secret may refer
// to files, URLs or the machine's identity: a credential from the dashboard must not determine what the server reads or
// which identity it uses.
func (s Settings) Trusted(secret string) bool {
	return slices.ContainsFunc(s.Credentials, func(c Credential) bool { return c.Secret == secret && c.Source != Dashboard })
}

// TokenClient returns a client for token services. It does not follow redirects, because a redirected exchange would send the credential to
// another host. It uses Metadata for the given metadata services ("host:port"), and Fetch for all other addresses. It returns nil if Fetch
// is nil.
func (s Settings) TokenClient(metadata ...string) *http.Client {
	if s.Fetch == nil {
		return nil
	}
	client := *s.Fetch
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	if len(metadata) > 0 && s.Metadata != nil {
		client.Transport = splitTransport{hosts: metadata, metadata: s.Metadata(metadata...), public: client.Transport}
	}
	return &client
}

// splitTransport uses one transport for calls to metadata services and another for all other calls.
type splitTransport struct {
	hosts            []string
	metadata, public http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t splitTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if slices.Contains(t.hosts, HostPort(r.URL)) {
		return t.metadata.RoundTrip(r)
	}
	if t.public == nil {
		return http.DefaultTransport.RoundTrip(r)
	}
	return t.public.RoundTrip(r)
}

// HostPort returns the host and port of a URL.
func HostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// Token is a short-lived credential.
type Token struct {
	Value   string
	Expires time.Time // expiry time; zero if unknown
}

// TokenCache caches the tokens of one provider's credentials. It is safe for concurrent use.
type TokenCache struct {
	now func() time.Time

	mu      sync.Mutex
	sources map[string]*tokenSource // token sources by secret
}

// NewTokenCache returns an empty cache.
func NewTokenCache(now func() time.Time) *TokenCache {
	return &TokenCache{now: now, sources: map[string]*tokenSource{}}
}

// Token returns the token for a secret. It calls fetch when no cached token is valid. A token is renewed 5 minutes
// before it expires, by a single request, while other requests use the old token.
func (c *TokenCache) Token(ctx context.Context, secret string, fetch func(context.Context) (Token, error)) (string, error) {
	c.mu.Lock()
	s := c.sources[secret]
	if s == nil {
		s = &tokenSource{fetch: fetch, now: c.now, lock: make(chan struct{}, 1)}
		c.sources[secret] = s
	}
	c.mu.Unlock()
	now, held := c.now(), s.held.Load()
	switch {
	case held.validFor(now, renewAhead):
		return held.Value, nil
	case held.validFor(now, minLifetime):
		s.renew(ctx)
		return s.held.Load().Value, nil
	}
	return s.wait(ctx)
}

// tokenSource caches the token of one credential. Requests with a valid token do not wait for each other.
type tokenSource struct {
	fetch func(context.Context) (Token, error)
	now   func() time.Time
	held  atomic.Pointer[Token]

	lock     chan struct{} // acquired by the request that fetches a token; guards the fields below
	retry    time.Time     // earliest time of the next attempt after a failed early renewal
	failed   error         // result of the latest fetch
	failedAt time.Time
}

func (t *Token) validFor(now time.Time, d time.Duration) bool {
	return t != nil && t.Expires.Sub(now) > d
}

// renew fetches a new token while the old one is still valid. At most one request renews at a time, with a timeout of
// renewTimeout.
func (s *tokenSource) renew(ctx context.Context) {
	select {
	case s.lock <- struct{}{}:
	default:
		return
	}
	defer func() { <-s.lock }()
	if s.now().Before(s.retry) || s.held.Load().validFor(s.now(), renewAhead) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, renewTimeout)
	defer cancel()
	if err := s.store(ctx); err != nil {
		s.retry = s.now().Add(renewPause)
	}
}

// wait returns a token as soon as one is available. Requests that waited during a failed fetch return its error. If each of them retried,
// later requests would wait longer.
func (s *tokenSource) wait(ctx context.Context) (string, error) {
	began := s.now()
	select {
	case s.lock <- struct{}{}:
	case <-ctx.Done():
		return "", fmt.Errorf("wait for a token: %w", ctx.Err())
	}
	defer func() { <-s.lock }()
	if held := s.held.Load(); held.validFor(s.now(), minLifetime) {
		return held.Value, nil
	}
	if s.failed != nil && s.failedAt.After(began) {
		return "", s.failed
	}
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	if err := s.store(ctx); err != nil {
		return "", err
	}
	return s.held.Load().Value, nil
}

func (s *tokenSource) store(ctx context.Context) error {
	got, err := s.fetch(ctx)
	if err != nil {
		if !errors.Is(err, context.Canceled) { // a cancellation concerns only the cancelled request, so waiting requests fetch again
			s.failed, s.failedAt = err, s.now()
		}
		return err
	}
	if got.Expires.IsZero() {
		got.Expires = s.now().Add(lifetime)
	}
	s.failed = nil
	s.held.Store(&got)
	return nil
}

// TokenCall sends the requests of one token exchange. It sends them with ctx and keeps the transport error, because some
// libraries do not pass on the context and the error.
type TokenCall struct {
	ctx  context.Context //nolint:containedctx // the libraries build requests without a context
	next http.RoundTripper

	Err    error // error of the latest request
	Status int   // HTTP status of the latest response; 0 for none
}

// NewTokenCall returns a call and the client that sends its requests.
func NewTokenCall(ctx context.Context, client *http.Client) (*TokenCall, *http.Client) {
	call := &TokenCall{ctx: ctx, next: client.Transport}
	if call.next == nil {
		call.next = http.DefaultTransport
	}
	bound := *client
	bound.Transport = call
	return call, &bound
}

// RoundTrip implements http.RoundTripper.
func (c *TokenCall) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := c.next.RoundTrip(r.WithContext(c.ctx))
	c.Err, c.Status = err, 0
	if resp != nil {
		c.Status = resp.StatusCode
	}
	return resp, err
}

// TokenServiceError classifies a transport failure of a token service. service is the service's name, capitalised for the start of a
// sentence. Errors that are already classified, and the caller's own cancellation, are only wrapped.
func TokenServiceError(service string, err error) error {
	_, classified := errors.AsType[*llm.Error](err)
	switch {
	case classified, errors.Is(err, context.Canceled):
		return fmt.Errorf("fetch a token: %w", err)
	case errors.Is(err, context.DeadlineExceeded):
		return &llm.Error{Kind: llm.UpstreamTimeout, Message: service + " did not respond in time.", Err: err}
	}
	return &llm.Error{Kind: llm.UpstreamConnect, Message: service + " could not be reached.", Err: err}
}
