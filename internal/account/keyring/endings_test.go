package keyring

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead/internal/account"
	"fairlead/internal/llm"
)

// What another replica says counts at once, also while the store is away, and until the store says it itself.
func TestEndingsAreTakenAtOnce(t *testing.T) {
	t.Parallel()
	shelf := newShelf(t)
	revoked, revokedText := shelf.add(nil)
	rotated, rotatedText := shelf.add(nil)
	_, other := shelf.add(nil)
	ring := loaded(t, shelf, Options{})
	var heard []string
	ring.OnRevoke(func(keyID string) { heard = append(heard, keyID) })
	now := time.Now()
	newText, secret := shelf.secret(now)
	shelf.setAway(true)

	ring.End(account.Ending{KeyID: revoked})
	ring.End(account.Ending{KeyID: rotated, Before: now})
	ring.End(account.Ending{KeyID: rotated, Before: now}) // heard twice, by two ways
	ring.End(account.Ending{KeyID: "key_unknown"})
	got := []llm.Kind{answer(ring, withKey(revokedText)), answer(ring, withKey(rotatedText)), answer(ring, withKey(other))}
	if diff := cmp.Diff([]llm.Kind{llm.RevokedAPIKey, llm.ExpiredAPIKey, ""}, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{revoked, rotated, "key_unknown"}, heard); diff != "" {
		t.Errorf("running requests ended of other keys:\n%s", diff)
	}

	shelf.setAway(false)
	shelf.revoke(revoked, now)
	shelf.change(rotated, func(k *account.Key) {
		if err := k.Rotate(secret, account.Grace{}, now); err != nil {
			t.Error(err)
		}
	})
	if err := ring.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	got = []llm.Kind{answer(ring, withKey(revokedText)), answer(ring, withKey(rotatedText)), answer(ring, withKey(newText))}
	if diff := cmp.Diff([]llm.Kind{llm.RevokedAPIKey, llm.ExpiredAPIKey, ""}, got); diff != "" {
		t.Error(diff)
	}
	if len(heard) != 3 {
		t.Errorf("what was heard of already is told again: %v", heard)
	}
	ring.ended.mu.RLock()
	defer ring.ended.mu.RUnlock()
	if len(ring.ended.byID) != 1 { // the key that nobody knows
		t.Errorf("%d endings kept that the store has told", len(ring.ended.byID))
	}
}
