package replay

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"fairlead/internal/catalog"
	"fairlead/internal/feedback"
	"fairlead/internal/policy"
	"fairlead/internal/route"
)

// World is what a decision was made in, as far as it can still be had.
type World struct {
	Rules
	Catalog string // version of the catalog that names are looked up in
	Missing []string
}

// Library puts the worlds of past decisions together. It keeps what it has read: neighbouring decisions have the same.
// It is safe for concurrent use.
type Library struct {
	archive Archive
	catalog *catalog.Catalog
	zone    func(string) (*time.Location, error)

	mu          sync.Mutex
	snapshots   map[string]*route.Snapshot
	policies    map[[2]string]*policy.Set // by version and the snapshot whose names they were read with
	corrections map[string]*feedback.Corrections
}

// NewLibrary returns a library that reads from an archive. Names of models that a snapshot lacks are looked up in the
// catalog; zones may be nil.
func NewLibrary(archive Archive, cat *catalog.Catalog, zone func(string) (*time.Location, error)) *Library {
	return &Library{
		archive: archive, catalog: cat, zone: zone,
		snapshots: map[string]*route.Snapshot{}, policies: map[[2]string]*policy.Set{}, corrections: map[string]*feedback.Corrections{},
	}
}

// mostKept bounds what a library keeps of each kind.
const mostKept = 64

// World puts together what the versions name. What is not to be had is listed as missing.
func (l *Library) World(ctx context.Context, v route.Versions) World {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := World{Catalog: l.catalog.Version()}
	lack := func(format string, args ...any) { w.Missing = append(w.Missing, fmt.Sprintf(format, args...)) }
	if v.Router != route.Router {
		lack("router %s made this decision, and this program has %s", named(v.Router), route.Router)
	}
	var err error
	if w.Snapshot, err = l.snapshot(ctx, v.Snapshot); err != nil {
		lack("targets, prices and abilities of version %s: %v", named(v.Snapshot), err)
		return w // policies cannot be read without names
	}
	if w.Policies, err = l.rules(ctx, v.Policy, w.Snapshot); err != nil {
		lack("policies of version %s: %v", v.Policy, err)
	}
	corrections, err := l.correction(ctx, v.Feedback)
	if err != nil {
		lack("corrections by feedback of version %s: %v", v.Feedback, err)
	}
	if corrections != nil {
		w.Corrections = corrections
	}
	return w
}

func named(version string) string {
	if version == "" {
		return "unknown"
	}
	return version
}

func (l *Library) snapshot(ctx context.Context, version string) (*route.Snapshot, error) {
	return kept(l.snapshots, version, func() (*route.Snapshot, error) {
		body, err := l.archive.KeptVersion(ctx, Snapshots, version)
		if err != nil {
			return nil, err
		}
		return route.Restore(body, l.catalog)
	})
}

func (l *Library) rules(ctx context.Context, version string, snap *route.Snapshot) (*policy.Set, error) {
	if version == "" {
		return nil, nil
	}
	return kept(l.policies, [2]string{version, snap.Version()}, func() (*policy.Set, error) {
		names := NamesOf(snap, l.zone)
		names.AllowUnknown = true // what they name was there when they were saved, or was switched off when it went
		var joined *policy.Set
		for part := range strings.SplitSeq(version, "+") {
			body, err := l.archive.KeptVersion(ctx, Policies, part)
			if err != nil {
				return nil, err
			}
			set, problems := policy.Parse("archive", body, names)
			if len(problems) > 0 {
				return nil, fmt.Errorf("they can no longer be read: %s", problems[0])
			}
			joined = policy.Join(joined, set)
		}
		return joined, nil
	})
}

func (l *Library) correction(ctx context.Context, version string) (*feedback.Corrections, error) {
	if version == "" {
		return nil, nil
	}
	return kept(l.corrections, version, func() (*feedback.Corrections, error) {
		body, err := l.archive.KeptVersion(ctx, Abilities, version)
		if err != nil {
			return nil, err
		}
		return feedback.Decode(body)
	})
}

// kept returns what the map has, or makes it.
func kept[K comparable, V any](m map[K]V, key K, read func() (V, error)) (V, error) {
	if v, ok := m[key]; ok {
		return v, nil
	}
	v, err := read()
	if err != nil {
		return v, err
	}
	if len(m) >= mostKept {
		clear(m)
	}
	m[key] = v
	return v, nil
}

// NamesOf lists what policies may name where these targets are to be had. zone may be nil.
func NamesOf(snap *route.Snapshot, zone func(string) (*time.Location, error)) policy.Inventory {
	w := policy.Inventory{Zone: zone, Canonical: func(name string) (string, bool) {
		m, ok := snap.Catalog.Model(name)
		if !ok {
			return "", false
		}
		return m.Name, true
	}}
	for _, t := range snap.Targets() {
		w.Targets = append(w.Targets, t.ID())
		if !slices.Contains(w.Models, t.Model.Name) {
			w.Models = append(w.Models, t.Model.Name)
		}
		if !slices.Contains(w.Providers, t.Provider) {
			w.Providers = append(w.Providers, t.Provider)
		}
		for _, tag := range t.Tags {
			if !slices.Contains(w.Tags, tag) {
				w.Tags = append(w.Tags, tag)
			}
		}
	}
	return w
}
