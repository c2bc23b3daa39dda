package account

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"fairlead.dev/internal/id"
)

// AuditEvent records a change. It never contains secrets.
type AuditEvent struct {
	ID          string
	WorkspaceID string // ID of the workspace; empty for a change to an account
	At          time.Time
	Actor       string // ID of an account or a key, "command line", "operator" or "single sign-on"
	Action      string // name of the action, such as "key.create"
	Object      string // ID of the changed object
	Before      json.RawMessage
	After       json.RawMessage
}

const maxAuditPage = 200

// Audit returns a page of the workspace's events, newest first. If before is not empty, the page contains only events older than
// the event with that ID.
func (s *Service) Audit(ctx context.Context, workspaceID, before string, limit int) ([]AuditEvent, error) {
	if limit <= 0 || limit > maxAuditPage {
		limit = maxAuditPage
	}
	if hasControl(before) {
		return []AuditEvent{}, nil
	}
	events, err := s.store.Audit.Audit(ctx, workspaceID, "", before, limit)
	if err != nil {
		return nil, fmt.Errorf("read the audit log: %w", err)
	}
	return events, nil
}

// Note records a change made by another package, such as a changed policy or provider credential. Before and after are encoded as
// JSON and must not contain secrets; nil omits them.
func (s *Service) Note(ctx context.Context, by Actor, action, object string, before, after any) error {
	if err := s.store.Audit.WriteAudit(ctx, s.event(by, action, object, before, after)); err != nil {
		return fmt.Errorf("record audit event %s: %w", action, err)
	}
	return nil
}

// NoteInstance records a change of the instance in the audit log of the first workspace. Before the first workspace exists, it does nothing.
func (s *Service) NoteInstance(ctx context.Context, actor, action, object string, after any) error {
	first, err := s.firstID(ctx)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return s.Note(ctx, Actor{AccountID: actor, WorkspaceID: first}, action, object, nil, after)
}

// InstanceEvents returns the latest events with an action that NoteInstance recorded, newest first.
func (s *Service) InstanceEvents(ctx context.Context, action string, limit int) ([]AuditEvent, error) {
	first, err := s.firstID(ctx)
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return s.store.Audit.Audit(ctx, first, action, "", limit)
}

func (s *Service) event(by Actor, action, object string, before, after any) AuditEvent {
	now := s.now()
	return AuditEvent{
		ID: id.New("aud", now), WorkspaceID: by.WorkspaceID, At: now,
		Actor: cmp.Or(by.KeyID, by.AccountID, commandLine), Action: action, Object: object, Before: facts(before), After: facts(after),
	}
}

// facts encodes an object for the audit log. It returns nil for nil.
func facts(v any) json.RawMessage {
	if v == nil {
		return nil
	}
	text, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage(`{}`) // unreachable: the views are plain structs
	}
	return text
}
