package feedback

import (
	"context"
	"fmt"
	"maps"
	"slices"
)

// Refresh applies changes: new and deleted ratings from any replica, resets and, once a day, the decay of ratings. Call it at startup and
// then every few seconds.
func (b *Index) Refresh(ctx context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	revisions, err := b.reader.Revisions(ctx)
	if err != nil {
		return fmt.Errorf("load feedback revision: %w", err)
	}
	revision, today := revisions[Topic], dayOf(b.options.Now())
	if today.Equal(b.day) && revision == b.revision && len(b.due) == 0 {
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
		b.revision = 0 // makes the next Refresh recompute everything
		return err
	}
	return nil
}

// recomputeChanged recomputes the workspaces whose ratings changed since an earlier revision. after is the earlier revision, and revision
// the current one.
func (b *Index) recomputeChanged(ctx context.Context, revision, after int64) error {
	changed, err := b.reader.ChangedFeedback(ctx, after)
	if err != nil {
		return err
	}
	for _, workspaceID := range changed {
		b.due[workspaceID] = true
	}
	fresh := make(map[string]*workspaceState, len(changed))
	for _, workspaceID := range slices.Sorted(maps.Keys(b.due)) {
		last := (*b.workspaces.Load())[workspaceID]
		if after > 0 && last != nil && b.options.Now().Sub(last.learned.At) < last.pause() {
			continue
		}
		if fresh[workspaceID], err = b.compute(ctx, workspaceID); err != nil {
			return err
		}
	}
	maps.DeleteFunc(b.due, func(workspaceID string, _ bool) bool { return fresh[workspaceID] != nil })
	if after == 0 {
		b.workspaces.Store(&fresh) // drops the states of deleted workspaces
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
	if last == nil || b.options.Now().Sub(last.learned.At) >= last.pause() {
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
		delete(b.due, workspaceID)
		b.replace(map[string]*workspaceState{workspaceID: s})
	}
	return err
}

// compute loads the ratings of a workspace and computes its corrections.
func (b *Index) compute(ctx context.Context, workspaceID string) (*workspaceState, error) {
	s := &workspaceState{corrections: &Corrections{}}
	settings, err := b.reader.Learning(ctx, workspaceID)
	if err != nil {
		return nil, fmt.Errorf("compute corrections of workspace %s: %w", workspaceID, err)
	}
	var all []Rating
	err = b.reader.CountedRatings(ctx, workspaceID, maxCounted, func(_ string, list []Rating) error {
		all = append(all, list...)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("compute corrections of workspace %s: %w", workspaceID, err)
	}
	outcomes, fitted, learned := b.usable(all), fits{}, &Corrections{}
	if len(outcomes) > 0 && len(outcomes) >= b.options.MinVerdicts {
		fitted = b.fit(outcomes)
		if learned, err = fitted.corrections(); err != nil {
			return nil, err
		}
	}
	if !settings.Disabled {
		s.corrections = learned
	}
	if b.options.Keep != nil && s.corrections.Version != "" {
		if err := b.options.Keep(ctx, s.corrections); err != nil {
			return nil, fmt.Errorf("store corrections of workspace %s: %w", workspaceID, err)
		}
	}
	s.learned = Learned{
		Settings: settings, Version: s.corrections.Version, Verdicts: len(outcomes), MinVerdicts: b.options.MinVerdicts,
		Tasks: b.describe(outcomes, fitted), At: b.options.Now(),
	}
	return s, nil
}
