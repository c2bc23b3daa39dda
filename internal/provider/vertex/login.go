package vertex

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/oauth2"

	"fairlead/internal/llm"
	"fairlead/internal/provider"
	"fairlead/internal/wire/fault"
)

const (
	ahead    = 5 * time.Minute  // a token is renewed this long before it ends
	least    = 30 * time.Second // one that ends sooner may end on its way
	patience = 2 * time.Second  // how long one request waits for a new token while the old one is good
	pause    = 15 * time.Second // between attempts to renew that need not succeed yet
	longest  = 15 * time.Second // of one exchange
	assumed  = 10 * time.Minute // lifetime of a token that states none
)

// login exchanges credentials for tokens and keeps them.
type login struct {
	client   *http.Client
	tokenURL string // of the configuration
	now      func() time.Time

	mu      sync.Mutex
	sources map[string]*source // by secret
}

func newLogin(s provider.Settings) *login {
	return &login{client: s.TokenClient(), tokenURL: s.Options[TokenURL], now: s.Clock(), sources: map[string]*source{}}
}

// token returns the value to present for a credential. A secret that is no credential file is already a token.
func (l *login) token(ctx context.Context, secret string) (string, error) {
	if !strings.HasPrefix(strings.TrimSpace(secret), "{") {
		return secret, nil
	}
	return l.source(secret).token(ctx)
}

func (l *login) source(secret string) *source {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.sources[secret]
	if s == nil {
		s = &source{credential: read(secret), tokenURL: l.tokenURL, client: l.client, now: l.now, turn: make(chan struct{}, 1)}
		l.sources[secret] = s
	}
	return s
}

// source keeps the token of one credential. Requests that find a good one do not wait for each other.
type source struct {
	credential credential
	tokenURL   string
	client     *http.Client
	now        func() time.Time

	held atomic.Pointer[held]
	turn chan struct{} // whoever has put something in fetches, and owns what follows

	retry    time.Time // when to try again to renew ahead of time
	failed   error     // of the latest exchange
	failedAt time.Time
}

type held struct {
	token string
	ends  time.Time
}

// lasts reports whether the token is good for so long.
func (h *held) lasts(now time.Time, d time.Duration) bool { return h != nil && h.ends.Sub(now) > d }

func (s *source) token(ctx context.Context) (string, error) {
	h := s.held.Load()
	switch now := s.now(); {
	case h.lasts(now, ahead):
		return h.token, nil
	case h.lasts(now, least):
		s.renew(ctx)
		return s.held.Load().token, nil
	}
	return s.wait(ctx)
}

// renew fetches a new token while the old one is good: one request does so, for a short while, and the others go on.
func (s *source) renew(ctx context.Context) {
	select {
	case s.turn <- struct{}{}:
	default:
		return
	}
	defer func() { <-s.turn }()
	if s.now().Before(s.retry) || s.held.Load().lasts(s.now(), ahead) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := s.fetch(ctx); err != nil {
		s.retry = s.now().Add(pause)
	}
}

// wait returns a token when there is one. Requests that waited for an exchange that failed fail with it: each trying again
// by itself would only add to the queue.
func (s *source) wait(ctx context.Context) (string, error) {
	began := s.now()
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return "", fmt.Errorf("wait for a token: %w", ctx.Err())
	}
	defer func() { <-s.turn }()
	if h := s.held.Load(); h.lasts(s.now(), least) {
		return h.token, nil
	}
	if s.failed != nil && s.failedAt.After(began) {
		return "", s.failed
	}
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	if err := s.fetch(ctx); err != nil {
		return "", err
	}
	return s.held.Load().token, nil
}

// fetch exchanges the credential. Only the owner of the turn calls it.
func (s *source) fetch(ctx context.Context) error {
	got, err := s.exchange(ctx)
	if err != nil {
		if !errors.Is(err, context.Canceled) { // that is one request's own end
			s.failed, s.failedAt = err, s.now()
		}
		return err
	}
	ends := got.Expiry
	if ends.IsZero() {
		ends = s.now().Add(assumed)
	}
	s.failed = nil
	s.held.Store(&held{token: got.AccessToken, ends: ends})
	return nil
}

func (s *source) exchange(ctx context.Context) (*oauth2.Token, error) {
	if s.client == nil {
		return nil, errors.New("no client was given for Google's token service")
	}
	address, err := s.credential.tokenURL(s.tokenURL)
	if err != nil {
		return nil, err
	}
	through := &carrier{ctx: ctx, next: s.client.Transport}
	client := *s.client
	client.Transport = through
	got, err := s.credential.fetch(ctx, &client, address)
	if err != nil {
		return nil, s.classify(err, through.err)
	}
	if got.AccessToken == "" {
		return nil, llm.Errorf(llm.UpstreamAuth, "Google's token service sent no token.")
	}
	return got, nil
}

// classify makes one of our errors: what the network did, what the token service said, or a credential that cannot be used.
func (s *source) classify(err, network error) error {
	if network != nil {
		_, classified := errors.AsType[*llm.Error](network)
		switch {
		case classified, errors.Is(network, context.Canceled):
			return fmt.Errorf("fetch a token: %w", network)
		case errors.Is(network, context.DeadlineExceeded):
			return &llm.Error{Kind: llm.UpstreamTimeout, Message: "Google's token service took too long to answer.", Err: network}
		}
		return &llm.Error{Kind: llm.UpstreamConnect, Message: "Google's token service could not be reached.", Err: network}
	}
	refused, ok := errors.AsType[*oauth2.RetrieveError](err)
	if !ok || refused.Response == nil {
		return &llm.Error{Kind: llm.UpstreamAuth, Message: "The credential for Google Cloud cannot be used.", Err: err}
	}
	status := refused.Response.StatusCode
	body := provider.Mask(refused.Body, s.credential.parts()...)
	e := fault.Failure(status, refused.Response.Header, body, s.now())
	if status < 500 && e.Kind != llm.UpstreamRateLimited && e.Kind != llm.UpstreamTimeout {
		e.Kind = llm.UpstreamAuth
	}
	e.Message = "Google's token service refused the credential: " + e.Message
	return e
}

// carrier ends calls with their request, which the library does not for every kind of credential, and keeps what went
// wrong on the way, which it turns into text.
type carrier struct {
	ctx  context.Context //nolint:containedctx // the library makes its requests without one
	next http.RoundTripper
	err  error
}

func (c *carrier) RoundTrip(r *http.Request) (*http.Response, error) {
	next := c.next
	if next == nil {
		next = http.DefaultTransport
	}
	resp, err := next.RoundTrip(r.WithContext(c.ctx))
	c.err = err
	return resp, err
}
