package config

import (
	"context"
	"crypto/sha256"
	"errors"
	"os"
	"time"
)

// watchInterval is the interval at which a watched file is checked.
const watchInterval = 250 * time.Millisecond

// WatchFile calls onChange whenever the content of a file of at most limit bytes changes, until ctx is cancelled. It polls the file, because
// editors replace files, clusters swap symbolic links and network file systems report no events. A missing or unreadable file does not count
// as a change.
func WatchFile(ctx context.Context, path string, limit int64, onChange func()) {
	w := &fileWatcher{path: path, limit: limit}
	w.last, _ = w.fingerprint()
	w.run(ctx, watchInterval, onChange)
}

// fileWatcher detects changes to the content of a file.
type fileWatcher struct {
	path  string
	limit int64
	last  [sha256.Size]byte // hash of the content that was compared last
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

// run reads the file after its size or time of modification has changed and stayed the same for an interval, because editors write a file in
// several steps.
func (w *fileWatcher) run(ctx context.Context, interval time.Duration, onChange func()) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	var seen, compared os.FileInfo
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		current, err := os.Stat(w.path)
		if err != nil {
			current = nil
		}
		if unchanged(current, seen) && !unchanged(current, compared) {
			compared = current
			w.compare(onChange)
		}
		seen = current
	}
}

// unchanged reports whether a and b describe the same version of a file.
func unchanged(a, b os.FileInfo) bool {
	return a != nil && b != nil && os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

func (w *fileWatcher) compare(onChange func()) {
	current, ok := w.fingerprint()
	if !ok || current == w.last {
		return
	}
	w.last = current
	onChange()
}
