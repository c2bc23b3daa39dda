package app

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"fairlead/internal/provider"
	"fairlead/internal/providerset"
)

const (
	listLook   = 30 * time.Second // how often the gateway looks for lists that are due
	listEvery  = 10 * time.Minute // how often a list is read again
	maxListed  = 500              // models of one list
	maxModelID = 256              // bytes of a model's name
)

// modelLists keeps the models that providers list themselves. A list that cannot be read again stays as it was.
type modelLists struct {
	mu    sync.Mutex
	names map[string][]string  // by provider
	read  map[string]time.Time // when the list was last read
}

func (l *modelLists) get() map[string][]string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.names)
}

func (l *modelLists) due(name string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	at, ok := l.read[name]
	return !ok || now.Sub(at) >= listEvery
}

// set stores the list of a provider and reports whether it changed.
func (l *modelLists) set(name string, models []string, now time.Time) (changed bool) {
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

// keepModelLists reads the lists of the providers that need one, and offers what is new.
func (a *App) keepModelLists(ctx context.Context) {
	ticker := time.NewTicker(listLook)
	defer ticker.Stop()
	for {
		if a.readModelLists(ctx) {
			if err := a.rebuild(ctx); err != nil && ctx.Err() == nil {
				a.report("offer the models that providers list", err)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// readModelLists reads the lists that are due and reports whether one changed.
func (a *App) readModelLists(ctx context.Context) (changed bool) {
	all := a.loaded().Config.AllowUnpriced || a.keyring.AllowsUnpriced()
	for _, p := range a.fleet.Load().Providers {
		if !readsList(p, all) || !a.listed.due(p.Name, time.Now()) {
			continue
		}
		result := providerset.Probe(ctx, a.egress, p)
		if ctx.Err() != nil {
			return false
		}
		if !result.OK {
			a.log.DebugContext(ctx, "model list not read", "provider", p.Name, "error", result.Error)
			continue
		}
		changed = a.listed.set(p.Name, result.Models, time.Now()) || changed
	}
	return changed
}

// readsList reports whether the provider's own list of models is read: where neither the catalog nor the configuration names
// a model of it, and for every provider where models without a price may be used.
func readsList(p *provider.Provider, allowUnpriced bool) bool {
	if p.Simulated || p.ModelsPath == "" {
		return false
	}
	return allowUnpriced || !slices.ContainsFunc(p.Targets, func(t *provider.Target) bool { return !t.Listed })
}
