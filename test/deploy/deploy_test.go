// Package deploy checks the files under deploy/ without a cluster or container: they are well-formed, every setting exists, images
// are pinned, and no file contains a secret.
package deploy

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"fairlead.dev/internal/config"
	"fairlead.dev/test/harness"
)

// read returns a file of the repository.
func read(t *testing.T, path ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(append([]string{root(t)}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func root(t *testing.T) string {
	t.Helper()
	dir, err := harness.Root()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// secretFile matches a setting whose value is read from a file.
var secretFile = regexp.MustCompile(`file:(/run/secrets/\S+)`)

// loadConfig validates a configuration file like the gateway. The secret files that it names are created in a directory of the test.
func loadConfig(t *testing.T, text string, secrets map[string]string, env ...string) *config.Loaded {
	t.Helper()
	dir := t.TempDir()
	text = secretFile.ReplaceAllStringFunc(text, func(match string) string {
		path := strings.TrimPrefix(match, "file:")
		secret, ok := secrets[path]
		if !ok {
			t.Errorf("the configuration reads %s, which is not mounted", path)
		}
		name := filepath.Join(dir, filepath.Base(path))
		if err := os.WriteFile(name, []byte(secret), 0o600); err != nil {
			t.Fatal(err)
		}
		return "file:" + name
	})
	path := filepath.Join(dir, config.FileName)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	loaded, err := config.Load(config.Options{Path: path, Env: env})
	if err != nil {
		t.Fatalf("load the configuration: %v\n%s", err, text)
	}
	return loaded
}

// wantSettings fails the test for every FAIRLEAD_ variable that is not a setting of the gateway.
func wantSettings(t *testing.T, env map[string]string) {
	t.Helper()
	for name, value := range env {
		if !strings.HasPrefix(name, "FAIRLEAD_") || name == "FAIRLEAD_CONFIG" {
			continue
		}
		loaded, err := config.Load(config.Options{Dirs: []string{}, Env: []string{name + "=" + value}})
		if err != nil {
			t.Errorf("load %s=%s: %v", name, value, err)
			continue
		}
		if len(loaded.Origins) != 1 {
			t.Errorf("%s is not a setting of the gateway", name)
		}
	}
}

// pinned matches an image with a fixed version: a full version or a digest.
var pinned = regexp.MustCompile(`^[a-z0-9./-]+(:v?\d+\.\d+(\.\d+)?(-[a-z0-9.-]+)?|@sha256:[0-9a-f]{64})$`)

func wantPinned(t *testing.T, image string) {
	t.Helper()
	if !pinned.MatchString(image) {
		t.Errorf("the image %s is not pinned to a version", image)
	}
}
