package providerset

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"fairlead/internal/egress"
	"fairlead/internal/provider"
)

const (
	listEvery  = 10 * time.Minute // interval between two reads of a list
	maxListed  = 500              // models per list
	maxModelID = 256              // bytes of a model's name
)

// ModelLists stores the models that providers list themselves. A list that cannot be read again is kept.
type ModelLists struct {
	mu    sync.Mutex
	names map[string][]string  // by provider
	read  map[string]time.Time // time of the last read, by provider
}

func (l *ModelLists) get() map[string][]string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.names)
}

func (l *ModelLists) due(name string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	at, ok := l.read[name]
	return !ok || now.Sub(at) >= listEvery
}

// set stores the list of a provider and reports whether it changed.
func (l *ModelLists) set(name string, models []string, now time.Time) (changed bool) {
	models = slices.DeleteFunc(slices.Clone(models), func(model string) bool {
		return model == "" || len(model) > maxModelID || strings.ContainsFunc(model, func(r rune) bool { return !unicode.IsPrint(r) })
	})
	slices.Sort(models)
	models = slices.Compact(models)
	models = models[:min(len(models), maxListed)]
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.names == nil {
		l.names, l.read = map[string][]string{}, map[string]time.Time{}
	}
	l.read[name] = now
	if slices.Equal(l.names[name], models) {
		return false
	}
	l.names[name] = models
	return true
}

// Refresh reads the lists that are due and reports whether one changed.
func (l *ModelLists) Refresh(ctx context.Context, client *egress.Client, providers []*provider.Provider, allowUnpriced bool, log *slog.Logger) (changed bool) {
	for _, p := range providers {
		if !readsList(p, allowUnpriced) || !l.due(p.Name, time.Now()) {
			continue
		}
		result := Probe(ctx, client, p)
		if ctx.Err() != nil {
			return false
		}
		if !result.OK {
			log.DebugContext(ctx, "model list not read", "provider", p.Name, "error", result.Error)
			continue
		}
		changed = l.set(p.Name, result.Models, time.Now()) || changed
	}
	return changed
}

// readsList reports whether the provider's own model list is read: for a provider without models in the catalog and the
// configuration, and for every provider when models without a price are allowed.
func readsList(p *provider.Provider, allowUnpriced bool) bool {
	if p.Simulated || p.ModelsPath == "" {
		return false
	}
	return allowUnpriced || !slices.ContainsFunc(p.Targets, func(t *provider.Target) bool { return !t.Listed })
}
