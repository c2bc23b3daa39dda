package vault_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/vault"
)

var master = []byte("0123456789abcdef0123456789abcdef")

// drawer is an in-memory Store.
type drawer struct {
	mu  sync.Mutex
	all []vault.Credential
}

func (d *drawer) SaveCredential(_ context.Context, c vault.Credential) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.all = append(d.all, c)
	return nil
}

func (d *drawer) Credentials(context.Context) ([]vault.Credential, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.all), nil
}

func (d *drawer) ReplaceCredential(_ context.Context, c vault.Credential) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	i := slices.IndexFunc(d.all, func(one vault.Credential) bool { return one.Provider == c.Provider && one.ID == c.ID })
	if i < 0 {
		return vault.ErrNotFound
	}
	d.all[i] = c
	return nil
}

func (d *drawer) DeleteCredential(_ context.Context, provider, credentialID string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	i := slices.IndexFunc(d.all, func(c vault.Credential) bool { return c.Provider == provider && c.ID == credentialID })
	if i < 0 {
		return vault.ErrNotFound
	}
	d.all = slices.Delete(d.all, i, i+1)
	return nil
}

func open(t testing.TB, store vault.Store, key []byte) *vault.Vault {
	t.Helper()
	v, err := vault.New(store, key, func() time.Time { return time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC) })
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestSealedCredentialOpensOnlyForItsRow(t *testing.T) {
	t.Parallel()
	v := open(t, nil, master)
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		c := vault.Credential{ID: rapid.String().Draw(t, "id"), Provider: rapid.String().Draw(t, "provider")}
		c.Sealed = v.Seal(c.Provider, c.ID, text)
		if got, err := v.Open(c); err != nil || got != text {
			t.Fatalf("Open = %q, %v; want %q", got, err, text)
		}
		if len(text) > 8 && bytes.Contains(c.Sealed, []byte(text)) {
			t.Fatal("the sealed credential contains the text")
		}
		moved := c
		moved.ID, moved.Provider = c.ID+"x", c.Provider
		other := vault.Credential{ID: c.ID, Provider: c.Provider + "x", Sealed: c.Sealed}
		altered := vault.Credential{ID: c.ID, Provider: c.Provider, Sealed: slices.Clone(c.Sealed)}
		altered.Sealed[rapid.IntRange(0, len(c.Sealed)-1).Draw(t, "byte")] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		short := vault.Credential{ID: c.ID, Provider: c.Provider, Sealed: c.Sealed[:rapid.IntRange(0, len(c.Sealed)-1).Draw(t, "length")]}
		for i, wrong := range []vault.Credential{moved, other, altered, short} {
			if got, err := v.Open(wrong); !errors.Is(err, vault.ErrSealed) || got != "" {
				t.Fatalf("case %d: Open = %q, %v; want ErrSealed", i, got, err)
			}
		}
	})
}

func TestIdentitiesAreUnambiguous(t *testing.T) {
	t.Parallel()
	v := open(t, nil, master)
	sealed := v.Seal("a:", "b", "secret")
	if _, err := v.Open(vault.Credential{Provider: "a", ID: ":b", Sealed: sealed}); !errors.Is(err, vault.ErrSealed) {
		t.Errorf("Open with another split of the identity: %v, want ErrSealed", err)
	}
}

func TestOtherMasterKeyCannotDecrypt(t *testing.T) {
	t.Parallel()
	sealed := open(t, nil, master).Seal("openai", "cred_1", "sk-canary-secret")
	_, err := open(t, nil, bytes.Repeat([]byte{7}, 32)).Open(vault.Credential{Provider: "openai", ID: "cred_1", Sealed: sealed})
	if !errors.Is(err, vault.ErrSealed) || strings.Contains(err.Error(), "canary") {
		t.Errorf("Open with another master key: %v, want ErrSealed without the secret", err)
	}
	if _, err := vault.New(nil, master[:31], nil); err == nil {
		t.Error("New accepted a short master key")
	}
}

func TestCredentialsAreAddedAndRemoved(t *testing.T) {
	t.Parallel()
	store := &drawer{}
	v := open(t, store, master)
	c, err := v.Add(t.Context(), "openai", " sk-canary-1234567890\n", "acc_1")
	if err != nil {
		t.Fatal(err)
	}
	if text, err := v.Open(c); err != nil || text != "sk-canary-1234567890" || c.Hint != "7890" {
		t.Errorf("Open = %q with hint %q, %v; want the trimmed text and 7890", text, c.Hint, err)
	}
	if strings.Contains(fmt.Sprintf("%+v %s", store.all, store.all[0].Sealed), "canary") {
		t.Error("the credential is stored in plain text")
	}
	all, err := v.Credentials(t.Context())
	if diff := cmp.Diff([]vault.Credential{c}, all); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if err := v.Remove(t.Context(), "openai", c.ID); err != nil {
		t.Errorf("Remove: %v", err)
	}
	if left, err := v.Credentials(t.Context()); err != nil || len(left) != 0 {
		t.Errorf("after Remove: credentials %v, %v; want none", left, err)
	}
	err = v.Remove(t.Context(), "openai", c.ID)
	if llm.AsError(err).Kind != llm.NotFound || !errors.Is(err, vault.ErrNotFound) {
		t.Errorf("second Remove: %v, want NotFound", err)
	}
}

func TestHintsShowLittle(t *testing.T) {
	t.Parallel()
	v := open(t, &drawer{}, master)
	for text, want := range map[string]string{
		"sk-1234567890abcd": "abcd",
		"short-secret":      "", // the hint would show a third of the secret
		"{\"type\": \"service_account\",\n \"id\": 1\n}": "",
	} {
		c, err := v.Add(t.Context(), "openai", text, "")
		if err != nil || c.Hint != want {
			t.Errorf("%d characters: hint %q, %v, want %q", len(text), c.Hint, err, want)
		}
	}
	for _, text := range []string{"", " abc ", " 1234567 ", strings.Repeat("x", 16<<10+1)} {
		if _, err := v.Add(t.Context(), "openai", text, ""); llm.AsError(err).Param != "credential" {
			t.Errorf("%d characters: %v, want an error for credential", len(text), err)
		}
	}
}

func TestReplaceKeepsTheIDOfACredential(t *testing.T) {
	t.Parallel()
	d := &drawer{}
	v := open(t, d, master)
	old, err := v.Add(t.Context(), "openai", "sk-old-0123456789abcd", "acc_1")
	if err != nil {
		t.Fatal(err)
	}
	next, err := v.Replace(t.Context(), "openai", old.ID, " sk-new-0123456789efgh\n", "acc_2")
	if err != nil {
		t.Fatal(err)
	}

	all, err := v.Credentials(t.Context())
	if err != nil || len(all) != 1 || all[0].ID != old.ID || next.Hint != "efgh" || all[0].CreatedBy != "acc_2" {
		t.Fatalf("credentials %+v, %v; want one with the same ID, the new hint and the new creator", all, err)
	}
	if text, err := v.Open(all[0]); err != nil || text != "sk-new-0123456789efgh" {
		t.Errorf("Open = %q, %v; want the new secret", text, err)
	}
	for _, id := range []string{old.ID, "cred_none"} {
		if _, err := v.Replace(t.Context(), "mistral", id, "sk-new-0123456789efgh", ""); !errors.Is(err, vault.ErrNotFound) {
			t.Errorf("Replace %s of another provider: %v, want ErrNotFound", id, err)
		}
	}
	if _, err := v.Replace(t.Context(), "openai", old.ID, "short", ""); llm.AsError(err).Kind != llm.InvalidRequest {
		t.Errorf("Replace with a short secret: %v, want InvalidRequest", err)
	}
}
