package app

import (
	"context"

	"fairlead.dev/internal/feedback"
	"fairlead.dev/internal/judge"
	"fairlead.dev/internal/proof"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/route"
)

// countTrial adds a finished request to the exploration statistics of its workspace.
func (p *routingParts) countTrial(e *requestlog.Entry) {
	if e.Decision == nil || e.Cost == nil || !route.IsAuto(e.Decision.Input.Model) || !p.feedback.Explores(e.WorkspaceID) {
		return
	}
	t := feedback.Trial{Cost: *e.Cost, Explored: e.Decision.Explored && e.Decision.Input.Trial != nil}
	if list := e.Decision.Candidates; t.Explored && len(list) > 0 {
		tried, best := &list[0], &list[0]
		for i := range list {
			if c := &list[i]; c.Rank > 0 && c.Score > best.Score {
				best = c
			}
		}
		t.Loss = max(0, best.Quality-tried.Quality)
		if best.Price != nil && tried.Price != nil {
			t.Extra = tried.Price.Sub(*best.Price)
		}
	}
	p.feedback.Tried(e.WorkspaceID, t)
}

// storeVerdict stores the verdict of a comparison as an outcome of both models.
func (p *routingParts) storeVerdict(ctx context.Context, r *proof.Record, d *route.Decision) error {
	if r.State != proof.Compared || r.Model == r.Baseline {
		return nil
	}
	source := feedback.FromShadow
	if r.Method == judge.Hook {
		source = feedback.FromHook
	}
	return p.feedback.Verdict(ctx, feedback.Rating{
		RequestID: r.Request, WorkspaceID: r.Workspace, Source: source, Score: (1 + min(max(r.Difference, -1), 1)) / 2,
		Label: r.Method,
		Rated: feedback.Rated{Model: r.Model, Other: r.Baseline, Task: d.Input.Features.Task, Skills: d.Input.Features.Skills, Predictor: d.Input.Predictor},
	})
}
