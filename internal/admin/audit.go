package admin

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"fairlead/internal/account"
)

// AuditEntry says who changed what.
type AuditEntry struct {
	ID     string          `json:"id"`
	At     time.Time       `json:"at"`
	Actor  string          `json:"actor" doc:"Account ID or key ID, or command line or operator."`
	Label  string          `json:"actor_label" doc:"Email address or key name of the actor, if known."`
	Action string          `json:"action" example:"key.create"`
	Object string          `json:"object" doc:"ID of the changed object."`
	Target string          `json:"object_label" doc:"Display name of the object, if known: an email address, a key name or the account that accepted the invitation."`
	Before json.RawMessage `json:"before,omitempty" doc:"Settings before the change."`
	After  json.RawMessage `json:"after,omitempty" doc:"Settings after the change."`
}

// AuditPage is one page of the audit log.
type AuditPage struct {
	Events []AuditEntry `json:"events"`
	Before *string      `json:"before" doc:"Cursor of the next page. null on the last page."`
}

type auditInput struct {
	Before string `query:"before" maxLength:"64" doc:"Event ID. Lists older events."`
	Limit  int    `query:"limit" minimum:"1" maximum:"200" default:"50"`
}

func (a *API) registerAudit() {
	register(a, account.ReadAudit, huma.Operation{
		OperationID: "list-audit", Method: http.MethodGet, Path: "/audit", Tags: []string{"settings"},
		Summary: "List audit events, newest first",
	}, a.listAudit)
}

func (a *API) listAudit(ctx context.Context, c *call, in *auditInput) (*output[AuditPage], error) {
	events, err := a.Audit.Audit(ctx, c.workspaceID, in.Before, in.Limit)
	if err != nil {
		return nil, err
	}
	names, err := a.actorNames(ctx, c, events)
	if err != nil {
		return nil, err
	}
	page := AuditPage{Events: make([]AuditEntry, 0, len(events))}
	for _, e := range events {
		v := AuditEntry{ID: e.ID, At: e.At.UTC(), Actor: e.Actor, Label: names[e.Actor], Action: e.Action, Object: e.Object, Before: e.Before, After: e.After}
		v.Label = cmp.Or(v.Label, e.Actor)
		v.Target = cmp.Or(names[e.Object], invitationLabel(&e), e.Object)
		page.Events = append(page.Events, v)
	}
	if len(events) == in.Limit {
		page.Before = new(events[len(events)-1].ID)
	}
	return &output[AuditPage]{page}, nil
}

// invitationLabel is what to call an invitation that nobody has accepted; empty for anything else.
func invitationLabel(e *account.AuditEvent) string {
	if !strings.HasPrefix(e.Object, "inv_") {
		return ""
	}
	var facts struct {
		Role string `json:"role"`
	}
	if json.Unmarshal(e.After, &facts) != nil || facts.Role == "" {
		return "Invitation"
	}
	return "Invitation as " + facts.Role
}

// actorNames maps the ids of the workspace's keys, people and invitations to what people call them, as far as the caller
// may know.
func (a *API) actorNames(ctx context.Context, c *call, events []account.AuditEvent) (map[string]string, error) {
	names := map[string]string{}
	keys, err := a.Keys.Keys(ctx, c.workspaceID)
	if err != nil {
		return nil, err
	}
	for i := range keys {
		names[keys[i].ID] = keys[i].Name
	}
	if !c.actor.May(account.ReadMembers) {
		return names, nil
	}
	if err := a.lastNames(ctx, c.workspaceID, events, names); err != nil {
		return nil, err
	}
	members, err := a.Workspaces.Members(ctx, c.workspaceID)
	for _, m := range members {
		names[m.AccountID] = m.Email
	}
	return names, err
}

// lastNames adds those who are no longer members, and those whom invitations brought.
func (a *API) lastNames(ctx context.Context, workspaceID string, events []account.AuditEvent, names map[string]string) error {
	if a.Names == nil {
		return nil
	}
	ids := make([]string, 0, 2*len(events))
	for i := range events {
		ids = append(ids, events[i].Actor, events[i].Object)
	}
	known, err := a.Names.Names(ctx, workspaceID, ids)
	maps.Copy(names, known)
	return err
}
