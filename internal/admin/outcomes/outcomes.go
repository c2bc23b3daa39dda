// Package outcomes serves the outcomes of a workspace and the learned state of the router.
package outcomes

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/admin/adminapi"
	"fairlead.dev/internal/feedback"
)

// Deps are the dependencies of the operations.
type Deps struct {
	Learner Learner
	Store   Store
}

// Learner learns from outcomes.
type Learner interface {
	Learning(workspaceID string) feedback.Learned
	// Configure changes the settings. It returns an *llm.Error for invalid settings.
	Configure(ctx context.Context, workspaceID string, s feedback.Settings) error
	// Reset excludes the existing outcomes of a model from learning. An empty model selects all models.
	Reset(ctx context.Context, workspaceID, model string) error
}

// Store reads outcomes.
type Store interface {
	Outcomes(ctx context.Context, workspaceID string, p feedback.OutcomePage) ([]feedback.Rating, error)
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

// OutcomeView is an outcome of a response.
type OutcomeView struct {
	RequestID string    `json:"request_id"`
	At        time.Time `json:"at"`
	Source    string    `json:"source" enum:"api,dashboard,shadow,hook"`
	Model     string    `json:"model"`
	Other     string    `json:"other,omitempty" doc:"Model whose response was compared."`
	Task      string    `json:"task,omitempty"`
	Score     float64   `json:"score" doc:"From 0 (bad) to 1 (good). For a comparison 1 is a win, 0.5 a tie and 0 a loss."`
	Method    string    `json:"method,omitempty" doc:"What compared the responses, or the label of a rating."`
}

// OutcomeList is a page of outcomes.
type OutcomeList struct {
	Outcomes []OutcomeView `json:"outcomes" doc:"Newest request first."`
	Next     string        `json:"next,omitempty" doc:"Value of after for the next page. Absent on the last page."`
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
	adminapi.Register(a.Server, account.ReadRequests, huma.Operation{
		OperationID: "list-outcomes", Method: http.MethodGet, Path: "/routing/outcomes", Tags: tags,
		Summary: "List ratings and verdicts, newest request first",
	}, a.list)
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

type listInput struct {
	After string `query:"after" maxLength:"300" doc:"Value of next from the previous page."`
	Limit int    `query:"limit" minimum:"1" maximum:"1000" default:"100"`
}

func (a *handlers) list(ctx context.Context, c *adminapi.Call, in *listInput) (*adminapi.Output[OutcomeList], error) {
	if !adminapi.Storable(in.After) {
		return nil, adminapi.Invalid("query", "after", "must be valid UTF-8")
	}
	request, rater, _ := strings.Cut(in.After, " ")
	found, err := a.Store.Outcomes(ctx, c.WorkspaceID, feedback.OutcomePage{Request: request, Rater: rater, Limit: in.Limit})
	if err != nil {
		return nil, err
	}
	list := OutcomeList{Outcomes: make([]OutcomeView, len(found))}
	for i := range found {
		list.Outcomes[i] = ViewOf(&found[i])
	}
	if n := len(found); n == in.Limit {
		list.Next = found[n-1].RequestID + " " + found[n-1].Rater()
	}
	return adminapi.Respond(list), nil
}

// ViewOf converts an outcome to its API representation.
func ViewOf(r *feedback.Rating) OutcomeView {
	return OutcomeView{
		RequestID: r.RequestID, At: r.Time.UTC(), Source: string(r.Source), Model: r.Model, Other: r.Other, Task: string(r.Task),
		Score: r.Score, Method: r.Label,
	}
}
