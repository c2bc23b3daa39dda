package policystore

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"fairlead.dev/internal/policy"
	"fairlead.dev/internal/policy/condition"
)

var start = time.Date(2026, 3, 14, 9, 26, 53, 0, time.UTC)

// memoryStorage is an in-memory Storage.
type memoryStorage struct {
	mu        sync.Mutex
	versions  map[string][]Version
	revisions map[string]int64
	revision  int64
	fail      error // error that every call returns
}

func newMemoryStorage() *memoryStorage {
	return &memoryStorage{versions: map[string][]Version{}, revisions: map[string]int64{}}
}

func (s *memoryStorage) Revisions(context.Context) (map[string]int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return map[string]int64{Topic: s.revision, "keys": 99}, s.fail
}

func (s *memoryStorage) ChangedPolicies(_ context.Context, after int64, visit func(string, Version) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for workspaceID, all := range s.versions {
		if s.revisions[workspaceID] <= after {
			continue
		}
		if err := visit(workspaceID, all[len(all)-1]); err != nil {
			return err
		}
	}
	return s.fail
}

func (s *memoryStorage) AddPolicies(_ context.Context, workspaceID string, basedOn int64, draft Version) (Version, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		return Version{}, s.fail
	}
	if int64(len(s.versions[workspaceID])) != basedOn {
		return Version{}, fmt.Errorf("save policies: %w", ErrConflict)
	}
	draft.Number = basedOn + 1
	s.versions[workspaceID] = append(s.versions[workspaceID], draft)
	s.revision++
	s.revisions[workspaceID] = s.revision
	return draft, nil
}

func (s *memoryStorage) PolicyVersions(_ context.Context, workspaceID string) ([]Version, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := slices.Clone(s.versions[workspaceID])
	slices.Reverse(all)
	for i := range all {
		all[i].Source = ""
	}
	return all, s.fail
}

func (s *memoryStorage) PolicyVersion(_ context.Context, workspaceID string, number int64) (Version, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.versions[workspaceID]
	if number == 0 {
		number = int64(len(all))
	}
	if number < 1 || number > int64(len(all)) {
		return Version{}, ErrNotFound
	}
	return all[number-1], s.fail
}

// inventoryOf returns an inventory with the given models, all at the provider "here".
func inventoryOf(models ...string) policy.Inventory {
	w := policy.Inventory{Models: models, Providers: []string{"here", "elsewhere"}, Tags: []string{"eu"}}
	for _, m := range models {
		w.Targets = append(w.Targets, "here/"+m)
	}
	return w
}

func defaultInventory() policy.Inventory { return inventoryOf("small", "large", "gone") }

// parsed parses policies that must be valid.
func parsed(t testing.TB, source string) *policy.Set {
	t.Helper()
	set, problems := policy.Parse("instance", []byte(source), defaultInventory())
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return set
}

func newTestStore(store Storage) *Store {
	return New(store, nil, defaultInventory(), func() time.Time { return start })
}

// pinning returns a document that pins a model.
func pinning(model string) string {
	return "policies:\n  - name: pin-" + model + "\n    pin: " + model + "\n"
}

func save(t testing.TB, b *Store, workspaceID, source string, basedOn int64) Version {
	t.Helper()
	v, problems, err := b.Save(t.Context(), workspaceID, source, basedOn, "because", "acc_1")
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	return v
}

func reload(t testing.TB, b *Store) {
	t.Helper()
	if err := b.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// activeIn returns a summary of the effects of a workspace's policies on a code request.
func activeIn(b *Store, workspaceID string) string {
	o := b.For(workspaceID).Evaluate(&condition.Facts{Request: condition.Request{Model: "auto", Task: "code"}, Time: condition.Time{At: start}})
	if o.Deny != nil {
		return "deny " + o.Deny.Message
	}
	var effects []string
	if o.Pin.IsSet() {
		effects = append(effects, "pin "+o.Pin.Value)
	}
	for _, p := range o.Prefer {
		effects = append(effects, "prefer "+string(p.Pattern))
	}
	for _, model := range []string{"small", "large", "gone"} {
		if o.Excludes("here", model, nil) != nil {
			effects = append(effects, "not "+model)
		}
	}
	if o.MaxOutput.IsSet() {
		effects = append(effects, fmt.Sprint("at most ", o.MaxOutput.Value))
	}
	return strings.Join(effects, ", ")
}
