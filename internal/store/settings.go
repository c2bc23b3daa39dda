package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// Setting returns a small piece of instance state, "" when it was never set.
func (db *DB) Setting(ctx context.Context, name string) (string, error) {
	var value string
	err := db.QueryRow(ctx, `select value from settings where name = $1`, name).Scan(&value)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return "", fmt.Errorf("read setting %s: %w", name, err)
	}
	return value, nil
}

// SetSetting keeps a small piece of instance state.
func (db *DB) SetSetting(ctx context.Context, name, value string) error {
	const q = `insert into settings (name, value) values ($1, $2)
		on conflict (name) do update set value = excluded.value`
	if _, err := db.Exec(ctx, q, name, value); err != nil {
		return fmt.Errorf("keep setting %s: %w", name, err)
	}
	return nil
}

// KeepSetting keeps a small piece of instance state unless there is one by that name, and returns what stands: of several processes
// that write it at the same moment, all read the same.
func (db *DB) KeepSetting(ctx context.Context, name, value string) (string, error) {
	if _, err := db.Exec(ctx, `insert into settings (name, value) values ($1, $2) on conflict (name) do nothing`, name, value); err != nil {
		return "", fmt.Errorf("keep setting %s: %w", name, err)
	}
	return db.Setting(ctx, name)
}

// Revisions returns how often each topic has changed. The running server compares them from time to time, and so
// notices what the command line and other replicas changed.
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

// bump counts a change of the topic, in the transaction that makes the change.
func bump(ctx context.Context, tx *sql.Tx, topic string) error {
	const q = `insert into revisions (topic, revision) values ($1, 1)
		on conflict (topic) do update set revision = revisions.revision + 1`
	if _, err := tx.ExecContext(ctx, q, topic); err != nil {
		return fmt.Errorf("count a change of %s: %w", topic, err)
	}
	return nil
}
