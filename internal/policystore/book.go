package policystore

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"fairlead/internal/policy"
)

// Store holds the policies in force. For never waits for anything; Reload keeps the book current.
type Store struct {
	store Storage
	now   func() time.Time
	view  atomic.Pointer[view]

	mu       sync.Mutex // one change of the view at a time
	revision int64      // up to which versions are read
}

// view is what is in force at a moment. It is never changed, only replaced.
type view struct {
	instance *policy.Set
	world    policy.Inventory
	spaces   map[string]*space
}

// space is what is in force in a workspace that has policies of its own.
type space struct {
	version  Version
	own      *policy.Set
	joined   *policy.Set
	problems []policy.Problem
}

// New makes a book with the policies of the instance alone; Reload reads those of workspaces. now is time.Now when nil.
func New(store Storage, instance *policy.Set, world policy.Inventory, now func() time.Time) *Store {
	if now == nil {
		now = time.Now
	}
	b := &Store{store: store, now: now}
	b.view.Store(&view{instance: instance, world: world, spaces: map[string]*space{}})
	return b
}

// For returns the policies in force for the requests of a workspace. It is nil when there are none.
func (b *Store) For(workspaceID string) *policy.Set {
	v := b.view.Load()
	if s := v.spaces[workspaceID]; s != nil {
		return s.joined
	}
	return v.instance
}

// Own returns a workspace's own policies as they are in force, without those of the instance.
func (b *Store) Own(workspaceID string) *policy.Set {
	if s := b.view.Load().spaces[workspaceID]; s != nil {
		return s.own
	}
	return nil
}

// Instance returns the policies that hold for every workspace.
func (b *Store) Instance() *policy.Set { return b.view.Load().instance }

// World says what exists for policies to name.
func (b *Store) World() policy.Inventory { return b.view.Load().world }

// Problems says which of a workspace's policies are not wholly in force, because what they name is gone.
func (b *Store) Problems(workspaceID string) []policy.Problem {
	if s := b.view.Load().spaces[workspaceID]; s != nil {
		return s.problems
	}
	return nil
}

// SetInstance replaces the policies of the instance, and what exists for policies to name.
func (b *Store) SetInstance(instance *policy.Set, world policy.Inventory) {
	b.mu.Lock()
	defer b.mu.Unlock()
	next := &view{instance: instance, world: world, spaces: map[string]*space{}}
	for workspaceID, s := range b.view.Load().spaces {
		next.spaces[workspaceID] = next.compile(s.version)
	}
	b.view.Store(next)
}

// Reload takes over what was saved here or at another replica since the last time. Call it at the start and every moment.
func (b *Store) Reload(ctx context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	revisions, err := b.store.Revisions(ctx)
	if err != nil {
		return fmt.Errorf("look for changed policies: %w", err)
	}
	revision := revisions[Topic]
	if revision == b.revision {
		return nil
	}
	last, after := b.view.Load(), b.revision
	next := &view{instance: last.instance, world: last.world, spaces: maps.Clone(last.spaces)}
	if revision < after { // a store whose revision went back is another one, or an older copy
		after = 0
		clear(next.spaces)
	}
	err = b.store.ChangedPolicies(ctx, after, func(workspaceID string, v Version) error {
		next.spaces[workspaceID] = next.compile(v)
		return nil
	})
	if err != nil {
		return fmt.Errorf("read changed policies: %w", err)
	}
	b.view.Store(next)
	b.revision = revision
	return nil
}
