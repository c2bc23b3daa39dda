package logstore

import (
	"context"
	"fmt"
	"time"

	"fairlead/internal/id"
	"fairlead/internal/outline"
	"fairlead/internal/requestlog"
	"fairlead/internal/store/sqldb"
)

// Usage is the amount of stored data.
type Usage struct {
	Bytes   int64     // size of the whole database on disk
	Entries int64     // in all workspaces
	Bodies  int64     // entries with bodies
	Oldest  time.Time // time of the oldest entry; zero when there is none
	Turns   TurnUsage
}

// TurnUsage is how requests that share their messages with others were stored in the last days.
type TurnUsage struct {
	Since        time.Time
	Requests     int64
	RequestBytes int64 // of the whole requests
	StoredBytes  int64 // of their outlines and parts
}

// turnDays is the number of days, with the present one, that TurnUsage counts.
const turnDays = 7

// Usage measures the database.
func (s *Store) Usage(ctx context.Context) (Usage, error) {
	ctx, cancel := s.db.Bounded(ctx)
	defer cancel()
	var u Usage
	var oldest string
	bodies := `(select count(*) from bodies)`
	if s.db.Dialect() == sqldb.SQLite {
		bodies += ` + (select coalesce(sum(held), 0) from packed_bodies)`
	}
	q := `select (select count(*) from requests), ` + bodies + `, coalesce((select min(id) from requests), '')`
	if err := s.db.QueryRow(ctx, q).Scan(&u.Entries, &u.Bodies, &oldest); err != nil {
		return u, requestlog.WrapTimeout(ctx, fmt.Errorf("count entries: %w", err))
	}
	if t, ok := id.Time(oldest); ok {
		u.Oldest = t.UTC()
	}
	today := outline.DayOf(s.db.Now())
	u.Turns.Since = time.Unix((today-turnDays+1)*24*60*60, 0).UTC()
	const turns = `select coalesce(sum(turns), 0), coalesce(sum(request_bytes), 0), coalesce(sum(stored_bytes), 0) from message_days where day > $1`
	if err := s.db.QueryRow(ctx, turns, today-turnDays).Scan(&u.Turns.Requests, &u.Turns.RequestBytes, &u.Turns.StoredBytes); err != nil {
		return u, requestlog.WrapTimeout(ctx, fmt.Errorf("sum the figures of messages: %w", err))
	}
	var err error
	if u.Bytes, err = s.db.Size(ctx); err != nil {
		return u, fmt.Errorf("measure the database: %w", err)
	}
	return u, nil
}
