package providerset

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/config"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/provider/compatible"
	"fairlead.dev/internal/simulator"
)

// lister is a provider whose model lists are set by the test. Each credential has its own list.
type lister struct {
	mu     sync.Mutex
	lists  map[string][]string // lists by secret; a nil list fails
	more   bool                // whether there are further pages
	reads  []time.Time
	target *provider.Target
}

func (l *lister) RoundTrip(r *http.Request) (*http.Response, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reads = append(l.reads, time.Now())
	w := httptest.NewRecorder()
	models := l.lists[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
	if models == nil {
		w.WriteHeader(http.StatusUnauthorized)
		return w.Result(), nil
	}
	list := map[string]any{"has_more": l.more}
	var data []map[string]string
	for _, name := range models {
		data = append(data, map[string]string{"id": name})
	}
	list["data"] = data
	err := json.NewEncoder(w).Encode(list)
	return w.Result(), err
}

func (l *lister) set(secret string, models ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lists[secret] = models
}

// provider returns a provider with one known model and one credential per secret.
func (l *lister) provider(secrets ...string) *provider.Provider {
	settings := provider.Settings{Name: "house", BaseURL: "http://house.test/v1"}
	for i, secret := range secrets {
		settings.Credentials = append(settings.Credentials, provider.Credential{ID: fmt.Sprint("house#", i+1), Secret: secret})
	}
	p := compatible.Plain("house", "House").New(settings)
	p.Transport = l
	p.Targets = []*provider.Target{l.target}
	return p
}

func newLister(secrets ...string) *lister {
	l := &lister{lists: map[string][]string{}, target: &provider.Target{Provider: "house", Upstream: "known", Model: &catalog.Model{Name: "known"}}}
	for _, secret := range secrets {
		l.lists[secret] = []string{"known"}
	}
	return l
}

// listStore is an in-memory ListStore.
type listStore struct {
	rows map[string]*provider.ListedModel
	err  error
}

func (s *listStore) SaveModelList(_ context.Context, name string, models []string, complete bool, at time.Time) error {
	for _, model := range models {
		row := s.rows[model]
		if row == nil {
			row = &provider.ListedModel{Provider: name, Model: model, FirstSeen: at}
			s.rows[model] = row
		}
		row.LastSeen, row.Missed = at, 0
	}
	for _, row := range s.rows {
		if complete && row.LastSeen.Before(at) {
			row.Missed++
		}
	}
	return s.err
}

func (s *listStore) ListedModels(context.Context) (list []provider.ListedModel, err error) {
	for _, name := range slices.Sorted(maps.Keys(s.rows)) {
		list = append(list, *s.rows[name])
	}
	return list, s.err
}

func newReader(lines *bytes.Buffer) ListReader {
	return ListReader{
		Store: &listStore{rows: map[string]*provider.ListedModel{}}, Random: func() float64 { return 0.5 },
		Log: slog.New(slog.NewTextHandler(lines, &slog.HandlerOptions{Level: slog.LevelInfo})),
	}
}

func names(seen []provider.ListedModel) (list []string) {
	for _, m := range seen {
		list = append(list, m.Model)
	}
	return list
}

func TestModelListsAreReadPeriodically(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var lists ModelLists
		var lines bytes.Buffer
		source, start := newLister("sk-one"), time.Now()
		r, p := newReader(&lines), source.provider("sk-one")
		options := ListOptions{Every: 6 * time.Hour}
		run := func(until time.Duration) (changed bool) {
			for ; time.Since(start) < until; time.Sleep(listRetry) {
				again, err := lists.Refresh(t.Context(), r, []*provider.Provider{p}, options)
				if err != nil {
					t.Fatal(err)
				}
				changed = changed || again
			}
			return changed
		}

		run(time.Minute)
		source.set("sk-one", "known", "next")
		changed := run(13 * time.Hour)

		if len(source.reads) != 3 || !source.reads[0].Equal(start) || source.reads[1].Sub(source.reads[0]).Round(time.Hour) != 6*time.Hour {
			t.Errorf("read at %v, want three reads, the first immediately, six hours apart", source.reads)
		}
		seen := lists.Seen()
		if !changed || !slices.Equal(names(seen), []string{"known", "next"}) || !seen[1].FirstSeen.Equal(source.reads[1]) || !seen[1].LastSeen.Equal(source.reads[2]) {
			t.Errorf("changed %t, seen %+v; want true, and known and next with the times of the reads", changed, seen)
		}
		if len(lists.served()) != 0 {
			t.Errorf("served without allow_unpriced: %v, want none", lists.served())
		}
		if n := strings.Count(lines.String(), "provider lists new models"); n != 1 || !strings.Contains(lines.String(), "[next]") {
			t.Errorf("%d log lines, want one that names next: %s", n, &lines)
		}

		options.AllowUnpriced = true
		if !run(13*time.Hour+time.Minute) || !slices.Equal(lists.served()["house"], []string{"known", "next"}) {
			t.Errorf("served with allow_unpriced: %v, want known and next after a change", lists.served())
		}
		options = ListOptions{}
		if !run(13*time.Hour+2*time.Minute) || len(lists.States()) != 0 {
			t.Errorf("lists kept after reading was disabled: %+v", lists.States())
		}
		before := len(source.reads)
		if run(48 * time.Hour); len(source.reads) != before {
			t.Error("a list was read although reading is disabled")
		}
	})
}

func TestUnreadableListIsKeptAndReadLessOften(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var lists ModelLists
		var lines bytes.Buffer
		source, start := newLister("sk-one"), time.Now()
		r, p := newReader(&lines), source.provider("sk-one")
		options := ListOptions{Every: time.Hour, AllowUnpriced: true}
		refresh := func() {
			if _, err := lists.Refresh(t.Context(), r, []*provider.Provider{p}, options); err != nil {
				t.Fatal(err)
			}
		}
		refresh()
		source.set("sk-one")
		source.lists["sk-one"] = nil
		for time.Since(start) < 3*time.Hour {
			time.Sleep(10 * time.Second)
			refresh()
		}
		// The second read is after 10 minutes. It fails and is retried after 0.5, 1, 2, 4 and 8 minutes, then every 10
		// minutes.
		if n := len(source.reads); n < 20 || n > 24 {
			t.Errorf("read %d times, want 20 to 24", n)
		}
		if diff := cmp.Diff([]ListState{{Provider: "house", Models: 1, Failing: 1}}, lists.States()); diff != "" {
			t.Error(diff)
		}
		if !slices.Equal(lists.served()["house"], []string{"known"}) || lists.Seen()[0].Missed != 0 {
			t.Errorf("served %v, seen %+v; want known, not missed", lists.served(), lists.Seen())
		}
		if n := strings.Count(lines.String(), "model list not read"); n != 1 {
			t.Errorf("%d warnings, want 1: %s", n, &lines)
		}
		r.Store.(*listStore).err = errors.New("database unavailable")
		source.set("sk-one", "known", "next")
		time.Sleep(time.Hour)
		changed, err := lists.Refresh(t.Context(), r, []*provider.Provider{p}, options)
		if err == nil || !changed || lists.States()[0].Failing != 0 || len(lists.served()["house"]) != 2 {
			t.Errorf("without a database: changed %t, %v, states %+v; want true, an error and two served models",
				changed, err, lists.States())
		}
	})
}

func TestEachCredentialsListIsRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var lists ModelLists
		source := newLister("sk-one", "sk-two")
		r, p := newReader(&bytes.Buffer{}), source.provider("sk-one", "sk-two")
		refresh := func() {
			t.Helper()
			if _, err := lists.Refresh(t.Context(), r, []*provider.Provider{p}, ListOptions{AllowUnpriced: true}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Hour)
		}
		source.set("sk-two", "preview")
		refresh()
		if !slices.Equal(lists.served()["house"], []string{"known", "preview"}) {
			t.Errorf("served %v, want known and preview", lists.served())
		}
		source.lists["sk-two"] = nil
		for range 3 {
			refresh()
		}
		if !slices.Equal(lists.served()["house"], []string{"known", "preview"}) || lists.States()[0].Failing != 1 || lists.Seen()[1].Missed != 0 {
			t.Errorf("after a credential failed: served %v, states %+v, seen %+v", lists.served(), lists.States(), lists.Seen())
		}
		source.set("sk-two", "known")
		source.more = true
		refresh()
		if lists.Seen()[1].Missed != 0 {
			t.Error("a model is marked as missed after an incomplete list")
		}
		source.more = false
		refresh()
		refresh()
		if seen := lists.Seen(); !seen[1].Gone() || seen[0].Gone() {
			t.Errorf("after two complete lists without the model: %+v, want it gone", seen)
		}
	})
}

func TestModelListsAreBounded(t *testing.T) {
	t.Parallel()
	many := []string{"b", "", "a", "a", "line\nbreak", strings.Repeat("x", maxModelID+1)}
	if got := boundedNames(many); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("boundedNames = %q, want [a b]", got)
	}
	for i := range 2 * maxListed {
		many = append(many, fmt.Sprintf("model-%d", i))
	}
	source := newLister("sk-one")
	source.set("sk-one", many...)
	result := newReader(&bytes.Buffer{}).read(t.Context(), source.provider("sk-one"))
	if len(result.models) != maxListed || result.complete {
		t.Errorf("%d names kept, complete = %t; want %d, false", len(result.models), result.complete, maxListed)
	}
}

// A list is served if the provider has no known models, or if models without a price are allowed.
func TestListInterval(t *testing.T) {
	t.Parallel()
	known := []*provider.Target{{}}
	listed := []*provider.Target{{Listed: true}}
	const every = 6 * time.Hour
	for name, tc := range map[string]struct {
		p        provider.Provider
		unpriced bool
		want     time.Duration
	}{
		"no models":            {provider.Provider{ModelsPath: "/models"}, false, listEvery},
		"only listed models":   {provider.Provider{ModelsPath: "/models", Targets: listed}, false, listEvery},
		"models":               {provider.Provider{ModelsPath: "/models", Targets: known}, false, every},
		"models, unpriced":     {provider.Provider{ModelsPath: "/models", Targets: known}, true, listEvery},
		"no path for the list": {provider.Provider{}, true, 0},
		"simulated":            {provider.Provider{ModelsPath: "/models", Simulated: true}, true, 0},
	} {
		if got := listInterval(&tc.p, ListOptions{Every: every, AllowUnpriced: tc.unpriced}); got != tc.want {
			t.Errorf("%s: interval %v, want %v", name, got, tc.want)
		}
	}
}

func TestListedModelsJoinThoseOfTheConfiguration(t *testing.T) {
	t.Parallel()
	c := config.Default()
	c.Detect, c.Simulator = false, "off"
	price := 0.1
	c.Providers = []config.Provider{{Name: "house", BaseURL: "http://house.example/v1", Models: []config.Model{
		{Name: "one", Upstream: "one-2026", InputPerMtok: &price, OutputPerMtok: &price},
	}}}
	c.Providers = append(c.Providers, config.Provider{Name: "openai", APIKeys: []string{"sk-0123456789"}})
	b := Builder{
		Config: c, Env: func(string) string { return "" },
		Listed:    map[string][]string{"house": {"one-2026", "two"}, "openai": {"gpt-4.1", "gpt-4.1-2025-04-14", "gpt-99"}, "other": {"three"}},
		Simulator: simulator.NewSimulator(simulator.Options{}), Book: &catalog.PriceHistory{},
	}
	f, err := b.Assemble()
	if err != nil {
		t.Fatal(err)
	}
	targets := f.Providers[0].Targets
	if len(targets) != 2 || targets[0].Listed || targets[1].Model.Name != "two" || !targets[1].NamedOnly() {
		t.Errorf("targets %+v, want the configured one and the listed one by name only", targets)
	}
	for _, target := range f.Providers[1].Targets {
		if target.Listed != (target.Model.Name == "gpt-99") {
			t.Errorf("%s: Listed = %t", target.ID(), target.Listed)
		}
	}
	if dated := f.Routes.Named("gpt-4.1-2025-04-14"); len(dated) != 1 || dated[0].Price == nil {
		t.Errorf("targets of the dated name are %+v, want one with a price", dated)
	}
}

func TestAccountOffersOnlyTheModelsOfItsList(t *testing.T) {
	t.Parallel()
	c := config.Default()
	c.Detect, c.Simulator = false, "off"
	c.Providers = []config.Provider{{APIKeys: []string{"sk-0123456789"}, Catalog: new(true), Models: []config.Model{{Name: "mine"}}}}
	for name, tc := range map[string]struct {
		vendor string
		rows   []string // stored list, read before a restart
		want   int      // targets; -1 for all of the catalog
	}{
		"four models":               {"openai", []string{"gpt-4.1", "gpt-4.1-mini-2025-04-14", "gpt-4o", "text-embedding-3-small", "gpt-99"}, 5},
		"no list":                   {"openai", nil, -1},
		"list with other names":     {"openai", []string{"deployment-1"}, -1},
		"chat models of OpenRouter": {"openrouter", []string{"openai/gpt-4.1"}, 7}, // the list omits the five models for embeddings
	} {
		c.Providers[0].Name = tc.vendor
		var lists ModelLists
		for _, model := range tc.rows {
			lists.seen = append(lists.seen, provider.ListedModel{Provider: tc.vendor, Model: model})
		}
		f, err := Builder{
			Config: c, Env: func(string) string { return "" }, Offered: lists.offered(), Simulator: simulator.NewSimulator(simulator.Options{}), Book: &catalog.PriceHistory{},
		}.Assemble()
		if err != nil {
			t.Fatal(err)
		}
		p, all := f.Providers[0], f.State(f.Providers[0]).CatalogModels
		if _, kept := p.Target("mine"); !kept || len(p.Targets) != tc.want && (tc.want >= 0 || len(p.Targets) != all) {
			t.Errorf("%s: %d of %d models, want %d, including the configured one", name, len(p.Targets), all, tc.want)
		}
	}
}

func TestProvidersWithoutModelsAreReported(t *testing.T) {
	t.Parallel()
	c := config.Default()
	c.Detect, c.Simulator = false, "off"
	c.Providers = []config.Provider{
		{Name: "house", BaseURL: "http://house.example/v1"},
		{Name: "known", BaseURL: "http://known.example/v1", Models: []config.Model{{Name: "one"}}},
	}
	f, err := Builder{
		Config: c, Env: func(string) string { return "" },
		Simulator: simulator.NewSimulator(simulator.Options{}), Book: &catalog.PriceHistory{},
	}.Assemble()
	if err != nil {
		t.Fatal(err)
	}
	warnings := f.WithoutModels()
	if len(warnings) != 1 || !strings.Contains(warnings[0], `"house"`) || !strings.Contains(warnings[0], "http://house.example/v1/models") {
		t.Errorf("warnings %q, want one that names house and the URL of its list", warnings)
	}
}
