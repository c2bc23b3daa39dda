package providerset

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	adminproviders "fairlead.dev/internal/admin/providers"
	"fairlead.dev/internal/egress"
	"fairlead.dev/internal/provider"
)

const (
	listEvery       = 10 * time.Minute // interval between reads of a list whose models are served
	listRetry       = 30 * time.Second // delay after the first failed read; doubles up to the interval
	listStart       = 30 * time.Second // maximum random delay before the first read of a stored list whose models are not served
	maxListReads    = 4                // maximum number of lists that are read concurrently
	maxListed       = 2000             // maximum number of models in a list
	maxModelID      = 256              // maximum length of a model name in bytes
	listCredentials = 8                // maximum number of credentials with which a provider's list is read
	maxLogged       = 10               // maximum number of new models in a log line
)

// ModelLists holds the model lists that providers return. If reading a list fails, the previous list is kept.
type ModelLists struct {
	reading sync.Mutex // held by Refresh

	mu    sync.Mutex
	lists map[string]*modelList // lists by provider
	seen  []provider.ListedModel
}

// modelList is the list of one provider.
type modelList struct {
	models   []string // union of the models that the credentials can list
	serves   bool     // whether requests for the listed models are served
	cut      bool     // whether the provider has more models than the list
	next     time.Time
	read     []provider.Credential // credentials of the last read
	failures int                   // number of consecutive failed reads
	failing  int                   // number of credentials whose model list could not be read
}

// ListStore stores the lists, so that the time when a model was first seen survives a restart and is shared by
// replicas.
type ListStore interface {
	// SaveModelList records a list. If the list is complete, it increments the missed count of each stored model that is not in the list.
	SaveModelList(ctx context.Context, providerName string, models []string, complete bool, at time.Time) error
	ListedModels(ctx context.Context) ([]provider.ListedModel, error)
}

// ListReader reads the lists of providers.
type ListReader struct {
	Client *egress.Client
	Store  ListStore
	Log    *slog.Logger
	Random func() float64 // returns a random number from 0 to 1, used to spread the reads of replicas over time
}

// ListOptions selects the lists to read.
type ListOptions struct {
	Every         time.Duration // interval for lists whose models are not served; 0 skips these lists
	AllowUnpriced bool          // whether clients may request models with an unknown price
}

// ListState describes the last read of a provider's list.
type ListState struct {
	Provider string
	Models   int
	Failing  int // number of credentials whose model list could not be read
}

// served returns the lists whose models are served, by provider.
func (l *ModelLists) served() map[string][]string {
	l.mu.Lock()
	defer l.mu.Unlock()
	lists := map[string][]string{}
	for name, list := range l.lists {
		if list.serves {
			lists[name] = list.models
		}
	}
	return lists
}

// offered returns the complete lists by provider. A list that was not read yet is the stored one.
func (l *ModelLists) offered() map[string][]string {
	l.mu.Lock()
	defer l.mu.Unlock()
	lists := map[string][]string{}
	for _, m := range l.seen {
		if list := l.lists[m.Provider]; !m.Gone() && (list == nil || len(list.models) == 0) {
			lists[m.Provider] = append(lists[m.Provider], m.Model)
		}
	}
	for name, list := range l.lists {
		if len(list.models) > 0 && !list.cut {
			lists[name] = list.models
		}
	}
	return lists
}

// Expire makes the list of a provider due.
func (l *ModelLists) Expire(providerName string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if list := l.lists[providerName]; list != nil {
		list.next = time.Time{}
	}
}

// put records a list that was read when the provider was connected, so that its models are available immediately.
// If serves is true, clients can request the models.
func (l *ModelLists) put(providerName string, probe *adminproviders.ProbeResult, serves bool, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lists == nil {
		l.lists = map[string]*modelList{}
	}
	l.lists[providerName] = &modelList{models: boundedNames(probe.Models), cut: probe.Partial, serves: serves, next: now.Add(listEvery)}
}

// Seen returns the models of all stored lists.
func (l *ModelLists) Seen() []provider.ListedModel {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.seen)
}

// States returns the state of every list, sorted by provider.
func (l *ModelLists) States() []ListState {
	l.mu.Lock()
	defer l.mu.Unlock()
	var states []ListState
	for _, name := range slices.Sorted(maps.Keys(l.lists)) {
		states = append(states, ListState{Provider: name, Models: len(l.lists[name].models), Failing: l.lists[name].failing})
	}
	return states
}

// LoadSeen reads the stored lists.
func (l *ModelLists) LoadSeen(ctx context.Context, s ListStore) error {
	seen, err := s.ListedModels(ctx)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen = seen
	return nil
}

// Refresh reads the lists that are due and reports whether a list changed. A failed read is logged and retried later.
func (l *ModelLists) Refresh(ctx context.Context, r ListReader, providers []*provider.Provider, o ListOptions) (changed bool, err error) {
	l.reading.Lock()
	defer l.reading.Unlock()
	now := time.Now()
	due, changed := l.due(providers, o, now, r.Random)
	if len(due) == 0 {
		return changed, nil
	}
	var wait sync.WaitGroup
	results := make([]listResult, len(due))
	slots := make(chan struct{}, maxListReads)
	for i, p := range due {
		wait.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			results[i] = r.read(ctx, p)
		})
	}
	wait.Wait()
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	before := l.Seen()
	for i, p := range due {
		changed = l.record(ctx, p, results[i], o, r) || changed
		if results[i].read > 0 && !results[i].cut { // the stored lists decide which models are offered after a restart
			err = errors.Join(err, r.Store.SaveModelList(ctx, p.Name, results[i].models, results[i].complete, now))
			logAdded(ctx, r.Log, p.Name, before, results[i].models)
		}
	}
	return changed, errors.Join(err, l.LoadSeen(ctx, r.Store))
}

// logAdded logs the models that were not in any earlier list of the provider.
func logAdded(ctx context.Context, log *slog.Logger, providerName string, before []provider.ListedModel, models []string) {
	earlier := map[string]bool{}
	for _, m := range before {
		if m.Provider == providerName {
			earlier[m.Model] = true
		}
	}
	added := slices.DeleteFunc(slices.Clone(models), func(model string) bool { return earlier[model] })
	if len(earlier) > 0 && len(added) > 0 {
		log.InfoContext(ctx, "provider lists new models", "provider", providerName, "count", len(added), "models", added[:min(len(added), maxLogged)])
	}
}

// due returns the providers whose list must be read now. It deletes lists that are no longer read, such as the lists of providers that were
// removed from the configuration. changed reports whether the served models changed.
func (l *ModelLists) due(providers []*provider.Provider, o ListOptions, now time.Time, random func() float64) (due []*provider.Provider, changed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lists == nil {
		l.lists = map[string]*modelList{}
	}
	kept := map[string]bool{}
	for _, p := range providers {
		every := listInterval(p, o)
		if every == 0 {
			continue
		}
		kept[p.Name] = true
		list := l.lists[p.Name]
		serves := servesList(p, o.AllowUnpriced)
		if list == nil {
			list = &modelList{next: now}
			// Without a stored list, the gateway would offer every model of the catalog until the first read.
			if stored := slices.ContainsFunc(l.seen, func(m provider.ListedModel) bool { return m.Provider == p.Name }); !serves && stored {
				list.next = now.Add(time.Duration(random() * float64(min(listStart, every/10))))
			}
			l.lists[p.Name] = list
		}
		if list.serves != serves {
			list.serves = serves
			changed = changed || len(list.models) > 0
		}
		if !now.Before(list.next) || list.read != nil && !slices.Equal(list.read, p.Credentials) {
			due = append(due, p)
		}
	}
	for name, list := range l.lists {
		if !kept[name] {
			changed = changed || list.serves && len(list.models) > 0
			delete(l.lists, name)
		}
	}
	return due, changed
}

// listInterval returns the interval at which a provider's list is read; 0 for never.
func listInterval(p *provider.Provider, o ListOptions) time.Duration {
	switch {
	case p.Simulated || p.ModelsPath == "":
		return 0
	case servesList(p, o.AllowUnpriced):
		return listEvery
	default:
		return o.Every
	}
}

// servesList reports whether clients can request the models in the provider's own list. This is the case if neither the catalog nor the
// configuration has models of the provider, or if models without a price are allowed.
func servesList(p *provider.Provider, allowUnpriced bool) bool {
	return allowUnpriced || !slices.ContainsFunc(p.Targets, func(t *provider.Target) bool { return !t.Listed })
}

// listResult is the union of the lists that a provider's credentials return.
type listResult struct {
	models   []string
	complete bool // whether every credential returned its complete list
	cut      bool // whether the provider has more models than the list
	read     int  // number of credentials whose model list was read
	problems []string
}

// read reads a provider's list with each of its credentials, because a provider may offer different models to each
// account.
func (r ListReader) read(ctx context.Context, p *provider.Provider) listResult {
	credentials := p.Credentials[:min(len(p.Credentials), listCredentials)]
	result := listResult{complete: len(credentials) == len(p.Credentials)}
	if len(credentials) == 0 {
		credentials = []provider.Credential{{}} // read the list once, without authentication
	}
	for _, c := range credentials {
		one := probeWith(ctx, r.Client, p, c)
		if !one.OK {
			result.complete = false
			result.problems = append(result.problems, strings.TrimPrefix(fmt.Sprintf("%s: %s", c.ID, one.Error), ": "))
			continue
		}
		result.read++
		result.cut = result.cut || one.Partial
		result.models = append(result.models, one.Models...)
	}
	total := len(result.models)
	if result.models = boundedNames(result.models); len(result.models) == maxListed && total > maxListed {
		result.cut = true
	}
	result.complete = result.complete && !result.cut
	return result
}

// boundedNames returns the valid names, sorted and without duplicates, up to the maximum.
func boundedNames(models []string) []string {
	models = slices.DeleteFunc(slices.Clone(models), func(model string) bool {
		return model == "" || len(model) > maxModelID || strings.ContainsFunc(model, func(r rune) bool { return !unicode.IsPrint(r) })
	})
	slices.Sort(models)
	models = slices.Compact(models)
	return models[:min(len(models), maxListed)]
}

// record stores a result and reports whether the list changed. The first failure after a success is logged as
// a warning, further failures at debug level.
func (l *ModelLists) record(ctx context.Context, p *provider.Provider, result listResult, o ListOptions, r ListReader) (changed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	list, every := l.lists[p.Name], listInterval(p, o)
	list.read = slices.Clone(p.Credentials)
	level := slog.LevelDebug
	if list.failing == 0 {
		level = slog.LevelWarn
	}
	if list.failing = len(result.problems); list.failing > 0 {
		r.Log.Log(ctx, level, "model list not read", "provider", p.Name, "error", strings.Join(result.problems, "; "))
	}
	if list.failing > 0 {
		result.models = boundedNames(slices.Concat(list.models, result.models)) // the old list may contain models of the failed credentials
	}
	switch {
	case result.read > 0:
		list.failures = 0
		changed = !slices.Equal(list.models, result.models) || list.cut != result.cut
		list.models, list.cut = result.models, result.cut
	case list.serves && len(list.models) == 0:
		every = listRetry // retry soon, because the server may still be starting
	default:
		list.failures++
		every = min(every, listRetry<<min(list.failures-1, 16))
	}
	list.next = time.Now().Add(time.Duration(float64(every) * (0.9 + 0.2*r.Random())))
	return changed
}
