package admin

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"fairlead/internal/account"
	"fairlead/internal/money"
)

// WorkspaceView is a workspace with its settings.
type WorkspaceView struct {
	ID               string         `json:"id"`
	Name             string         `json:"name"`
	DefaultModel     *string        `json:"default_model" doc:"Baseline model. null to use the instance's default model."`
	PinnedEmbedding  *string        `json:"pinned_embedding_model" doc:"Embedding model used for auto. null until auto is first used for embeddings."`
	LogBodies        bool           `json:"log_bodies" doc:"Whether request and response bodies are stored."`
	EntryRetentionMS *int64         `json:"entry_retention_ms" doc:"Retention of requests. null to use the instance's retention."`
	BodyRetentionMS  *int64         `json:"body_retention_ms" doc:"Retention of bodies. null to use the instance's retention."`
	Redaction        *RedactionView `json:"redaction,omitempty" doc:"Redaction rules applied before bodies are stored. Absent if the instance's rules apply."`
	Budget           *BudgetView    `json:"budget,omitempty"`
	BudgetUse        *BudgetUseView `json:"budget_use,omitempty"`
	CreatedAt        time.Time      `json:"created_at"`
}

// BudgetView bounds spending per period.
type BudgetView struct {
	Amount      money.Amount `json:"amount_usd"`
	Period      string       `json:"period" enum:"day,week,month,total"`
	Zone        string       `json:"zone,omitempty" maxLength:"100" doc:"IANA time zone in which periods begin. Defaults to UTC."`
	WarnPercent int          `json:"warn_percent,omitempty" minimum:"0" maximum:"100" doc:"Percentage of the budget at which a warning is shown."`
	WarnOnly    bool         `json:"warn_only,omitempty" doc:"Warn instead of rejecting requests when the budget is used up."`
}

// BudgetUseView is how much of a budget is used up in its current period.
type BudgetUseView struct {
	Spent    money.Amount `json:"spent_usd"`
	Held     money.Amount `json:"held_usd" doc:"Reserved for requests in progress."`
	Percent  *float64     `json:"percent"`
	ResetsAt *time.Time   `json:"resets_at"`
}

// WorkspaceList holds the workspaces of an account.
type WorkspaceList struct {
	Workspaces []MembershipView `json:"workspaces"`
}

func (a *API) registerWorkspaces() {
	tags := []string{"workspaces"}
	register(a, SignedIn, huma.Operation{
		OperationID: "list-workspaces", Method: http.MethodGet, Path: "/workspaces", Tags: tags,
		Summary: "List your workspaces with roles and permissions",
	}, a.listWorkspaces)
	register(a, SignedIn, huma.Operation{
		OperationID: "create-workspace", Method: http.MethodPost, Path: "/workspaces", Tags: tags,
		Summary: "Create a workspace", DefaultStatus: http.StatusCreated,
	}, a.createWorkspace)
	register(a, account.ReadWorkspace, huma.Operation{
		OperationID: "get-workspace", Method: http.MethodGet, Path: "/workspace", Tags: tags,
		Summary: "Get the workspace and its settings",
	}, a.getWorkspace)
	register(a, account.ManageWorkspace, huma.Operation{
		OperationID: "update-workspace", Method: http.MethodPatch, Path: "/workspace", Tags: tags,
		Summary: "Change the settings of the workspace", Description: "Only operators can raise or remove the budget.",
	}, a.updateWorkspace)
	register(a, account.ManageInstance, huma.Operation{
		OperationID: "set-workspace-budget", Method: http.MethodPut, Path: "/instance/workspaces/{id}/budget", Tags: []string{"settings"},
		Summary: "Set or remove the budget of a workspace",
	}, a.setWorkspaceBudget)
}

func (a *API) listWorkspaces(ctx context.Context, c *call, _ *struct{}) (*output[WorkspaceList], error) {
	list, err := a.membershipViews(ctx, c)
	if err != nil {
		return nil, err
	}
	return &output[WorkspaceList]{WorkspaceList{Workspaces: list}}, nil
}

// membershipViews lists the caller's workspaces with what they may do there.
func (a *API) membershipViews(ctx context.Context, c *call) ([]MembershipView, error) {
	memberships, err := a.Workspaces.Workspaces(ctx, c.account.ID)
	if err != nil {
		return nil, err
	}
	list := make([]MembershipView, 0, len(memberships))
	for _, m := range memberships {
		actor, err := a.Workspaces.Actor(ctx, c.account.ID, m.Workspace.ID)
		if err != nil {
			return nil, err
		}
		list = append(list, membershipView(m.Workspace.Name, actor))
	}
	return list, nil
}

type createWorkspaceInput struct {
	Body struct {
		Name string `json:"name" minLength:"1" maxLength:"100"`
	}
}

func (a *API) createWorkspace(ctx context.Context, c *call, in *createWorkspaceInput) (*output[WorkspaceView], error) {
	by := account.Actor{AccountID: c.account.ID}
	memberships, err := a.Workspaces.Workspaces(ctx, c.account.ID)
	if err != nil {
		return nil, err
	}
	if len(memberships) > 0 {
		if by, err = a.Workspaces.Actor(ctx, c.account.ID, memberships[0].Workspace.ID); err != nil {
			return nil, err
		}
	}
	made, err := a.Workspaces.CreateWorkspace(ctx, by, in.Body.Name)
	if err != nil {
		return nil, err
	}
	return &output[WorkspaceView]{workspaceView(made, nil)}, nil
}

func (a *API) getWorkspace(ctx context.Context, c *call, _ *struct{}) (*output[WorkspaceView], error) {
	w, err := a.Workspaces.Workspace(ctx, c.workspaceID)
	if err != nil {
		return nil, err
	}
	return a.workspaceAnswer(ctx, w)
}

func (a *API) workspaceAnswer(ctx context.Context, w account.Workspace) (*output[WorkspaceView], error) {
	use, err := a.Spending.BudgetUse(ctx, w.ID)
	if err != nil {
		return nil, err
	}
	return &output[WorkspaceView]{workspaceView(w, budgetUseView(use, w.ID, w.Budget))}, nil
}

type updateWorkspaceInput struct {
	Body struct {
		Name             *string              `json:"name,omitempty" minLength:"1" maxLength:"100"`
		DefaultModel     Field[string]        `json:"default_model,omitzero" maxLength:"200"`
		LogBodies        *bool                `json:"log_bodies,omitempty"`
		EntryRetentionMS Field[int64]         `json:"entry_retention_ms,omitzero"`
		BodyRetentionMS  Field[int64]         `json:"body_retention_ms,omitzero"`
		Redaction        Field[RedactionView] `json:"redaction,omitzero" doc:"null to use the instance's rules. Empty lists disable redaction."`
		Budget           Field[BudgetView]    `json:"budget,omitzero"`
	}
}

func (a *API) updateWorkspace(ctx context.Context, c *call, in *updateWorkspaceInput) (*output[WorkspaceView], error) {
	b := &in.Body
	change := account.WorkspaceChange{
		Name: b.Name, DefaultModel: b.DefaultModel.orZero(), LogBodies: b.LogBodies, Budget: budgetChange(b.Budget),
	}
	if err := a.checkModel("default_model", b.DefaultModel.Value); err != nil {
		return nil, err
	}
	var err error
	if change.EntryRetention, err = retention("entry_retention_ms", b.EntryRetentionMS); err != nil {
		return nil, err
	}
	if change.BodyRetention, err = retention("body_retention_ms", b.BodyRetentionMS); err != nil {
		return nil, err
	}
	if change.Redaction, err = redactionChange(b.Redaction); err != nil {
		return nil, err
	}
	changed, err := a.Workspaces.UpdateWorkspace(ctx, c.actor, c.workspaceID, change)
	if err != nil {
		return nil, err
	}
	return a.workspaceAnswer(ctx, changed)
}

// checkModel refuses a name that means no model, and says which ones it may mean.
func (a *API) checkModel(param string, name *string) error {
	if name == nil || *name == "" {
		return nil
	}
	known, near := a.Fleet.Known(*name)
	if known {
		return nil
	}
	p := Problem{In: "body", Param: param, Message: fmt.Sprintf("unknown model %q", *name)}
	if len(near) > 0 {
		p.Suggestion = near[0]
	}
	return invalidAll([]Problem{p}).With("suggestions", near)
}

// maxRetention keeps a number of milliseconds within what a duration can hold.
const maxRetention = 100 * 365 * 24 * time.Hour

func retention(param string, f Field[int64]) (*time.Duration, error) {
	ms := f.orZero()
	if ms == nil {
		return nil, nil
	}
	if *ms < 0 || *ms > maxRetention.Milliseconds() {
		return nil, invalid("body", param, "must be between 0 and 100 years; use null for the instance's retention")
	}
	return new(time.Duration(*ms) * time.Millisecond), nil
}

type workspaceBudgetInput struct {
	ID   string `path:"id" maxLength:"64" doc:"Workspace ID."`
	Body struct {
		Budget Field[BudgetView] `json:"budget,omitzero" doc:"Required. null removes the budget."`
	}
}

func (a *API) setWorkspaceBudget(ctx context.Context, c *call, in *workspaceBudgetInput) (*output[WorkspaceView], error) {
	if !in.Body.Budget.Given {
		return nil, invalid("body", "budget", "is required; use null to remove the budget")
	}
	changed, err := a.Workspaces.UpdateWorkspace(ctx, c.actor, in.ID, account.WorkspaceChange{Budget: budgetChange(in.Body.Budget)})
	if err != nil {
		return nil, err
	}
	return a.workspaceAnswer(ctx, changed)
}

func budgetChange(f Field[BudgetView]) **account.Budget {
	if !f.Given {
		return nil
	}
	return new(f.Value.budget())
}

func (v *BudgetView) budget() *account.Budget {
	if v == nil {
		return nil
	}
	return &account.Budget{
		Amount: v.Amount, Period: account.Period(v.Period), Zone: v.Zone, WarnPercent: v.WarnPercent, WarnOnly: v.WarnOnly,
	}
}

func budgetView(b *account.Budget) *BudgetView {
	if b == nil {
		return nil
	}
	return &BudgetView{Amount: b.Amount, Period: string(b.Period), Zone: b.Zone, WarnPercent: b.WarnPercent, WarnOnly: b.WarnOnly}
}

func budgetUseView(all map[string]BudgetUse, owner string, b *account.Budget) *BudgetUseView {
	use, ok := all[owner]
	if !ok || b == nil {
		return nil
	}
	return &BudgetUseView{Spent: use.Spent, Held: use.Held, Percent: percent(use.Spent, b.Amount), ResetsAt: moment(use.ResetsAt)}
}

func workspaceView(w account.Workspace, use *BudgetUseView) WorkspaceView {
	return WorkspaceView{
		ID: w.ID, Name: w.Name, DefaultModel: text(w.DefaultModel), PinnedEmbedding: text(w.PinnedEmbed), LogBodies: w.LogBodies,
		EntryRetentionMS: millis(w.EntryRetention), BodyRetentionMS: millis(w.BodyRetention),
		Redaction: redactionView(w.Redaction),
		Budget:    budgetView(w.Budget), BudgetUse: use, CreatedAt: w.CreatedAt.UTC(),
	}
}
