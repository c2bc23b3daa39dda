package account

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"time"
)

// The topics that a keyring watches.
const (
	topicKeys       = "keys"
	topicWorkspaces = "workspaces"
)

// Bounds on waiting for the store.
const (
	pollTimeout  = 2 * time.Second
	idleTimeout  = 10 * time.Second // between two rows: a million keys take a while, but they do come
	flushTimeout = 5 * time.Second
)

// Refresh looks for changes and takes them over before it returns. What was changed in this process is in effect then.
func (r *Keyring) Refresh(ctx context.Context) error {
	r.refreshMu.Lock()
	defer r.refreshMu.Unlock()
	began := time.Now()
	revisions, err := r.revisions(ctx)
	if err != nil {
		return err
	}
	if err := r.take(ctx, revisions); err != nil {
		return err
	}
	r.refreshed.Store(&began) // what we know is as old as the question, not as the answer
	return nil
}

func (r *Keyring) revisions(ctx context.Context) (map[string]int64, error) {
	ctx, cancel := context.WithTimeout(ctx, pollTimeout)
	defer cancel()
	revisions, err := r.store.Revisions(ctx)
	if err != nil {
		return nil, fmt.Errorf("look for changes of keys: %w", err)
	}
	return revisions, nil
}

// take reads what changed up to these revisions. A store whose revisions went back is another one, or an older copy:
// then everything is read anew.
func (r *Keyring) take(ctx context.Context, revisions map[string]int64) error {
	previous := r.index.Load()
	if r.refreshed.Load() != nil && revisions[topicKeys] >= previous.keys && revisions[topicWorkspaces] >= previous.spaces {
		revoked, err := r.takeInto(ctx, previous, revisions)
		r.tell(revoked)
		return err
	}
	index := newKeyIndex()
	if _, err := r.takeInto(ctx, index, revisions); err != nil {
		return err
	}
	r.index.Store(index)
	r.tell(lost(previous, index))
	return nil
}

// takeInto reads changed keys, then changed workspaces, and only when both are here makes them visible; it returns
// the keys that are revoked now and were not before. In this order every key finds its workspace, which is older.
func (r *Keyring) takeInto(ctx context.Context, index *keyIndex, revisions map[string]int64) (revoked []string, err error) {
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

func (r *Keyring) readKeys(ctx context.Context, index *keyIndex, revision int64) (keys []*Key, err error) {
	if revision <= index.keys {
		return nil, nil
	}
	ctx, progress, stop := whileMoving(ctx)
	defer stop()
	err = r.store.ChangedKeys(ctx, index.keys, func(key *Key) error {
		progress()
		for _, secret := range key.Secrets {
			if len(secret.Hash) != sha256.Size {
				return fmt.Errorf("key %s: stored hash of %d bytes", key.ID, len(secret.Hash))
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

// readWorkspaces reads also when only a key tells of a workspace that is newer than the revisions.
func (r *Keyring) readWorkspaces(ctx context.Context, index *keyIndex, revision int64, keys []*Key) (workspaces []*Workspace, err error) {
	unknown := slices.ContainsFunc(keys, func(k *Key) bool { return index.workspace(k.WorkspaceID) == nil })
	if revision <= index.spaces && !unknown {
		return nil, nil
	}
	ctx, progress, stop := whileMoving(ctx)
	defer stop()
	err = r.store.ChangedWorkspaces(ctx, index.spaces, func(w *Workspace) error {
		progress()
		workspaces = append(workspaces, w)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read changed workspaces: %w", err)
	}
	return workspaces, nil
}

// whileMoving bounds the silence of a store that is being read, not the length of the reading.
func whileMoving(parent context.Context) (ctx context.Context, progress, stop func()) {
	ctx, cancel := context.WithCancel(parent)
	timer := time.AfterFunc(idleTimeout, cancel)
	return ctx, func() { timer.Reset(idleTimeout) }, func() {
		timer.Stop()
		cancel()
	}
}

// lost lists the keys that were valid in the previous view and are revoked or absent in the new one.
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

func (r *Keyring) tell(revoked []string) {
	r.mu.Lock()
	hearers := r.onRevoke
	r.mu.Unlock()
	for _, keyID := range revoked {
		for _, hear := range hearers {
			hear(keyID)
		}
	}
}

// Run keeps the keyring current and records uses, until the context ends; then it records what is left.
func (r *Keyring) Run(ctx context.Context) {
	r.running.Store(true)
	defer r.running.Store(false)
	poll, flush := time.NewTimer(0), time.NewTicker(r.flush)
	defer poll.Stop()
	defer flush.Stop()
	var polled time.Time
	for {
		select {
		case <-ctx.Done():
			r.release()
			r.health.mention(r.record(context.WithoutCancel(ctx)))
			return
		case <-flush.C:
			r.health.mention(r.record(ctx))
		case <-r.wake:
			poll.Reset(max(0, forcedPollEvery-time.Since(polled)))
		case <-poll.C:
			polled = time.Now()
			r.health.note(r.pollOnce(ctx))
			poll.Reset(r.poll)
		}
	}
}

// pollOnce refreshes, and then lets those go on who wait for a poll that began after they asked.
func (r *Keyring) pollOnce(ctx context.Context) error {
	r.mu.Lock()
	waiters := r.next
	r.next = make(chan struct{})
	r.mu.Unlock()
	defer close(waiters)
	err := r.Refresh(ctx)
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// release lets everybody go on who waits for a poll that will not come.
func (r *Keyring) release() {
	r.mu.Lock()
	defer r.mu.Unlock()
	close(r.next)
	r.next = make(chan struct{})
}

// health reports an error when the poll before was well.
type health struct {
	report func(error)
	sick   bool
}

// note takes the outcome of a poll.
func (h *health) note(err error) {
	h.mention(err)
	h.sick = err != nil
}

// mention reports an error that is news. It does not count as a sign of health: often there is nothing to record.
func (h *health) mention(err error) {
	if err != nil && !h.sick && h.report != nil && !errors.Is(err, context.Canceled) {
		h.report(err)
	}
}
