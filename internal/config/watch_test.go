package config

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a change may take to be seen on a busy machine; usually it takes milliseconds.
const patience = 20 * time.Second

// watching starts a watcher and returns where its calls arrive.
func watching(t *testing.T, path string) <-chan struct{} {
	t.Helper()
	w, err := newWatcher(path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	changes, ended := make(chan struct{}, 100), make(chan error)
	go func() { ended <- w.run(ctx, time.Millisecond, func() { changes <- struct{}{} }) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the watch ended with %v", err)
		}
	})
	return changes
}

func expectChange(t *testing.T, changes <-chan struct{}) {
	t.Helper()
	select {
	case <-changes:
	case <-time.After(patience):
		t.Fatal("the change was not seen")
	}
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestWatchSeesAFileWrittenInPlace(t *testing.T) {
	t.Parallel()
	path := write(t, "listen: :1")
	changes := watching(t, path)
	put(t, path, "listen: :2")
	expectChange(t, changes)
}

func TestWatchSeesAFileReplaced(t *testing.T) {
	t.Parallel()
	path := write(t, "listen: :1")
	changes := watching(t, path)
	for _, text := range []string{"listen: :2", "listen: :3"} {
		put(t, path+".new", text)
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
		expectChange(t, changes)
	}
}

func TestWatchSeesAFileThatComesBack(t *testing.T) {
	t.Parallel()
	path := write(t, "listen: :1")
	changes := watching(t, path)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	put(t, path, "listen: :2")
	expectChange(t, changes)
}

// Clusters mount a directory whose files are links through ..data, and swap that one link.
func TestWatchSeesASwappedLink(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for version, text := range map[string]string{"..v1": "listen: :1", "..v2": "listen: :2", "..v3": "listen: :3"} {
		if err := os.Mkdir(filepath.Join(dir, version), 0o700); err != nil {
			t.Fatal(err)
		}
		put(t, filepath.Join(dir, version, FileName), text)
	}
	relink := func(version string) {
		t.Helper()
		if err := os.Symlink(version, filepath.Join(dir, "..tmp")); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(dir, "..tmp"), filepath.Join(dir, "..data")); err != nil {
			t.Fatal(err)
		}
	}
	relink("..v1")
	path := filepath.Join(dir, FileName)
	if err := os.Symlink("..data/"+FileName, path); err != nil {
		t.Fatal(err)
	}
	changes := watching(t, path)
	for _, version := range []string{"..v2", "..v3"} {
		relink(version)
		expectChange(t, changes)
	}
	put(t, filepath.Join(dir, "..v3", FileName), "listen: :4")
	expectChange(t, changes)
}

func TestWatchLeavesTheSameContentAlone(t *testing.T) {
	t.Parallel()
	path := write(t, "listen: :1")
	w, err := newWatcher(path)
	if err != nil {
		t.Fatal(err)
	}
	defer w.events.Close()
	calls := 0
	for _, step := range []func(){
		func() { put(t, path, "listen: :1") },
		func() { put(t, filepath.Join(filepath.Dir(path), "other"), "x") },
		func() { os.Remove(path) },
	} {
		step()
		w.look(func() { calls++ })
	}
	if calls != 0 {
		t.Errorf("%d changes seen, want none", calls)
	}
	put(t, path, string(make([]byte, largestFile+1)))
	w.look(func() { calls++ })
	if calls != 1 {
		t.Errorf("%d changes seen, want the oversized file to be one", calls)
	}
}

func TestWatchNeedsADirectory(t *testing.T) {
	t.Parallel()
	if err := (&Loaded{Path: filepath.Join(t.TempDir(), "no", FileName)}).Watch(context.Background(), func() {}); err == nil {
		t.Error("no error")
	}
}

func TestWatchEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := (&Loaded{Path: write(t, "")}).Watch(ctx, func() {}); err != nil {
		t.Error(err)
	}
}

// Between reading the file and watching it lies the whole start, which waits for the database.
func TestWatchSeesAChangeMadeDuringTheStart(t *testing.T) {
	t.Parallel()
	for name, later := range map[string]string{"changed": "listen: :2", "too large": "#" + strings.Repeat("x", largestFile), "unchanged": "listen: :1"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := write(t, "listen: :1")
			loaded, err := Load(Options{Path: path})
			if err != nil {
				t.Fatal(err)
			}
			put(t, path, later)
			ctx, cancel := context.WithCancel(t.Context())
			cancel() // only the first look
			seen := false
			if err := loaded.Watch(ctx, func() { seen = true }); err != nil {
				t.Fatal(err)
			}
			if want := name != "unchanged"; seen != want {
				t.Errorf("seen: %v, want %v", seen, want)
			}
		})
	}
}
