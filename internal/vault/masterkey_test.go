package vault_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"fairlead.dev/internal/vault"
)

func TestConfiguredMasterKeyIsUsedUnchanged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	long := strings.Repeat("k", 32)
	key, err := vault.LoadOrCreateMasterKey(dir, long)
	if err != nil || string(key) != long {
		t.Errorf("key has %d bytes, %v; want it unchanged", len(key), err)
	}
	if _, err := vault.LoadOrCreateMasterKey(dir, "canary"); err == nil || strings.Contains(err.Error(), "canary") {
		t.Errorf("short key: %v, want an error without the key", err)
	}
	if files, _ := os.ReadDir(dir); len(files) != 0 {
		t.Errorf("files created: %v, want none", files)
	}
}

func TestMasterKeyIsCreatedOnce(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data", "fairlead")
	keys := make([][]byte, 16)
	var all sync.WaitGroup
	for i := range keys {
		all.Go(func() {
			var err error
			if keys[i], err = vault.LoadOrCreateMasterKey(dir, ""); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for i, key := range keys {
		if len(key) != 32 || !bytes.Equal(key, keys[0]) {
			t.Errorf("caller %d got another key", i)
		}
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 1 {
		t.Errorf("files %v, %v; want only the key", files, err)
	}
	info, err := os.Stat(filepath.Join(dir, "master.key"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v; want 0600", info.Mode(), err)
	}
	other, err := vault.LoadOrCreateMasterKey(t.TempDir(), "")
	if err != nil || bytes.Equal(other, keys[0]) {
		t.Errorf("two directories have the same key, or %v", err)
	}
}

func TestUnsafeMasterKeyFilesAreRejected(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		content string
		mode    os.FileMode
	}{
		{"empty", "", 0o600},
		{"truncated", "canary-canary-canary-canary", 0o600},
		{"readable by others", strings.Repeat("canary--", 4), 0o644},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, "master.key")
			if err := os.WriteFile(path, []byte(tt.content), tt.mode); err != nil {
				t.Fatal(err)
			}
			_, err := vault.LoadOrCreateMasterKey(dir, "")
			if err == nil || strings.Contains(err.Error(), "canary") {
				t.Errorf("LoadOrCreateMasterKey: %v, want an error without the key", err)
			}
			if after, _ := os.ReadFile(path); string(after) != tt.content {
				t.Error("the file was changed")
			}
		})
	}
}
