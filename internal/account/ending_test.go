package account

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead/internal/llm"
)

func TestEndingOfAKey(t *testing.T) {
	t.Parallel()
	begun := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	old := func(ends time.Time) Secret { return Secret{CreatedAt: begun.AddDate(0, -1, 0), ExpiresAt: ends} }
	newest := Secret{CreatedAt: begun}
	for name, c := range map[string]struct {
		key  Key
		want Ending
		over bool
	}{
		"a fresh key":                      {Key{ID: "k", Secrets: []Secret{newest}}, Ending{}, false},
		"revoked":                          {Key{ID: "k", RevokedAt: begun, Secrets: []Secret{newest}}, Ending{KeyID: "k"}, true},
		"rotated without grace":            {Key{ID: "k", Secrets: []Secret{old(begun), newest}}, Ending{KeyID: "k", Before: begun}, true},
		"rotated with grace":               {Key{ID: "k", Secrets: []Secret{old(begun.Add(time.Hour)), newest}}, Ending{}, false},
		"rotated, the older one for ever":  {Key{ID: "k", Secrets: []Secret{old(time.Time{}), newest}}, Ending{}, false},
		"one of two older ones still good": {Key{ID: "k", Secrets: []Secret{old(begun), old(begun.Add(1)), newest}}, Ending{}, false},
	} {
		got, over := endingOf(&c.key)
		if diff := cmp.Diff(c.want, got); diff != "" || over != c.over {
			t.Errorf("%s: over %v, want %v\n%s", name, over, c.over, diff)
		}
	}
}

// What another replica says counts at once, also while the store is away, and until the store says it itself.
func TestEndingsAreTakenAtOnce(t *testing.T) {
	t.Parallel()
	shelf := newShelf(t)
	revoked, revokedText := shelf.add(nil)
	rotated, rotatedText := shelf.add(nil)
	_, other := shelf.add(nil)
	ring := loaded(t, shelf, KeyringOptions{})
	var heard []string
	ring.OnRevoke(func(keyID string) { heard = append(heard, keyID) })
	now := time.Now()
	newText, secret := shelf.secret(now)
	shelf.setAway(true)

	ring.End(Ending{KeyID: revoked})
	ring.End(Ending{KeyID: rotated, Before: now})
	ring.End(Ending{KeyID: rotated, Before: now}) // heard twice, by two ways
	ring.End(Ending{KeyID: "key_unknown"})
	got := []llm.Kind{answer(ring, withKey(revokedText)), answer(ring, withKey(rotatedText)), answer(ring, withKey(other))}
	if diff := cmp.Diff([]llm.Kind{llm.RevokedAPIKey, llm.ExpiredAPIKey, ""}, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{revoked, rotated, "key_unknown"}, heard); diff != "" {
		t.Errorf("running requests ended of other keys:\n%s", diff)
	}

	shelf.setAway(false)
	shelf.revoke(revoked, now)
	shelf.change(rotated, func(k *Key) {
		if err := k.rotate(secret, Grace{}, now); err != nil {
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

func FuzzParseEnding(f *testing.F) {
	for _, e := range []Ending{{KeyID: "key_1"}, {KeyID: "key_2", Before: time.UnixMilli(1_770_000_000_000).UTC()}} {
		text, err := e.Message()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add("")
	f.Add(`{"key":""}`)
	f.Add(`{"key":"k","before":"yesterday"}`)
	f.Fuzz(func(t *testing.T, message string) {
		e, err := ParseEnding(message)
		if err != nil {
			return
		}
		if e.KeyID == "" {
			t.Fatal("an ending of no key")
		}
		text, err := e.Message()
		if err != nil {
			t.Skip("JSON cannot represent this year; another time is drawn")
		}
		again, err := ParseEnding(text)
		if err != nil || strings.ToValidUTF8(again.KeyID, "") != strings.ToValidUTF8(e.KeyID, "") || !again.Before.Equal(e.Before) {
			t.Fatalf("%q read as %+v and written as %q: %+v, %v", message, e, text, again, err)
		}
	})
}
