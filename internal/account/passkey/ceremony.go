package passkey

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/id"
	"fairlead.dev/internal/llm"
)

// FlowLife is the validity period of a challenge.
const FlowLife = 5 * time.Minute

// Kinds of sealed flows. A registration flow is not accepted for a sign-in, and a sign-in flow is not accepted for a registration.
const (
	kindAdd    = "passkey:add"
	kindSignIn = "passkey:sign-in"
)

// flow is a challenge in progress. It is stored only in an encrypted browser cookie, so that every replica can check the
// response.
type flow struct {
	Session webauthn.SessionData `json:"session"`
	Expires int64                `json:"expires"` // Unix milliseconds
}

// Prompt is a request to the browser for a passkey.
type Prompt struct {
	Options json.RawMessage // options for navigator.credentials, as JSON
	Cookie  string          // encrypted challenge, to be set as a cookie that expires after FlowLife
}

// Owner is the signed-in browser that adds a passkey.
type Owner struct {
	Account   account.Account
	SessionID string
}

// id returns the string that binds a flow to the account and the session.
func (o Owner) id() string { return o.Account.ID + "\n" + o.SessionID }

// Answer is a browser's response to a prompt.
type Answer struct {
	Name       string // name of the new passkey
	Response   json.RawMessage
	Cookie     string
	RequestURL string
}

// Added is the result of FinishAdd. Codes holds recovery codes if the account had no second factor before.
type Added struct {
	Passkey Passkey
	Codes   []string
}

// user implements webauthn.User.
type user struct {
	account  account.Account
	passkeys []Passkey
}

func (u user) WebAuthnID() []byte          { return []byte(u.account.ID) }
func (u user) WebAuthnName() string        { return u.account.Email }
func (u user) WebAuthnDisplayName() string { return u.account.Name }

func (u user) WebAuthnCredentials() []webauthn.Credential {
	list := make([]webauthn.Credential, 0, len(u.passkeys))
	for _, p := range u.passkeys {
		c := webauthn.Credential{
			ID: p.CredentialID, PublicKey: p.PublicKey, Flags: webauthn.NewCredentialFlags(protocol.AuthenticatorFlags(p.Flags)),
			Authenticator: webauthn.Authenticator{SignCount: p.SignCount},
		}
		for _, t := range p.Transports {
			c.Transport = append(c.Transport, protocol.AuthenticatorTransport(t))
		}
		list = append(list, c)
	}
	return list
}

// BackedUp reports whether the passkey is stored by a service that copies it to other devices.
func (p Passkey) BackedUp() bool { return protocol.AuthenticatorFlags(p.Flags).HasBackupState() }

// party returns the verifier for a site. Attestation is not requested, so that the authenticator's model stays private.
func (s *Service) party(requestURL string) (*webauthn.WebAuthn, error) {
	site := s.Site(requestURL)
	if site.Unavailable != "" {
		return nil, llm.Errorf(llm.Conflict, "Passkeys are not available. Ask the operator to set public_url to an https URL with a host name, not an IP address.").With("reason", site.Unavailable)
	}
	w, err := webauthn.New(&webauthn.Config{
		RPID: site.ID, RPDisplayName: "Fairlead", RPOrigins: []string{site.Origin},
		AttestationPreference: protocol.PreferNoAttestation,
		AuthenticatorSelection: protocol.AuthenticatorSelection{
			ResidentKey: protocol.ResidentKeyRequirementRequired, RequireResidentKey: protocol.ResidentKeyRequired(),
			UserVerification: protocol.VerificationRequired,
		},
		Timeouts: webauthn.TimeoutsConfig{Login: webauthn.TimeoutConfig{Timeout: FlowLife}, Registration: webauthn.TimeoutConfig{Timeout: FlowLife}},
		// Some password managers return outputs of extensions that were not requested.
		ExtensionsUnsolicitedOutputPolicy: protocol.UnsolicitedOutputPolicyIgnore,
	})
	if err != nil {
		return nil, fmt.Errorf("configure passkeys for %s: %w", site.ID, err)
	}
	return w, nil
}

// prompt returns the options for the browser with the sealed challenge as a cookie.
func (s *Service) prompt(kind, owner string, options any, session *webauthn.SessionData) (Prompt, error) {
	text, err := json.Marshal(options)
	if err != nil {
		return Prompt{}, fmt.Errorf("encode passkey options: %w", err)
	}
	sealed, err := json.Marshal(flow{Session: *session, Expires: s.now().Add(FlowLife).UnixMilli()})
	if err != nil {
		return Prompt{}, fmt.Errorf("encode a passkey challenge: %w", err)
	}
	return Prompt{Options: text, Cookie: base64.RawURLEncoding.EncodeToString(s.Sealer.Seal(kind, owner, string(sealed)))}, nil
}

// open returns the challenge stored in a cookie. It reports false if the cookie is missing, expired or belongs to another kind,
// owner or site.
func (s *Service) open(kind, owner, cookie, siteID string) (flow, Challenge, bool) {
	var f flow
	sealed, err := base64.RawURLEncoding.DecodeString(cookie)
	if err != nil || cookie == "" {
		return f, Challenge{}, false
	}
	text, err := s.Sealer.Unseal(kind, owner, sealed)
	if err != nil || json.Unmarshal([]byte(text), &f) != nil {
		return f, Challenge{}, false
	}
	expires := time.UnixMilli(f.Expires)
	hash := sha256.Sum256([]byte(f.Session.Challenge))
	return f, Challenge{Hash: hash[:], Expires: expires.UTC()}, s.now().Before(expires) && f.Session.RelyingPartyID == siteID
}

// BeginAdd starts the registration of a passkey. It returns a Conflict for accounts that sign in through the identity provider.
func (s *Service) BeginAdd(ctx context.Context, o Owner, requestURL string) (Prompt, error) {
	if err := s.checkOwner(o.Account); err != nil {
		return Prompt{}, err
	}
	party, err := s.party(requestURL)
	if err != nil {
		return Prompt{}, err
	}
	known, err := s.Passkeys(ctx, o.Account.ID)
	if err != nil {
		return Prompt{}, err
	}
	if len(known) >= maxPasskeys {
		return Prompt{}, tooMany()
	}
	u := user{o.Account, known}
	options, session, err := party.BeginRegistration(u, webauthn.WithExclusions(webauthn.Credentials(u.WebAuthnCredentials()).CredentialDescriptors()))
	if err != nil {
		return Prompt{}, fmt.Errorf("start a passkey registration: %w", err)
	}
	return s.prompt(kindAdd, o.id(), options.Response, session)
}

func (s *Service) checkOwner(a account.Account) error {
	if !a.HasPassword() || !s.Allowed(a.Email) {
		return llm.Errorf(llm.Conflict, "This account signs in through the identity provider, which manages its passkeys.")
	}
	return nil
}

func tooMany() error {
	return llm.Errorf(llm.Conflict, "An account can have at most %d passkeys. Remove one first.", maxPasskeys)
}

// FinishAdd registers the passkey that the browser created.
func (s *Service) FinishAdd(ctx context.Context, o Owner, a Answer) (Added, error) {
	if err := s.checkOwner(o.Account); err != nil {
		return Added{}, err
	}
	name, err := checkName(a.Name)
	if err != nil {
		return Added{}, err
	}
	party, err := s.party(a.RequestURL)
	if err != nil {
		return Added{}, err
	}
	f, challenge, ok := s.open(kindAdd, o.id(), a.Cookie, party.Config.RPID)
	if !ok {
		return Added{}, staleAdd(nil)
	}
	parsed, err := protocol.ParseCredentialCreationResponseBytes(a.Response)
	if err != nil {
		return Added{}, invalidAdd(err)
	}
	made, err := party.CreateCredential(user{account: o.Account}, f.Session, parsed)
	if err != nil {
		return Added{}, invalidAdd(err)
	}
	now := s.now()
	p := Passkey{
		ID: id.New("pk", now), AccountID: o.Account.ID, Name: name, SiteID: party.Config.RPID, CredentialID: made.ID, PublicKey: made.PublicKey,
		Flags: byte(made.Flags.ProtocolValue()), SignCount: made.Authenticator.SignCount, CreatedAt: now,
	}
	for _, t := range made.Transport {
		p.Transports = append(p.Transports, string(t))
	}
	codes, hashes := s.Recovery.NewRecoveryCodes(o.Account.ID)
	first, err := s.Store.AddPasskey(ctx, Addition{
		Passkey: p, Challenge: challenge, Recovery: hashes, Maximum: maxPasskeys, Event: s.event(o.Account.ID, "account.passkey_add", p.ID, facts{Name: name}),
	})
	switch {
	case errors.Is(err, account.ErrTooMany):
		return Added{}, tooMany()
	case errors.Is(err, account.ErrConflict):
		return Added{}, staleAdd(err)
	case err != nil:
		return Added{}, fmt.Errorf("store a passkey: %w", err)
	}
	if !first {
		codes = []string{}
	}
	return Added{Passkey: p, Codes: codes}, nil
}

func staleAdd(cause error) error {
	return &llm.Error{Kind: llm.Conflict, Message: "The registration expired, was already used, or the passkey is already registered. Start again.", Err: cause}
}

func invalidAdd(cause error) error {
	return &llm.Error{Kind: llm.InvalidRequest, Message: "The browser's response does not match the request. Start again.", Param: "response", Err: cause}
}

// BeginSignIn asks the browser for any passkey of this gateway.
func (s *Service) BeginSignIn(requestURL string) (Prompt, error) {
	party, err := s.party(requestURL)
	if err != nil {
		return Prompt{}, err
	}
	options, session, err := party.BeginDiscoverableLogin()
	if err != nil {
		return Prompt{}, fmt.Errorf("start a passkey sign-in: %w", err)
	}
	return s.prompt(kindSignIn, "", options.Response, session)
}

// Verify implements account.PasskeyVerifier. It returns the account of the passkey that signed the challenge, and records the use.
func (s *Service) Verify(ctx context.Context, r account.PasskeyResponse) (string, error) {
	party, err := s.party(r.RequestURL)
	if err != nil {
		return "", err
	}
	f, challenge, ok := s.open(kindSignIn, "", r.Cookie, party.Config.RPID)
	if !ok {
		return "", refused("The passkey request expired. Try again.", nil)
	}
	parsed, err := protocol.ParseCredentialRequestResponseBytes(r.Response)
	if err != nil {
		return "", invalidPasskey(err)
	}
	p, err := s.Store.PasskeyByCredential(ctx, parsed.RawID)
	if errors.Is(err, account.ErrNotFound) {
		return "", refused("This passkey is not registered. Sign in another way.", err)
	}
	if err != nil {
		return "", fmt.Errorf("look up a passkey: %w", err)
	}
	if p.SiteID != party.Config.RPID {
		return "", invalidPasskey(fmt.Errorf("the passkey is bound to %s", p.SiteID))
	}
	u := user{account.Account{ID: p.AccountID}, []Passkey{p}}
	_, used, err := party.ValidatePasskeyLogin(func(_, _ []byte) (webauthn.User, error) { return u, nil }, f.Session, parsed)
	if err != nil {
		return "", invalidPasskey(err)
	}
	received := parsed.Response.AuthenticatorData.Counter
	err = s.Store.UsePasskey(ctx, Use{
		PasskeyID: p.ID, Challenge: challenge, SignCount: received, Flags: byte(used.Flags.ProtocolValue()), At: s.now(),
		Refusal: s.event(p.AccountID, "account.passkey_refused", p.ID, facts{Name: p.Name, Stored: &p.SignCount, Received: &received}),
	})
	switch {
	case errors.Is(err, ErrCounter):
		return "", refused("The passkey was refused, because its signature counter did not increase. A copy of it may exist. Sign in another way and remove it.", err)
	case errors.Is(err, account.ErrConflict):
		return "", refused("The passkey request was already used. Try again.", err)
	case err != nil:
		return "", fmt.Errorf("record the use of a passkey: %w", err)
	}
	return p.AccountID, nil
}

func invalidPasskey(cause error) error {
	return refused("The passkey could not be verified.", cause)
}

func refused(message string, cause error) error {
	return &llm.Error{Kind: llm.WrongCredentials, Message: message, Param: "passkey", Err: cause}
}
