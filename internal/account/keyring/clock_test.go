package keyring

import (
	"testing"
	"time"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/llm"
)

// A jump of the wall clock affects only key expiry. It neither makes the keyring stale nor restores revoked keys.
func TestKeysExpireByTheGivenClock(t *testing.T) {
	t.Parallel()
	store := newFakeStore(t)
	end := time.Date(2026, 11, 3, 12, 0, 0, 0, time.UTC)
	_, ends := store.add(func(k *account.Key) { k.ExpiresAt = end })
	_, stays := store.add(nil)
	_, revoked := store.add(func(k *account.Key) { k.RevokedAt = end.Add(-time.Minute) })
	now := end.Add(-time.Second)
	ring := loaded(t, store, Options{Now: func() time.Time { return now }})
	for _, step := range []struct {
		by   time.Duration
		want llm.Kind
	}{{0, ""}, {time.Second, llm.ExpiredAPIKey}, {5 * time.Minute, llm.ExpiredAPIKey}, {-10 * time.Minute, ""}, {-time.Hour, ""}, {3 * time.Hour, llm.ExpiredAPIKey}} {
		now = now.Add(step.by)
		got := []llm.Kind{answer(ring, withKey(ends)), answer(ring, withKey(stays)), answer(ring, withKey(revoked))}
		if got[0] != step.want || got[1] != "" || got[2] != llm.RevokedAPIKey {
			t.Errorf("at %s: %q, want %q, valid and revoked", now, got, step.want)
		}
		if ring.Stale() > time.Minute {
			t.Errorf("at %s the keyring is %s old", now, ring.Stale())
		}
	}
}
