package replay

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/feedback"
	"fairlead.dev/internal/policy"
	"fairlead.dev/internal/route"
)

// Archived holds the data from which a decision was computed, as far as it is stored.
type Archived struct {
	Rules
	Catalog string   // version of the catalog in which names are looked up
	Missing []string // descriptions of missing data
}

// Library loads the data of past decisions. It caches the data, because many decisions use the same versions. It is safe for
// concurrent use.
type Library struct {
	archive Archive
	catalog *catalog.Catalog
	zone    func(string) (*time.Location, error)

	mu          sync.Mutex
	catalogs    map[string]*catalog.Catalog
	snapshots   map[string]*route.Snapshot
	policies    map[[2]string]*policy.Set // policies by policy version and snapshot version
	corrections map[string]*feedback.Corrections
}

// NewLibrary returns a library that reads from an archive. Models that are not in a snapshot are looked up in the
// catalog of the decision, or in cat if that catalog is not archived. zone may be nil.
func NewLibrary(archive Archive, cat *catalog.Catalog, zone func(string) (*time.Location, error)) *Library {
	return &Library{
		archive: archive, catalog: cat, zone: zone,
		catalogs: map[string]*catalog.Catalog{}, snapshots: map[string]*route.Snapshot{}, policies: map[[2]string]*policy.Set{}, corrections: map[string]*feedback.Corrections{},
	}
}

// Load loads the given versions. Versions that are not stored are listed in Missing.
func (l *Library) Load(ctx context.Context, v route.Versions) Archived {
	l.mu.Lock()
	defer l.mu.Unlock()
	known := l.catalogOf(ctx, v.Catalog)
	w := Archived{Catalog: known.Version()}
	lack := func(format string, args ...any) { w.Missing = append(w.Missing, fmt.Sprintf(format, args...)) }
	if v.Router != route.Router {
		lack("the decision was made by router %s; this program has router %s", cmp.Or(v.Router, "unknown"), route.Router)
	}
	var err error
	w.Snapshot, err = cached(l.snapshots, v.Snapshot, func() (*route.Snapshot, error) {
		body, err := l.archive.KeptVersion(ctx, Snapshots, v.Snapshot)
		if err != nil {
			return nil, err
		}
		return route.Restore(body, known)
	})
	if err != nil {
		lack("targets, prices and abilities of version %s: %v", cmp.Or(v.Snapshot, "unknown"), err)
		return w // policies cannot be parsed without the names of models
	}
	if w.Policies, err = l.rules(ctx, v.Policy, w.Snapshot); err != nil {
		lack("policies of version %s: %v", v.Policy, err)
	}
	if v.Feedback == "" {
		return w
	}
	corrections, err := cached(l.corrections, v.Feedback, func() (*feedback.Corrections, error) {
		body, err := l.archive.KeptVersion(ctx, Abilities, v.Feedback)
		if err != nil {
			return nil, err
		}
		return feedback.Decode(body)
	})
	if err != nil {
		lack("feedback corrections of version %s: %v", v.Feedback, err)
	}
	if corrections != nil {
		w.Corrections = corrections
	}
	return w
}

// catalogOf returns the catalog with the given version, or the current catalog if that version is not archived. Decisions depend on the catalog only for models without a target.
func (l *Library) catalogOf(ctx context.Context, version string) *catalog.Catalog {
	if version == "" || version == l.catalog.Version() {
		return l.catalog
	}
	c, err := cached(l.catalogs, version, func() (*catalog.Catalog, error) {
		body, err := l.archive.KeptVersion(ctx, Catalogs, version)
		if err != nil {
			return nil, err
		}
		return catalog.Restore(body)
	})
	if err != nil {
		return l.catalog
	}
	return c
}

func (l *Library) rules(ctx context.Context, version string, snap *route.Snapshot) (*policy.Set, error) {
	if version == "" {
		return nil, nil
	}
	return cached(l.policies, [2]string{version, snap.Version()}, func() (*policy.Set, error) {
		names := NamesOf(snap, l.zone)
		names.AllowUnknown = true // the names were validated when the policies were saved
		var joined *policy.Set
		for part := range strings.SplitSeq(version, "+") {
			body, err := l.archive.KeptVersion(ctx, Policies, part)
			if err != nil {
				return nil, err
			}
			set, problems := policy.Parse("archive", body, names)
			if len(problems) > 0 {
				return nil, fmt.Errorf("parse: %s", problems[0])
			}
			joined = policy.Join(joined, set)
		}
		return joined, nil
	})
}

// cached returns the value of a key in m. If m does not have the key, cached reads the value and stores it.
func cached[K comparable, V any](m map[K]V, key K, read func() (V, error)) (V, error) {
	if v, ok := m[key]; ok {
		return v, nil
	}
	v, err := read()
	if err != nil {
		return v, err
	}
	const maxCached = 64
	if len(m) >= maxCached {
		clear(m)
	}
	m[key] = v
	return v, nil
}

// NamesOf returns the names that policies for the snapshot's targets may use. zone may be nil.
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
