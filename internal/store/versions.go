package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// ErrNoVersion is returned for a version that was never kept, or is kept no longer.
var ErrNoVersion = errors.New("this version is not kept")

// keptLonger is how much longer than the requests that name it a version stays. Whoever has a version in force keeps it
// again at least once a day, so that its last use is never further back than this before its last request.
const keptLonger = 48 * time.Hour

// KeepVersion keeps what decisions are computed from, by kind (snapshot, policies, abilities) and version. A version that
// is kept already stays as it is and counts as used now: call it for everything in force when it comes into force, and at
// least once a day.
func (db *DB) KeepVersion(ctx context.Context, kind, version string, body []byte) error {
	err := db.InTx(ctx, func(tx *sql.Tx) error {
		used := Millis(db.now())
		res, err := tx.ExecContext(ctx, `update kept_versions set used_at = $3 where kind = $1 and version = $2`, kind, version, used)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n > 0 {
			return err
		}
		const q = `insert into kept_versions (kind, version, body, used_at) values ($1, $2, $3, $4) on conflict do nothing`
		_, err = tx.ExecContext(ctx, q, kind, version, db.codec.Pack(body), used)
		return err
	})
	if err != nil {
		return fmt.Errorf("keep version %s of %s: %w", version, kind, err)
	}
	return nil
}

// KeptVersion returns what was kept, or ErrNoVersion.
func (db *DB) KeptVersion(ctx context.Context, kind, version string) ([]byte, error) {
	ctx, cancel := db.Bounded(ctx)
	defer cancel()
	var packed []byte
	err := db.QueryRow(ctx, `select body from kept_versions where kind = $1 and version = $2`, kind, version).Scan(&packed)
	if errors.Is(err, sql.ErrNoRows) {
		err = ErrNoVersion
	}
	if err != nil {
		return nil, fmt.Errorf("read version %s of %s: %w", version, kind, err)
	}
	return db.codec.Unpack(packed)
}

// expireVersions deletes what was last in force before the oldest request that any workspace still keeps.
func (db *DB) expireVersions(ctx context.Context, now time.Time, defaults Retention) error {
	longest, err := db.LongestRetention(ctx, defaults)
	if err != nil || longest.Entries <= 0 {
		return err
	}
	_, err = db.Exec(ctx, `delete from kept_versions where used_at < $1`, Millis(now.Add(-longest.Entries-keptLonger)))
	return err
}
