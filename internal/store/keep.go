package store

import (
	"context"
	"time"

	"fairlead/internal/requestlog"
)

// byDays is the retention from which PostgreSQL drops whole days instead of deleting rows. With less, a day that is not
// over yet would be much of what is kept.
const byDays = 48 * time.Hour

// retentionBounds is how long each workspace's entries are kept, as ids: what is before them is past its time, although its day may
// not have been dropped yet. It is replaced as a whole.
type retentionBounds struct {
	defaults    Retention
	longest     Retention
	own         map[string]Retention
	now         time.Time
	entriesFrom string // of workspaces whose entries go with their day
	bodiesFrom  string
}

// Retain takes in how long entries are kept. In PostgreSQL that hides what is past its time until its day is dropped, so
// every replica calls it from time to time, and Expire by itself.
func (db *DB) Retain(ctx context.Context, now time.Time, defaults Retention) error {
	own, err := db.retentions(ctx)
	if err != nil {
		return err
	}
	k := &retentionBounds{defaults: defaults, longest: longest(own, defaults), own: own, now: now}
	if db.dialect == Postgres {
		if k.longest.Entries >= byDays {
			k.entriesFrom = floorID(now.Add(-k.longest.Entries))
		}
		if k.longest.Bodies >= byDays {
			k.bodiesFrom = floorID(now.Add(-k.longest.Bodies))
		}
	}
	db.retention.Store(k)
	return nil
}

// of is the retention of a workspace.
func (k *retentionBounds) of(workspace string) Retention { return k.own[workspace].or(k.defaults) }

// rows is the retention whose rows have to be deleted one by one: that of a workspace which keeps less than others, and
// one of a few hours. The rest goes with its day.
func (k *retentionBounds) rows(workspace string) Retention {
	keep := k.of(workspace)
	if k.entriesFrom != "" && keep.Entries == k.longest.Entries {
		keep.Entries = 0
	}
	if k.bodiesFrom != "" && keep.Bodies == k.longest.Bodies {
		keep.Bodies = 0
	}
	return keep
}

// entriesKept is the smallest id that may be shown of any workspace; empty when all may. A workspace that keeps less has no
// older rows.
func (db *DB) entriesKept() string {
	if k := db.retention.Load(); k != nil {
		return k.entriesFrom
	}
	return ""
}

// bodiesKept is the smallest id whose texts may be shown; empty when all may.
func (db *DB) bodiesKept() string {
	if k := db.retention.Load(); k != nil {
		return k.bodiesFrom
	}
	return ""
}

// hide takes the texts out of an entry that is past the retention of bodies.
func (db *DB) hide(e *requestlog.Entry) {
	if e.ID >= db.bodiesKept() {
		return
	}
	e.Preview = ""
	if e.BodyState == requestlog.BodyStored {
		e.BodyState = requestlog.BodyExpired
	}
}
