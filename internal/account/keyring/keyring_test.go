package keyring

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/account/secret"
	"fairlead.dev/internal/llm"
)

func withKey(text string) http.Header { return http.Header{"Authorization": {"Bearer " + text}} }

// answer returns the kind of the error, or "" for a valid key.
func answer(ring *Ring, h http.Header) llm.Kind {
	_, err := ring.Authenticate(h)
	if err == nil {
		return ""
	}
	return llm.AsError(err).Kind
}

func TestAuthenticateReadsHeaders(t *testing.T) {
	t.Parallel()
	store := newFakeStore(t)
	_, text := store.add(nil)
	_, other := store.add(nil)
	ring := loaded(t, store, Options{})
	typo := text[:10] + string(secret.Base62[(strings.IndexByte(secret.Base62, text[10])+1)%62]) + text[11:]
	tests := []struct {
		name   string
		header http.Header
		want   llm.Kind
	}{
		{"bearer", withKey(text), ""},
		{"scheme in mixed case", http.Header{"Authorization": {"bEARER   " + text + " "}}, ""},
		{"the same key in another header too", http.Header{"Authorization": {"Bearer " + text}, "X-Api-Key": {text}}, ""},
		{"a provider's key in another header", http.Header{"Authorization": {"Bearer " + text}, "Api-Key": {"sk-abc"}}, ""},
		{"another key of ours in x-api-key", http.Header{"Authorization": {"Bearer " + text}, "X-Api-Key": {other}}, llm.InvalidRequest},
		{"another key of ours in api-key", http.Header{"Authorization": {"Bearer " + text}, "Api-Key": {other}}, llm.InvalidRequest},
		{"two authorizations", http.Header{"Authorization": {"Bearer " + text, "Bearer " + other}}, llm.InvalidRequest},
		{"the same authorization twice", http.Header{"Authorization": {"Bearer " + text, "Bearer " + text}}, ""},
		{"no header", http.Header{}, llm.MissingAPIKey},
		{"only x-api-key", http.Header{"X-Api-Key": {text}}, ""},
		{"two keys of ours in x-api-key", http.Header{"X-Api-Key": {text, other}}, llm.InvalidRequest},
		{"only api-key", http.Header{"Api-Key": {text}}, llm.MissingAPIKey},
		{"empty", http.Header{"Authorization": {""}}, llm.MissingAPIKey},
		{"scheme alone", http.Header{"Authorization": {"Bearer "}}, llm.MissingAPIKey},
		{"other scheme", http.Header{"Authorization": {"Basic " + text}}, llm.MissingAPIKey},
		{"key alone", http.Header{"Authorization": {text}}, llm.MissingAPIKey},
		{"key of another vendor", withKey("sk-proj-1234567890"), llm.InvalidAPIKey},
		{"typo", withKey(typo), llm.InvalidAPIKey},
		{"unknown", withKey(secret.NewKey()), llm.InvalidAPIKey},
		{"SQL", withKey("fl_' or 1=1 --"), llm.InvalidAPIKey},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := ring.Authenticate(tt.header)
			if got := answer(ring, tt.header); got != tt.want {
				t.Fatalf("got %q, want %q", got, tt.want)
			}
			for _, values := range tt.header {
				for _, value := range values {
					if _, token, _ := strings.Cut(value, " "); err != nil && len(token) > 8 && strings.Contains(err.Error(), token) {
						t.Errorf("the answer repeats the key: %v", err)
					}
				}
			}
		})
	}
}

func TestAuthenticateReturnsKeyAndWorkspace(t *testing.T) {
	t.Parallel()
	store := newFakeStore(t)
	store.addWorkspace(account.Workspace{ID: "ws_2", Name: "second"})
	keyID, text := store.add(func(k *account.Key) { k.WorkspaceID = "ws_2" })
	ring := loaded(t, store, Options{})
	grant, err := ring.Authenticate(withKey(text))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{keyID, "second"}, []string{grant.Key.ID, grant.Workspace.Name}); diff != "" {
		t.Error(diff)
	}

	store.addWorkspace(account.Workspace{ID: "ws_2", Name: "renamed"})
	if err := ring.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	after, err := ring.Authenticate(withKey(text))
	if err != nil || after.Workspace.Name != "renamed" || grant.Workspace.Name != "second" || ring.Workspace("ws_2") != after.Workspace || ring.Workspace("ws_3") != nil {
		t.Errorf("after a change: %v, %v; the earlier grant: %v", after, err, grant.Workspace.Name)
	}
}

func TestKeyringReportsKeysThatAllowUnpricedModels(t *testing.T) {
	t.Parallel()
	store := newFakeStore(t)
	store.add(func(k *account.Key) { k.AllowUnpriced, k.RevokedAt = true, time.Now() })
	ring := loaded(t, store, Options{})
	if ring.AllowsUnpriced() {
		t.Error("AllowsUnpriced = true with only a revoked key that allows it, want false")
	}
	store.add(func(k *account.Key) { k.AllowUnpriced = true })
	if err := ring.Refresh(t.Context()); err != nil || !ring.AllowsUnpriced() {
		t.Errorf("after adding a key that allows unpriced models: Refresh error %v, AllowsUnpriced = %t", err, ring.AllowsUnpriced())
	}
}

func TestUnloadedKeyringReportsUnavailable(t *testing.T) {
	t.Parallel()
	ring := newTestKeyring(t, newFakeStore(t), Options{})
	if got := answer(ring, withKey(secret.NewKey())); got != llm.LedgerUnavailable {
		t.Errorf("got %q, want LedgerUnavailable", got)
	}
	if _, err := New(newFakeStore(t), []byte("short"), Options{}); err == nil {
		t.Error("a short master key is accepted")
	}
}

func TestMalformedKeysCauseNoLookup(t *testing.T) {
	t.Parallel()
	store := newFakeStore(t)
	ring := loaded(t, store, Options{})
	ring.polls.running.Store(true) // an unknown key would wait for a poll that never happens
	before := store.count()
	good := secret.NewKey()
	for i := range 10_000 {
		junk := good[:5] + strings.Repeat(string(secret.Base62[i%62]), 30) + good[35:]
		if got := answer(ring, withKey(junk)); got != llm.InvalidAPIKey {
			t.Fatalf("%s: got %q, want InvalidAPIKey", junk, got)
		}
	}
	if got := store.count() - before; got != 0 {
		t.Errorf("got %d look-ups, want 0", got)
	}
}

// run starts the keyring. It stops when stop is called or the test ends.
func run(t *testing.T, ring *Ring) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		ring.Run(ctx)
	}()
	stop = func() {
		cancel()
		<-done
	}
	t.Cleanup(stop)
	synctest.Wait()
	return stop
}

func TestKeyCreatedElsewhereIsValidImmediately(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newFakeStore(t)
		ring := newTestKeyring(t, store, Options{Poll: time.Hour})
		run(t, ring)
		for range 20 {
			store.addWorkspace(account.Workspace{ID: "ws_1", Name: "again"})
			_, text := store.add(nil)
			began := time.Now()
			if got := answer(ring, withKey(text)); got != "" {
				t.Fatalf("got %q, want no error", got)
			}
			if took := time.Since(began); took > unknownKeyWait {
				t.Errorf("took %s, want at most %s", took, unknownKeyWait)
			}
		}
	})
}

func TestUnknownKeysShareFewPolls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newFakeStore(t)
		ring := newTestKeyring(t, store, Options{Poll: time.Hour})
		run(t, ring)
		before, began := store.count(), time.Now()
		var all sync.WaitGroup
		for i := range 2000 {
			all.Go(func() {
				time.Sleep(time.Duration(i) * time.Millisecond / 2)
				if got := answer(ring, withKey(secret.NewKey())); got != llm.InvalidAPIKey {
					t.Errorf("got %q, want InvalidAPIKey", got)
				}
			})
		}
		all.Wait()
		most := int(time.Since(began)/forcedPollEvery) + 1
		if polls := store.count() - before; polls > most || polls < 2 {
			t.Errorf("%d polls for 2000 unknown keys in %s, want at most %d", polls, time.Since(began), most)
		}
	})
}

func TestTooManyUnknownKeysAreShed(t *testing.T) {
	t.Parallel()
	ring := loaded(t, newFakeStore(t), Options{})
	ring.polls.running.Store(true)
	ring.polls.waiting.Store(unknownKeyQueue)
	if got := answer(ring, withKey(secret.NewKey())); got != llm.Overloaded {
		t.Errorf("got %q, want Overloaded", got)
	}
}

func TestRevocationAppliesWithinASecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newFakeStore(t)
		keyID, text := store.add(nil)
		revokedBefore, _ := store.add(func(k *account.Key) { k.RevokedAt = time.Now() })
		ring := newTestKeyring(t, store, Options{})
		callbacks := map[string]int{}
		ring.OnRevoke(func(keyID string) { callbacks[keyID]++ })
		run(t, ring)
		if got := answer(ring, withKey(text)); got != "" {
			t.Fatalf("before: got %q, want no error", got)
		}

		store.revoke(keyID, time.Now())
		time.Sleep(time.Second)
		synctest.Wait()

		if got := answer(ring, withKey(text)); got != llm.RevokedAPIKey {
			t.Errorf("after: got %q, want RevokedAPIKey", got)
		}
		if diff := cmp.Diff(map[string]int{keyID: 1}, callbacks); diff != "" {
			t.Errorf("%s was revoked before the start, but the callback ran: %s", revokedBefore, diff)
		}
	})
}

func TestKnownKeysStayValidDuringAStoreOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newFakeStore(t)
		_, text := store.add(nil)
		var reports atomic.Int64
		ring := newTestKeyring(t, store, Options{Report: func(error) { reports.Add(1) }})
		store.setAway(true)
		run(t, ring)
		if got := answer(ring, withKey(text)); got != llm.LedgerUnavailable {
			t.Errorf("store unavailable at the start: got %q, want LedgerUnavailable", got)
		}
		store.setAway(false)
		time.Sleep(time.Second + time.Millisecond) // between two polls
		if got := answer(ring, withKey(text)); got != "" {
			t.Errorf("after the store appears: got %q, want no error", got)
		}
		store.setAway(true)
		reports.Store(0)

		time.Sleep(14 * time.Minute)
		if got := answer(ring, withKey(text)); got != "" {
			t.Errorf("after 14 minutes: got %q, want no error", got)
		}
		if got := answer(ring, withKey(secret.NewKey())); got != llm.LedgerUnavailable {
			t.Errorf("unknown key while the store is unavailable: got %q, want LedgerUnavailable", got)
		}
		time.Sleep(2 * time.Minute)
		if got := answer(ring, withKey(text)); got != llm.LedgerUnavailable {
			t.Errorf("after 16 minutes: got %q, want LedgerUnavailable", got)
		}
		store.setAway(false)
		time.Sleep(time.Second)
		if got := answer(ring, withKey(text)); got != "" {
			t.Errorf("after the return: got %q, want no error", got)
		}
		if n := reports.Load(); n != 1 {
			t.Errorf("the outage was reported %d times, want once", n)
		}
	})
}

// A query is cancelled when the store returns no row for some time. The total time is not limited.
func TestQueryWithoutProgressIsCancelled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newFakeStore(t)
		for range 5 {
			store.add(nil)
		}
		ring, err := New(&slowStore{store, []time.Duration{9 * time.Second, 9 * time.Second, time.Second, 9 * time.Second}}, testMaster, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := ring.Load(t.Context()); err != nil || ring.Len() != 5 {
			t.Errorf("slow query with progress: %v, %d keys; want 5 keys", err, ring.Len())
		}
		stuck, err := New(&slowStore{store, []time.Duration{time.Second, time.Hour}}, testMaster, Options{})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if err := stuck.Load(t.Context()); err == nil || time.Since(began) > 12*time.Second {
			t.Errorf("query without progress: got %v after %s, want an error within 12s", err, time.Since(began))
		}
	})
}

// slowStore is a store that waits before each key.
type slowStore struct {
	*fakeStore
	waits []time.Duration
}

func (s *slowStore) ChangedKeys(ctx context.Context, after int64, visit func(*account.Key) error) error {
	return s.fakeStore.ChangedKeys(ctx, after, func(k *account.Key) error {
		if len(s.waits) > 0 {
			wait := time.NewTimer(s.waits[0])
			defer wait.Stop()
			s.waits = s.waits[1:]
			select {
			case <-wait.C:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return visit(k)
	})
}

func TestRestoredBackupRemovesNewerKeys(t *testing.T) {
	t.Parallel()
	store := newFakeStore(t)
	_, old := store.add(nil)
	keyID, newer := store.add(nil)
	ring := loaded(t, store, Options{})
	var callbacks []string
	ring.OnRevoke(func(keyID string) { callbacks = append(callbacks, keyID) })

	delete(store.keys, keyID)
	store.revisions[topicKeys]--
	if err := ring.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}

	got := []llm.Kind{answer(ring, withKey(old)), answer(ring, withKey(newer))}
	if diff := cmp.Diff([]llm.Kind{"", llm.InvalidAPIKey}, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{keyID}, callbacks); diff != "" {
		t.Error(diff)
	}
}

func TestOnlyChangedKeysAreReadAgain(t *testing.T) {
	t.Parallel()
	store := newFakeStore(t)
	for range 100 {
		store.add(nil)
	}
	ring := loaded(t, store, Options{})
	calls := store.count()
	for range 5 {
		if err := ring.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if got := store.count() - calls; got != 5 {
		t.Errorf("got %d calls for five looks at an unchanged store, want 5", got)
	}
	if got := ring.Len(); got != 100 {
		t.Errorf("got %d secrets, want 100", got)
	}
}
