package keyring

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/llm"
)

func TestRevokedKeysAreNeverRevived(t *testing.T) {
	t.Parallel()
	store := newFakeStore(t)
	ring := loaded(t, store, Options{})
	_, neighbour := store.add(nil)
	for round := range 1000 {
		keyID, text := store.add(nil)
		if err := ring.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for worker := range 3 {
			all.Go(func() {
				if got := answer(ring, withKey(text)); got != "" && got != llm.RevokedAPIKey {
					t.Errorf("round %d: %q", round, got)
				}
				ring.Touch(keyID, fmt.Sprint("worker ", worker), time.Now())
				if err := ring.record(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		all.Go(func() { store.revoke(keyID, time.Now()) })
		all.Go(func() {
			if err := ring.Refresh(t.Context()); err != nil {
				t.Error(err)
			}
		})
		all.Wait()
		for range 2 {
			if err := ring.Refresh(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := answer(ring, withKey(text)); got != llm.RevokedAPIKey {
				t.Fatalf("round %d: the revoked key gives %q, want RevokedAPIKey", round, got)
			}
			if err := ring.record(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if got := answer(ring, withKey(neighbour)); got != "" {
			t.Fatalf("round %d: the other key gives %q, want no error", round, got)
		}
	}
}

func TestHashesWithACommonPrefixAreDistinct(t *testing.T) {
	t.Parallel()
	index := newKeyIndex()
	changes := edits{}
	hashes := make([]keyHash, 64)
	for i := range hashes {
		hashes[i][31] = byte(i + 1) // only the last byte differs
		index.put(changes, &account.Key{ID: fmt.Sprint("key_", i), Secrets: []account.Secret{{Hash: hashes[i][:]}}})
	}
	index.publish(changes)
	for i, hash := range hashes {
		if found := index.find(hash); found == nil || found.key.ID != fmt.Sprint("key_", i) {
			t.Errorf("hash %d finds %+v", i, found)
		}
	}
	if found := index.find(keyHash{}); found != nil {
		t.Errorf("a hash with the same prefix finds %s", found.key.ID)
	}
}
