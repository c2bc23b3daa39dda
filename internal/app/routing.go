package app

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"fairlead/internal/catalog"
	"fairlead/internal/config"
	"fairlead/internal/feedback"
	"fairlead/internal/gateway"
	"fairlead/internal/llm"
	"fairlead/internal/policy"
	"fairlead/internal/policystore"
	"fairlead/internal/predict"
	"fairlead/internal/predict/ability"
	"fairlead/internal/promptcache"
	"fairlead/internal/providerset"
	"fairlead/internal/replay"
	"fairlead/internal/requestlog"
	"fairlead/internal/signals"
	"fairlead/internal/wire/chat"
	"fairlead/internal/wire/messages"
	"fairlead/internal/wire/responses"
)

// freshness is how old policies and ratings that another process wrote may be.
const freshness = 5 * time.Second

// openRouting builds what decisions depend on beside targets and prices.
func (a *App) openRouting(ctx context.Context, c config.Config, f *providerset.Set) error {
	a.rules = policystore.New(a.db.Config, f.Policies, f.World(), nil)
	if err := a.rules.Reload(ctx); err != nil {
		return fmt.Errorf("read policies: %w", err)
	}
	a.feedback = feedback.NewIndex(a.db.Feedback, a.db.Feedback, feedback.Options{
		Base: func(model string) (predict.Ability, bool) { return a.fleet.Load().Snapshot().Ability(model) }, Predictor: a.predictor.Version(),
		HalfLife: a.halfLife,
	})
	a.fleet.Store(f)
	if err := a.feedback.Refresh(ctx); err != nil {
		return fmt.Errorf("read ratings: %w", err)
	}
	a.signals = signals.New(a.feedback.Signal, func(err error) { a.report("write signals", err) })
	a.keeper = &keeper{app: a, kept: map[string]time.Time{}, wanted: make(chan *requestlog.Entry, 64)}
	return a.openPrefixes(c)
}

// halfLife is after how long a rating counts half under the configuration in force.
func (a *App) halfLife() time.Duration { return a.loaded().Config.Routing.HalfLife }

// openPrefixes remembers conversations in this process, and tells other replicas by way of Redis where there is one.
func (a *App) openPrefixes(c config.Config) error {
	memory := promptcache.NewMemory(promptcache.DefaultLinks)
	a.prefixes = memory
	if c.Redis == "" {
		return nil
	}
	options, err := redis.ParseURL(c.Redis)
	if err != nil {
		return fmt.Errorf("read the address of Redis: %w", err)
	}
	a.redis = redis.NewClient(options)
	a.shared = promptcache.NewShared(memory, promptcache.NewRedis(a.redis))
	a.prefixes = a.shared
	return nil
}

// startRouting keeps policies and corrections as fresh as other processes write them.
func (a *App) startRouting(ctx context.Context) {
	a.tasks.Go(func() { a.keepRouting(ctx) })
	a.tasks.Go(func() { a.keeper.run(ctx) })
	a.tasks.Go(func() { a.signals.Run(ctx) })
	if a.shared != nil {
		a.tasks.Go(func() { a.shared.Run(ctx) })
	}
}

func (a *App) keepRouting(ctx context.Context) {
	tick := time.NewTicker(freshness)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		a.report("read policies", a.rules.Reload(ctx))
		a.report("read ratings", a.feedback.Refresh(ctx))
	}
}

// abilities tells the router what models can do.
type abilities struct{ fitter *ability.Fitter }

// Ability is by the model's name, its published scores, or the figure for its quality.
func (p abilities) Ability(m *catalog.Model) predict.Ability {
	scores := make([]ability.Score, len(m.Benchmarks))
	for i, b := range m.Benchmarks {
		scores[i] = ability.Score{Benchmark: b.Name, Value: b.Value}
	}
	name := m.Name
	if m.QualitySource == catalog.OverrideSource {
		name = "" // the operator's word counts for more than what was learned of the name
	}
	return p.fitter.Ability(name, scores, m.Quality)
}

// keeper keeps the versions that logged decisions were computed from, so that they can be computed again.
type keeper struct {
	app    *App
	wanted chan *requestlog.Entry

	mu   sync.Mutex
	kept map[string]time.Time // when
}

// keepAgain is how often a version that is in use is kept anew: those that nobody keeps any more expire.
const keepAgain = 12 * time.Hour

// note hears of every entry. Most name versions that are kept already.
func (k *keeper) note(e *requestlog.Entry) {
	if e.Decision == nil || !k.missing(e) {
		return
	}
	select {
	case k.wanted <- e:
	default: // busy: the next request of the same versions will do
	}
}

// key names the versions of an entry.
func (*keeper) key(e *requestlog.Entry) string {
	return e.Versions.Snapshot + " " + e.Versions.Policy + " " + e.Versions.Feedback
}

func (k *keeper) missing(e *requestlog.Entry) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	at, ok := k.kept[k.key(e)]
	return !ok || e.Time.Sub(at) > keepAgain
}

func (k *keeper) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case e := <-k.wanted:
			if k.missing(e) {
				k.app.report("keep versions", k.keep(ctx, e))
			}
		}
	}
}

// keep writes what is in force, if that is still what the entry was decided by.
func (k *keeper) keep(ctx context.Context, e *requestlog.Entry) error {
	snap, policies, corrections := k.app.gateway.Targets(), k.app.rules.For(e.WorkspaceID), k.app.feedback.For(e.WorkspaceID)
	version := ""
	if corrections != nil {
		version = corrections.Version
	}
	if snap.Version() != e.Versions.Snapshot || policies.Version() != e.Versions.Policy || version != e.Versions.Feedback {
		return nil
	}
	if err := replay.Keep(ctx, k.app.db.Config, snap, policies, corrections); err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.kept[k.key(e)] = e.Time
	return nil
}

// instancePolicies reads the policies of a configuration. Policies of the active configuration were checked when it was
// loaded: names that have disappeared since do not make a provider set invalid.
func (a *App) instancePolicies(loaded *config.Loaded, f *providerset.Set) (*policy.Set, error) {
	w := f.World()
	w.AllowUnknown = a.fleet.Load() != nil && loaded == a.loaded()
	return providerset.ReadPolicies(loaded, w)
}

// routes are the paths of the model API.
func routes() []gateway.Route {
	openAI := chat.Format{Now: time.Now}
	return []gateway.Route{
		{Path: "/chat/completions", Op: llm.Chat, Format: openAI},
		{Path: "/embeddings", Op: llm.Embed, Format: openAI},
		{Path: "/completions", Op: llm.Complete, Format: openAI},
		{Path: "/moderations", Op: llm.Moderate, Format: openAI},
		{Path: "/responses", Op: llm.Chat, Format: responses.Format{Now: time.Now}},
		{Path: "/messages", Op: llm.Chat, Format: messages.Format{}},
		{Path: "/messages/count_tokens", Op: llm.Count, Format: messages.Format{}},
	}
}
