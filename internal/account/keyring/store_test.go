package keyring

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/account/secret"
)

var testMaster = []byte("0123456789abcdef0123456789abcdef")

var errAway = errors.New("the store is unavailable")

// fakeStore is an in-memory Store.
type fakeStore struct {
	hash secret.KeyedHash

	mu         sync.Mutex
	keys       map[string]account.Key
	changed    map[string]int64
	workspaces map[string]account.Workspace
	spaces     map[string]int64
	revisions  map[string]int64
	away       bool
	calls      int
	made       int
	recorded   []KeyUse
}

func newFakeStore(t testing.TB) *fakeStore {
	t.Helper()
	hash, err := secret.NewKeyedHash(testMaster, "keys")
	if err != nil {
		t.Fatal(err)
	}
	s := &fakeStore{
		hash: hash, keys: map[string]account.Key{}, changed: map[string]int64{}, workspaces: map[string]account.Workspace{}, spaces: map[string]int64{},
		revisions: map[string]int64{},
	}
	s.addWorkspace(account.Workspace{ID: "ws_1", Name: "first"})
	return s
}

func newTestKeyring(t testing.TB, store *fakeStore, o Options) *Ring {
	t.Helper()
	ring, err := New(store, testMaster, o)
	if err != nil {
		t.Fatal(err)
	}
	return ring
}

// loaded returns a keyring loaded with the keys of the store.
func loaded(t testing.TB, store *fakeStore, o Options) *Ring {
	t.Helper()
	ring := newTestKeyring(t, store, o)
	if err := ring.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	return ring
}

func (s *fakeStore) addWorkspace(w account.Workspace) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revisions[topicWorkspaces]++
	s.workspaces[w.ID], s.spaces[w.ID] = w, s.revisions[topicWorkspaces]
}

func (s *fakeStore) secret(now time.Time) (string, account.Secret) {
	text := secret.NewKey()
	return text, account.Secret{Hash: s.hash.Bytes(text), CreatedAt: now}
}

// add creates a key in the first workspace and returns its text.
func (s *fakeStore) add(change func(*account.Key)) (keyID, text string) {
	text, secret := s.secret(time.Time{})
	s.mu.Lock()
	s.made++
	key := account.Key{ID: fmt.Sprintf("key_%06d", s.made), WorkspaceID: "ws_1", KeySettings: account.KeySettings{Scopes: []account.Scope{account.Inference}}, Secrets: []account.Secret{secret}}
	s.mu.Unlock()
	if change != nil {
		change(&key)
	}
	s.put(key)
	return key.ID, text
}

func (s *fakeStore) put(key account.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revisions[topicKeys]++
	s.keys[key.ID], s.changed[key.ID] = key, s.revisions[topicKeys]
}

func (s *fakeStore) change(keyID string, change func(*account.Key)) {
	s.mu.Lock()
	key := s.keys[keyID]
	s.mu.Unlock()
	key.Secrets = slices.Clone(key.Secrets)
	change(&key)
	s.put(key)
}

func (s *fakeStore) revoke(keyID string, at time.Time) {
	s.change(keyID, func(k *account.Key) { k.RevokedAt = at })
}

func (s *fakeStore) setAway(away bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away = away
}

func (s *fakeStore) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls
}

// uses returns the recorded uses.
func (s *fakeStore) uses() []KeyUse {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.recorded)
}

func (s *fakeStore) enter() error {
	s.calls++
	if s.away {
		return errAway
	}
	return nil
}

func (s *fakeStore) Revisions(context.Context) (map[string]int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.revisions), s.enter()
}

func (s *fakeStore) ChangedKeys(_ context.Context, after int64, visit func(*account.Key) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.enter(); err != nil {
		return err
	}
	for _, keyID := range slices.Sorted(maps.Keys(s.keys)) {
		if s.changed[keyID] <= after {
			continue
		}
		key := s.keys[keyID]
		key.Secrets = slices.Clone(key.Secrets)
		if err := visit(&key); err != nil {
			return err
		}
	}
	return nil
}

func (s *fakeStore) ChangedWorkspaces(_ context.Context, after int64, visit func(*account.Workspace) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.enter(); err != nil {
		return err
	}
	for id, w := range s.workspaces {
		if s.spaces[id] > after {
			if err := visit(&w); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *fakeStore) RecordUses(_ context.Context, uses []KeyUse) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.enter(); err != nil {
		return err
	}
	s.recorded = append(s.recorded, uses...)
	for _, use := range uses {
		key := s.keys[use.KeyID]
		key.Secrets = slices.Clone(key.Secrets)
		for _, first := range use.First {
			for i := range key.Secrets {
				if slices.Equal(key.Secrets[i].Hash, first.Hash) && key.Secrets[i].UsedAt.IsZero() {
					key.Secrets[i].UsedAt = first.At
				}
			}
			s.revisions[topicKeys]++
			s.changed[use.KeyID] = s.revisions[topicKeys]
		}
		s.keys[use.KeyID] = key
	}
	return nil
}
