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

// settle is how long the file must be left alone before a change counts: editors write in several steps.
const settle = 200 * time.Millisecond

// Watch calls onChange each time the content of the file is no longer what was loaded, or has changed since, until ctx
// ends; it returns nil then. The first look is at once: a start may take long, and who changes the file meanwhile means it.
func (l *Loaded) Watch(ctx context.Context, onChange func()) error {
	w, err := newWatcher(l.Path)
	if err != nil {
		return err
	}
	w.last = l.sum
	w.look(onChange)
	return w.run(ctx, settle, onChange)
}

// WatchUpTo calls onChange each time the content of the file at path, of up to limit bytes, has changed, until ctx ends;
// it returns nil then. It watches directories, not the file: editors replace it, and clusters swap a link somewhere on
// the way to it. A file that is gone or cannot be read is no change: what is in use stays.
func WatchUpTo(ctx context.Context, path string, limit int64, onChange func()) error {
	w, err := newWatcher(path)
	if err != nil {
		return err
	}
	w.limit = limit
	w.last, _ = w.fingerprint()
	return w.run(ctx, settle, onChange)
}

type watcher struct {
	path   string
	events *fsnotify.Watcher
	limit  int64
	last   [sha256.Size]byte
}

func newWatcher(path string) (*watcher, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", path, err)
	}
	events, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", path, err)
	}
	w := &watcher{path: absolute, events: events, limit: largestFile}
	if err := w.follow(); err != nil {
		_ = events.Close()
		return nil, fmt.Errorf("watch %s: %w", path, err)
	}
	w.last, _ = w.fingerprint()
	return w, nil
}

// follow watches the directory of the file and the one that its links lead to now.
func (w *watcher) follow() error {
	if err := w.events.Add(filepath.Dir(w.path)); err != nil {
		return err
	}
	real, err := filepath.EvalSymlinks(w.path)
	if err != nil {
		return nil //nolint:nilerr // gone for the moment; the directory above tells when it is back
	}
	return w.events.Add(filepath.Dir(real))
}

// fingerprint of the content; ok is false when there is none to read.
func (w *watcher) fingerprint() (sum [sha256.Size]byte, ok bool) {
	content, err := readLimited(w.path, w.limit)
	if err != nil {
		// Too large is content too: loading it says so, and the old configuration stays.
		return sha256.Sum256([]byte(err.Error())), errors.Is(err, errTooLarge)
	}
	return sha256.Sum256(content), true
}

func (w *watcher) run(ctx context.Context, settle time.Duration, onChange func()) error {
	defer w.events.Close() //nolint:errcheck // nothing is written to it
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
			// Other files of a busy directory may point at a swapped link, but must not put the look off for ever.
			if event.Name == w.path || !waiting {
				quiet.Reset(settle)
			}
			waiting = true
		case <-w.events.Errors:
			quiet.Reset(settle) // events were lost: look at the file itself
			waiting = true
		case <-quiet.C:
			waiting = false
			w.look(onChange)
		}
	}
}

func (w *watcher) look(onChange func()) {
	_ = w.follow() // a directory on the way may be another one now; if it is gone, the next event tells
	now, ok := w.fingerprint()
	if !ok || now == w.last {
		return
	}
	w.last = now
	onChange()
}
