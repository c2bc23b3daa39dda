package feedback

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"fairlead.dev/internal/learn"
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
		if after > 0 && last != nil && b.options.Now().Sub(last.at) < b.pause(last) {
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
	if last == nil || b.options.Now().Sub(last.at) >= max(settle, settleTimes*last.took, b.pause(last)) {
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
	s := &workspaceState{corrections: &Corrections{}, at: b.options.Now()}
	settings, err := b.reader.Learning(ctx, workspaceID)
	if err != nil {
		return nil, fmt.Errorf("compute corrections of workspace %s: %w", workspaceID, err)
	}
	ratings, outcomes, err := b.load(ctx, workspaceID)
	if err != nil {
		return nil, fmt.Errorf("compute corrections of workspace %s: %w", workspaceID, err)
	}
	state := learn.Fit(outcomes, learn.Options{
		Base: b.options.Base, HalfLife: b.options.HalfLife(), Today: b.day, MinVerdicts: b.options.MinVerdicts,
		Shared: b.options.Guard, Guard: b.options.Guard,
	})
	if !settings.Disabled {
		if s.corrections, err = FromState(&state); err != nil {
			return nil, err
		}
	}
	if b.options.Keep != nil && s.corrections.Version != "" {
		if err := b.options.Keep(ctx, s.corrections); err != nil {
			return nil, fmt.Errorf("store corrections of workspace %s: %w", workspaceID, err)
		}
	}
	for i := range ratings {
		model, given := ratings[i].model, ratings[i].given
		current := b.current(given)
		sum := summarise(model, current, s.corrections.Abilities[model])
		sum.Outdated = len(given) - len(current)
		s.models = append(s.models, sum)
	}
	s.learned = Learned{
		Settings: settings, Version: s.corrections.Version, Verdicts: state.Verdicts, MinVerdicts: b.options.MinVerdicts, Active: s.corrections.Version != "",
		Check: state.Check, Tasks: describe(&state, outcomes),
	}
	s.took = b.options.Now().Sub(s.at)
	return s, nil
}

// modelRatings holds the ratings of a model, without verdicts.
type modelRatings struct {
	model string
	given []Rating
}

// load reads the ratings by model and all outcomes that affect corrections.
func (b *Index) load(ctx context.Context, workspaceID string) (ratings []modelRatings, outcomes []learn.Outcome, err error) {
	err = b.reader.CountedRatings(ctx, workspaceID, maxCounted, func(model string, list []Rating) error {
		for _, r := range b.current(list) {
			outcomes = append(outcomes, outcomeOf(&r))
		}
		if given := slices.DeleteFunc(slices.Clone(list), func(r Rating) bool { return !r.Source.IsRating() }); len(given) > 0 {
			ratings = append(ratings, modelRatings{model, given})
		}
		return nil
	})
	return ratings, outcomes, err
}

// current returns the ratings whose prompts were classified by the current predictor. Skills computed by other predictor versions
// are not comparable.
func (b *Index) current(ratings []Rating) []Rating {
	return slices.DeleteFunc(slices.Clone(ratings), func(r Rating) bool { return r.Predictor != b.options.Predictor })
}

// FromState returns the corrections of a state, or none if the state is not active.
func FromState(state *learn.State) (*Corrections, error) {
	c := &Corrections{Abilities: map[string]*Shift{}}
	for name, m := range state.Models {
		if !state.Active || m.Outcomes == 0 {
			continue
		}
		s := &Shift{Base: slices.Clone(m.Base.Vector), Ratings: m.Outcomes, Corrected: m.Learned}
		if len(m.Tasks) > 0 {
			s.Tasks = m.Tasks
		}
		c.Abilities[name] = s
	}
	return c, c.setVersion()
}
