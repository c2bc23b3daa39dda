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
	"os"
	"strings"
	"time"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/wire/fault"
)

const (
	usualAuthority = "https://login.microsoftonline.com"
	usualScope     = "https://cognitiveservices.azure.com/.default"

	maxResponse = 1 << 20

	entra        = "The Entra ID token service"
	metadata     = "The Azure managed identity endpoint"
	metadataHost = "169.254.169.254:80"
	identityName = "Azure managed or workload identity"
)

// application is an Entra ID service principal.
type application struct{ tenant, client, secret string }

const packed = "entra:"

// String encodes the application as a single secret.
func (a application) String() string { return packed + a.tenant + ":" + a.client + ":" + a.secret }

// unpack parses a secret that holds an Entra ID application, or combines the secret with the configured tenant and
// client. It returns false for a key or token, which is sent unchanged.
func unpack(secret string, options map[string]string) (application, bool) {
	if rest, found := strings.CutPrefix(secret, packed); found {
		parts := strings.SplitN(rest, ":", 3)
		if len(parts) < 3 {
			return application{}, true // the method token rejects an empty application
		}
		return application{tenant: parts[0], client: parts[1], secret: parts[2]}, true
	}
	a := application{tenant: options[OptionTenant], client: options[OptionClient], secret: secret}
	return a, a.tenant != "" && a.client != "" && !isToken(secret)
}

// login exchanges application secrets or the managed identity for tokens.
type login struct {
	settings provider.Settings
	options  map[string]string
	cache    *provider.TokenCache
}

func newLogin(s provider.Settings) *login {
	return &login{settings: s, options: s.Options, cache: provider.NewTokenCache(s.Clock())}
}

// token returns the value to send for a secret. Keys and tokens are returned unchanged.
func (l *login) token(ctx context.Context, secret string) (string, error) {
	if secret == provider.Identity {
		token, err := l.cache.Token(ctx, secret, l.identity)
		if err == nil && !isToken(token) {
			token = bearer + token
		}
		return token, err
	}
	app, ok := unpack(secret, l.options)
	if !ok {
		return secret, nil
	}
	return l.cache.Token(ctx, secret, func(ctx context.Context) (provider.Token, error) {
		if app.tenant == "" || app.client == "" || app.secret == "" {
			return provider.Token{}, llm.Errorf(llm.UpstreamAuth, "The Azure credential is malformed. Its form must be entra:TENANT:CLIENT:SECRET.")
		}
		r, err := l.request(ctx, app, url.Values{"client_secret": {app.secret}})
		if err != nil {
			return provider.Token{}, err
		}
		return l.fetch(entra, l.settings.TokenClient(), r, app.secret)
	})
}

// identity fetches a token for the managed identity from a federated token file (AKS workload identity), the App
// Service endpoint, or the instance metadata service.
func (l *login) identity(ctx context.Context) (provider.Token, error) {
	if !l.settings.Trusted(provider.Identity) {
		return provider.Token{}, llm.Errorf(llm.UpstreamAuth, "A managed identity can be set only in the configuration file or the environment, not in the dashboard.")
	}
	file := l.options[OptionTokenFile]
	if file == "" {
		return l.managed(ctx)
	}
	app := application{tenant: cmp.Or(l.options[OptionTenant], l.options[optionEnvTenant]), client: cmp.Or(l.options[OptionClient], l.options[optionEnvClient])}
	if app.tenant == "" || app.client == "" {
		return provider.Token{}, llm.Errorf(llm.UpstreamAuth, "The Azure workload identity needs a tenant and a client ID. Set options.tenant and options.client_id, or AZURE_TENANT_ID and AZURE_CLIENT_ID.")
	}
	assertion, err := os.ReadFile(file)
	if err != nil {
		return provider.Token{}, &llm.Error{Kind: llm.UpstreamAuth, Message: "The Azure federated token file cannot be read.", Err: err}
	}
	r, err := l.request(ctx, app, url.Values{
		"client_assertion_type": {"urn:ietf:params:oauth:client-assertion-type:jwt-bearer"}, "client_assertion": {strings.TrimSpace(string(assertion))},
	})
	if err != nil {
		return provider.Token{}, err
	}
	return l.fetch(entra, l.settings.TokenClient(), r, strings.TrimSpace(string(assertion)))
}

// managed requests a token from the machine's managed identity endpoint.
func (l *login) managed(ctx context.Context) (provider.Token, error) {
	query := url.Values{"resource": {strings.TrimSuffix(cmp.Or(l.options[OptionScope], usualScope), "/.default")}, "api-version": {"2018-02-01"}}
	if client := cmp.Or(l.options[OptionClient], l.options[optionEnvClient]); client != "" {
		query.Set("client_id", client)
	}
	address, header := "http://"+strings.TrimSuffix(metadataHost, ":80")+"/metadata/identity/oauth2/token", l.options[optionHeader]
	if endpoint := l.options[optionEndpoint]; endpoint != "" && header != "" {
		address = endpoint
		query.Set("api-version", "2019-08-01")
	}
	u, err := url.Parse(address)
	if err != nil {
		return provider.Token{}, llm.Errorf(llm.UpstreamAuth, "IDENTITY_ENDPOINT is not a URL.")
	}
	u.RawQuery = query.Encode()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return provider.Token{}, fmt.Errorf("request a token: %w", err)
	}
	r.Header.Set("Metadata", "true")
	if address == l.options[optionEndpoint] {
		r.Header.Set("X-Identity-Header", header)
	}
	return l.fetch(metadata, l.settings.TokenClient(provider.HostPort(u)), r, header)
}

// fetch sends a request to a token service and reads the token. It masks the secrets in errors.
func (l *login) fetch(service string, client *http.Client, r *http.Request, secret string) (provider.Token, error) {
	if client == nil {
		return provider.Token{}, errors.New("no HTTP client for the Azure token service")
	}
	resp, err := client.Do(r)
	if err != nil {
		return provider.Token{}, provider.TokenServiceError(service, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxResponse))
	if err != nil {
		return provider.Token{}, provider.TokenServiceError(service, err)
	}
	now := l.settings.Clock()()
	if resp.StatusCode != http.StatusOK {
		e := fault.Failure(resp.StatusCode, resp.Header, provider.Mask(body, secret), now)
		what := " failed: "
		if resp.StatusCode < 500 {
			what = " rejected the credential: "
			if e.Kind != llm.UpstreamRateLimited && e.Kind != llm.UpstreamTimeout {
				e.Kind = llm.UpstreamAuth
			}
		}
		e.Message = service + what + e.Message
		return provider.Token{}, e
	}
	var got struct {
		Token string      `json:"access_token"`
		Life  json.Number `json:"expires_in"` // lifetime in seconds; the metadata service sends it as a string
		At    json.Number `json:"expires_on"` // expiry in Unix seconds; App Service sends no other expiry
	}
	if err := json.Unmarshal(body, &got); err != nil || got.Token == "" {
		return provider.Token{}, llm.Errorf(llm.UpstreamAuth, "%s sent no token.", service)
	}
	t := provider.Token{Value: got.Token}
	if life, err := got.Life.Int64(); err == nil && life > 0 {
		t.Expires = now.Add(time.Duration(min(life, 7*24*3600)) * time.Second)
	} else if at, err := got.At.Int64(); err == nil && at > 0 {
		t.Expires = time.Unix(at, 0)
	}
	return t, nil
}

// request builds a client credentials grant with a secret or an assertion as proof.
func (l *login) request(ctx context.Context, app application, proof url.Values) (*http.Request, error) {
	proof.Set("grant_type", "client_credentials")
	proof.Set("client_id", app.client)
	proof.Set("scope", cmp.Or(l.options[OptionScope], usualScope))
	authority := strings.TrimRight(cmp.Or(l.options[OptionAuthority], l.options[optionEnvAuthority], usualAuthority), "/")
	address := authority + "/" + url.PathEscape(app.tenant) + "/oauth2/v2.0/token"
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(proof.Encode()))
	if err != nil {
		return nil, fmt.Errorf("request a token: %w", err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Accept", "application/json")
	return r, nil
}

// options reads the managed identity settings from the environment, like Azure's SDKs.
func options(lookup func(string) string) map[string]string {
	found := map[string]string{}
	for option, variable := range map[string]string{
		OptionTokenFile: "AZURE_FEDERATED_TOKEN_FILE", optionEnvTenant: "AZURE_TENANT_ID", optionEnvClient: "AZURE_CLIENT_ID",
		optionEnvAuthority: "AZURE_AUTHORITY_HOST", optionEndpoint: "IDENTITY_ENDPOINT", optionHeader: "IDENTITY_HEADER",
	} {
		if value := lookup(variable); value != "" {
			found[option] = value
		}
	}
	return found
}
