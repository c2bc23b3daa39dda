package account

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"fairlead/internal/llm"
)

// Defaults of a Keyring.
const (
	defaultPoll     = 250 * time.Millisecond
	defaultMaxStale = 15 * time.Minute
	defaultFlush    = 10 * time.Second
)

// Bounds on looking for a key that this process has not heard of.
const (
	forcedPollEvery = 100 * time.Millisecond
	unknownKeyWait  = 300 * time.Millisecond
	unknownKeyQueue = 4096 // requests that wait for a forced poll at a time
)

// KeyringOptions adjusts a Keyring. The zero value is right for a server.
type KeyringOptions struct {
	Now      func() time.Time // by which keys end; this machine's clock when nil
	Poll     time.Duration    // how often changes are looked for; 250 ms when 0
	MaxStale time.Duration    // how long keys are good without the store; 15 min when 0
	Flush    time.Duration    // how often uses are recorded; 10 s when 0
	Report   func(error)      // hears of the store's errors, once for each change from well to unwell; may be nil
}

// Keyring is the proxy's view of all keys, in memory. Authenticate never waits for the store, except for a key that
// looks right and is unknown here. Load or Run fills it; Run keeps it current.
type Keyring struct {
	store    KeyStore
	hash     keyedHash
	now      func() time.Time
	poll     time.Duration
	flush    time.Duration
	maxStale time.Duration
	health   health

	index     atomic.Pointer[keyIndex]
	refreshed atomic.Pointer[time.Time] // last successful poll; nil before the first
	running   atomic.Bool
	waiting   atomic.Int64

	refreshMu sync.Mutex // one refresh at a time

	mu       sync.Mutex
	next     chan struct{} // closed when a poll ends that began after this channel was taken
	wake     chan struct{} // asks Run for a poll
	onRevoke []func(keyID string)

	ended endings
	uses  useBook
}

// Grant is what a valid key gives: the key and its workspace. Both are shared and must not be changed.
type Grant struct {
	Key       *Key
	Workspace *Workspace
}

// NewKeyring makes an empty keyring, which refuses everything until it is loaded.
func NewKeyring(store KeyStore, masterKey []byte, o KeyringOptions) (*Keyring, error) {
	hash, err := newKeyedHash(masterKey, "keys")
	if err != nil {
		return nil, fmt.Errorf("start the keyring: %w", err)
	}
	r := &Keyring{
		store: store, hash: hash, now: o.Now, poll: o.Poll, flush: o.Flush, maxStale: o.MaxStale,
		health: health{report: o.Report}, next: make(chan struct{}), wake: make(chan struct{}, 1),
	}
	if r.now == nil {
		r.now = time.Now
	}
	if r.poll <= 0 {
		r.poll = defaultPoll
	}
	if r.flush <= 0 {
		r.flush = defaultFlush
	}
	if r.maxStale <= 0 {
		r.maxStale = defaultMaxStale
	}
	r.index.Store(newKeyIndex())
	r.uses.init()
	return r, nil
}

// OnRevoke adds a function that hears of every key that has been revoked, or rotated so that its secrets ended at once: its
// running requests can be ended then.
// It must return quickly. Add it before Run.
func (r *Keyring) OnRevoke(hear func(keyID string)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.onRevoke = append(r.onRevoke, hear)
}

// Stale is how long ago the store was last heard; a keyring that was never loaded is stale for ever.
func (r *Keyring) Stale() time.Duration {
	last := r.refreshed.Load()
	if last == nil {
		return 1<<63 - 1
	}
	return max(0, time.Since(*last)) // time that has passed: r.now is for the ends of keys
}

// Len is the number of secrets that the keyring knows.
func (r *Keyring) Len() int { return r.index.Load().len() }

// AllowsUnpriced reports whether a key that was read allows models without a price. It stays true when that key ends.
func (r *Keyring) AllowsUnpriced() bool { return r.index.Load().unpriced.Load() }

// Workspace returns a workspace as this process last heard of it, which must not be changed; nil when it has not.
func (r *Keyring) Workspace(workspaceID string) *Workspace {
	return r.index.Load().workspace(workspaceID)
}

// Authenticate returns what the key in the headers gives.
func (r *Keyring) Authenticate(h http.Header) (*Grant, error) {
	text, err := keyFrom(h)
	if err != nil {
		return nil, err
	}
	if err := ParseKey(text); err != nil {
		return nil, malformed(err)
	}
	sum := r.hash.sum(text)
	found := r.index.Load().find(sum)
	if found == nil {
		if err := r.await(); err != nil {
			return nil, err
		}
		found = r.index.Load().find(sum)
	}
	if r.Stale() > r.maxStale {
		return nil, storeAway()
	}
	if found == nil || subtle.ConstantTimeCompare(found.hash(), sum[:]) != 1 {
		return nil, llm.Errorf(llm.InvalidAPIKey, "Unknown API key. Check that it belongs to this gateway, or create a new key in the dashboard under API keys.")
	}
	return r.grant(found)
}

// grant checks that a known secret is valid now, and notes its first use.
func (r *Keyring) grant(found *slot) (*Grant, error) {
	now := r.now()
	key := found.key
	ending, ended := r.ended.of(key, found.position)
	if !key.RevokedAt.IsZero() || (ended && ending.Before.IsZero()) {
		return nil, llm.Errorf(llm.RevokedAPIKey, "This API key was revoked. Create a new key in the dashboard under API keys.")
	}
	if !key.ExpiresAt.IsZero() && !now.Before(key.ExpiresAt) {
		return nil, llm.Errorf(llm.ExpiredAPIKey, "This API key expired on %s. Extend it or create a new key in the dashboard under API keys.", key.ExpiresAt.UTC().Format(time.RFC3339))
	}
	if end := key.secretEnd(found.position, found.firstUses.at); !end.IsZero() && !now.Before(end) {
		return nil, llm.Errorf(llm.ExpiredAPIKey, "This API key was rotated, and this secret expired on %s. Use the new secret.", end.UTC().Format(time.RFC3339))
	}
	if ended {
		return nil, llm.Errorf(llm.ExpiredAPIKey, "This API key was rotated, and this secret expired on %s. Use the new secret.", ending.Before.UTC().Format(time.RFC3339))
	}
	if key.Secrets[found.position].UsedAt.IsZero() && found.firstUses.mark(found.position, now) {
		r.uses.first(key.ID, SecretUse{Hash: found.hash(), At: now})
	}
	return &Grant{Key: key, Workspace: found.workspace.Load()}, nil // never nil: see takeInto
}

// keyFrom takes the bearer token of a request or, where there is none, its x-api-key, which is how clients of the
// messages format say it. Two different keys of ours in one request are refused, because nobody could say for whom it
// was meant.
func keyFrom(h http.Header) (string, error) {
	text := ""
	for _, value := range h.Values("Authorization") {
		token, ok := bearer(value)
		if !ok {
			continue
		}
		if text != "" && token != text {
			return "", twoKeys()
		}
		text = token
	}
	for _, name := range []string{"X-Api-Key", "Api-Key"} {
		for _, other := range h.Values(name) {
			other = strings.TrimSpace(other)
			if text == "" && name == "X-Api-Key" {
				text = other
			}
			if looksLikeKey(text) && looksLikeKey(other) && other != text {
				return "", twoKeys()
			}
		}
	}
	if text == "" {
		return "", llm.Errorf(llm.MissingAPIKey, "Missing API key. Send it in the header \"Authorization: Bearer <API key>\" or x-api-key. Create keys in the dashboard under API keys.")
	}
	return text, nil
}

func bearer(value string) (string, bool) {
	scheme, token, _ := strings.Cut(strings.TrimSpace(value), " ")
	token = strings.TrimSpace(token)
	return token, strings.EqualFold(scheme, "Bearer") && token != ""
}

func twoKeys() error {
	return invalid("Authorization", "The request contains two different API keys. Send only one.")
}

func malformed(cause error) error {
	if errors.Is(cause, ErrKeyChecksum) {
		return llm.Errorf(llm.InvalidAPIKey, "The API key is mistyped or incomplete. Copy it again, or create a new key in the dashboard under API keys.")
	}
	return llm.Errorf(llm.InvalidAPIKey, "This is not an API key of this gateway. Keys start with fl_ and have %d characters. Create one in the dashboard under API keys.", keyLength)
}

func storeAway() error {
	e := llm.Errorf(llm.LedgerUnavailable, "The API key cannot be verified because the database is unavailable. Retry in a few seconds.")
	e.RetryAfter = 5 * time.Second
	return e
}

// await waits, within bounds, for a poll that began after now: another process may just have made the key. It
// returns nil when there was one, or when nobody polls.
func (r *Keyring) await() error {
	if !r.running.Load() {
		return nil
	}
	defer r.waiting.Add(-1)
	if r.waiting.Add(1) > unknownKeyQueue {
		e := llm.Errorf(llm.Overloaded, "Too many unknown API keys are being verified. Retry in 1 second.")
		e.RetryAfter = time.Second
		return e
	}
	asked := time.Now()
	r.mu.Lock()
	polled := r.next
	r.mu.Unlock()
	r.nudge()
	timer := time.NewTimer(unknownKeyWait)
	defer timer.Stop()
	select {
	case <-polled:
	case <-timer.C:
	}
	if last := r.refreshed.Load(); last == nil || last.Before(asked) {
		return storeAway() // whether the key exists is not known
	}
	return nil
}

// End takes at once what another replica says has ended. The store is asked to say more.
func (r *Keyring) End(e Ending) {
	if r.ended.add(e) {
		r.tell([]string{e.KeyID})
	}
	r.nudge()
}

// Nudge asks for a look at the store: somebody says that there are changes.
func (r *Keyring) Nudge() { r.nudge() }

func (r *Keyring) nudge() {
	select {
	case r.wake <- struct{}{}:
	default: // a poll is asked for already
	}
}

// Touch notes that a key was used. It is recorded in the store a few seconds later.
func (r *Keyring) Touch(keyID, client string, at time.Time) {
	r.uses.touch(keyID, clientText(client), at)
}

// Load fills the keyring, or brings it up to date, before it returns.
func (r *Keyring) Load(ctx context.Context) error { return r.Refresh(ctx) }
