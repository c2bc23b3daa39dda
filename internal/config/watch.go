package config

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

// settleTime is the delay between the last event for the file and reading it, because editors writeWatched a file in several steps.
const settleTime = 200 * time.Millisecond

// WatchFile calls onChange whenever the content of a file of at most limit bytes changes. It returns nil when ctx is cancelled. It
// watches directories, because editors replace files and clusters swap symbolic links. A missing or unreadable file does not
// count as a change.
func WatchFile(ctx context.Context, path string, limit int64, onChange func()) error {
	w, err := newFileWatcher(path, limit)
	if err != nil {
		return err
	}
	return w.run(ctx, settleTime, onChange)
}

// WatchFileSince is like WatchFile, but first compares the file with the content that was read earlier, so that it detects changes made
// after that read. sum is the SHA-256 hash of that content.
func WatchFileSince(ctx context.Context, path string, limit int64, sum [sha256.Size]byte, onChange func()) error {
	w, err := newFileWatcher(path, limit)
	if err != nil {
		return err
	}
	w.last = sum
	w.compare(onChange)
	return w.run(ctx, settleTime, onChange)
}

type fileWatcher struct {
	path   string
	events *fsnotify.Watcher
	limit  int64
	last   [sha256.Size]byte
}

func newFileWatcher(path string, limit int64) (*fileWatcher, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", path, err)
	}
	events, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", path, err)
	}
	w := &fileWatcher{path: absolute, events: events, limit: limit}
	if err := w.follow(); err != nil {
		_ = events.Close()
		return nil, fmt.Errorf("watch %s: %w", path, err)
	}
	w.last, _ = w.fingerprint()
	return w, nil
}

// follow watches the directory of the file and, for a link, the directory of its target.
func (w *fileWatcher) follow() error {
	if err := w.events.Add(filepath.Dir(w.path)); err != nil {
		return err
	}
	real, err := filepath.EvalSymlinks(w.path)
	if err != nil {
		return nil //nolint:nilerr // the watch on the directory reports when the file exists again
	}
	return w.events.Add(filepath.Dir(real))
}

// fingerprint returns the hash of the content. ok is false if the file cannot be read.
func (w *fileWatcher) fingerprint() (sum [sha256.Size]byte, ok bool) {
	content, err := ReadFile(w.path, w.limit)
	if err != nil {
		// A file that becomes too large counts as a change, so that loading it reports the problem.
		return sha256.Sum256([]byte(err.Error())), errors.Is(err, ErrFileTooLarge)
	}
	return sha256.Sum256(content), true
}

func (w *fileWatcher) run(ctx context.Context, settle time.Duration, onChange func()) error {
	defer w.events.Close() //nolint:errcheck // the error is ignored: the watcher only reads
	quiet := time.NewTimer(settle)
	quiet.Stop()
	defer quiet.Stop()
	waiting := false
	for {
		select {
		case <-ctx.Done():
			return nil
		case event, ok := <-w.events.Events:
			if !ok {
				return fmt.Errorf("watch %s: %w", w.path, fsnotify.ErrClosed)
			}
			// An event for another file can mean that a link was swapped. Such an event starts the timer but does not restart it,
			// because frequent events would otherwise delay the check forever.
			if event.Name == w.path || !waiting {
				quiet.Reset(settle)
			}
			waiting = true
		case <-w.events.Errors:
			quiet.Reset(settle) // events may have been lost, so the file is checked
			waiting = true
		case <-quiet.C:
			waiting = false
			w.compare(onChange)
		}
	}
}

func (w *fileWatcher) compare(onChange func()) {
	_ = w.follow() // a directory may have been replaced; if it is missing, a later event calls follow again
	current, ok := w.fingerprint()
	if !ok || current == w.last {
		return
	}
	w.last = current
	onChange()
}
