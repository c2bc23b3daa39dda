package config

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// watchPatience is the maximum time to detect a change on a busy machine. Usually it takes milliseconds.
const watchPatience = 20 * time.Second

const (
	name    = "fairlead.yaml"
	maxSize = 1 << 10
)

// writeWatched creates a file in a temporary directory.
func writeWatched(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	putFile(t, path, text)
	return path
}

// startWatching starts a fileWatcher and returns a channel that receives a value for every call of onChange.
func startWatching(t *testing.T, path string) <-chan struct{} {
	t.Helper()
	w := &fileWatcher{path: path, limit: maxSize}
	w.last, _ = w.fingerprint()
	ctx, cancel := context.WithCancel(context.Background())
	changes, ended := make(chan struct{}, 100), make(chan struct{})
	go func() {
		defer close(ended)
		w.run(ctx, 20*time.Millisecond, func() { changes <- struct{}{} })
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	return changes
}

func expectFileChange(t *testing.T, changes <-chan struct{}) {
	t.Helper()
	select {
	case <-changes:
	case <-time.After(watchPatience):
		t.Fatal("the change was not detected")
	}
}

func putFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestWatchDetectsFileWrittenInPlace(t *testing.T) {
	t.Parallel()
	path := writeWatched(t, "listen: :1")
	changes := startWatching(t, path)
	putFile(t, path, "listen: :2")
	expectFileChange(t, changes)
}

func TestWatchDetectsReplacedFile(t *testing.T) {
	t.Parallel()
	path := writeWatched(t, "listen: :1")
	changes := startWatching(t, path)
	for _, text := range []string{"listen: :2", "listen: :3"} {
		putFile(t, path+".new", text)
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
		expectFileChange(t, changes)
	}
}

func TestWatchDetectsRecreatedFile(t *testing.T) {
	t.Parallel()
	path := writeWatched(t, "listen: :1")
	changes := startWatching(t, path)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	putFile(t, path, "listen: :2")
	expectFileChange(t, changes)
}

// Kubernetes mounts a directory whose files are links through ..data, and swaps that link.
func TestWatchDetectsSwappedLink(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for version, text := range map[string]string{"..v1": "listen: :1", "..v2": "listen: :2", "..v3": "listen: :3"} {
		if err := os.Mkdir(filepath.Join(dir, version), 0o700); err != nil {
			t.Fatal(err)
		}
		putFile(t, filepath.Join(dir, version, name), text)
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
	path := filepath.Join(dir, name)
	if err := os.Symlink("..data/"+name, path); err != nil {
		t.Fatal(err)
	}
	changes := startWatching(t, path)
	for _, version := range []string{"..v2", "..v3"} {
		relink(version)
		expectFileChange(t, changes)
	}
	putFile(t, filepath.Join(dir, "..v3", name), "listen: :4")
	expectFileChange(t, changes)
}

func TestWatchIgnoresUnchangedContent(t *testing.T) {
	t.Parallel()
	path := writeWatched(t, "listen: :1")
	w := &fileWatcher{path: path, limit: maxSize}
	w.last, _ = w.fingerprint()
	calls := 0
	for _, step := range []func(){
		func() { putFile(t, path, "listen: :1") },
		func() { putFile(t, filepath.Join(filepath.Dir(path), "other"), "x") },
		func() { os.Remove(path) },
	} {
		step()
		w.compare(func() { calls++ })
	}
	if calls != 0 {
		t.Errorf("%d changes reported, want none", calls)
	}
	putFile(t, path, string(make([]byte, maxSize+1)))
	w.compare(func() { calls++ })
	if calls != 1 {
		t.Errorf("%d changes reported, want 1 for the oversized file", calls)
	}
}
