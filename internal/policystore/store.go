package policystore

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"fairlead.dev/internal/policy"
)

// Store holds the active policies. The method For never blocks. Reload updates the policies.
type Store struct {
	storage Storage
	now     func() time.Time
	view    atomic.Pointer[view]

	mu       sync.Mutex // serialises changes to the view
	revision int64      // last revision that was loaded
}

// view is an immutable snapshot of the active policies.
type view struct {
	instance   *policy.Set
	inventory  policy.Inventory
	workspaces map[string]*workspace
}

// workspace holds the active policies of a workspace that has its own policies.
type workspace struct {
	version  Version
	own      *policy.Set
	joined   *policy.Set
	problems []policy.Problem
}

// New returns a store with the instance's policies. Reload loads the policies of workspaces. If now is nil, time.Now is used.
func New(storage Storage, instance *policy.Set, inventory policy.Inventory, now func() time.Time) *Store {
	if now == nil {
		now = time.Now
	}
	s := &Store{storage: storage, now: now}
	s.view.Store(&view{instance: instance, inventory: inventory, workspaces: map[string]*workspace{}})
	return s
}

// For returns the active policies of a workspace, including the instance policies, or nil if there are none.
func (s *Store) For(workspaceID string) *policy.Set {
	v := s.view.Load()
	if w := v.workspaces[workspaceID]; w != nil {
		return w.joined
	}
	return v.instance
}

// Own returns the active policies of a workspace without the instance policies.
func (s *Store) Own(workspaceID string) *policy.Set {
	if w := s.view.Load().workspaces[workspaceID]; w != nil {
		return w.own
	}
	return nil
}

// Instance returns the policies that apply to every workspace.
func (s *Store) Instance() *policy.Set { return s.view.Load().instance }

// Inventory returns the names that policies can refer to.
func (s *Store) Inventory() policy.Inventory { return s.view.Load().inventory }

// Problems lists the references in a workspace's policies to names that no longer exist. The affected policies are only partly
// active.
func (s *Store) Problems(workspaceID string) []policy.Problem {
	if w := s.view.Load().workspaces[workspaceID]; w != nil {
		return w.problems
	}
	return nil
}

// SetInstance replaces the instance's policies and the names that policies can refer to.
func (s *Store) SetInstance(instance *policy.Set, inventory policy.Inventory) {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := &view{instance: instance, inventory: inventory, workspaces: map[string]*workspace{}}
	for workspaceID, w := range s.view.Load().workspaces {
		next.workspaces[workspaceID] = next.compile(w.version)
	}
	s.view.Store(next)
}

// Reload loads the versions that any replica has saved since the last call. Call it at startup and periodically.
func (s *Store) Reload(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	revisions, err := s.storage.Revisions(ctx)
	if err != nil {
		return fmt.Errorf("load revisions: %w", err)
	}
	revision := revisions[Topic]
	if revision == s.revision {
		return nil
	}
	last, after := s.view.Load(), s.revision
	next := &view{instance: last.instance, inventory: last.inventory, workspaces: maps.Clone(last.workspaces)}
	if revision < after { // the database was replaced or restored from a backup
		after = 0
		clear(next.workspaces)
	}
	err = s.storage.ChangedPolicies(ctx, after, func(workspaceID string, v Version) error {
		next.workspaces[workspaceID] = next.compile(v)
		return nil
	})
	if err != nil {
		return fmt.Errorf("load changed policies: %w", err)
	}
	s.view.Store(next)
	s.revision = revision
	return nil
}
