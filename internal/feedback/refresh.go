package feedback

import (
	"context"
	"fmt"
	"slices"

	"fairlead/internal/predict/ability"
)

// Refresh applies changes: new and deleted ratings from any replica, resets and, once a day, the decay of ratings. Call it at
// startup and then every few seconds.
func (b *Index) Refresh(ctx context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	revisions, err := b.reader.Revisions(ctx)
	if err != nil {
		return fmt.Errorf("load feedback revision: %w", err)
	}
	revision, today := revisions[Topic], dayOf(b.options.Now())
	if today.Equal(b.day) && revision == b.revision {
		return nil
	}
	if !today.Equal(b.day) || revision < b.revision { // a lower revision means that the database was replaced or restored
		return b.recomputeAll(ctx, revision)
	}
	return b.recomputeChanged(ctx, revision, b.revision)
}

// Recompute recomputes all corrections. Call it when base abilities have changed.
func (b *Index) Recompute(ctx context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	revisions, err := b.reader.Revisions(ctx)
	if err != nil {
		return fmt.Errorf("load feedback revision: %w", err)
	}
	return b.recomputeAll(ctx, revisions[Topic])
}

func (b *Index) recomputeAll(ctx context.Context, revision int64) error {
	b.day = dayOf(b.options.Now())
	if err := b.recomputeChanged(ctx, revision, 0); err != nil {
		b.revision = 0 // so that the next Refresh recomputes everything as well
		return err
	}
	return nil
}

// recomputeChanged recomputes the workspaces that changed after the revision after.
func (b *Index) recomputeChanged(ctx context.Context, revision, after int64) error {
	changed, err := b.reader.ChangedFeedback(ctx, after)
	if err != nil {
		return err
	}
	fresh := make(map[string]*workspaceState, len(changed))
	for _, workspaceID := range changed {
		if fresh[workspaceID], err = b.compute(ctx, workspaceID); err != nil {
			return err
		}
	}
	if after == 0 {
		b.workspaces.Store(&fresh) // drops deleted workspaces
	} else {
		b.replace(fresh)
	}
	b.revision = revision
	return nil
}

// recomputeSoon recomputes a workspace that was just rated. If another computation is running or was recent, it does nothing, and
// the next Refresh includes the rating. It ignores errors, because the rating is stored and Refresh reports store failures.
func (b *Index) recomputeSoon(ctx context.Context, workspaceID string) {
	if !b.mu.TryLock() {
		return
	}
	defer b.mu.Unlock()
	last := (*b.workspaces.Load())[workspaceID]
	if last == nil || b.options.Now().Sub(last.at) >= max(settle, settleTimes*last.took) {
		_ = b.recomputeWorkspace(ctx, workspaceID)
	}
}

// recomputeWorkspace recomputes one workspace. The caller holds the lock.
func (b *Index) recomputeWorkspace(ctx context.Context, workspaceID string) error {
	if b.day.IsZero() {
		b.day = dayOf(b.options.Now())
	}
	s, err := b.compute(ctx, workspaceID)
	if err == nil {
		b.replace(map[string]*workspaceState{workspaceID: s})
	}
	return err
}

// compute loads the ratings of a workspace and computes its corrections.
func (b *Index) compute(ctx context.Context, workspaceID string) (*workspaceState, error) {
	s := &workspaceState{corrections: &Corrections{Abilities: map[string]*Shift{}}, at: b.options.Now()}
	err := b.reader.CountedRatings(ctx, workspaceID, maxCounted, func(model string, ratings []Rating) error {
		current := b.current(ratings)
		shift := b.correct(model, current)
		if shift != nil {
			s.corrections.Abilities[model] = shift
		}
		sum := summarise(model, current, shift)
		sum.Outdated = len(ratings) - len(current)
		s.models = append(s.models, sum)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("compute corrections of workspace %s: %w", workspaceID, err)
	}
	s.took = b.options.Now().Sub(s.at)
	return s, s.corrections.setVersion()
}

// current returns the ratings whose prompts were classified by the current predictor. Skills computed by other predictor versions
// are not comparable.
func (b *Index) current(ratings []Rating) []Rating {
	return slices.DeleteFunc(slices.Clone(ratings), func(r Rating) bool { return r.Predictor != b.options.Predictor })
}

// correct computes the correction of a model from its ratings. It returns nil without ratings or for an unknown model.
func (b *Index) correct(model string, ratings []Rating) *Shift {
	base, ok := b.options.Base(model)
	if !ok || len(ratings) == 0 {
		return nil
	}
	d := decay{halfLife: b.options.HalfLife(), today: b.day}
	return &Shift{
		Base: slices.Clone(base.Vector), Ratings: len(ratings),
		Corrected: ability.Update(base, d.labels(ratings)),
	}
}
