package app

import (
	"context"

	"fairlead.dev/internal/feedback"
	"fairlead.dev/internal/judge"
	"fairlead.dev/internal/proof"
	"fairlead.dev/internal/route"
)

// storeVerdict stores the verdict of a comparison as an outcome of both models.
func (p *routingParts) storeVerdict(ctx context.Context, r *proof.Record, d *route.Decision) error {
	if r.State != proof.Compared || r.Model == r.Baseline {
		return nil
	}
	source := feedback.FromShadow
	if r.Method == judge.Hook {
		source = feedback.FromHook
	}
	_, err := p.feedback.Rate(ctx, feedback.Rating{
		RequestID: r.Request, WorkspaceID: r.Workspace, Source: source, Score: (1 + min(max(r.Difference, -1), 1)) / 2,
		Label: r.Method,
		Rated: feedback.Rated{Model: r.Model, Other: r.Baseline, Task: d.Input.Features.Task, Difficulty: d.Input.Features.Difficulty, Predictor: d.Input.Predictor},
	})
	return err
}
