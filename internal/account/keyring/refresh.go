package keyring

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"time"

	"fairlead.dev/internal/account"
)

// Revision topics.
const (
	topicKeys       = "keys"
	topicWorkspaces = "workspaces"
)

// Store timeouts.
const (
	pollTimeout  = 2 * time.Second
	idleTimeout  = 10 * time.Second // maximum time between two rows; the total time is not limited, because loading a million keys takes long
	flushTimeout = 5 * time.Second
)

// Refresh loads changes from the store. When it returns, changes made by this process are active.
func (r *Ring) Refresh(ctx context.Context) error {
	r.refreshMu.Lock()
	defer r.refreshMu.Unlock()
	began := time.Now()
	polling, cancel := context.WithTimeout(ctx, pollTimeout)
	revisions, err := r.store.Revisions(polling)
	cancel()
	if err != nil {
		return fmt.Errorf("check for changed keys: %w", err)
	}
	if err := r.take(ctx, revisions); err != nil {
		return err
	}
	r.refreshed.Store(&began) // the loaded keys are as old as the start of the query
	return nil
}

// take loads changes up to the given revisions. If a revision decreased, the store was replaced or restored from a backup, so
// everything is loaded again.
func (r *Ring) take(ctx context.Context, revisions map[string]int64) error {
	previous := r.index.Load()
	if r.refreshed.Load() != nil && revisions[topicKeys] >= previous.keys && revisions[topicWorkspaces] >= previous.spaces {
		revoked, err := r.takeInto(ctx, previous, revisions)
		r.publishRevoked(revoked)
		return err
	}
	index := newKeyIndex()
	if _, err := r.takeInto(ctx, index, revisions); err != nil {
		return err
	}
	r.index.Store(index)
	r.publishRevoked(lost(previous, index))
	return nil
}

// takeInto loads changed keys, then changed workspaces, and makes both visible. It returns newly revoked keys. A workspace is
// created before its keys, so reading workspaces last ensures that every key finds its workspace.
func (r *Ring) takeInto(ctx context.Context, index *keyIndex, revisions map[string]int64) (revoked []string, err error) {
	keys, err := r.readKeys(ctx, index, revisions[topicKeys])
	if err != nil {
		return nil, err
	}
	workspaces, err := r.readWorkspaces(ctx, index, revisions[topicWorkspaces], keys)
	if err != nil {
		return nil, err
	}
	for _, w := range workspaces {
		index.space(w.ID).Store(w)
	}
	changes := edits{}
	for _, key := range keys {
		if index.put(changes, key) && !r.ended.knows(key) {
			revoked = append(revoked, key.ID)
		}
	}
	index.publish(changes)
	for _, key := range keys {
		r.ended.drop(key)
	}
	index.keys, index.spaces = revisions[topicKeys], revisions[topicWorkspaces]
	return revoked, nil
}

func (r *Ring) readKeys(ctx context.Context, index *keyIndex, revision int64) (keys []*account.Key, err error) {
	if revision <= index.keys {
		return nil, nil
	}
	ctx, progress, stop := whileMoving(ctx)
	defer stop()
	err = r.store.ChangedKeys(ctx, index.keys, func(key *account.Key) error {
		progress()
		for _, secret := range key.Secrets {
			if len(secret.Hash) != sha256.Size {
				return fmt.Errorf("key %s: stored hash has %d bytes", key.ID, len(secret.Hash))
			}
		}
		keys = append(keys, key)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read changed keys: %w", err)
	}
	return keys, nil
}

// readWorkspaces loads the changed workspaces if the revision is newer than the loaded one, or if a key refers to a workspace that
// is not loaded yet.
func (r *Ring) readWorkspaces(ctx context.Context, index *keyIndex, revision int64, keys []*account.Key) (workspaces []*account.Workspace, err error) {
	unknown := slices.ContainsFunc(keys, func(k *account.Key) bool { return index.workspace(k.WorkspaceID) == nil })
	if revision <= index.spaces && !unknown {
		return nil, nil
	}
	ctx, progress, stop := whileMoving(ctx)
	defer stop()
	err = r.store.ChangedWorkspaces(ctx, index.spaces, func(w *account.Workspace) error {
		progress()
		workspaces = append(workspaces, w)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read changed workspaces: %w", err)
	}
	return workspaces, nil
}

// whileMoving returns a context that is cancelled idleTimeout after the start or the last call of progress. The total time is not limited.
func whileMoving(parent context.Context) (ctx context.Context, progress, stop func()) {
	ctx, cancel := context.WithCancel(parent)
	timer := time.AfterFunc(idleTimeout, cancel)
	return ctx, func() { timer.Reset(idleTimeout) }, func() {
		timer.Stop()
		cancel()
	}
}

// lost lists the keys that were valid in previous and are revoked or missing in index.
func lost(previous, index *keyIndex) []string {
	var gone []string
	for keyID, slot := range previous.byID {
		if !slot.key.RevokedAt.IsZero() {
			continue
		}
		if now := index.byID[keyID]; now == nil || !now.key.RevokedAt.IsZero() {
			gone = append(gone, keyID)
		}
	}
	return gone
}

func (r *Ring) publishRevoked(revoked []string) {
	r.mu.Lock()
	callbacks := r.onRevoke
	r.mu.Unlock()
	for _, keyID := range revoked {
		for _, f := range callbacks {
			f(keyID)
		}
	}
}

// Run keeps the keyring current and records uses until ctx is cancelled. It records the remaining uses before it returns.
func (r *Ring) Run(ctx context.Context) {
	r.polls.running.Store(true)
	defer r.polls.running.Store(false)
	poll, flush := time.NewTimer(0), time.NewTicker(r.flush)
	defer poll.Stop()
	defer flush.Stop()
	var polled time.Time
	for {
		select {
		case <-ctx.Done():
			close(r.polls.begin()) // releases the waiting requests
			r.health.mention(r.record(context.WithoutCancel(ctx)))
			return
		case <-flush.C:
			r.health.mention(r.record(ctx))
		case <-r.polls.wake:
			poll.Reset(max(0, forcedPollEvery-time.Since(polled)))
		case <-poll.C:
			polled = time.Now()
			err := r.pollOnce(ctx)
			r.health.mention(err)
			r.health.sick = err != nil
			poll.Reset(r.poll)
		}
	}
}

// pollOnce refreshes the keyring and releases the waiting requests.
func (r *Ring) pollOnce(ctx context.Context) error {
	defer close(r.polls.begin())
	err := r.Refresh(ctx)
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// health reports store errors. sick is true if the last poll failed.
type health struct {
	report func(error)
	sick   bool
}

// mention reports an error unless the last poll failed, because an outage is reported once. It does not change sick, because a nil
// error can mean that there were no uses to write.
func (h *health) mention(err error) {
	if err != nil && !h.sick && h.report != nil && !errors.Is(err, context.Canceled) {
		h.report(err)
	}
}
