package keyring

import (
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/llm"
)

// modelKey is the expected state of a key, with its secrets in order of creation.
type modelKey struct {
	revoked bool
	expires time.Time
	secrets []modelSecret
}

type modelSecret struct {
	text     string
	made     time.Time
	ends     time.Time     // zero for never
	afterUse time.Duration // 0 for no limit
}

func (k modelKey) clone() modelKey {
	k.secrets = slices.Clone(k.secrets)
	return k
}

// keyringModel compares a keyring with the keys at the last poll and the uses since that poll.
type keyringModel struct {
	now      time.Time
	store    *fakeStore
	ring     *Ring
	current  map[string]modelKey // stored keys by ID
	seen     map[string]modelKey // keys at the last poll
	firstUse map[string]time.Time
	revoked  map[string]int // number of expected callbacks by key
	reported map[string]int
}

// want returns the expected result for secret i of a polled key.
func (m *keyringModel) want(k modelKey, i int) llm.Kind {
	secret := k.secrets[i]
	over := !secret.ends.IsZero() && !m.now.Before(secret.ends)
	for _, newer := range k.secrets[i+1:] {
		used, ok := m.firstUse[newer.text]
		over = over || ok && secret.afterUse > 0 && !m.now.Before(used.Add(secret.afterUse))
	}
	switch {
	case k.revoked:
		return llm.RevokedAPIKey
	case over, !k.expires.IsZero() && !m.now.Before(k.expires):
		return llm.ExpiredAPIKey
	}
	return ""
}

func (m *keyringModel) pick(t *rapid.T) string {
	if len(m.current) == 0 {
		t.Skip("this step does not apply before there is a key; another is drawn")
	}
	return rapid.SampledFrom(slices.Sorted(maps.Keys(m.current))).Draw(t, "key")
}

// cut lists the secrets that a rotation without a grace period invalidated, or nil if an older secret is still valid.
func (k modelKey) cut() []string {
	var ended []string
	newest := k.secrets[len(k.secrets)-1]
	for _, s := range k.secrets[:len(k.secrets)-1] {
		if s.ends.IsZero() || s.ends.After(newest.made) {
			return nil
		}
		ended = append(ended, s.text)
	}
	return ended
}

func (m *keyringModel) create(*rapid.T) {
	keyID, text := m.store.add(nil)
	m.current[keyID] = modelKey{secrets: []modelSecret{{text: text, made: m.now}}}
}

func (m *keyringModel) Rotate(t *rapid.T) {
	keyID := m.pick(t)
	k := m.current[keyID].clone()
	hours := rapid.IntRange(0, 2)
	grace := account.Grace{For: time.Duration(hours.Draw(t, "for")) * time.Hour, AfterUse: time.Duration(hours.Draw(t, "after use")) * time.Hour}
	text, secret := m.store.secret(m.now)
	var refused error
	m.store.change(keyID, func(k *account.Key) { refused = k.Rotate(secret, grace, m.now) })
	if refused != nil {
		return
	}
	for i := range k.secrets {
		if m.want(modelKey{secrets: k.secrets}, i) != "" {
			continue // the secret has already expired
		}
		switch {
		case grace == account.Grace{}:
			k.secrets[i].ends, k.secrets[i].afterUse = m.now, 0
		case i == len(k.secrets)-1:
			k.secrets[i].afterUse = grace.AfterUse
			if grace.For > 0 {
				k.secrets[i].ends = m.now.Add(grace.For)
			}
		}
	}
	k.secrets = append(k.secrets, modelSecret{text: text, made: m.now})
	k.secrets = k.secrets[max(0, len(k.secrets)-10):]
	m.current[keyID] = k
}

func (m *keyringModel) revoke(t *rapid.T) {
	keyID := m.pick(t)
	k := m.current[keyID]
	k.revoked = true
	m.current[keyID] = k
	m.store.revoke(keyID, m.now)
}

func (m *keyringModel) setEnd(t *rapid.T) {
	keyID := m.pick(t)
	k := m.current[keyID]
	k.expires = time.Time{}
	if hours := rapid.IntRange(0, 3).Draw(t, "hours"); hours > 0 {
		k.expires = m.now.Add(time.Duration(hours) * time.Hour)
	}
	m.current[keyID] = k
	m.store.change(keyID, func(stored *account.Key) { stored.ExpiresAt = k.expires })
}

func (m *keyringModel) poll(t *rapid.T) {
	for keyID, k := range m.current {
		if old, known := m.seen[keyID]; known && !old.revoked && (k.revoked || (k.cut() != nil && !slices.Equal(k.cut(), old.cut()))) {
			m.revoked[keyID]++
		}
	}
	m.seen = map[string]modelKey{}
	for keyID, k := range m.current {
		m.seen[keyID] = k.clone()
	}
	if err := m.ring.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func (m *keyringModel) authenticate(t *rapid.T) {
	keyID := m.pick(t)
	k := m.current[keyID]
	i := rapid.IntRange(0, len(k.secrets)-1).Draw(t, "secret")
	text := k.secrets[i].text
	want := llm.InvalidAPIKey
	if seen, ok := m.seen[keyID]; ok {
		if i := slices.IndexFunc(seen.secrets, func(s modelSecret) bool { return s.text == text }); i >= 0 {
			want = m.want(seen, i)
		}
	}
	grant, err := m.ring.Authenticate(withKey(text))
	switch {
	case want == "" && (err != nil || grant.Key.ID != keyID || grant.Workspace.ID != "ws_1"):
		t.Fatalf("key %s secret %d: got %+v, %v, want it to be valid", keyID, i, grant, err)
	case want != "" && (err == nil || llm.AsError(err).Kind != want):
		t.Fatalf("key %s secret %d: got %v, want %s", keyID, i, err, want)
	}
	if _, used := m.firstUse[text]; want == "" && !used {
		m.firstUse[text] = m.now
	}
}

// record stores the first uses. It runs before a rotation, because rotation reads stored first uses.
func (m *keyringModel) record(t *rapid.T) {
	if err := m.ring.record(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestKeyringAgreesWithItsModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		m := &keyringModel{
			now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), store: newFakeStore(t),
			current: map[string]modelKey{}, seen: map[string]modelKey{}, firstUse: map[string]time.Time{},
			revoked: map[string]int{}, reported: map[string]int{},
		}
		m.ring = newTestKeyring(t, m.store, Options{Now: func() time.Time { return m.now }, MaxStale: 1 << 62})
		m.ring.OnRevoke(func(keyID string) { m.reported[keyID]++ })
		m.poll(rt)
		rt.Repeat(map[string]func(*rapid.T){
			"create": m.create,
			"rotate": func(t *rapid.T) {
				m.record(t)
				m.Rotate(t)
			},
			"revoke":        m.revoke,
			"set end":       m.setEnd,
			"poll":          m.poll,
			"record":        m.record,
			"authenticate":  m.authenticate,
			"authenticate2": m.authenticate,
			"time passes": func(t *rapid.T) {
				m.now = m.now.Add(time.Duration(rapid.IntRange(1, 90).Draw(t, "minutes")) * time.Minute)
			},
			"": func(t *rapid.T) {
				if !maps.Equal(m.revoked, m.reported) {
					t.Fatalf("revoked %v, reported %v", m.revoked, m.reported)
				}
			},
		})
	})
}
