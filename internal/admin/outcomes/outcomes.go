// Package outcomes serves what the router learned from the outcomes of a workspace.
package outcomes

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/admin/adminapi"
	"fairlead.dev/internal/feedback"
)

// Deps are the dependencies of the operations.
type Deps struct{ Learner Learner }

// Learner learns from outcomes.
type Learner interface {
	Learning(workspaceID string) feedback.Learned
	// Configure changes the settings. It returns an *llm.Error for invalid settings.
	Configure(ctx context.Context, workspaceID string, s feedback.Settings) error
	// Reset excludes the existing outcomes of a model from learning. An empty model selects all models.
	Reset(ctx context.Context, workspaceID, model string) error
}

type handlers struct {
	Deps
	*adminapi.Server
}

// LearningSettings configures how a workspace learns from outcomes.
type LearningSettings struct {
	Enabled bool `json:"enabled" doc:"Whether outcomes change the abilities of models."`
}

// LearningState is the state that the router learned from the outcomes of a workspace.
type LearningState struct {
	Settings    LearningSettings `json:"settings"`
	Active      bool             `json:"active" doc:"Whether routing uses the learned abilities. It does not while there are too few outcomes."`
	Version     string           `json:"version" doc:"Version of the learned state, as recorded in decisions. Empty while the static abilities are used."`
	Verdicts    int              `json:"verdicts" doc:"Ratings and verdicts that count."`
	MinVerdicts int              `json:"min_verdicts" doc:"Number below which the static abilities are used."`
	Abilities   []LearnedAbility `json:"abilities" doc:"By model and task."`
	ComputedAt  *time.Time       `json:"computed_at"`
}

// LearnedAbility is the learned ability of a model for a task.
type LearnedAbility struct {
	Model    string  `json:"model"`
	Task     string  `json:"task"`
	Outcomes int     `json:"outcomes" doc:"Ratings and verdicts of this model and task."`
	Static   float64 `json:"static" doc:"Mean predicted quality without outcomes."`
	Learned  float64 `json:"learned" doc:"Mean predicted quality with outcomes."`
	Low      float64 `json:"low" doc:"Lower bound of the 95 % interval of the learned quality."`
	High     float64 `json:"high" doc:"Upper bound of the 95 % interval."`
}

// Mount registers the operations.
func Mount(s *adminapi.Server, d Deps) {
	a := &handlers{Deps: d, Server: s}
	tags := []string{"routing"}
	adminapi.Register(a.Server, account.ReadPolicies, huma.Operation{
		OperationID: "get-learning", Method: http.MethodGet, Path: "/routing/learning", Tags: tags,
		Summary: "Get what the router learned from outcomes",
	}, a.get)
	adminapi.Register(a.Server, account.ManagePolicies, huma.Operation{
		OperationID: "set-learning", Method: http.MethodPut, Path: "/routing/learning", Tags: tags,
		Summary: "Change how the router learns from outcomes",
	}, func(ctx context.Context, c *adminapi.Call, in *setInput) (*adminapi.Output[LearningState], error) {
		before := a.Learner.Learning(c.WorkspaceID)
		settings := feedback.Settings{Disabled: !in.Body.Enabled}
		if err := a.Learner.Configure(ctx, c.WorkspaceID, settings); err != nil {
			return nil, err
		}
		if err := a.Record(ctx, c.Actor, "learning.update", "learning", settingsOf(before.Settings), in.Body); err != nil {
			return nil, err
		}
		return a.get(ctx, c, nil)
	})
	adminapi.Register(a.Server, account.ManagePolicies, huma.Operation{
		OperationID: "reset-learning", Method: http.MethodPost, Path: "/routing/learning/reset", Tags: tags,
		Summary:     "Reset what the router learned",
		Description: "Existing outcomes of one model, or of all models, no longer affect routing. They remain readable.",
	}, a.reset)
}

func (a *handlers) get(_ context.Context, c *adminapi.Call, _ *struct{}) (*adminapi.Output[LearningState], error) {
	l := a.Learner.Learning(c.WorkspaceID)
	return adminapi.Respond(StateOf(&l)), nil
}

// StateOf converts the learned state of a workspace to its API representation.
func StateOf(l *feedback.Learned) LearningState {
	v := LearningState{
		Settings: settingsOf(l.Settings), Active: l.Version != "", Version: l.Version, Verdicts: l.Verdicts, MinVerdicts: l.MinVerdicts,
		Abilities: make([]LearnedAbility, len(l.Tasks)), ComputedAt: adminapi.Time(l.At),
	}
	for i, t := range l.Tasks {
		v.Abilities[i] = LearnedAbility{
			Model: t.Model, Task: string(t.Task), Outcomes: t.Outcomes, Static: t.Static, Learned: t.Learned, Low: t.Low, High: t.High,
		}
	}
	return v
}

func settingsOf(s feedback.Settings) LearningSettings {
	return LearningSettings{Enabled: !s.Disabled}
}

type setInput struct{ Body LearningSettings }

type resetInput struct {
	Body struct {
		Model string `json:"model,omitempty" maxLength:"200" doc:"Model whose outcomes are reset. Resets all outcomes if omitted."`
	}
}

// resetOutcomes describes a reset in the audit log.
type resetOutcomes struct {
	Verdicts int    `json:"verdicts"`
	Version  string `json:"version,omitempty"`
}

func (a *handlers) reset(ctx context.Context, c *adminapi.Call, in *resetInput) (*adminapi.Output[LearningState], error) {
	if !adminapi.Storable(in.Body.Model) {
		return nil, adminapi.Invalid("body", "model", "must be valid UTF-8")
	}
	before := a.Learner.Learning(c.WorkspaceID)
	if err := a.Learner.Reset(ctx, c.WorkspaceID, in.Body.Model); err != nil {
		return nil, err
	}
	object := in.Body.Model
	if object == "" {
		object = "learning"
	}
	if err := a.Record(ctx, c.Actor, "learning.reset", object, resetOutcomes{before.Verdicts, before.Version}, nil); err != nil {
		return nil, err
	}
	return a.get(ctx, c, nil)
}
