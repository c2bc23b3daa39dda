package instance

import (
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/account/keyring"
	"fairlead.dev/internal/config"
	"fairlead.dev/internal/store"
)

func instanceConfig(t *testing.T) config.Config {
	t.Helper()
	c := config.Default()
	c.DataDir, c.Detect = filepath.Join(t.TempDir(), "data"), false
	return c
}

func openTest(t *testing.T, c config.Config) *Instance {
	t.Helper()
	i, err := Open(t.Context(), &config.Loaded{Config: c})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := i.Close(); err != nil {
			t.Error(err)
		}
	})
	return i
}

func TestInstanceOpensWhileAServerIsRunning(t *testing.T) {
	t.Parallel()
	c := instanceConfig(t)
	first := openTest(t, c)
	release, err := store.Lock(c.DataDir) // a running server holds this lock
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = release() })
	second := openTest(t, c)
	if !first.New || second.New {
		t.Errorf("New of the first instance = %v, of the second = %v; want true, false", first.New, second.New)
	}
	if info, err := os.Stat(c.DataDir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("data directory: %v, %v", info, err)
	}

	w, err := first.Workspace(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	key, text, err := first.Accounts.CreateKey(t.Context(), account.CommandLine(w.ID), account.KeySettings{Name: "ci"})
	if err != nil {
		t.Fatal(err)
	}
	same, err := second.Workspace(t.Context(), "")
	if err != nil || same.ID != w.ID {
		t.Errorf("first workspace of the second instance: %s, %v", same.ID, err)
	}
	if got, err := second.Accounts.Key(t.Context(), w.ID, key.ID); err != nil || got.Name != "ci" {
		t.Errorf("key in the second instance: %+v, %v", got, err)
	}
	ring, err := keyring.New(second.Store.Accounts, masterKey(t, c), keyring.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := ring.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	if grant, err := ring.Authenticate(http.Header{"Authorization": {"Bearer " + text}}); err != nil || grant.Key.ID != key.ID {
		t.Errorf("the key is not accepted: %v", err)
	}
	if _, err := first.Workspace(t.Context(), "ws_none"); err == nil {
		t.Error("Workspace(ws_none): got no error")
	}
}

func masterKey(t *testing.T, c config.Config) []byte {
	t.Helper()
	key, err := os.ReadFile(filepath.Join(c.DataDir, "master.key"))
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func TestInstanceNeedsAUsableDirectory(t *testing.T) {
	t.Parallel()
	c := instanceConfig(t)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c.DataDir = filepath.Join(file, "data")
	if _, err := Open(t.Context(), &config.Loaded{Config: c}); err == nil {
		t.Error("opened a directory below a file")
	}
}

func TestProvidersOfAnInstance(t *testing.T) {
	t.Parallel()
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/models" && r.Header.Get("Authorization") == "Bearer from-the-vault" {
			_, _ = w.Write([]byte(`{"data":[{"id":"one"}]}`))
			return
		}
		http.Error(w, `not JSON`, http.StatusTeapot)
	}))
	t.Cleanup(upstream.Close)
	c := instanceConfig(t)
	model := []config.Model{{Name: "house-model"}}
	c.Providers = []config.Provider{
		{Name: "vaulted", BaseURL: upstream.URL + "/v1", Models: model},
		{Name: "astray", BaseURL: upstream.URL + "/v2", Models: model},
		{Name: "off", BaseURL: upstream.URL, Disabled: true},
	}
	i := openTest(t, c)
	if _, err := i.vault.Add(t.Context(), "vaulted", "from-the-vault", ""); err != nil {
		t.Fatal(err)
	}
	f, err := i.Providers(t.Context(), func(string) string { return "" }, "test", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)

	got := map[string][2]bool{}
	for _, p := range f.Providers() {
		got[p.Name] = [2]bool{p.Enabled, len(p.Credentials) == 1 && p.Credentials[0].Source == "dashboard"}
	}
	if diff := cmp.Diff(map[string][2]bool{"vaulted": {true, true}, "astray": {true, false}, "off": {false, false}}, got); diff != "" {
		t.Error(diff)
	}
	result, err := f.Test(t.Context(), "vaulted")
	if err != nil || !result.OK || !cmp.Equal(result.Models, []string{"one"}) {
		t.Errorf("vaulted: %+v, %v", result, err)
	}
	result, err = f.Test(t.Context(), "astray")
	if err != nil || result.OK || result.Status != http.StatusTeapot || result.Error == "" || strings.Contains(result.Error, "from-the-vault") {
		t.Errorf("astray: %+v, %v", result, err)
	}
	for _, name := range []string{"off", "unknown"} {
		if _, err := f.Test(t.Context(), name); !errors.Is(err, account.ErrNotFound) {
			t.Errorf("Test(%s): got %v, want ErrNotFound", name, err)
		}
	}
	if len(f.Targets()) != 2 || len(f.Catalog().Models()) < 100 {
		t.Errorf("%d targets, %d models", len(f.Targets()), len(f.Catalog().Models()))
	}
}
