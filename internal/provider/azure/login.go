package azure

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"fairlead/internal/llm"
	"fairlead/internal/provider"
	"fairlead/internal/wire/fault"
)

const (
	usualAuthority = "https://login.microsoftonline.com"
	usualScope     = "https://cognitiveservices.azure.com/.default"

	ahead     = 5 * time.Minute  // a token is renewed this long before it ends
	longest   = 15 * time.Second // of one exchange
	assumed   = 10 * time.Minute // lifetime of a token that states none
	maxAnswer = 1 << 20          // of the token service
)

// application is one that may sign in by itself.
type application struct{ tenant, client, secret string }

const packed = "entra:"

// String packs the application into one secret.
func (a application) String() string { return packed + a.tenant + ":" + a.client + ":" + a.secret }

// unpack reads the application that a secret belongs to; false when it is presented as it is.
func unpack(secret string, options map[string]string) (application, bool) {
	if rest, found := strings.CutPrefix(secret, packed); found {
		parts := strings.SplitN(rest, ":", 3)
		if len(parts) < 3 {
			return application{}, true // refused when it is used
		}
		return application{tenant: parts[0], client: parts[1], secret: parts[2]}, true
	}
	a := application{tenant: options[OptionTenant], client: options[OptionClient], secret: secret}
	return a, a.tenant != "" && a.client != "" && !isToken(secret)
}

// login exchanges the secrets of applications for tokens and keeps those.
type login struct {
	options map[string]string
	client  *http.Client
	now     func() time.Time

	mu   sync.Mutex
	kept map[string]*kept // by secret
}

// kept is the token of one secret. Whoever has put something into turn owns the rest.
type kept struct {
	turn  chan struct{}
	token string
	ends  time.Time
}

func newLogin(s provider.Settings) *login {
	return &login{options: s.Options, client: s.TokenClient(), now: s.Clock(), kept: map[string]*kept{}}
}

// token returns the value to present for a secret: a key or a token unchanged.
func (l *login) token(ctx context.Context, secret string) (string, error) {
	app, ok := unpack(secret, l.options)
	if !ok {
		return secret, nil
	}
	k := l.of(secret)
	select {
	case k.turn <- struct{}{}:
	case <-ctx.Done():
		return "", fmt.Errorf("wait for a token: %w", ctx.Err())
	}
	defer func() { <-k.turn }()
	now := l.now()
	if k.ends.Sub(now) > ahead {
		return k.token, nil
	}
	token, life, err := l.fetch(ctx, app)
	if err != nil {
		if k.ends.Sub(now) > longest { // the old one is good for this call
			return k.token, nil
		}
		return "", err
	}
	k.token, k.ends = token, now.Add(life)
	return token, nil
}

func (l *login) of(secret string) *kept {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.kept[secret] == nil {
		l.kept[secret] = &kept{turn: make(chan struct{}, 1)}
	}
	return l.kept[secret]
}

// fetch asks Entra ID for a token.
func (l *login) fetch(ctx context.Context, app application) (token string, life time.Duration, err error) {
	if app.tenant == "" || app.client == "" || app.secret == "" {
		return "", 0, llm.Errorf(llm.UpstreamAuth, "The credential for Azure cannot be read: write entra:TENANT:CLIENT:SECRET.")
	}
	if l.client == nil {
		return "", 0, errors.New("no client was given for the token service of Entra ID")
	}
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	r, err := l.request(ctx, app)
	if err != nil {
		return "", 0, err
	}
	resp, err := l.client.Do(r)
	if err != nil {
		return "", 0, unreached(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return "", 0, unreached(err)
	}
	if resp.StatusCode != http.StatusOK {
		return "", 0, l.refused(resp, body, app)
	}
	var got struct {
		Token string `json:"access_token"`
		Life  int64  `json:"expires_in"`
	}
	if err := json.Unmarshal(body, &got); err != nil || got.Token == "" {
		return "", 0, &llm.Error{Kind: llm.UpstreamAuth, Message: "The token service of Entra ID sent no token.", Err: err}
	}
	return got.Token, cmp.Or(time.Duration(min(max(got.Life, 0), 7*24*3600))*time.Second, assumed), nil
}

func (l *login) request(ctx context.Context, app application) (*http.Request, error) {
	form := url.Values{
		"grant_type": {"client_credentials"}, "client_id": {app.client}, "client_secret": {app.secret},
		"scope": {cmp.Or(l.options[OptionScope], usualScope)},
	}
	authority := strings.TrimRight(cmp.Or(l.options[OptionAuthority], usualAuthority), "/")
	address := authority + "/" + url.PathEscape(app.tenant) + "/oauth2/v2.0/token"
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, fmt.Errorf("ask for a token: %w", err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Accept", "application/json")
	return r, nil
}

// unreached passes on what is classified and the end of our own context; a token service that does not answer is as good
// as a provider that does not.
func unreached(err error) error {
	_, classified := errors.AsType[*llm.Error](err)
	switch {
	case classified, errors.Is(err, context.Canceled):
		return fmt.Errorf("fetch a token: %w", err)
	case errors.Is(err, context.DeadlineExceeded):
		return &llm.Error{Kind: llm.UpstreamTimeout, Message: "The token service of Entra ID took too long to answer.", Err: err}
	}
	return &llm.Error{Kind: llm.UpstreamConnect, Message: "The token service of Entra ID could not be reached.", Err: err}
}

// refused classifies a token service's refusal: whatever is wrong with the sign-in is wrong with our credential.
func (l *login) refused(resp *http.Response, body []byte, app application) *llm.Error {
	body = provider.Mask(body, app.secret)
	e := fault.Failure(resp.StatusCode, resp.Header, body, l.now())
	if resp.StatusCode < 500 && e.Kind != llm.UpstreamRateLimited && e.Kind != llm.UpstreamTimeout {
		e.Kind = llm.UpstreamAuth
	}
	e.Message = "The token service of Entra ID refused the credential: " + e.Message
	return e
}
