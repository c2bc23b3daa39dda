package workspaces

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/admin/adminapi"
	"fairlead.dev/internal/admin/spending"
)

// WorkspaceView is a workspace with its settings.
type WorkspaceView struct {
	ID               string                  `json:"id"`
	Name             string                  `json:"name"`
	DefaultModel     *string                 `json:"default_model" doc:"Baseline model. null to use the instance's default model."`
	PinnedEmbedding  *string                 `json:"pinned_embedding_model" doc:"Embedding model used for auto. null until auto is first used for embeddings."`
	LogBodies        bool                    `json:"log_bodies" doc:"Whether request and response bodies are stored."`
	EntryRetentionMS *int64                  `json:"entry_retention_ms" doc:"Retention of requests. null to use the instance's retention."`
	BodyRetentionMS  *int64                  `json:"body_retention_ms" doc:"Retention of bodies. null to use the instance's retention."`
	Redaction        *RedactionView          `json:"redaction,omitempty" doc:"Redaction rules applied before bodies are stored. Absent if the instance's rules apply."`
	Budget           *spending.BudgetView    `json:"budget,omitempty"`
	BudgetUse        *spending.BudgetUseView `json:"budget_use,omitempty"`
	CreatedAt        time.Time               `json:"created_at"`
}

func (a *handlers) registerWorkspaces() {
	tags := []string{"workspaces"}
	adminapi.Register(a.Server, adminapi.SignedIn, huma.Operation{
		OperationID: "create-workspace", Method: http.MethodPost, Path: "/workspaces", Tags: tags,
		Summary: "Create a workspace", DefaultStatus: http.StatusCreated,
	}, func(ctx context.Context, c *adminapi.Call, in *createWorkspaceInput) (*adminapi.Output[WorkspaceView], error) {
		by := account.Actor{AccountID: c.Account.ID}
		memberships, err := a.Memberships.Workspaces(ctx, c.Account.ID)
		if err != nil {
			return nil, err
		}
		if len(memberships) > 0 {
			if by, err = a.Memberships.Actor(ctx, c.Account.ID, memberships[0].Workspace.ID); err != nil {
				return nil, err
			}
		}
		made, err := a.Workspaces.CreateWorkspace(ctx, by, in.Body.Name)
		if err != nil {
			return nil, err
		}
		return adminapi.Respond(workspaceView(made, nil)), nil
	})
	adminapi.Register(a.Server, account.ReadWorkspace, huma.Operation{
		OperationID: "get-workspace", Method: http.MethodGet, Path: "/workspace", Tags: tags,
		Summary: "Get the workspace and its settings",
	}, func(ctx context.Context, c *adminapi.Call, _ *struct{}) (*adminapi.Output[WorkspaceView], error) {
		w, err := a.Workspaces.Workspace(ctx, c.WorkspaceID)
		if err != nil {
			return nil, err
		}
		return a.workspaceAnswer(ctx, w)
	})
	adminapi.Register(a.Server, account.ManageWorkspace, huma.Operation{
		OperationID: "update-workspace", Method: http.MethodPatch, Path: "/workspace", Tags: tags,
		Summary: "Change the settings of the workspace", Description: "Only operators can raise or remove the budget.",
	}, a.updateWorkspace)
	adminapi.Register(a.Server, account.ManageInstance, huma.Operation{
		OperationID: "set-workspace-budget", Method: http.MethodPut, Path: "/instance/workspaces/{id}/budget", Tags: []string{"settings"},
		Summary: "Set or remove the budget of a workspace",
	}, func(ctx context.Context, c *adminapi.Call, in *workspaceBudgetInput) (*adminapi.Output[WorkspaceView], error) {
		if !in.Body.Budget.Given {
			return nil, adminapi.Invalid("body", "budget", "is required; use null to remove the budget")
		}
		changed, err := a.Workspaces.UpdateWorkspace(ctx, c.Actor, in.ID, account.WorkspaceChange{Budget: spending.Change(in.Body.Budget)})
		if err != nil {
			return nil, err
		}
		return a.workspaceAnswer(ctx, changed)
	})
}

type createWorkspaceInput struct {
	Body struct {
		Name string `json:"name" minLength:"1" maxLength:"100"`
	}
}

func (a *handlers) workspaceAnswer(ctx context.Context, w account.Workspace) (*adminapi.Output[WorkspaceView], error) {
	use, err := a.Spending.BudgetUse(ctx, w.ID)
	if err != nil {
		return nil, err
	}
	return adminapi.Respond(workspaceView(w, spending.UseViewOf(use, w.ID, w.Budget))), nil
}

type updateWorkspaceInput struct {
	Body struct {
		Name             *string                             `json:"name,omitempty" minLength:"1" maxLength:"100"`
		DefaultModel     adminapi.Field[string]              `json:"default_model,omitzero" maxLength:"200"`
		LogBodies        *bool                               `json:"log_bodies,omitempty"`
		EntryRetentionMS adminapi.Field[int64]               `json:"entry_retention_ms,omitzero"`
		BodyRetentionMS  adminapi.Field[int64]               `json:"body_retention_ms,omitzero"`
		Redaction        adminapi.Field[RedactionView]       `json:"redaction,omitzero" doc:"null to use the instance's rules. Empty lists disable redaction."`
		Budget           adminapi.Field[spending.BudgetView] `json:"budget,omitzero"`
	}
}

func (a *handlers) updateWorkspace(ctx context.Context, c *adminapi.Call, in *updateWorkspaceInput) (*adminapi.Output[WorkspaceView], error) {
	b := &in.Body
	change := account.WorkspaceChange{
		Name: b.Name, DefaultModel: b.DefaultModel.OrZero(), LogBodies: b.LogBodies, Budget: spending.Change(b.Budget),
	}
	if err := a.validateModel("default_model", b.DefaultModel.Value); err != nil {
		return nil, err
	}
	var err error
	if change.EntryRetention, err = retention("entry_retention_ms", b.EntryRetentionMS); err != nil {
		return nil, err
	}
	if change.BodyRetention, err = retention("body_retention_ms", b.BodyRetentionMS); err != nil {
		return nil, err
	}
	if b.Redaction.Given {
		rules := b.Redaction.Value.rules() // nil selects the instance's rules
		if err := validateRedaction("redaction", rules); err != nil {
			return nil, err
		}
		change.Redaction = &rules
	}
	changed, err := a.Workspaces.UpdateWorkspace(ctx, c.Actor, c.WorkspaceID, change)
	if err != nil {
		return nil, err
	}
	return a.workspaceAnswer(ctx, changed)
}

// validateModel rejects an unknown model name and suggests similar names.
func (a *handlers) validateModel(param string, name *string) error {
	if name == nil || *name == "" {
		return nil
	}
	known, near := a.Models.Known(*name)
	if known {
		return nil
	}
	p := adminapi.Problem{In: "body", Param: param, Message: fmt.Sprintf("unknown model %q", *name)}
	if len(near) > 0 {
		p.Suggestion = near[0]
	}
	return adminapi.InvalidAll([]adminapi.Problem{p}).With("suggestions", near)
}

// maxRetention prevents an overflow of time.Duration.
const maxRetention = 100 * 365 * 24 * time.Hour

func retention(param string, f adminapi.Field[int64]) (*time.Duration, error) {
	ms := f.OrZero()
	if ms == nil {
		return nil, nil
	}
	if *ms < 0 || *ms > maxRetention.Milliseconds() {
		return nil, adminapi.Invalid("body", param, "must be between 0 and 100 years; use null for the instance's retention")
	}
	return new(time.Duration(*ms) * time.Millisecond), nil
}

type workspaceBudgetInput struct {
	ID   string `path:"id" maxLength:"64" doc:"Workspace ID."`
	Body struct {
		Budget adminapi.Field[spending.BudgetView] `json:"budget,omitzero" doc:"Required. null removes the budget."`
	}
}

func workspaceView(w account.Workspace, use *spending.BudgetUseView) WorkspaceView {
	return WorkspaceView{
		ID: w.ID, Name: w.Name, DefaultModel: adminapi.NonEmpty(w.DefaultModel), PinnedEmbedding: adminapi.NonEmpty(w.PinnedEmbed), LogBodies: w.LogBodies,
		EntryRetentionMS: adminapi.Millis(w.EntryRetention), BodyRetentionMS: adminapi.Millis(w.BodyRetention),
		Redaction: redactionView(w.Redaction),
		Budget:    spending.ViewOf(w.Budget), BudgetUse: use, CreatedAt: w.CreatedAt.UTC(),
	}
}
