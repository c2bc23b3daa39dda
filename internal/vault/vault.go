// Package vault encrypts the provider credentials entered in the dashboard. It also manages the master key, which protects these
// credentials and the hashes of API keys. "Sealed" means encrypted and authenticated.
package vault

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"time"

	"fairlead.dev/internal/id"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/redact"
)

var (
	// ErrNotFound is returned when the credential does not exist.
	ErrNotFound = errors.New("credential not found")
	// ErrSealed is returned when a credential cannot be decrypted, because it was modified or sealed with another master key.
	ErrSealed = errors.New("the credential cannot be decrypted with this master key")
)

// Credential is a stored credential of a provider. Only Sealed contains the secret.
type Credential struct {
	ID        string
	Provider  string // name of the provider
	Sealed    []byte
	Hint      string // last four characters of the secret; empty for a short secret and for the text of a file
	CreatedBy string // account ID of the creator
	CreatedAt time.Time
}

// Store stores sealed credentials. Every change increments the revision of the topic "credentials".
type Store interface {
	SaveCredential(ctx context.Context, c Credential) error
	// Credentials returns all credentials, oldest first.
	Credentials(ctx context.Context) ([]Credential, error)
	// ReplaceCredential replaces the secret of the credential with the same ID. It returns ErrNotFound if the provider does not
	// have the credential.
	ReplaceCredential(ctx context.Context, c Credential) error
	// DeleteCredential returns ErrNotFound if the provider does not have the credential.
	DeleteCredential(ctx context.Context, provider, credentialID string) error
}

// Vault seals and opens credentials.
type Vault struct {
	store Store
	now   func() time.Time
	seal  cipher.AEAD
}

// Limits of a credential.
const (
	maxCredential = 16 << 10 // service account files are a few kilobytes
	hintLength    = 4
)

// formatOne is the first byte of a sealed credential. It identifies the format.
const formatOne = 1

// New returns a vault. The master key must have at least 32 bytes. If now is nil, time.Now is used.
func New(store Store, masterKey []byte, now func() time.Time) (*Vault, error) {
	if len(masterKey) < minMasterKey {
		return nil, fmt.Errorf("open the vault: %w", errShortKey)
	}
	key, err := hkdf.Key(sha256.New, masterKey, nil, "fairlead/vault/credentials", 32)
	if err != nil {
		return nil, fmt.Errorf("derive the vault's key: %w", err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("open the vault: %w", err)
	}
	seal, err := cipher.NewGCM(block)
	if err != nil {
		return nil, fmt.Errorf("open the vault: %w", err)
	}
	if now == nil {
		now = time.Now
	}
	return &Vault{store: store, now: now, seal: seal}, nil
}

// Seal encrypts a secret. The result can be decrypted only with the same provider and credential ID. For other secrets, packages pass a
// kind as the provider. A kind contains a colon; a provider name does not.
func (v *Vault) Seal(provider, credentialID, text string) []byte {
	nonce := make([]byte, v.seal.NonceSize())
	_, _ = rand.Read(nonce) // never fails: crypto/rand crashes the process instead
	sealed := append([]byte{formatOne}, nonce...)
	return v.seal.Seal(sealed, nonce, []byte(text), identity(provider, credentialID))
}

// Open decrypts a credential. It returns ErrSealed if decryption fails.
func (v *Vault) Open(c Credential) (string, error) {
	size := v.seal.NonceSize()
	if len(c.Sealed) < 1+size || c.Sealed[0] != formatOne {
		return "", fmt.Errorf("credential %s of %s: %w", c.ID, c.Provider, ErrSealed)
	}
	text, err := v.seal.Open(nil, c.Sealed[1:1+size], c.Sealed[1+size:], identity(c.Provider, c.ID))
	if err != nil {
		return "", fmt.Errorf("credential %s of %s: %w", c.ID, c.Provider, ErrSealed)
	}
	return string(text), nil
}

// Unseal decrypts a secret that Seal encrypted for a kind of secret other than provider credentials. It returns ErrSealed if decryption
// fails.
func (v *Vault) Unseal(kind, id string, sealed []byte) (string, error) {
	return v.Open(Credential{ID: id, Provider: kind, Sealed: sealed})
}

// identity returns the associated data that binds a sealed secret to its row. The provider is length-prefixed, so that no two
// rows have the same data.
func identity(provider, credentialID string) []byte {
	return fmt.Appendf(nil, "%d:%s:%s", len(provider), provider, credentialID)
}

// Add seals and stores a credential of a provider.
func (v *Vault) Add(ctx context.Context, provider, text, accountID string) (Credential, error) {
	c, err := v.sealed(provider, id.New("cred", v.now()), text, accountID)
	if err != nil {
		return Credential{}, err
	}
	if err := v.store.SaveCredential(ctx, c); err != nil {
		return Credential{}, fmt.Errorf("store a credential of %s: %w", provider, err)
	}
	return c, nil
}

// Replace seals a new secret for a credential and keeps its ID, so that responses stored with the credential remain available.
func (v *Vault) Replace(ctx context.Context, provider, credentialID, text, accountID string) (Credential, error) {
	c, err := v.sealed(provider, credentialID, text, accountID)
	if err != nil {
		return Credential{}, err
	}
	if err := v.store.ReplaceCredential(ctx, c); err != nil {
		return Credential{}, changeError("replace", provider, credentialID, err)
	}
	return c, nil
}

// CheckSecret validates the length of a secret and returns it without surrounding space.
func CheckSecret(text string) (string, error) {
	text = strings.TrimSpace(text)
	if len(text) < redact.MinCredential || len(text) > maxCredential {
		e := llm.Errorf(llm.InvalidRequest, "A credential must have between %d and %d characters. A shorter one cannot be redacted reliably in responses and logs.", redact.MinCredential, maxCredential)
		e.Param = "credential"
		return "", e
	}
	return text, nil
}

func (v *Vault) sealed(provider, credentialID, text, accountID string) (Credential, error) {
	text, err := CheckSecret(text)
	if err != nil {
		return Credential{}, err
	}
	now := v.now().UTC().Truncate(time.Millisecond)
	c := Credential{ID: credentialID, Provider: provider, CreatedBy: accountID, CreatedAt: now}
	if len(text) >= 4*hintLength {
		end := text[len(text)-hintLength:]
		if !strings.ContainsFunc(end, func(r rune) bool { return r <= ' ' || r > '~' }) { // no hint for the end of a JSON file
			c.Hint = end
		}
	}
	c.Sealed = v.Seal(provider, c.ID, text)
	return c, nil
}

// Credentials returns all stored credentials, sealed.
func (v *Vault) Credentials(ctx context.Context) ([]Credential, error) {
	all, err := v.store.Credentials(ctx)
	if err != nil {
		return nil, fmt.Errorf("list credentials: %w", err)
	}
	return all, nil
}

// Remove deletes a credential of a provider.
func (v *Vault) Remove(ctx context.Context, provider, credentialID string) error {
	if err := v.store.DeleteCredential(ctx, provider, credentialID); err != nil {
		return changeError("delete", provider, credentialID, err)
	}
	return nil
}

// changeError wraps the error of a change to a stored credential.
func changeError(doing, provider, credentialID string, err error) error {
	if errors.Is(err, ErrNotFound) {
		return &llm.Error{Kind: llm.NotFound, Message: "Credential not found.", Err: err}
	}
	return fmt.Errorf("%s credential %s of %s: %w", doing, credentialID, provider, err)
}
