package explain

import (
	"context"
	"sync"
	"time"

	"fairlead.dev/internal/replay"
	"fairlead.dev/internal/requestlog"
)

// refreshAfter is the minimum age at which a stored version is stored again. Versions that are not stored again expire.
const refreshAfter = 12 * time.Hour

// VersionKeeper stores the versions of targets, policies and corrections that logged decisions used, so that the decisions can
// be verified later.
type VersionKeeper struct {
	service *Service
	report  func(task string, err error)
	queue   chan *requestlog.Entry

	mu     sync.Mutex
	stored map[string]time.Time // time at which each version was last stored, by versionKey
}

// NewVersionKeeper returns a VersionKeeper. report receives the result of every write.
func NewVersionKeeper(s *Service, report func(task string, err error)) *VersionKeeper {
	return &VersionKeeper{service: s, report: report, stored: map[string]time.Time{}, queue: make(chan *requestlog.Entry, 64)}
}

// Add queues the versions of an entry unless they are already stored. It never blocks.
func (k *VersionKeeper) Add(e *requestlog.Entry) {
	if e.Decision == nil || !k.missing(e) {
		return
	}
	select {
	case k.queue <- e:
	default: // the queue is full; a later request with the same versions queues them
	}
}

// versionKey identifies the versions of an entry.
func versionKey(e *requestlog.Entry) string {
	return e.Versions.Snapshot + " " + e.Versions.Policy + " " + e.Versions.Feedback
}

func (k *VersionKeeper) missing(e *requestlog.Entry) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	at, ok := k.stored[versionKey(e)]
	return !ok || e.Time.Sub(at) > refreshAfter
}

// Run stores queued versions until ctx is cancelled.
func (k *VersionKeeper) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case e := <-k.queue:
			if k.missing(e) {
				k.report("store decision versions", k.store(ctx, e))
			}
		}
	}
}

// store writes the active versions if they are still the versions of the entry.
func (k *VersionKeeper) store(ctx context.Context, e *requestlog.Entry) error {
	s := k.service
	snap, policies, corrections := s.Gateway.Targets(), s.Policies.For(e.WorkspaceID), s.Feedback.For(e.WorkspaceID)
	version := ""
	if corrections != nil {
		version = corrections.Version
	}
	if snap.Version() != e.Versions.Snapshot || policies.Version() != e.Versions.Policy || version != e.Versions.Feedback {
		return nil
	}
	if err := replay.Keep(ctx, s.Store.Config, snap, policies, corrections); err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.stored[versionKey(e)] = e.Time
	return nil
}
