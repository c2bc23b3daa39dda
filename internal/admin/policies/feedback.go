package policies

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/admin/adminapi"
	"fairlead.dev/internal/feedback"
	"fairlead.dev/internal/llm"
)

// FeedbackSummary describes the ratings of a workspace and the corrections derived from them.
type FeedbackSummary struct {
	Version string          `json:"version" doc:"Version of the corrections, as recorded in decisions. Empty without corrections."`
	Models  []ModelFeedback `json:"models" doc:"Ratings by model."`
	Labels  []string        `json:"labels" doc:"Valid rating labels, best first."`
}

// ModelFeedback summarises the ratings of a model.
type ModelFeedback struct {
	Model     string         `json:"model"`
	Corrected bool           `json:"corrected" doc:"Whether ratings affect the routing of this model. false without valid ratings and for removed models."`
	Outdated  int            `json:"outdated" doc:"Ratings that are ignored because the prompt was classified by another predictor version, or was not classified or stored."`
	Total     RatingFigures  `json:"total"`
	Tasks     []TaskFeedback `json:"tasks" doc:"Ratings by task."`
}

// TaskFeedback summarises the ratings of a model for a task.
type TaskFeedback struct {
	Task  string `json:"task"`
	Words string `json:"words" doc:"Readable description of the correction." example:"+0.06 on code, 214 ratings"`
	RatingFigures
}

// RatingFigures holds the statistics of valid ratings.
type RatingFigures struct {
	Ratings int        `json:"ratings"`
	Score   *float64   `json:"score" doc:"Mean rating. null without ratings."`
	Before  *float64   `json:"before" doc:"Mean success probability without the correction. null without a correction."`
	After   *float64   `json:"after" doc:"Mean success probability with the correction."`
	Shift   *float64   `json:"shift" doc:"Effect of the correction: after minus before."`
	Newest  *time.Time `json:"newest"`
}

func (a *handlers) registerFeedbackSummary() {
	tags := []string{"routing"}
	adminapi.Register(a.Server, account.ReadPolicies, huma.Operation{
		OperationID: "get-feedback", Method: http.MethodGet, Path: "/routing/feedback", Tags: tags,
		Summary: "Get the effect of ratings on routing",
	}, a.getFeedback)
	adminapi.Register(a.Server, account.ManagePolicies, huma.Operation{
		OperationID: "reset-feedback", Method: http.MethodPost, Path: "/routing/feedback/reset", Tags: tags,
		Summary:     "Reset ratings",
		Description: "Existing ratings of one model, or of all models, no longer affect routing. They remain visible in their requests.",
	}, a.resetFeedback)
}

func (a *handlers) getFeedback(_ context.Context, c *adminapi.Call, _ *struct{}) (*adminapi.Output[FeedbackSummary], error) {
	sum := a.Feedback.Summary(c.WorkspaceID)
	v := FeedbackSummary{
		Version: sum.Version, Models: make([]ModelFeedback, len(sum.Models)), Labels: feedback.Labels(),
	}
	for i := range sum.Models {
		m := &sum.Models[i]
		tasks := make([]TaskFeedback, len(m.Tasks))
		for j, t := range m.Tasks {
			tasks[j] = TaskFeedback{Task: string(t.Task), Words: t.String(), RatingFigures: ratingFigures(t.Figures, m.Corrected)}
		}
		v.Models[i] = ModelFeedback{
			Model: m.Model, Corrected: m.Corrected, Outdated: m.Outdated, Total: ratingFigures(m.Total, m.Corrected), Tasks: tasks,
		}
	}
	return adminapi.Respond(v), nil
}

type resetFeedbackInput struct {
	Body struct {
		Model string `json:"model,omitempty" maxLength:"200" doc:"Model whose ratings are reset. Resets all ratings if omitted."`
	}
}

func (a *handlers) resetFeedback(ctx context.Context, c *adminapi.Call, in *resetFeedbackInput) (*adminapi.Output[FeedbackSummary], error) {
	if !adminapi.Storable(in.Body.Model) {
		return nil, adminapi.Invalid("body", "model", "must be valid UTF-8")
	}
	before := a.Feedback.Summary(c.WorkspaceID)
	counted := countedRatings(&before, in.Body.Model)
	if in.Body.Model != "" && counted == nil {
		return nil, llm.Errorf(llm.NotFound, "This workspace has no ratings for this model.")
	}
	if err := a.Feedback.Reset(ctx, c.WorkspaceID, in.Body.Model); err != nil {
		return nil, err
	}
	object := "feedback"
	if in.Body.Model != "" {
		object = in.Body.Model
	}
	if err := a.Record(ctx, c.Actor, "feedback.reset", object, resetRatings{counted}, nil); err != nil {
		return nil, err
	}
	return a.getFeedback(ctx, c, nil)
}

// resetRatings describes a reset in the audit log.
type resetRatings struct {
	Ratings map[string]int `json:"ratings"` // number of reset ratings by model
}

// countedRatings returns the number of ratings by model, or nil if there are none.
func countedRatings(s *feedback.Summary, model string) map[string]int {
	var counts map[string]int
	for i := range s.Models {
		if m := &s.Models[i]; model == "" || m.Model == model {
			if counts == nil {
				counts = map[string]int{}
			}
			counts[m.Model] = m.Total.Ratings + m.Outdated
		}
	}
	return counts
}

// ratingFigures converts figures to their API representation. It omits the means if there are no ratings.
func ratingFigures(f feedback.Figures, corrected bool) RatingFigures {
	v := RatingFigures{Ratings: f.Ratings, Newest: adminapi.Time(f.Newest)}
	if f.Ratings == 0 {
		return v
	}
	v.Score = &f.Score
	if corrected {
		v.Before, v.After, v.Shift = &f.Before, &f.After, new(f.Shift())
	}
	return v
}
