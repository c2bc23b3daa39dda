package logstore

import (
	"context"
	"fmt"
	"time"

	"fairlead.dev/internal/outline"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/store/sqldb"
)

// Retention is the time for which entries and their bodies are kept; 0 means forever.
type Retention struct {
	Entries time.Duration
	Bodies  time.Duration
}

func (r Retention) or(defaults Retention) Retention {
	if r.Entries == 0 {
		r.Entries = defaults.Entries
	}
	if r.Bodies == 0 {
		r.Bodies = defaults.Bodies
	}
	return r
}

// expired reports whether the bodies of a whole day are past the retention.
func (r Retention) expired(day int64, now time.Time) bool {
	return r.Bodies > 0 && day < outline.DayOf(now.Add(-r.Bodies)) || r.Entries > 0 && day < outline.DayOf(now.Add(-r.Entries))
}

// minPartitioned is the shortest retention for which PostgreSQL drops whole days instead of deleting rows. With a shorter retention, the
// unfinished day would be a large part of the data.
const minPartitioned = 48 * time.Hour

// retentionBounds holds the retentions of all workspaces, and the ids before which entries and bodies are hidden until their partitions
// are dropped. It is immutable.
type retentionBounds struct {
	defaults    Retention
	longest     Retention
	own         map[string]Retention
	now         time.Time
	entriesFrom string // first id that has not expired, for workspaces with the longest retention; empty if rows are deleted instead
	bodiesFrom  string
}

// Retain loads the retentions. In PostgreSQL it hides expired entries until their partition is dropped, so every replica
// calls it periodically. Expire calls it too.
func (s *Store) Retain(ctx context.Context, now time.Time, defaults Retention) error {
	own, err := s.retentions(ctx)
	if err != nil {
		return err
	}
	r := &retentionBounds{defaults: defaults, longest: longest(own, defaults), own: own, now: now}
	if s.db.Dialect() == sqldb.Postgres {
		if r.longest.Entries >= minPartitioned {
			r.entriesFrom = requestlog.FloorID(now.Add(-r.longest.Entries))
		}
		if r.longest.Bodies >= minPartitioned {
			r.bodiesFrom = requestlog.FloorID(now.Add(-r.longest.Bodies))
		}
	}
	s.retention.Store(r)
	return nil
}

// of returns the retention of a workspace.
func (r *retentionBounds) of(workspace string) Retention { return r.own[workspace].or(r.defaults) }

// rows returns a workspace's retention as far as it is enforced by deleting rows. It is 0 for entries or bodies that are dropped with their
// partition.
func (r *retentionBounds) rows(workspace string) Retention {
	keep := r.of(workspace)
	if r.entriesFrom != "" && keep.Entries == r.longest.Entries {
		keep.Entries = 0
	}
	if r.bodiesFrom != "" && keep.Bodies == r.longest.Bodies {
		keep.Bodies = 0
	}
	return keep
}

// applyBodyExpiry removes the preview of an entry whose bodies have expired, and marks the bodies as expired.
func (s *Store) applyBodyExpiry(e *requestlog.Entry) {
	if e.ID >= s.query().BodiesFrom {
		return
	}
	e.Preview = ""
	if e.BodyState == requestlog.BodyStored {
		e.BodyState = requestlog.BodyExpired
	}
}

// LongestRetention returns the longest retention of any workspace; 0 means forever.
func (s *Store) LongestRetention(ctx context.Context, defaults Retention) (Retention, error) {
	own, err := s.retentions(ctx)
	return longest(own, defaults), err
}

func longest(own map[string]Retention, defaults Retention) Retention {
	out := defaults
	for _, r := range own {
		if r = r.or(defaults); defaults.Entries > 0 {
			out.Entries = max(out.Entries, r.Entries)
		}
		if defaults.Bodies > 0 {
			out.Bodies = max(out.Bodies, r.Bodies)
		}
	}
	return out
}

// retentions returns the retention of each workspace that sets its own.
func (s *Store) retentions(ctx context.Context) (map[string]Retention, error) {
	const q = `select id, entry_retention_ms, body_retention_ms from workspaces where entry_retention_ms > 0 or body_retention_ms > 0`
	own := map[string]Retention{}
	rows, err := s.db.Query(ctx, q) //nolint:rowserrcheck // sqldb.Each checks rows.Err
	if err := sqldb.Each(rows, err, func(row sqldb.Scanner) error {
		var id string
		var entries, bodies int64
		err := row.Scan(&id, &entries, &bodies)
		own[id] = Retention{time.Duration(entries) * time.Millisecond, time.Duration(bodies) * time.Millisecond}
		return err
	}); err != nil {
		return nil, fmt.Errorf("read retentions: %w", err)
	}
	return own, nil
}
