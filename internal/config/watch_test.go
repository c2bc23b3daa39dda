package config

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestWatchRequiresDirectory(t *testing.T) {
	t.Parallel()
	if err := (&Loaded{Path: filepath.Join(t.TempDir(), "no", FileName)}).Watch(context.Background(), func() {}); err == nil {
		t.Error("Watch in a missing directory: got no error")
	}
}

func TestWatchEndsWithContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := (&Loaded{Path: write(t, "")}).Watch(ctx, func() {}); err != nil {
		t.Error(err)
	}
}

// Between loading the file and watching it, the server waits for the database.
func TestWatchDetectsChangeDuringStartup(t *testing.T) {
	t.Parallel()
	for name, later := range map[string]string{"changed": "listen: :2", "too large": "#" + strings.Repeat("x", largestFile), "unchanged": "listen: :1"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := write(t, "listen: :1")
			loaded, err := Load(Options{Path: path})
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(later), 0o600); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel() // stop after the first comparison
			called := false
			if err := loaded.Watch(ctx, func() { called = true }); err != nil {
				t.Fatal(err)
			}
			if want := name != "unchanged"; called != want {
				t.Errorf("called: %v, want %v", called, want)
			}
		})
	}
}
