// Package keyring authenticates API keys from memory. It polls the store for changed keys and records their use.
package keyring

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

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/account/secret"
	"fairlead.dev/internal/llm"
)

// Default options.
const (
	defaultPoll     = 250 * time.Millisecond
	defaultMaxStale = 15 * time.Minute
	defaultFlush    = 10 * time.Second
)

// Limits on lookups of unknown keys.
const (
	forcedPollEvery = 100 * time.Millisecond
	unknownKeyWait  = 300 * time.Millisecond
	unknownKeyQueue = 4096 // maximum number of requests waiting for a forced poll
)

// Options configures a Ring. The zero value selects the defaults.
type Options struct {
	Now      func() time.Time // clock for the expiry of keys; defaults to time.Now
	Poll     time.Duration    // poll interval; defaults to 250 ms
	MaxStale time.Duration    // time for which keys stay valid without the store; defaults to 15 min
	Flush    time.Duration    // interval at which uses are recorded; defaults to 10 s
	Report   func(error)      // called for a store error unless the last poll failed; may be nil
}

// Ring holds all keys in memory. Load or Run fills it, and Run keeps it current. Authenticate waits for the store only if a
// well-formed key is unknown.
type Ring struct {
	store    Store
	hash     secret.KeyedHash
	now      func() time.Time
	poll     time.Duration
	flush    time.Duration
	maxStale time.Duration
	health   health

	index     atomic.Pointer[keyIndex]
	refreshed atomic.Pointer[time.Time] // start of the last successful poll; nil before the first
	refreshMu sync.Mutex                // allows one refresh at a time
	polls     polls

	mu       sync.Mutex
	onRevoke []func(keyID string)

	ended endings
	uses  useBook
}

// polls lets requests with unknown keys wait for the next poll of the store.
type polls struct {
	running atomic.Bool   // whether Run is running; otherwise, requests do not wait
	waiting atomic.Int64  // number of waiting requests
	wake    chan struct{} // channel that makes Run poll immediately
	mu      sync.Mutex
	next    chan struct{} // channel that is closed when the next poll has ended
}

// begin starts a poll and returns the channel to close after this poll. Requests that arrive later wait for the next poll.
func (p *polls) begin() (waiters chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	waiters, p.next = p.next, make(chan struct{})
	return waiters
}

// New returns an empty keyring. It rejects every key until it is loaded.
func New(store Store, masterKey []byte, o Options) (*Ring, error) {
	hash, err := secret.NewKeyedHash(masterKey, "keys")
	if err != nil {
		return nil, fmt.Errorf("create the keyring: %w", err)
	}
	r := &Ring{
		store: store, hash: hash, now: o.Now, poll: o.Poll, flush: o.Flush, maxStale: o.MaxStale,
		health: health{report: o.Report}, polls: polls{next: make(chan struct{}), wake: make(chan struct{}, 1)}, uses: useBook{uses: map[string]*KeyUse{}},
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
	return r, nil
}

// OnRevoke adds a callback for keys that were revoked or rotated without a grace period. It is used to end their running
// requests. The callback must return quickly. Call OnRevoke before Run.
func (r *Ring) OnRevoke(f func(keyID string)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.onRevoke = append(r.onRevoke, f)
}

// Stale returns the time since the last successful poll. It returns the maximum duration if no poll has succeeded yet.
func (r *Ring) Stale() time.Duration {
	last := r.refreshed.Load()
	if last == nil {
		return 1<<63 - 1
	}
	return max(0, time.Since(*last)) // r.now is only for key expiry
}

// AllowsUnpriced reports whether any key has allowed models without a price since all keys were last loaded.
func (r *Ring) AllowsUnpriced() bool { return r.index.Load().unpriced.Load() }

// Workspace returns a workspace, or nil if it is unknown. The caller must not change it.
func (r *Ring) Workspace(workspaceID string) *account.Workspace {
	return r.index.Load().workspace(workspaceID)
}

// Key returns a key by its id, or nil if it is unknown. It visits every key, so it must not be called for every request. The caller
// must not change the key.
func (r *Ring) Key(keyID string) *account.Key {
	index := r.index.Load()
	for i := range index.shards {
		shard := index.shards[i].Load()
		if shard == nil {
			continue
		}
		for _, s := range *shard {
			if s.key.ID == keyID {
				return s.key
			}
		}
	}
	return nil
}

// Authenticate returns the key given in the headers, with its workspace.
func (r *Ring) Authenticate(h http.Header) (*account.Grant, error) {
	text, err := keyFrom(h)
	if err != nil {
		return nil, err
	}
	if err := secret.ParseKey(text); err != nil {
		if errors.Is(err, secret.ErrKeyChecksum) {
			return nil, llm.Errorf(llm.InvalidAPIKey, "The API key is mistyped or incomplete. Copy it again, or create a new key in the dashboard under API keys.")
		}
		return nil, llm.Errorf(llm.InvalidAPIKey, "This is not an API key of this gateway. Keys start with fl_ and have %d characters. Create one in the dashboard under API keys.", secret.KeyLength)
	}
	sum := r.hash.Sum(text)
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

// grant returns the key and its workspace if the secret is valid, and records the first use of the secret.
func (r *Ring) grant(found *slot) (*account.Grant, error) {
	now := r.now()
	key := found.key
	ending, ended := r.ended.of(key, found.position)
	if !key.RevokedAt.IsZero() || (ended && ending.Before.IsZero()) {
		return nil, llm.Errorf(llm.RevokedAPIKey, "This API key was revoked. Create a new key in the dashboard under API keys.")
	}
	if !key.ExpiresAt.IsZero() && !now.Before(key.ExpiresAt) {
		return nil, llm.Errorf(llm.ExpiredAPIKey, "This API key expired on %s. Extend it or create a new key in the dashboard under API keys.", key.ExpiresAt.UTC().Format(time.RFC3339))
	}
	if end := key.SecretEnd(found.position, found.firstUses.at); !end.IsZero() && !now.Before(end) {
		return nil, llm.Errorf(llm.ExpiredAPIKey, "This API key was rotated, and this secret expired on %s. Use the new secret.", end.UTC().Format(time.RFC3339))
	}
	if ended {
		return nil, llm.Errorf(llm.ExpiredAPIKey, "This API key was rotated, and this secret expired on %s. Use the new secret.", ending.Before.UTC().Format(time.RFC3339))
	}
	if key.Secrets[found.position].UsedAt.IsZero() && (*found.firstUses)[found.position].CompareAndSwap(0, now.UnixMilli()) {
		r.uses.first(key.ID, SecretUse{Hash: found.hash(), At: now})
	}
	return &account.Grant{Key: key, Workspace: found.workspace.Load()}, nil // the workspace is never nil, see takeInto
}

// keyFrom returns the API key of a request: the bearer token, the x-api-key header that Anthropic clients use, or the
// x-goog-api-key header that Google clients use. Two different bearer tokens are rejected, and two different keys of the gateway in any of
// these headers or in the api-key header, which is otherwise ignored.
func keyFrom(h http.Header) (string, error) {
	text := ""
	for _, value := range h.Values("Authorization") {
		scheme, token, _ := strings.Cut(strings.TrimSpace(value), " ")
		if token = strings.TrimSpace(token); token == "" || !strings.EqualFold(scheme, "Bearer") {
			continue
		}
		if text != "" && token != text {
			return "", twoKeys()
		}
		text = token
	}
	for _, name := range []string{"X-Api-Key", "X-Goog-Api-Key", "Api-Key"} {
		for _, other := range h.Values(name) {
			other = strings.TrimSpace(other)
			if text == "" && name != "Api-Key" {
				text = other
			}
			if strings.HasPrefix(text, secret.KeyPrefix) && strings.HasPrefix(other, secret.KeyPrefix) && other != text {
				return "", twoKeys()
			}
		}
	}
	if text == "" {
		return "", llm.Errorf(llm.MissingAPIKey, "Missing API key. Send it in the header \"Authorization: Bearer <API key>\" or x-api-key. Create keys in the dashboard under API keys.")
	}
	return text, nil
}

func twoKeys() error {
	e := llm.Errorf(llm.InvalidRequest, "The request contains two different API keys. Send only one.")
	e.Param = "Authorization"
	return e
}

func storeAway() error {
	e := llm.Errorf(llm.LedgerUnavailable, "The API key cannot be verified because the database is unavailable. Retry in a few seconds.")
	e.RetryAfter = 5 * time.Second
	return e
}

// await waits for a poll that starts after the call, because another process may just have created the key. It returns nil after
// the poll, or immediately if Run is not running.
func (r *Ring) await() error {
	if !r.polls.running.Load() {
		return nil
	}
	defer r.polls.waiting.Add(-1)
	if r.polls.waiting.Add(1) > unknownKeyQueue {
		e := llm.Errorf(llm.Overloaded, "Too many unknown API keys are being verified. Retry in 1 second.")
		e.RetryAfter = time.Second
		return e
	}
	asked := time.Now()
	r.polls.mu.Lock()
	polled := r.polls.next
	r.polls.mu.Unlock()
	r.Nudge()
	timer := time.NewTimer(unknownKeyWait)
	defer timer.Stop()
	select {
	case <-polled:
	case <-timer.C:
	}
	if last := r.refreshed.Load(); last == nil || last.Before(asked) {
		return storeAway() // the key may be valid, so this is not an authentication error
	}
	return nil
}

// End applies a revocation received from another replica and requests a poll.
func (r *Ring) End(e account.Ending) {
	if r.ended.add(e) {
		r.publishRevoked([]string{e.KeyID})
	}
	r.Nudge()
}

// Nudge makes Run poll immediately.
func (r *Ring) Nudge() {
	select {
	case r.polls.wake <- struct{}{}:
	default: // a poll is already requested
	}
}

// Touch records the use of a key. The use is written to the store within seconds.
func (r *Ring) Touch(keyID, client string, at time.Time) {
	client = account.ClientName(client)
	r.uses.mu.Lock()
	defer r.uses.mu.Unlock()
	if use := r.uses.of(keyID); at.After(use.At) {
		use.At, use.Client = at, client
	}
}

// Load fills or updates the keyring.
func (r *Ring) Load(ctx context.Context) error { return r.Refresh(ctx) }
