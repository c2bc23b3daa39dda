package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"fairlead.dev/internal/id"
)

// multiply adds n copies of a stored key or request to a data folder. No gateway may use the folder at the same time.
func multiply(ctx context.Context, data, what string, n int) (err error) {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(data, "fairlead.db"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if what == "keys" {
		if err := copyRows(ctx, db, "keys", n, map[string]string{"id": `'key_' || printf('%026d', i)`}); err != nil {
			return err
		}
		return copyRows(ctx, db, "key_secrets", n, map[string]string{"hash": "randomblob(32)", "key_id": `'key_' || printf('%026d', i)`})
	}
	first := id.Floor("req", time.Now().Add(-time.Hour))
	return copyRows(ctx, db, "requests", n, map[string]string{
		"id": fmt.Sprintf(`'%s' || printf('%%016d', i)`, first[:len(first)-16]), "session": `'s-' || (i / 8)`,
		"cost": "abs(random()) % 1000000", "cost_class": "abs(random()) % 8", "latency": "abs(random()) % 1000000", "latency_class": "abs(random()) % 8",
	})
}

// copyRows adds n copies of the table's newest row. own holds expressions for the columns that differ.
func copyRows(ctx context.Context, db *sql.DB, table string, n int, own map[string]string) error {
	rows, err := db.QueryContext(ctx, `select name from pragma_table_info($1)`, table)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // rows.Err returns the same error
	var columns, values []string
	var found int
	for rows.Next() {
		var column string
		if err := rows.Scan(&column); err != nil {
			return err
		}
		columns = append(columns, column)
		value, ok := own[column]
		if ok {
			found++
		} else {
			value = "c." + column
		}
		values = append(values, value)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if found != len(own) {
		return fmt.Errorf("the table %s lacks some of the columns to change; its columns are %v", table, columns)
	}
	q := fmt.Sprintf(`with recursive numbers (i) as (select 1 union all select i + 1 from numbers where i < $1)
		insert into %[1]s (%[2]s) select %[3]s from numbers, (select * from %[1]s order by rowid desc limit 1) c`,
		table, strings.Join(columns, ", "), strings.Join(values, ", "))
	if _, err := db.ExecContext(ctx, q, n); err != nil {
		return fmt.Errorf("add %d rows to %s: %w", n, table, err)
	}
	return nil
}
