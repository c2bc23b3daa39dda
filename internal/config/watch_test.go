package config

import (
	"context"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestWatchEndsWithContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	(&Loaded{Path: write(t, "")}).Watch(ctx, func() {})
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
			loaded.Watch(ctx, func() { called = true })
			if want := name != "unchanged"; called != want {
				t.Errorf("called: %v, want %v", called, want)
			}
		})
	}
}
