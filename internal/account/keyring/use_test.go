package keyring

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/llm"
)

func TestTheOlderSecretEndsAfterTheNewOneIsUsed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newFakeStore(t)
		keyID, old := store.add(nil)
		ring, replica := newTestKeyring(t, store, Options{Poll: 10 * time.Second}), newTestKeyring(t, store, Options{Poll: 10 * time.Second})
		run(t, ring)
		run(t, replica)
		fresh, secret := store.secret(time.Now())
		store.change(keyID, func(k *account.Key) {
			if err := k.Rotate(secret, account.Grace{AfterUse: time.Hour}, time.Now()); err != nil {
				t.Error(err)
			}
		})

		time.Sleep(5 * time.Hour)
		if got := answer(ring, withKey(old)); got != "" {
			t.Errorf("old secret before the first use of the new one: got %q, want no error", got)
		}
		if got := answer(ring, withKey(fresh)); got != "" {
			t.Fatalf("new secret: got %q, want no error", got)
		}
		time.Sleep(59 * time.Minute)
		if got := answer(ring, withKey(old)); got != "" {
			t.Errorf("within the grace: got %q, want no error", got)
		}
		store.change(keyID, func(k *account.Key) { k.Name = "renamed" }) // a reload must not restart the grace period
		time.Sleep(time.Minute)
		for name, r := range map[string]*Ring{"here": ring, "on another replica": replica} {
			if got := answer(r, withKey(old)); got != llm.ExpiredAPIKey {
				t.Errorf("after the grace, %s: got %q, want ExpiredAPIKey", name, got)
			}
			if got := answer(r, withKey(fresh)); got != "" {
				t.Errorf("new secret, %s: got %q, want no error", name, got)
			}
		}
	})
}

func TestUsesAreRecordedTogetherAndAtTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newFakeStore(t)
		a, _ := store.add(nil)
		b, _ := store.add(nil)
		ring := newTestKeyring(t, store, Options{})
		stop := run(t, ring)
		start := time.Now()
		ring.Touch(b, "later", start.Add(2*time.Second))
		ring.Touch(b, "earlier", start.Add(time.Second))
		ring.Touch(a, "python\x00\xff\n client", start.Add(3*time.Second))
		time.Sleep(11 * time.Second)
		synctest.Wait()
		want := []KeyUse{
			{KeyID: a, Client: "python client", At: start.Add(3 * time.Second)},
			{KeyID: b, Client: "later", At: start.Add(2 * time.Second)},
		}
		if diff := cmp.Diff(want, store.uses()); diff != "" {
			t.Error(diff)
		}

		ring.Touch(a, "last", start.Add(12*time.Second))
		stop()
		if got := store.uses()[2]; got.Client != "last" {
			t.Errorf("the use before the end was lost; last is %+v", got)
		}
	})
}

func TestUsesWaitForTheStore(t *testing.T) {
	t.Parallel()
	store := newFakeStore(t)
	keyID, text := store.add(nil)
	ring := loaded(t, store, Options{})
	if got := answer(ring, withKey(text)); got != "" {
		t.Fatal(got)
	}
	start := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	ring.Touch(keyID, "first", start)
	store.setAway(true)
	if err := ring.record(t.Context()); err == nil {
		t.Fatal("recorded without a store")
	}
	ring.Touch(keyID, "second", start.Add(time.Second))
	store.setAway(false)
	for range 2 { // the second call has nothing to write
		if err := ring.record(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	want := []KeyUse{{KeyID: keyID, Client: "second", At: start.Add(time.Second), First: []SecretUse{{Hash: store.hash.Bytes(text)}}}}
	if diff := cmp.Diff(want, store.uses(), cmpopts.IgnoreFields(SecretUse{}, "At")); diff != "" {
		t.Error(diff)
	}
}
