package routes

import (
	"context"
	"encoding/json"
	"time"

	"fairlead.dev/internal/account"
)

// PoolChanged is the action of the audit events about the default pool.
const PoolChanged = "pool.changed"

// shownChanges is the number of changes that the API returns.
const shownChanges = 20

// PoolEvent is what an audit event stores about a change of the default pool.
type PoolEvent struct {
	Reason  string   `json:"reason"`
	Added   string   `json:"added,omitempty"`
	Removed string   `json:"removed,omitempty"`
	Pool    []string `json:"pool"` // the pool after all changes of the moment
}

// EventOf decodes an audit event. It returns the zero value for an unreadable event.
func EventOf(e *account.AuditEvent) (p PoolEvent) {
	if json.Unmarshal(e.After, &p) != nil {
		return PoolEvent{}
	}
	return p
}

// PoolChange is a recorded change of the default pool.
type PoolChange struct {
	At     time.Time `json:"at"`
	Reason string    `json:"reason" example:"gpt-6-luna replaced gpt-5.6-luna: newer, 2 times cheaper, not worse"`
}

// LatestChanges returns the latest changes of the default pool, newest first.
func LatestChanges(ctx context.Context, accounts *account.Service) ([]PoolChange, error) {
	events, err := accounts.InstanceEvents(ctx, PoolChanged, shownChanges)
	if err != nil {
		return nil, err
	}
	changes := make([]PoolChange, 0, len(events))
	for i := range events {
		changes = append(changes, PoolChange{At: events[i].At.UTC(), Reason: EventOf(&events[i]).Reason})
	}
	return changes, nil
}
