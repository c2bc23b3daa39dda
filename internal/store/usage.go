package store

import (
	"context"
	"fmt"
	"os"
	"time"

	"fairlead/internal/id"
)

// Usage is how much is stored.
type Usage struct {
	Bytes   int64     // of the whole database, on disk
	Entries int64     // of all workspaces
	Bodies  int64     // entries that hold text
	Oldest  time.Time // when the oldest entry was received; zero when there is none
}

// Usage measures the database.
func (db *DB) Usage(ctx context.Context) (Usage, error) {
	ctx, cancel := db.Bounded(ctx)
	defer cancel()
	var u Usage
	var oldest string
	bodies := `(select count(*) from bodies)`
	if db.dialect == SQLite {
		bodies += ` + (select coalesce(sum(held), 0) from packed_bodies)`
	}
	q := `select (select count(*) from requests), ` + bodies + `, coalesce((select min(id) from requests), '')`
	if err := db.QueryRow(ctx, q).Scan(&u.Entries, &u.Bodies, &oldest); err != nil {
		return u, slow(ctx, fmt.Errorf("count what is stored: %w", err))
	}
	if t, ok := id.Time(oldest); ok {
		u.Oldest = t.UTC()
	}
	var err error
	if u.Bytes, err = db.Size(ctx); err != nil {
		return u, fmt.Errorf("measure the database: %w", err)
	}
	return u, nil
}

// Size is how large the whole database is on disk, in bytes.
func (db *DB) Size(ctx context.Context) (int64, error) {
	var n int64
	if db.dialect == Postgres {
		err := db.QueryRow(ctx, `select pg_database_size(current_database())`).Scan(&n)
		return n, err
	}
	for _, suffix := range []string{"", "-wal", "-shm"} {
		info, err := os.Stat(db.path + suffix)
		if err == nil {
			n += info.Size()
		}
	}
	return n, nil
}
