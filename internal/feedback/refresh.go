package feedback

import (
	"context"
	"fmt"
	"slices"

	"fairlead/internal/predict"
)

// Refresh takes over what changed: ratings that came in here or at another replica, deleted ones, resets; and once a day
// what ages changed. Call it at the start and every few seconds.
func (b *Index) Refresh(ctx context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	revisions, err := b.store.Revisions(ctx)
	if err != nil {
		return fmt.Errorf("look for changed ratings: %w", err)
	}
	revision, today := revisions[Topic], dayOf(b.options.Now())
	if today.Equal(b.day) && revision == b.revision {
		return nil
	}
	if !today.Equal(b.day) || revision < b.revision { // a store whose revision went back is another one, or an older copy
		return b.all(ctx, revision)
	}
	return b.take(ctx, revision, b.revision)
}

// Recompute computes all corrections anew. Call it when the abilities that they are based on have changed.
func (b *Index) Recompute(ctx context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	revisions, err := b.store.Revisions(ctx)
	if err != nil {
		return fmt.Errorf("look for changed ratings: %w", err)
	}
	return b.all(ctx, revisions[Topic])
}

func (b *Index) all(ctx context.Context, revision int64) error {
	b.day = dayOf(b.options.Now())
	if err := b.take(ctx, revision, 0); err != nil {
		b.revision = 0 // so that the next Refresh begins anew as well
		return err
	}
	return nil
}

// take computes the workspaces that changed after a revision.
func (b *Index) take(ctx context.Context, revision, after int64) error {
	changed, err := b.store.ChangedFeedback(ctx, after)
	if err != nil {
		return err
	}
	fresh := make(map[string]*space, len(changed))
	for _, workspaceID := range changed {
		if fresh[workspaceID], err = b.compute(ctx, workspaceID); err != nil {
			return err
		}
	}
	if after == 0 {
		b.spaces.Store(&fresh) // without those that are gone
	} else {
		b.put(fresh)
	}
	b.revision = revision
	return nil
}

// settled computes a workspace that was rated just now, unless another computing is under way or was a moment ago. The
// next Refresh does it otherwise, and is also the one to report a store that is away: the rating itself is written.
func (b *Index) settled(ctx context.Context, workspaceID string) {
	if !b.mu.TryLock() {
		return
	}
	defer b.mu.Unlock()
	last := (*b.spaces.Load())[workspaceID]
	if last == nil || b.options.Now().Sub(last.at) >= max(settle, settleTimes*last.took) {
		_ = b.renew(ctx, workspaceID)
	}
}

// renew computes one workspace. Whoever calls it holds the lock.
func (b *Index) renew(ctx context.Context, workspaceID string) error {
	if b.day.IsZero() {
		b.day = dayOf(b.options.Now())
	}
	s, err := b.compute(ctx, workspaceID)
	if err == nil {
		b.put(map[string]*space{workspaceID: s})
	}
	return err
}

// compute reads the ratings of a workspace and corrects the abilities of the models that they speak of.
func (b *Index) compute(ctx context.Context, workspaceID string) (*space, error) {
	s := &space{corrections: &Corrections{Abilities: map[string]*Shift{}}, at: b.options.Now()}
	err := b.store.CountedRatings(ctx, workspaceID, maxCounted, func(model string, ratings []Rating) error {
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
		return nil, fmt.Errorf("correct abilities by feedback of %s: %w", workspaceID, err)
	}
	s.took = b.options.Now().Sub(s.at)
	return s, s.corrections.seal()
}

// current are the ratings of prompts that this predictor saw. What another one saw is not measured in the same skills.
func (b *Index) current(ratings []Rating) []Rating {
	return slices.DeleteFunc(slices.Clone(ratings), func(r Rating) bool { return r.Predictor != b.options.Predictor })
}

// correct returns nil without ratings, and for a model that is not to be had here.
func (b *Index) correct(model string, ratings []Rating) *Shift {
	base, ok := b.options.Base(model)
	if !ok || len(ratings) == 0 {
		return nil
	}
	d := decay{halfLife: b.options.HalfLife(), today: b.day}
	return &Shift{
		Base: slices.Clone(base.Vector), Ratings: len(ratings),
		Corrected: predict.Update(base, d.labels(ratings)),
	}
}
