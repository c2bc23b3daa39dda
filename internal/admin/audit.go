package admin

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"fairlead/internal/account"
)

// AuditEntry says who changed what.
type AuditEntry struct {
	ID     string          `json:"id"`
	At     time.Time       `json:"at"`
	Actor  string          `json:"actor" doc:"Id of an account or a key, or command line."`
	Label  string          `json:"actor_label" doc:"What to show for the actor: an email address or a key's name, where known."`
	Action string          `json:"action" example:"key.create"`
	Object string          `json:"object" doc:"Id of what was changed."`
	Before json.RawMessage `json:"before,omitempty" doc:"Its settings before, where there were any."`
	After  json.RawMessage `json:"after,omitempty" doc:"Its settings afterwards."`
}

// AuditPage is one page of the audit log.
type AuditPage struct {
	Events []AuditEntry `json:"events"`
	Before *string      `json:"before" doc:"Pass it as before to get the next page; null when this is the last one."`
}

type auditInput struct {
	Before string `query:"before" maxLength:"64" doc:"Event id: list older ones."`
	Limit  int    `query:"limit" minimum:"1" maximum:"200" default:"50"`
}

func (a *API) registerAudit() {
	register(a, account.ReadAudit, huma.Operation{
		OperationID: "list-audit", Method: http.MethodGet, Path: "/audit", Tags: []string{"settings"},
		Summary: "List who changed what, newest first",
	}, a.listAudit)
}

func (a *API) listAudit(ctx context.Context, c *call, in *auditInput) (*output[AuditPage], error) {
	events, err := a.Audit.Audit(ctx, c.workspaceID, in.Before, in.Limit)
	if err != nil {
		return nil, err
	}
	names, err := a.actorNames(ctx, c)
	if err != nil {
		return nil, err
	}
	page := AuditPage{Events: make([]AuditEntry, 0, len(events))}
	for _, e := range events {
		v := AuditEntry{ID: e.ID, At: e.At.UTC(), Actor: e.Actor, Label: names[e.Actor], Action: e.Action, Object: e.Object, Before: e.Before, After: e.After}
		if v.Label == "" {
			v.Label = e.Actor
		}
		page.Events = append(page.Events, v)
	}
	if len(events) == in.Limit {
		page.Before = new(events[len(events)-1].ID)
	}
	return &output[AuditPage]{page}, nil
}

// actorNames maps the ids of the workspace's keys and people to what people call them, as far as the caller may know.
func (a *API) actorNames(ctx context.Context, c *call) (map[string]string, error) {
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
	members, err := a.Workspaces.Members(ctx, c.workspaceID)
	for _, m := range members {
		names[m.AccountID] = m.Email
	}
	return names, err
}
