package logstore

import (
	"context"
	"fmt"
	"time"

	"fairlead.dev/internal/id"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/store/messagestore"
	"fairlead.dev/internal/store/sqldb"
)

// Usage is the amount of stored data.
type Usage struct {
	Bytes   int64     // size of the whole database on disk
	Entries int64     // number of entries in all workspaces
	Bodies  int64     // number of entries with bodies
	Oldest  time.Time // time of the oldest entry; zero without entries
	Turns   messagestore.Usage
}

// Usage returns the amount of stored data.
func (s *Store) Usage(ctx context.Context) (Usage, error) {
	ctx, cancel := s.db.Bounded(ctx)
	defer cancel()
	var u Usage
	var oldest string
	bodies := `(select count(*) from bodies)`
	if s.db.Dialect() == sqldb.SQLite {
		bodies = `(select coalesce(sum(held), 0) from packed_bodies)`
	}
	q := `select (select count(*) from requests), ` + bodies + `, coalesce((select min(id) from requests), '')`
	if err := s.db.QueryRow(ctx, q).Scan(&u.Entries, &u.Bodies, &oldest); err != nil {
		return u, requestlog.WrapTimeout(ctx, fmt.Errorf("count entries: %w", err))
	}
	if t, ok := id.Time(oldest); ok {
		u.Oldest = t.UTC()
	}
	var err error
	if u.Turns, err = s.messages.Usage(ctx); err != nil {
		return u, requestlog.WrapTimeout(ctx, err)
	}
	if u.Bytes, err = s.db.Size(ctx); err != nil {
		return u, fmt.Errorf("measure the database: %w", err)
	}
	return u, nil
}
