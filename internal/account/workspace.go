package account

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"fairlead.dev/internal/id"
	"fairlead.dev/internal/redact"
)

// Membership is a workspace with the account's role in it.
type Membership struct {
	Workspace Workspace
	Role      Role
}

// WorkspaceChange holds changed settings; nil fields are unchanged.
type WorkspaceChange struct {
	Name           *string
	DefaultModel   *string
	LogBodies      *bool
	EntryRetention *time.Duration
	BodyRetention  *time.Duration
	Redaction      **redact.Rules // a pointer to nil selects the instance's rules
	Budget         **Budget       // a pointer to nil removes the budget
	Comparison     **Comparison   // new comparison settings; a pointer to nil ends the comparison
}

const maxModelName = 200

type workspaceView struct {
	Name           string        `json:"name"`
	DefaultModel   string        `json:"default_model,omitempty"`
	PinnedEmbed    string        `json:"pinned_embed,omitempty"`
	LogBodies      bool          `json:"log_bodies"`
	EntryRetention string        `json:"entry_retention,omitempty"`
	BodyRetention  string        `json:"body_retention,omitempty"`
	Redaction      *redact.Rules `json:"redaction,omitempty"`
	Budget         *Budget       `json:"budget,omitempty"`
	Comparison     *Comparison   `json:"comparison,omitempty"`
}

func workspaceFacts(w Workspace) workspaceView {
	return workspaceView{
		Name: w.Name, DefaultModel: w.DefaultModel, PinnedEmbed: w.PinnedEmbed, LogBodies: w.LogBodies,
		EntryRetention: span(w.EntryRetention), BodyRetention: span(w.BodyRetention), Redaction: w.Redaction, Budget: w.Budget,
		Comparison: w.Comparison,
	}
}

func span(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return d.String()
}

// draftWorkspace returns a new workspace that logs bodies, so that requests can be reviewed. If limited is set, it has the
// quota's budget until an instance manager changes the budget.
func (s *Service) draftWorkspace(name string, limited bool) Workspace {
	now := s.now()
	w := Workspace{ID: id.New("ws", now), Name: name, LogBodies: true, CreatedAt: now}
	if limited {
		w.Budget = &Budget{Amount: s.quota.WorkspaceBudget, Period: Monthly}
	}
	return w
}

// Workspaces lists the workspaces of an account, oldest first.
func (s *Service) Workspaces(ctx context.Context, accountID string) ([]Membership, error) {
	memberships, err := s.store.Workspaces.WorkspacesOf(ctx, accountID)
	if err != nil {
		return nil, fmt.Errorf("list workspaces: %w", err)
	}
	return memberships, nil
}

// Workspace returns a workspace.
func (s *Service) Workspace(ctx context.Context, workspaceID string) (Workspace, error) {
	workspace, err := s.store.Workspaces.WorkspaceByID(ctx, workspaceID)
	return workspace, wrapStoreError(err, "workspace", "look up a workspace")
}

// CreateWorkspace creates another workspace that the account owns. Unless the actor manages the instance, the workspace gets the
// quota's budget, which is 0 by default. It returns a Conflict when the account owns too many workspaces.
func (s *Service) CreateWorkspace(ctx context.Context, by Actor, name string) (Workspace, error) {
	if by.AccountID == "" || by.KeyID != "" {
		return Workspace{}, denied("A workspace cannot be created with an API key. Sign in instead.")
	}
	name = strings.TrimSpace(name)
	if err := checkName("name", name); err != nil {
		return Workspace{}, err
	}
	w := s.draftWorkspace(name, !by.May(ManageInstance))
	owner := Member{AccountID: by.AccountID, WorkspaceID: w.ID, Role: Owner, JoinedAt: w.CreatedAt}
	by.WorkspaceID = w.ID
	event := s.event(by, "workspace.create", w.ID, nil, workspaceFacts(w))
	err := s.store.Workspaces.CreateWorkspace(ctx, w, owner, s.quota.Workspaces, event)
	if errors.Is(err, ErrTooMany) {
		return Workspace{}, conflict(err, "Your account owns %d workspaces, which is the maximum. The operator can raise accounts.max_workspaces.", s.quota.Workspaces)
	}
	if err != nil {
		return Workspace{}, fmt.Errorf("create a workspace: %w", err)
	}
	s.changed(ctx)
	return w, nil
}

// UpdateWorkspace changes settings. ManageInstance is required for a change of the workspace's budget that is not stricter. If the
// workspace has a budget, ManageInstance is also required to start a comparison or to raise the comparison budget.
func (s *Service) UpdateWorkspace(ctx context.Context, by Actor, workspaceID string, c WorkspaceChange) (Workspace, error) {
	if by.WorkspaceID != workspaceID && !by.May(ManageInstance) {
		return Workspace{}, missing("workspace")
	}
	if err := c.check(); err != nil {
		return Workspace{}, err
	}
	if c.Comparison != nil {
		if err := s.checkComparison(ctx, *c.Comparison); err != nil {
			return Workspace{}, err
		}
	}
	var event AuditEvent
	w, err := s.store.Workspaces.ChangeWorkspace(ctx, workspaceID, func(w *Workspace) (AuditEvent, error) {
		before := workspaceFacts(*w)
		if c.Budget != nil && !by.May(ManageInstance) && !stricter(w.Budget, *c.Budget) {
			return AuditEvent{}, denied("Only operators can raise or remove the budget of a workspace.")
		}
		if c.Comparison != nil && *c.Comparison != nil && w.Budget != nil && !by.May(ManageInstance) {
			if w.Comparison == nil || (*c.Comparison).Budget > w.Comparison.Budget {
				// The budget of the workspace does not include comparisons, so a comparison could spend more than this budget.
				return AuditEvent{}, denied("Only operators can raise the comparison budget of a workspace that has a budget.")
			}
		}
		set(&w.Name, c.Name)
		set(&w.DefaultModel, c.DefaultModel)
		set(&w.LogBodies, c.LogBodies)
		set(&w.EntryRetention, c.EntryRetention)
		set(&w.BodyRetention, c.BodyRetention)
		set(&w.Redaction, c.Redaction)
		set(&w.Budget, c.Budget)
		set(&w.Comparison, c.Comparison)
		event = s.event(by, "workspace.update", workspaceID, before, workspaceFacts(*w))
		shown := event
		if by.WorkspaceID != workspaceID { // the other workspace's audit log must not reveal the operator's account
			shown.ID, shown.WorkspaceID = id.New("aud", event.At), workspaceID
			if event.Actor != commandLine {
				shown.Actor = "operator"
			}
		}
		return shown, nil
	})
	if err != nil {
		return Workspace{}, wrapStoreError(err, "workspace", "change a workspace")
	}
	s.changed(ctx)
	if by.WorkspaceID != workspaceID {
		if err := s.store.Audit.WriteAudit(ctx, event); err != nil {
			return Workspace{}, fmt.Errorf("record the change of another workspace: %w", err)
		}
	}
	return w, nil
}

func (c WorkspaceChange) check() error {
	if c.Name != nil {
		if err := checkName("name", *c.Name); err != nil {
			return err
		}
	}
	if c.DefaultModel != nil && (len(*c.DefaultModel) > maxModelName || hasControl(*c.DefaultModel)) {
		return invalid("default_model", "This is not a valid model name.")
	}
	if c.EntryRetention != nil && *c.EntryRetention < 0 {
		return invalid("entry_retention", "The retention must not be negative. Use 0 for the instance's retention.")
	}
	if c.BodyRetention != nil && *c.BodyRetention < 0 {
		return invalid("body_retention", "The retention must not be negative. Use 0 for the instance's retention.")
	}
	if c.Redaction != nil && *c.Redaction != nil {
		if problems := (*c.Redaction).Check(); len(problems) > 0 {
			return invalid("redaction."+problems[0].Param, "%s", problems[0].Message)
		}
	}
	if c.Budget != nil {
		if err := checkBudget(*c.Budget); err != nil {
			return err
		}
	}
	return nil
}

// stricter reports whether replacement allows no more spending than old. It returns false if the periods or time zones differ, because
// such budgets cannot be compared.
func stricter(old, replacement *Budget) bool {
	if old == nil {
		return true
	}
	if replacement == nil {
		return false
	}
	return replacement.Period == old.Period && replacement.Zone == old.Zone &&
		replacement.Amount <= old.Amount && (old.WarnOnly || !replacement.WarnOnly)
}

// FirstWorkspace returns the oldest workspace, or creates it if none exists. Keys created on the command line belong to this
// workspace, and its members operate the gateway.
func (s *Service) FirstWorkspace(ctx context.Context) (Workspace, error) {
	w, err := s.store.Workspaces.OldestWorkspace(ctx)
	if err == nil || !errors.Is(err, ErrNotFound) {
		return w, wrapStoreError(err, "workspace", "look up the first workspace")
	}
	draft := s.draftWorkspace("Default", false)
	event := s.event(CommandLine(draft.ID), "workspace.create", draft.ID, nil, workspaceFacts(draft))
	if w, err = s.store.Workspaces.EnsureWorkspace(ctx, draft, event); err != nil {
		return Workspace{}, fmt.Errorf("create the first workspace: %w", err)
	}
	s.changed(ctx)
	return w, nil
}

// PinEmbedding pins the model that `auto` selects for embeddings in a workspace, unless one is already pinned. It returns the
// pinned model.
func (s *Service) PinEmbedding(ctx context.Context, workspaceID, model string) (string, error) {
	if model == "" || len(model) > maxModelName || hasControl(model) {
		return "", invalid("model", "This is not a valid model name.")
	}
	w, err := s.store.Workspaces.ChangeWorkspace(ctx, workspaceID, func(w *Workspace) (AuditEvent, error) {
		if w.PinnedEmbed != "" {
			return AuditEvent{}, nil
		}
		before := workspaceFacts(*w)
		w.PinnedEmbed = model
		by := Actor{AccountID: "router", WorkspaceID: workspaceID}
		return s.event(by, "workspace.pin_embedding", workspaceID, before, workspaceFacts(*w)), nil
	})
	if err != nil {
		return "", wrapStoreError(err, "workspace", "pin an embedding model")
	}
	s.changed(ctx)
	return w.PinnedEmbed, nil
}

// Actor returns the actor for an account in a workspace. It returns NotFound if the account is not a member.
func (s *Service) Actor(ctx context.Context, accountID, workspaceID string) (Actor, error) {
	member, err := s.store.Members.MemberOf(ctx, workspaceID, accountID)
	if err != nil {
		return Actor{}, wrapStoreError(err, "workspace", "look up a member")
	}
	operator, err := s.operates(ctx, workspaceID)
	if err != nil {
		return Actor{}, err
	}
	return Actor{AccountID: accountID, WorkspaceID: workspaceID, Role: member.Role, Operator: operator}, nil
}

// KeyActor returns the actor for a key.
func (s *Service) KeyActor(ctx context.Context, key *Key) (Actor, error) {
	operator, err := s.operates(ctx, key.WorkspaceID)
	if err != nil {
		return Actor{}, err
	}
	return Actor{KeyID: key.ID, WorkspaceID: key.WorkspaceID, Role: key.MakerRole, Scopes: key.Scopes, Operator: operator}, nil
}

// operates reports whether the members of the workspace operate the gateway.
func (s *Service) operates(ctx context.Context, workspaceID string) (bool, error) {
	first, err := s.firstID(ctx)
	return err == nil && first == workspaceID, err
}

// firstID returns the ID of the oldest workspace, whose members operate the gateway. It returns ErrNotFound if there is no workspace.
func (s *Service) firstID(ctx context.Context) (string, error) {
	if first := s.first.Load(); first != nil {
		return *first, nil
	}
	w, err := s.store.Workspaces.OldestWorkspace(ctx)
	if err != nil {
		return "", fmt.Errorf("look up the first workspace: %w", err)
	}
	s.first.Store(&w.ID)
	return w.ID, nil
}
