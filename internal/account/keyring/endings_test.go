package keyring

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/llm"
)

func TestEndingsOfReplicasApplyWithoutTheStore(t *testing.T) {
	t.Parallel()
	store := newFakeStore(t)
	revoked, revokedText := store.add(nil)
	rotated, rotatedText := store.add(nil)
	_, other := store.add(nil)
	ring := loaded(t, store, Options{})
	var revokedIDs []string
	ring.OnRevoke(func(keyID string) { revokedIDs = append(revokedIDs, keyID) })
	now := time.Now()
	newText, secret := store.secret(now)
	store.setAway(true)

	ring.End(account.Ending{KeyID: revoked})
	ring.End(account.Ending{KeyID: rotated, Before: now})
	ring.End(account.Ending{KeyID: rotated, Before: now}) // the ending is received twice
	ring.End(account.Ending{KeyID: "key_unknown"})
	got := []llm.Kind{answer(ring, withKey(revokedText)), answer(ring, withKey(rotatedText)), answer(ring, withKey(other))}
	if diff := cmp.Diff([]llm.Kind{llm.RevokedAPIKey, llm.ExpiredAPIKey, ""}, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{revoked, rotated, "key_unknown"}, revokedIDs); diff != "" {
		t.Errorf("callback ran for the wrong keys (-want +got):\n%s", diff)
	}

	store.setAway(false)
	store.revoke(revoked, now)
	store.change(rotated, func(k *account.Key) {
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
	if len(revokedIDs) != 3 {
		t.Errorf("callbacks ran again for reported endings: %v", revokedIDs)
	}
	ring.ended.mu.RLock()
	defer ring.ended.mu.RUnlock()
	if len(ring.ended.byID) != 1 { // only the ending of the unknown key remains
		t.Errorf("%d endings kept, want 1", len(ring.ended.byID))
	}
}
