package workspaces

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/admin/adminapi"
)

// AuditEntry is an event in the audit log.
type AuditEntry struct {
	ID     string          `json:"id"`
	At     time.Time       `json:"at"`
	Actor  string          `json:"actor" doc:"Account ID or key ID, or command line, operator or single sign-on."`
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

func (a *handlers) registerAudit() {
	adminapi.Register(a.Server, account.ReadAudit, huma.Operation{
		OperationID: "list-audit", Method: http.MethodGet, Path: "/audit", Tags: []string{"settings"},
		Summary: "List audit events, newest first",
	}, func(ctx context.Context, c *adminapi.Call, in *auditInput) (*adminapi.Output[AuditPage], error) {
		events, err := a.Audit.Audit(ctx, c.WorkspaceID, in.Before, in.Limit)
		if err != nil {
			return nil, err
		}
		ids := make([]string, 0, 2*len(events))
		for i := range events {
			ids = append(ids, events[i].Actor, events[i].Object)
		}
		names, err := a.Labels.Labels(ctx, c, ids)
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
		return adminapi.Respond(page), nil
	})
}

// invitationLabel returns the label of an open invitation, or an empty string for other objects.
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

// AuditLog reads audit events.
type AuditLog interface {
	// Audit returns a page of events, newest first. If before is not empty, the page contains only events older than the event
	// with that ID.
	Audit(ctx context.Context, workspaceID, before string, limit int) ([]account.AuditEvent, error)
}

// Names looks up the names of accounts, including former members.
type Names interface {
	// Names maps account IDs to their last known email addresses, and invitation IDs of the workspace to the addresses
	// of the accounts that accepted them. Unknown IDs are omitted.
	Names(ctx context.Context, workspaceID string, ids []string) (map[string]string, error)
}
