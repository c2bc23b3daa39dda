package feedback

import (
	"context"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"fairlead.dev/internal/id"
	"fairlead.dev/internal/route/predict"
)

// Defaults and limits.
const (
	defaultHalfLife = 30 * 24 * time.Hour
	maxCounted      = 5000 // maximum number of ratings used per model and workspace
)

// The minimum time between two computations of a workspace is pausePerVerdict for each of its outcomes, within minPause and maxPause. With
// many outcomes one more changes little, and each computation stores new corrections.
const (
	minPause        = time.Second
	pausePerVerdict = 200 * time.Millisecond
	maxPause        = 10 * time.Minute
)

// pause returns the minimum time until the next computation.
func (s *workspaceState) pause() time.Duration {
	return min(max(minPause, time.Duration(s.learned.Verdicts)*pausePerVerdict), maxPause)
}

// Options configures an Index.
type Options struct {
	// Base returns the uncorrected ability of a model, or false for an unknown model.
	Base func(model string) (predict.Ability, bool)
	// Predictor is the version of the current predictor.
	Predictor string
	Now       func() time.Time // clock; defaults to time.Now
	// HalfLife returns the age at which the weight of a rating is halved. Recompute applies a changed value. The default is 30
	// days.
	HalfLife func() time.Duration
	// MinVerdicts is the number of ratings and verdicts below which a workspace has no corrections.
	MinVerdicts int
	// Keep stores corrections before they are used, so that decisions can be recomputed with them; nil for no storage.
	Keep func(ctx context.Context, c *Corrections) error
}

// Index stores ratings and keeps the corrections derived from them. Reading corrections never blocks.
type Index struct {
	reader     Reader
	writer     Writer
	options    Options
	workspaces atomic.Pointer[map[string]*workspaceState] // states by workspace ID; the map is immutable and replaced as a whole

	mu       sync.Mutex // held during a computation
	revision int64
	due      map[string]bool // changed workspaces that are still to be recomputed
	day      time.Time       // reference day for the ages of ratings; zero before the first computation
}

// workspaceState holds the corrections of a workspace and their statistics.
type workspaceState struct {
	corrections *Corrections
	learned     Learned
}

// NewIndex returns an index without corrections. Refresh loads them.
func NewIndex(r Reader, w Writer, o Options) *Index {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.HalfLife == nil {
		o.HalfLife = func() time.Duration { return defaultHalfLife }
	}
	b := &Index{reader: r, writer: w, options: o, due: map[string]bool{}}
	b.workspaces.Store(&map[string]*workspaceState{})
	return b
}

// For returns the active corrections of a workspace, or nil.
func (b *Index) For(workspaceID string) *Corrections {
	if s := (*b.workspaces.Load())[workspaceID]; s != nil {
		return s.corrections
	}
	return nil
}

// Rate stores a rating or the verdict of a comparison, which replaces an earlier one of the same request by the same rater. Corrections are
// updated soon after. Rate sets the ID and time. It returns an *llm.Error for invalid input.
func (b *Index) Rate(ctx context.Context, r Rating) (Rating, error) {
	if err := b.complete(&r); err != nil {
		return r, err
	}
	if err := b.writer.SaveRating(ctx, r); err != nil {
		return r, err
	}
	b.recomputeSoon(ctx, r.WorkspaceID)
	return r, nil
}

// complete validates a rating and sets its missing fields.
func (b *Index) complete(r *Rating) error {
	if err := r.validate(); err != nil {
		return err
	}
	r.Time = b.options.Now().UTC().Truncate(time.Millisecond)
	r.ID = id.New("rat", r.Time)
	r.Comment, r.Label = sanitize(r.Comment), sanitize(r.Label)
	return nil
}

// Reset excludes the existing outcomes of a model, or of all models if model is empty, from corrections. The outcomes remain
// readable.
func (b *Index) Reset(ctx context.Context, workspaceID, model string) error {
	if err := b.writer.ResetFeedback(ctx, workspaceID, model, b.options.Now()); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.recomputeWorkspace(ctx, workspaceID)
}

// replace stores the new states of the workspaces in fresh.
func (b *Index) replace(fresh map[string]*workspaceState) {
	next := maps.Clone(*b.workspaces.Load())
	maps.Copy(next, fresh)
	b.workspaces.Store(&next)
}
