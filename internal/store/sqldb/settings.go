package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// Setting returns a setting of the instance, or "" if it was never set.
func (db *DB) Setting(ctx context.Context, name string) (string, error) {
	var value string
	err := db.QueryRow(ctx, `select value from settings where name = $1`, name).Scan(&value)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return "", fmt.Errorf("read setting %s: %w", name, err)
	}
	return value, nil
}

// SetSetting stores a setting of the instance.
func (db *DB) SetSetting(ctx context.Context, name, value string) error {
	const q = `insert into settings (name, value) values ($1, $2)
		on conflict (name) do update set value = excluded.value`
	if _, err := db.Exec(ctx, q, name, value); err != nil {
		return fmt.Errorf("write setting %s: %w", name, err)
	}
	return nil
}

// KeepSetting stores a setting unless it is already set, and returns the stored value. Concurrent callers all get the
// same value.
func (db *DB) KeepSetting(ctx context.Context, name, value string) (string, error) {
	if _, err := db.Exec(ctx, `insert into settings (name, value) values ($1, $2) on conflict (name) do nothing`, name, value); err != nil {
		return "", fmt.Errorf("write setting %s: %w", name, err)
	}
	return db.Setting(ctx, name)
}

// Revisions returns the number of changes per topic. A running server polls it to detect changes made by the command
// line and by other replicas.
func (db *DB) Revisions(ctx context.Context) (map[string]int64, error) {
	ctx, cancel := db.Bounded(ctx)
	defer cancel()
	rows, err := db.Query(ctx, `select topic, revision from revisions`)
	if err != nil {
		return nil, fmt.Errorf("read revisions: %w", err)
	}
	defer func() { _ = rows.Close() }()
	revisions := map[string]int64{}
	for rows.Next() {
		var topic string
		var revision int64
		if err := rows.Scan(&topic, &revision); err != nil {
			return nil, fmt.Errorf("read revisions: %w", err)
		}
		revisions[topic] = revision
	}
	return revisions, rows.Err()
}

// NextRevision increments the revision of a topic in the transaction that makes the change, and returns the new
// revision. The first call in a transaction waits until every other transaction that changes the topic has ended, so
// that it sees their changes.
func NextRevision(ctx context.Context, tx *sql.Tx, topic string) (revision int64, err error) {
	const q = `insert into revisions (topic, revision) values ($1, 1)
		on conflict (topic) do update set revision = revisions.revision + 1 returning revision`
	if err := tx.QueryRowContext(ctx, q, topic).Scan(&revision); err != nil {
		return 0, fmt.Errorf("increment revision of %s: %w", topic, err)
	}
	return revision, nil
}
