package feedback

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"fairlead/internal/id"
	"fairlead/internal/predict"
)

// Defaults and bounds of a Index.
const (
	defaultHalfLife = 30 * 24 * time.Hour
	maxCounted      = 5000 // ratings of one model in one workspace; later ones say it all
	signalDays      = 30   // how far back signals are counted
)

// Corrections are computed at once for a rating when the last computing is this long ago, and this many times as long as
// it took; otherwise the next Refresh does it.
const (
	settle      = time.Second
	settleTimes = 20
)

// Options are what a Index needs besides its store.
type Options struct {
	// Base returns the ability of a model without correction; false when there is no such model here.
	Base func(model string) (predict.Ability, bool)
	// Predictor is the version that sees prompts now.
	Predictor string
	Now       func() time.Time // time.Now when nil
	// HalfLife is after how long a rating weighs half, at the time of a Recompute; 30 days when nil.
	HalfLife func() time.Duration
}

// Index takes ratings and keeps the corrections that they call for. Reading corrections never waits for anything.
type Index struct {
	store   Store
	options Options
	spaces  atomic.Pointer[map[string]*space] // never changed, only replaced

	mu       sync.Mutex // one computing at a time
	revision int64
	day      time.Time // that ages are counted to; zero before the first Refresh
}

// space is what a workspace's ratings come to.
type space struct {
	corrections *Corrections
	models      []ModelSummary
	at          time.Time
	took        time.Duration
}

// NewIndex makes a book without corrections; Refresh fills it.
func NewIndex(store Store, o Options) *Index {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.HalfLife == nil {
		o.HalfLife = func() time.Duration { return defaultHalfLife }
	}
	b := &Index{store: store, options: o}
	b.spaces.Store(&map[string]*space{})
	return b
}

// For returns the corrections in force in a workspace; nil for none.
func (b *Index) For(workspaceID string) *Corrections {
	if s := (*b.spaces.Load())[workspaceID]; s != nil {
		return s.corrections
	}
	return nil
}

// Rate writes a rating, in place of an earlier one of the same request by the same rater, and lets it count soon. It gives
// the rating its id and time. An error is of the rater's doing when it is an *llm.Error.
func (b *Index) Rate(ctx context.Context, r Rating) (Rating, error) {
	if err := b.stamp(&r); err != nil {
		return r, err
	}
	if r.Source == FromSignal {
		return r, fmt.Errorf("rate %s: signals are no ratings", r.RequestID)
	}
	if err := b.store.SaveRating(ctx, r); err != nil {
		return r, err
	}
	b.settled(ctx, r.WorkspaceID)
	return r, nil
}

// Signal writes what answers showed by themselves. It changes no correction.
func (b *Index) Signal(ctx context.Context, signals []Rating) error {
	stamped := make([]Rating, len(signals))
	for i, s := range signals {
		s.Source = FromSignal
		if err := b.stamp(&s); err != nil {
			return err
		}
		stamped[i] = s
	}
	if len(stamped) == 0 {
		return nil
	}
	return b.store.SaveSignals(ctx, stamped)
}

// stamp checks a rating and gives it what it lacks.
func (b *Index) stamp(r *Rating) error {
	if err := r.check(); err != nil {
		return err
	}
	r.Time = b.options.Now().UTC().Truncate(time.Millisecond)
	r.ID = id.New("rat", r.Time)
	r.Comment, r.Label = storable(r.Comment), storable(r.Label)
	return nil
}

// Reset lets the ratings that there are count no longer: those of one model, or all when it is empty. They stay readable.
func (b *Index) Reset(ctx context.Context, workspaceID, model string) error {
	if err := b.store.ResetFeedback(ctx, workspaceID, model, b.options.Now()); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.renew(ctx, workspaceID)
}

// Summary tells what a workspace's feedback comes to.
func (b *Index) Summary(ctx context.Context, workspaceID string) (Summary, error) {
	signals, err := b.store.SignalCounts(ctx, workspaceID, b.options.Now().AddDate(0, 0, -signalDays))
	if err != nil {
		return Summary{}, err
	}
	sum := Summary{Models: []ModelSummary{}, Signals: signals}
	if s := (*b.spaces.Load())[workspaceID]; s != nil {
		sum.Version, sum.Models = s.corrections.Version, s.models
	}
	return sum, nil
}

// put replaces what is known of some workspaces.
func (b *Index) put(fresh map[string]*space) {
	next := maps.Clone(*b.spaces.Load())
	maps.Copy(next, fresh)
	b.spaces.Store(&next)
}
