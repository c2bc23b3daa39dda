package sso

import (
	"context"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/account/secret"
	"fairlead.dev/internal/id"
)

// FlowLife is the maximum duration of a sign-in at the provider.
const FlowLife = 10 * time.Minute

// sessionIdle is the time after which an unused session expires, as for password sign-ins. The identity provider confirms the session
// at shorter intervals.
const sessionIdle = 7 * 24 * time.Hour

// flow is a sign-in in progress. It is stored only in a cookie of the browser, encrypted, so that every replica can finish it.
type flow struct {
	State    string    `json:"state"`
	Nonce    string    `json:"nonce"`
	Verifier string    `json:"verifier"`
	Issuer   string    `json:"issuer"`
	Redirect string    `json:"redirect"`
	Return   string    `json:"return"`
	Expires  time.Time `json:"expires"`
}

// Redirect sends a browser to the provider.
type Redirect struct {
	URL    string
	Cookie string // value of the sign-in cookie, which the caller sets for FlowLife
}

// Begin starts a sign-in. callback is the address that the provider redirects to, and returnTo the dashboard page to open at the
// end.
func (s *Service) Begin(ctx context.Context, callback, returnTo string, v account.Visitor) (Redirect, error) {
	c := s.active.Load()
	if c == nil {
		return Redirect{}, refused(Disabled, "single sign-on is not configured", nil)
	}
	p, err := c.discover(ctx)
	if err != nil {
		r := refused(Unavailable, "the identity provider cannot be reached", err)
		s.record(ctx, r, person{}, c.options.Issuer, v)
		return Redirect{}, r
	}
	if !strings.HasPrefix(returnTo, "/") || strings.HasPrefix(returnTo, "//") || len(returnTo) > maxReturn || strings.ContainsAny(returnTo, "\\\r\n\t") {
		returnTo = "/" // a link to the sign-in must not lead to another site
	}
	f := flow{
		State: secret.Token(), Nonce: secret.Token(), Verifier: oauth2.GenerateVerifier(), Issuer: c.options.Issuer,
		Redirect: callback, Return: returnTo, Expires: s.now().Add(FlowLife),
	}
	text, err := json.Marshal(f)
	if err != nil {
		return Redirect{}, err
	}
	options := []oauth2.AuthCodeOption{oidc.Nonce(f.Nonce), oauth2.S256ChallengeOption(f.Verifier)}
	for name, value := range c.options.Params {
		options = append(options, oauth2.SetAuthURLParam(name, value))
	}
	return Redirect{
		URL:    c.oauth(p, callback).AuthCodeURL(f.State, options...),
		Cookie: base64.RawURLEncoding.EncodeToString(s.Sealer.Seal(kindFlow, "", string(text))),
	}, nil
}

// maxReturn is the maximum length of a path to return to.
const maxReturn = 1024

// Callback is the provider's response, with the cookie that the browser sent.
type Callback struct {
	Code, State      string
	Error, ErrorText string
	Issuer           string // parameter iss; empty if the provider does not send it
	Cookie           string
}

// Done is a finished sign-in.
type Done struct {
	Account account.Account
	Token   string // token of the session
	Return  string // path of the dashboard page to open
}

// Finish checks the provider's response and starts a session. Every refusal is a *RefusalError and is recorded in the audit log.
func (s *Service) Finish(ctx context.Context, cb Callback, v account.Visitor) (Done, error) {
	c := s.active.Load()
	if c == nil {
		return Done{}, refused(Disabled, "single sign-on is not configured", nil)
	}
	var user person
	done, err := s.finish(ctx, c, cb, v, &user)
	if r, ok := errors.AsType[*RefusalError](err); ok {
		s.record(ctx, r, user, c.options.Issuer, v)
	}
	return done, err
}

func (s *Service) finish(ctx context.Context, c *connection, cb Callback, v account.Visitor, user *person) (Done, error) {
	f, err := s.open(cb)
	if err != nil {
		return Done{}, err
	}
	switch {
	case f.Issuer != c.options.Issuer, cb.Issuer != "" && cb.Issuer != f.Issuer:
		return Done{}, refused(TokenInvalid, "the response comes from another issuer", nil)
	case cb.Error == "access_denied":
		return Done{}, refused(Denied, "the provider returned access_denied: "+cleaned(cb.ErrorText), nil)
	case cb.Error != "":
		return Done{}, refused(ProviderError, "the provider returned "+cleaned(cb.Error)+": "+cleaned(cb.ErrorText), nil)
	case cb.Code == "":
		return Done{}, refused(ProviderError, "the response has no code", nil)
	}
	p, err := c.discover(ctx)
	if err != nil {
		return Done{}, refused(Unavailable, "the identity provider cannot be reached", err)
	}
	began := s.now()
	token, err := c.oauth(p, f.Redirect).Exchange(c.context(ctx), cb.Code, oauth2.VerifierOption(f.Verifier))
	if err != nil {
		return Done{}, exchangeRefusal(err)
	}
	idToken, err := s.idToken(ctx, c, p, token, f.Nonce)
	if err != nil {
		return Done{}, err
	}
	*user, err = c.read(ctx, p, idToken, token)
	if err != nil {
		return Done{}, err
	}
	if token.RefreshToken == "" {
		return Done{}, refused(NoRefreshToken, "the provider returned no refresh token; request the scope offline_access", nil)
	}
	return s.signIn(ctx, c, *user, token.RefreshToken, began, f.Return, v)
}

// open returns the sign-in from the cookie. It returns a *RefusalError if the cookie is missing, invalid or expired, or if the
// state in the response belongs to another sign-in.
func (s *Service) open(cb Callback) (flow, error) {
	sealed, err := base64.RawURLEncoding.DecodeString(cb.Cookie)
	if err != nil || cb.Cookie == "" {
		return flow{}, refused(Expired, "the browser sent no valid sign-in cookie", nil)
	}
	text, err := s.Sealer.Unseal(kindFlow, "", sealed)
	if err != nil {
		return flow{}, refused(Expired, "the sign-in cookie is invalid", nil)
	}
	var f flow
	if err := json.Unmarshal([]byte(text), &f); err != nil || !s.now().Before(f.Expires) {
		return flow{}, refused(Expired, "the sign-in took longer than allowed", nil)
	}
	if subtle.ConstantTimeCompare([]byte(f.State), []byte(cb.State)) != 1 {
		return flow{}, refused(StateMismatch, "the state in the response does not match the sign-in cookie", nil)
	}
	return f, nil
}

// exchangeRefusal returns the refusal for a failed exchange. The body of the response is not included, because it may contain tokens.
func exchangeRefusal(err error) *RefusalError {
	failed, ok := errors.AsType[*oauth2.RetrieveError](err)
	switch {
	case ok && failed.ErrorCode == "invalid_grant":
		return refused(CodeRejected, "the provider rejected the code: invalid_grant", nil)
	case ok && failed.ErrorCode != "":
		return refused(ProviderError, "the token endpoint returned "+cleaned(failed.ErrorCode), nil)
	case ok:
		return refused(Unavailable, "the token endpoint returned status "+failed.Response.Status, nil)
	}
	return refused(Unavailable, "the token endpoint failed", err)
}

// idToken verifies the signature, issuer, audience and expiry of the ID token in a response. If nonce is not empty, the token
// must contain it.
func (s *Service) idToken(ctx context.Context, c *connection, p *oidc.Provider, token *oauth2.Token, nonce string) (*oidc.IDToken, error) {
	raw, _ := token.Extra("id_token").(string)
	if raw == "" {
		return nil, refused(TokenInvalid, "the response has no ID token", nil)
	}
	verified, err := p.Verifier(&oidc.Config{ClientID: c.options.ClientID, Now: c.now}).Verify(c.context(ctx), raw)
	if err == nil && len(verified.Audience) > 1 {
		var claims struct {
			AuthorizedParty string `json:"azp"`
		}
		if verified.Claims(&claims) != nil || claims.AuthorizedParty != c.options.ClientID {
			err = errors.New("the ID token was issued to another client")
		}
	}
	if expired, ok := errors.AsType[*oidc.TokenExpiredError](err); ok {
		return nil, refused(TokenExpired, "the ID token has expired", expired)
	}
	if err != nil {
		return nil, refused(TokenInvalid, "the ID token is invalid", err)
	}
	if nonce != "" && subtle.ConstantTimeCompare([]byte(verified.Nonce), []byte(nonce)) != 1 {
		return nil, refused(NonceMismatch, "the nonce in the ID token does not match this sign-in", nil)
	}
	return verified, nil
}

// signIn stores the identity, its grants and a new session.
func (s *Service) signIn(ctx context.Context, c *connection, user person, refresh string, began time.Time, returnTo string, v account.Visitor) (Done, error) {
	grants, err := s.resolve(ctx, c.options, user.groups)
	if err != nil {
		return Done{}, err
	}
	name := user.name
	if name == "" || len(name) > 100 || account.ClientName(name) != name {
		name, _, _ = strings.Cut(user.email, "@")
	}
	token, now := secret.Token(), s.now()
	out, err := s.Store.SignInIdentity(ctx, SignIn{
		Identity: Identity{
			Issuer: c.options.Issuer, Subject: user.subject, Refresh: s.Sealer.Seal(kindRefresh, user.subject, refresh),
			CheckedAt: began, CheckedUntil: began.Add(2 * c.options.Recheck),
		},
		Draft: account.Account{
			ID: id.New("acc", now), Email: user.email, Name: strings.ToValidUTF8(name[:min(len(name), 100)], ""), PasswordHash: account.NoPassword, TimeZone: "UTC", CreatedAt: now,
		},
		Link: c.options.LinkByEmail && !c.options.TrustEmail, // only a verified address
		Session: account.Session{
			TokenHash: s.sessionHash.Bytes(token), Issuer: c.options.Issuer, Client: account.ClientName(v.Client), IP: account.ClientName(v.IP),
			CreatedAt: now, SeenAt: now, ExpiresAt: now.Add(sessionIdle),
		},
		Grants: grants, Event: s.event("", ""),
	})
	if errors.Is(err, account.ErrConflict) {
		return Done{}, refused(AccountExists, "the email address belongs to an account that is not linked to this identity", nil)
	}
	if err != nil {
		return Done{}, err
	}
	s.apply(ctx, out)
	return Done{Account: out.Account, Token: token, Return: returnTo}, nil
}

// facts encodes the data of an audit event.
func facts(v any) json.RawMessage {
	text, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage(`{}`) // unreachable: the facts are plain structs
	}
	return text
}
