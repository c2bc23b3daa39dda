// Package passkey manages the passkeys (WebAuthn credentials) of local accounts. A passkey can serve as a second
// factor after the password. It can also replace the password, because the authenticator verifies the user.
package passkey

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/id"
	"fairlead.dev/internal/llm"
)

const (
	maxPasskeys = 20  // maximum number of passkeys per account
	maxName     = 100 // maximum length of a passkey name in characters
)

// ErrCounter means that the signature counter of a passkey did not increase. A copy of the passkey may exist.
var ErrCounter = errors.New("signature counter did not increase")

// Passkey is a registered passkey.
type Passkey struct {
	ID           string
	AccountID    string
	Name         string
	SiteID       string // host that the passkey is bound to
	CredentialID []byte
	PublicKey    []byte // public key in COSE format
	Transports   []string
	Flags        byte   // authenticator flags of the last response
	SignCount    uint32 // signature counter; 0 if the authenticator has none
	CreatedAt    time.Time
	LastUsedAt   time.Time // time of the last use; zero if the passkey was not used
}

// Challenge identifies an answered challenge. It is stored until it expires, so that every challenge is accepted only once.
type Challenge struct {
	Hash    []byte
	Expires time.Time
}

// Addition is the input of Store.AddPasskey.
type Addition struct {
	Passkey   Passkey
	Challenge Challenge
	Recovery  [][]byte // hashes of recovery codes, stored if the account had no second factor
	Maximum   int      // maximum number of passkeys per account
	Event     account.AuditEvent
}

// Use is a verified passkey response.
type Use struct {
	PasskeyID string
	Challenge Challenge
	SignCount uint32
	Flags     byte
	At        time.Time
	Refusal   account.AuditEvent // audit event to write if the counter did not increase
}

// Store stores passkeys. A method that receives an audit event writes the event in the same transaction.
type Store interface {
	// PasskeysOf returns the passkeys of an account, oldest first.
	PasskeysOf(ctx context.Context, accountID string) ([]Passkey, error)
	// PasskeyByCredential returns account.ErrNotFound for an unknown credential.
	PasskeyByCredential(ctx context.Context, credentialID []byte) (Passkey, error)
	// AddPasskey reports whether the recovery codes were stored. It returns account.ErrTooMany if the account has the maximum
	// number of passkeys, and account.ErrConflict if the credential is already registered or the challenge was already used.
	AddPasskey(ctx context.Context, a Addition) (bool, error)
	// UsePasskey records a use. It returns account.ErrConflict if the challenge was already used, and ErrCounter if the counter did not
	// increase. The challenge counts as used in both cases.
	UsePasskey(ctx context.Context, u Use) error
	// RenamePasskey returns account.ErrNotFound if the account has no such passkey.
	RenamePasskey(ctx context.Context, accountID, passkeyID, name string, event account.AuditEvent) error
	// DeletePasskey also deletes the recovery codes if the account has no other second factor. It returns account.ErrNotFound if
	// the account has no such passkey.
	DeletePasskey(ctx context.Context, accountID, passkeyID string, event account.AuditEvent) error
}

// Sealer encrypts data and binds it to a kind and an ID.
type Sealer interface {
	Seal(kind, id, text string) []byte
	Unseal(kind, id string, sealed []byte) (string, error)
}

// RecoveryCodes creates recovery codes.
type RecoveryCodes interface {
	// NewRecoveryCodes returns new codes and their hashes. It does not store them.
	NewRecoveryCodes(accountID string) (codes []string, hashes [][]byte)
}

// Parts are the dependencies of a Service.
type Parts struct {
	Store     Store
	Sealer    Sealer
	Recovery  RecoveryCodes
	PublicURL string                  // configured address of the gateway; empty if not configured
	Allowed   func(email string) bool // reports whether the account may sign in without the identity provider; nil for always
	Now       func() time.Time        // clock; time.Now when nil
}

// Service manages passkeys. Callers check the password before they add or remove a passkey.
type Service struct{ Parts }

// New returns a service.
func New(p Parts) *Service {
	if p.Now == nil {
		p.Now = time.Now
	}
	if p.Allowed == nil {
		p.Allowed = func(string) bool { return true }
	}
	return &Service{p}
}

func (s *Service) now() time.Time { return s.Now().UTC().Truncate(time.Millisecond) }

// Site returns the address that passkeys are bound to. requestURL is the address that the browser uses.
func (s *Service) Site(requestURL string) Site { return siteOf(s.PublicURL, requestURL) }

// Passkeys lists the passkeys of an account, oldest first.
func (s *Service) Passkeys(ctx context.Context, accountID string) ([]Passkey, error) {
	list, err := s.Store.PasskeysOf(ctx, accountID)
	if err != nil {
		return nil, fmt.Errorf("list passkeys: %w", err)
	}
	return list, nil
}

// Rename changes the name of a passkey.
func (s *Service) Rename(ctx context.Context, accountID, passkeyID, name string) error {
	name, err := checkName(name)
	if err != nil {
		return err
	}
	event := s.event(accountID, "account.passkey_rename", passkeyID, facts{Name: name})
	return changeError(s.Store.RenamePasskey(ctx, accountID, passkeyID, name, event), "rename a passkey")
}

// Remove deletes a passkey.
func (s *Service) Remove(ctx context.Context, accountID, passkeyID string) error {
	event := s.event(accountID, "account.passkey_remove", passkeyID, facts{})
	return changeError(s.Store.DeletePasskey(ctx, accountID, passkeyID, event), "remove a passkey")
}

func changeError(err error, doing string) error {
	if errors.Is(err, account.ErrNotFound) {
		return &llm.Error{Kind: llm.NotFound, Message: "Passkey not found.", Err: err}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return nil
}

func checkName(name string) (string, error) {
	name = strings.TrimSpace(name)
	if name == "" || utf8.RuneCountInString(name) > maxName || !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) {
		e := llm.Errorf(llm.InvalidRequest, "Enter a name of 1 to %d characters without control characters.", maxName)
		e.Param = "name"
		return "", e
	}
	return name, nil
}

// facts holds the passkey data that is written to the audit log.
type facts struct {
	Name     string  `json:"name,omitempty"`
	Stored   *uint32 `json:"stored_counter,omitempty"`
	Received *uint32 `json:"received_counter,omitempty"`
}

func (s *Service) event(accountID, action, object string, after facts) account.AuditEvent {
	now := s.now()
	e := account.AuditEvent{ID: id.New("aud", now), At: now, Actor: accountID, Action: action, Object: object}
	if after != (facts{}) {
		e.After, _ = json.Marshal(after) // never fails: the struct is plain
	}
	return e
}
