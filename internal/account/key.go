package account

import (
	"context"
	"errors"
	"fmt"
	"time"

	"fairlead.dev/internal/account/secret"
	"fairlead.dev/internal/id"
	"fairlead.dev/internal/llm"
)

// KeyChange holds changed settings; nil fields are unchanged.
type KeyChange struct {
	Name          *string
	Scopes        *[]Scope
	AllowedModels *[]string
	Limits        *Limits
	Budget        **Budget        // a pointer to nil removes the budget
	Sessions      **SessionLimits // a pointer to nil removes the limits
	Baseline      *string
	LogBodies     **bool          // new setting; a pointer to nil inherits from the workspace
	Cache         **ResponseCache // a pointer to nil disables the cache
	ErrorFormat   *string
	AllowUnpriced *bool
	Tags          *map[string]string
	ExpiresAt     *time.Time // a pointer to the zero time removes the expiry
}

// Grace defines how long the previous secret of a rotated key stays valid. The zero value invalidates all older
// secrets immediately.
type Grace struct {
	For      time.Duration // validity after the rotation
	AfterUse time.Duration // validity after the first use of the new secret
}

// Limits on the secrets of a key.
const (
	maxGrace   = 90 * 24 * time.Hour
	maxLive    = 5  // maximum number of secrets that are valid at the same time
	maxSecrets = 10 // maximum number of stored secrets; expired secrets are kept so that using one returns a specific error
)

// CreateKey creates a key in the actor's workspace. It also returns the key's text, which is shown once and not stored. It
// returns a Conflict when the account has created too many active keys. If a key creates another key, the new key
// counts toward the same account as the key that created it.
func (s *Service) CreateKey(ctx context.Context, by Actor, d KeySettings) (Key, string, error) {
	if !by.May(ManageKeys) && !by.May(ManageOwnKeys) {
		return Key{}, "", denied("You do not have permission to create API keys in this workspace. Ask an owner or admin.")
	}
	if len(d.Scopes) == 0 {
		d.Scopes = []Scope{Inference}
	}
	now := s.now()
	d.Scopes, d.ExpiresAt = sortedScopes(d.Scopes), stored(d.ExpiresAt)
	key := Key{ID: id.New("key", now), WorkspaceID: by.WorkspaceID, KeySettings: d, CreatedBy: by.AccountID, CreatedAt: now}
	if err := checkKey(key); err != nil {
		return Key{}, "", err
	}
	if !key.ExpiresAt.IsZero() && !key.ExpiresAt.After(now) {
		return Key{}, "", invalid("expires_at", "The expiry time must be in the future.")
	}
	maker, err := s.maker(ctx, by)
	if err != nil {
		return Key{}, "", err
	}
	if err := maker.mayGrant(Key{}, key); err != nil {
		return Key{}, "", err
	}
	if maker.key != nil {
		key.CreatedBy = maker.key.CreatedBy
	}
	text, secret := newSecret(s.keyHash, now)
	key.Secrets = []Secret{secret}
	event := s.event(by, "key.create", key.ID, nil, keyFacts(key))
	most := s.quota.Keys
	if by.KeyID == "" && by.AccountID == "" { // the command line creates the key
		most = 0
	}
	err = s.store.Keys.CreateKey(ctx, key, most, event)
	if errors.Is(err, ErrTooMany) {
		return Key{}, "", conflict(err, "Your account has %d active API keys, which is the maximum. Revoke unused keys, or ask the operator to raise accounts.max_keys.", most)
	}
	if err != nil {
		return Key{}, "", fmt.Errorf("create a key: %w", err)
	}
	s.changed(ctx)
	return key, text, nil
}

func newSecret(hash secret.KeyedHash, now time.Time) (string, Secret) {
	text := secret.NewKey()
	return text, Secret{
		Hash: hash.Bytes(text), Start: text[:len(secret.KeyPrefix)+4], End: text[len(text)-4:], CreatedAt: now,
	}
}

// Keys lists the keys of a workspace, including revoked ones, newest first.
func (s *Service) Keys(ctx context.Context, workspaceID string) ([]Key, error) {
	keys, err := s.store.Keys.KeysOf(ctx, workspaceID)
	if err != nil {
		return nil, fmt.Errorf("list keys: %w", err)
	}
	return keys, nil
}

// Key returns one key of the workspace.
func (s *Service) Key(ctx context.Context, workspaceID, keyID string) (Key, error) {
	key, err := s.store.Keys.KeyByID(ctx, workspaceID, keyID)
	return key, wrapStoreError(err, "key", "look up a key")
}

// UpdateKey changes settings of a key in the actor's workspace. It returns a Conflict for a revoked key.
func (s *Service) UpdateKey(ctx context.Context, by Actor, keyID string, c KeyChange) (Key, error) {
	if by.KeyID == keyID {
		return Key{}, denied("A key cannot change its own settings.")
	}
	return s.changeKey(ctx, by, keyID, "key.update", func(m maker, k *Key) error {
		if !k.RevokedAt.IsZero() {
			return conflict(nil, "The key is revoked. Create a new key.")
		}
		before := *k
		set(&k.Name, c.Name)
		if c.Scopes != nil {
			k.Scopes = sortedScopes(*c.Scopes)
		}
		set(&k.AllowedModels, c.AllowedModels)
		set(&k.Limits, c.Limits)
		set(&k.Budget, c.Budget)
		set(&k.Sessions, c.Sessions)
		set(&k.Baseline, c.Baseline)
		set(&k.LogBodies, c.LogBodies)
		set(&k.Cache, c.Cache)
		set(&k.ErrorFormat, c.ErrorFormat)
		set(&k.AllowUnpriced, c.AllowUnpriced)
		set(&k.Tags, c.Tags)
		if c.ExpiresAt != nil {
			k.ExpiresAt = stored(*c.ExpiresAt)
		}
		if err := checkKey(*k); err != nil {
			return err
		}
		return m.mayGrant(before, *k)
	})
}

// RotateKey adds a secret to a key and returns the secret's text. The actor must be able to grant all permissions of the key,
// because the actor can use the new secret.
func (s *Service) RotateKey(ctx context.Context, by Actor, keyID string, g Grace) (Key, string, error) {
	if g.For < 0 || g.AfterUse < 0 || g.For > maxGrace || g.AfterUse > maxGrace {
		return Key{}, "", invalid("grace", "The grace period must be between 0 and 90 days.")
	}
	now := s.now()
	text, secret := newSecret(s.keyHash, now)
	key, err := s.changeKey(ctx, by, keyID, "key.rotate", func(m maker, k *Key) error {
		switch {
		case !k.RevokedAt.IsZero():
			return conflict(nil, "The key is revoked. Create a new key.")
		case !k.ExpiresAt.IsZero() && !k.ExpiresAt.After(now):
			return conflict(nil, "The key has expired. Set a later expiry time first, or create a new key.")
		case by.KeyID != keyID:
			if err := m.mayGrant(Key{}, *k); err != nil {
				return err
			}
		}
		return k.Rotate(secret, g, now)
	})
	if err != nil {
		return Key{}, "", err
	}
	return key, text, nil
}

// Rotate appends the secret and limits the validity of the older ones.
func (k *Key) Rotate(secret Secret, g Grace, now time.Time) error {
	var live []int // indexes of the valid secrets
	for i := range k.Secrets {
		if end := k.SecretEnd(i, nil); end.IsZero() || end.After(now) {
			live = append(live, i)
		}
	}
	if len(live) >= maxLive && g != (Grace{}) {
		return conflict(nil, "The key has %d valid secrets. Wait until one expires, or rotate without a grace period.", len(live))
	}
	for _, i := range live {
		old := &k.Secrets[i]
		switch {
		case g == Grace{}:
			old.ExpiresAt, old.AfterUse = now, 0
		case i == len(k.Secrets)-1:
			old.AfterUse = g.AfterUse
			if g.For > 0 {
				old.ExpiresAt = now.Add(g.For)
			}
		}
	}
	k.Secrets = append(k.Secrets, secret)
	if over := len(k.Secrets) - maxSecrets; over > 0 {
		k.Secrets = k.Secrets[over:]
	}
	return nil
}

// SecretEnd returns the time when secret i becomes invalid, or zero for never. If firstUse is not nil,
// firstUse(j) returns the first use of secret j when that use is not stored yet.
func (k *Key) SecretEnd(i int, firstUse func(int) time.Time) time.Time {
	secret := k.Secrets[i]
	end := secret.ExpiresAt
	if secret.AfterUse <= 0 {
		return end
	}
	for j := i + 1; j < len(k.Secrets); j++ {
		used := k.Secrets[j].UsedAt
		if used.IsZero() && firstUse != nil {
			used = firstUse(j)
		}
		if over := used.Add(secret.AfterUse); !used.IsZero() && (end.IsZero() || over.Before(end)) {
			end = over
		}
	}
	return end
}

// RevokeKey revokes a key permanently. The key remains listed.
func (s *Service) RevokeKey(ctx context.Context, by Actor, keyID string) (Key, error) {
	now := s.now()
	return s.changeKey(ctx, by, keyID, "key.revoke", func(_ maker, k *Key) error {
		if !k.RevokedAt.IsZero() {
			return errUnchanged
		}
		k.RevokedAt = now
		return nil
	})
}

var errUnchanged = errors.New("nothing to change")

// changeKey applies a change to a key that the actor may manage. The change is stored with an audit event.
func (s *Service) changeKey(ctx context.Context, by Actor, keyID, action string, change func(maker, *Key) error) (Key, error) {
	m, err := s.maker(ctx, by)
	if err != nil {
		return Key{}, err
	}
	key, err := s.store.Keys.ChangeKey(ctx, by.WorkspaceID, keyID, func(k *Key) (AuditEvent, error) {
		own := by.KeyID == "" && by.AccountID != "" && by.AccountID == k.CreatedBy && by.May(ManageOwnKeys)
		if !own && !by.May(ManageKeys) {
			return AuditEvent{}, denied("You do not have permission to change this API key. Ask its creator, an owner or an admin.")
		}
		before := keyFacts(*k)
		if err := change(m, k); errors.Is(err, errUnchanged) {
			return AuditEvent{}, nil
		} else if err != nil {
			return AuditEvent{}, err
		}
		return s.event(by, action, keyID, before, keyFacts(*k)), nil
	})
	if err != nil {
		return Key{}, wrapStoreError(err, "key", "change a key")
	}
	s.changed(ctx)
	if ending, ok := key.Ending(); ok && (action == "key.revoke" || action == "key.rotate") {
		s.ended(ctx, ending)
	}
	return key, nil
}

// maker is an actor with the API key that it authenticated with, if any.
type maker struct {
	Actor
	key *Key
}

func (s *Service) maker(ctx context.Context, by Actor) (maker, error) {
	if by.KeyID == "" {
		return maker{Actor: by}, nil
	}
	key, err := s.store.Keys.KeyByID(ctx, by.WorkspaceID, by.KeyID)
	if err != nil {
		return maker{}, wrapStoreError(err, "key", "look up the key in use")
	}
	if !key.RevokedAt.IsZero() {
		return maker{}, llm.Errorf(llm.RevokedAPIKey, "This API key was revoked. Use another key, or create one in the dashboard under API keys.")
	}
	return maker{by, &key}, nil
}

func stored(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC().Truncate(time.Millisecond)
}
