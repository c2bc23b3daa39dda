package configstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"fairlead.dev/internal/store/sqldb"
)

// ErrNoVersion is returned for a version that was never archived or has expired.
var ErrNoVersion = errors.New("this version is not archived")

// usedMargin is the additional time for which a version is kept after the requests that refer to it. Callers archive an active version
// again at least once a day, so a version's last request is never later than its last recorded use plus this margin.
const usedMargin = 48 * time.Hour

// KeepVersion archives the inputs of decisions by kind (snapshot, catalog, policies, abilities) and version. If the version is archived
// already, KeepVersion only updates the time of its last use. Call KeepVersion when a version becomes active, and at least once a day.
func (s *Store) KeepVersion(ctx context.Context, kind, version string, body []byte) error {
	err := s.db.InTx(ctx, func(tx *sql.Tx) error {
		used := sqldb.Millis(s.db.Now())
		res, err := tx.ExecContext(ctx, `update kept_versions set used_at = $3 where kind = $1 and version = $2`, kind, version, used)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n > 0 {
			return err
		}
		const q = `insert into kept_versions (kind, version, body, used_at) values ($1, $2, $3, $4) on conflict do nothing`
		_, err = tx.ExecContext(ctx, q, kind, version, s.codec.Pack(body), used)
		return err
	})
	if err != nil {
		return fmt.Errorf("archive version %s of %s: %w", version, kind, err)
	}
	return nil
}

// KeptVersion returns an archived version, or ErrNoVersion.
func (s *Store) KeptVersion(ctx context.Context, kind, version string) ([]byte, error) {
	ctx, cancel := s.db.Bounded(ctx)
	defer cancel()
	var packed []byte
	err := s.db.QueryRow(ctx, `select body from kept_versions where kind = $1 and version = $2`, kind, version).Scan(&packed)
	if errors.Is(err, sql.ErrNoRows) {
		err = ErrNoVersion
	}
	if err != nil {
		return nil, fmt.Errorf("read version %s of %s: %w", version, kind, err)
	}
	return s.codec.Unpack(packed)
}

// ExpireVersions deletes the versions that were last used more than usedMargin before oldestEntry, the time of the oldest entry in
// any workspace.
func (s *Store) ExpireVersions(ctx context.Context, oldestEntry time.Time) error {
	_, err := s.db.Exec(ctx, `delete from kept_versions where used_at < $1`, sqldb.Millis(oldestEntry.Add(-usedMargin)))
	return err
}
