package vertex

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/wire/fault"
)

const (
	tokenService    = "Google's token service"
	metadataService = "The Google Cloud metadata server"
	metadataHost    = "169.254.169.254:80"
	maxResponse     = 1 << 20
)

// login exchanges credentials for tokens.
type login struct {
	settings provider.Settings
	cache    *provider.TokenCache
}

// token returns the value to send for a credential. A secret that is neither a credential file nor the machine's
// identity is already a token.
func (l *login) token(ctx context.Context, secret string) (string, error) {
	if secret == provider.Identity {
		return l.cache.Token(ctx, secret, l.fetchMetadata)
	}
	if !strings.HasPrefix(strings.TrimSpace(secret), "{") {
		return secret, nil
	}
	return l.cache.Token(ctx, secret, func(ctx context.Context) (provider.Token, error) { return l.exchange(ctx, secret) })
}

// exchange exchanges a credential file for a token at Google's token service.
func (l *login) exchange(ctx context.Context, secret string) (provider.Token, error) {
	c := read(secret)
	if c.Type == externalAccount && !l.settings.Trusted(secret) {
		return provider.Token{}, llm.Errorf(llm.UpstreamAuth, "A credential of type external_account names files or URLs to read, so it must be set in the configuration file or the environment, not in the dashboard.")
	}
	client := l.settings.TokenClient(c.subjectHosts()...)
	if client == nil {
		return provider.Token{}, errors.New("no HTTP client for Google's token service")
	}
	address, err := c.tokenURL(l.settings.Options[TokenURL])
	if err != nil {
		return provider.Token{}, err
	}
	call, client := provider.NewTokenCall(ctx, client)
	got, err := c.fetch(ctx, client, address)
	switch {
	case err != nil && call.Err != nil:
		return provider.Token{}, provider.TokenServiceError(tokenService, call.Err)
	case err != nil && c.Type == externalAccount:
		return provider.Token{}, federationError(call.Status, err)
	case err != nil:
		return provider.Token{}, l.classify(err, c.parts())
	case got.AccessToken == "":
		return provider.Token{}, llm.Errorf(llm.UpstreamAuth, "Google's token service sent no token.")
	}
	return provider.Token{Value: got.AccessToken, Expires: got.Expiry}, nil
}

// classify converts an error caused by a rejected or unusable credential to an *llm.Error.
func (l *login) classify(err error, secrets []string) error {
	rejected, ok := errors.AsType[*oauth2.RetrieveError](err)
	if !ok || rejected.Response == nil {
		return &llm.Error{Kind: llm.UpstreamAuth, Message: "The credential for Google Cloud cannot be used.", Err: err}
	}
	return l.rejected(tokenService, rejected.Response, rejected.Body, secrets)
}

// federationError returns the classified error of a failed exchange of a federated identity. The library's error contains the response
// body, which may repeat the subject token, so only the error code is kept.
func federationError(status int, err error) *llm.Error {
	e := &llm.Error{Kind: llm.UpstreamAuth, UpstreamStatus: status, Message: "The federated credential for Google Cloud cannot be used: its subject token cannot be read."}
	switch {
	case status == http.StatusTooManyRequests:
		e.Kind = llm.UpstreamRateLimited
	case status >= 500:
		e.Kind = llm.UpstreamServer
	}
	if status >= 300 {
		e.Message = "The federated credential for Google Cloud was rejected with status " + strconv.Itoa(status)
		errorCode := regexp.MustCompile(`"error"\s*:\s*"([a-z_]{1,40})"`)
		if code := errorCode.FindStringSubmatch(err.Error()); code != nil {
			e.Message += " (" + code[1] + ")"
		}
		e.Message += "."
	}
	return e
}

// rejected returns the classified error for a response that is not 2xx. Rejections below 500, except rate limits and timeouts, are caused
// by the credential.
func (l *login) rejected(service string, resp *http.Response, body []byte, secrets []string) *llm.Error {
	e := fault.Failure(resp.StatusCode, resp.Header, provider.Mask(body, secrets...), l.settings.Clock()())
	if resp.StatusCode < 500 && e.Kind != llm.UpstreamRateLimited && e.Kind != llm.UpstreamTimeout {
		e.Kind = llm.UpstreamAuth
	}
	what := " rejected the credential: "
	if resp.StatusCode >= 500 {
		what = " failed: "
	}
	e.Message = service + what + e.Message
	return e
}

// fetchMetadata reads the token of the machine's service account from the metadata server, which also supports GKE
// workload identity.
func (l *login) fetchMetadata(ctx context.Context) (provider.Token, error) {
	if !l.settings.Trusted(provider.Identity) {
		return provider.Token{}, llm.Errorf(llm.UpstreamAuth, "The Google Cloud metadata server can be used as a credential only in the configuration file or the environment, not in the dashboard.")
	}
	host := cmp.Or(l.settings.Options[MetadataHost], metadataHost)
	if !strings.Contains(host, ":") {
		host += ":80"
	}
	client := l.settings.TokenClient(host)
	if client == nil {
		return provider.Token{}, errors.New("no HTTP client for the metadata server")
	}
	address := url.URL{
		Scheme: "http", Host: strings.TrimSuffix(host, ":80"), RawQuery: url.Values{"scopes": {scope}}.Encode(),
		Path: "/computeMetadata/v1/instance/service-accounts/" + cmp.Or(l.settings.Options[ServiceAccount], "default") + "/token",
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), nil)
	if err != nil {
		return provider.Token{}, err
	}
	r.Header.Set("Metadata-Flavor", "Google")
	resp, err := client.Do(r)
	if err != nil {
		return provider.Token{}, provider.TokenServiceError(metadataService, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxResponse))
	if err != nil {
		return provider.Token{}, provider.TokenServiceError(metadataService, err)
	}
	if resp.StatusCode != http.StatusOK {
		return provider.Token{}, l.rejected(metadataService, resp, body, nil)
	}
	var got struct {
		Token    string `json:"access_token"`
		Lifetime int64  `json:"expires_in"`
	}
	if err := json.Unmarshal(body, &got); err != nil || got.Token == "" {
		return provider.Token{}, llm.Errorf(llm.UpstreamAuth, "%s sent no token.", metadataService)
	}
	t := provider.Token{Value: got.Token}
	if got.Lifetime > 0 {
		t.Expires = l.settings.Clock()().Add(time.Duration(got.Lifetime) * time.Second)
	}
	return t, nil
}
