package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/export"
	"fairlead.dev/internal/id"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/store/sqldb"
)

var _ export.Source = (*DB)(nil)

// exportSetting is the setting with the state of the export. While it exists, the ids of new changes and requests are recorded.
const exportSetting = "export"

// StartExport begins to record changes and requests for export, unless it has begun before.
func (db *DB) StartExport(ctx context.Context) error {
	text, err := json.Marshal(export.State{Since: db.Now()})
	if err == nil {
		_, err = db.KeepSetting(ctx, exportSetting, string(text))
	}
	return err
}

// StopExport stops recording and returns the number of records that were not exported.
func (db *DB) StopExport(ctx context.Context) (waiting int64, err error) {
	err = db.InTx(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `delete from settings where name = $1`, exportSetting); err != nil {
			return err
		}
		res, err := tx.ExecContext(ctx, `delete from export_journal`)
		if err != nil {
			return err
		}
		waiting, err = res.RowsAffected()
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("stop export: %w", err)
	}
	return waiting, nil
}

// ExportState implements export.Source.
func (db *DB) ExportState(ctx context.Context) (s export.State, ok bool, err error) {
	ctx, cancel := db.Bounded(ctx)
	defer cancel()
	text, err := db.Setting(ctx, exportSetting)
	if err != nil || text == "" {
		return s, false, err
	}
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return s, false, fmt.Errorf("decode the state of the export: %w", err)
	}
	oldest, err := db.Strings(ctx, `select record_id from export_journal order by number limit 1`, nil)
	if err != nil {
		return s, false, fmt.Errorf("read the export journal: %w", err)
	}
	for _, name := range oldest {
		s.Oldest, _ = id.Time(name)
	}
	return s, true, nil
}

// ExportRecords implements export.Source.
func (db *DB) ExportRecords(ctx context.Context, limit int) ([]export.Record, error) {
	ctx, cancel := db.Bounded(ctx)
	defer cancel()
	rows, err := db.Query(ctx, `select number, workspace_id, record_id from export_journal order by number limit $1`, limit)
	records, err := sqldb.Collect(rows, err, func(row sqldb.Scanner) (r export.Record, err error) {
		err = row.Scan(&r.Number, &r.WorkspaceID, &r.ID)
		return r, err
	})
	if err != nil {
		return nil, fmt.Errorf("read the export journal: %w", err)
	}
	ids := map[string][]string{} // by workspace
	for _, r := range records {
		ids[r.WorkspaceID] = append(ids[r.WorkspaceID], r.ID)
	}
	events, entries := map[string]*account.AuditEvent{}, map[string]*requestlog.Entry{}
	for workspace, some := range ids {
		changes, err := db.Accounts.AuditEvents(ctx, workspace, some)
		if err != nil {
			return nil, err
		}
		for i := range changes {
			events[changes[i].ID] = &changes[i]
		}
		requests, err := db.Log.WholeEntries(ctx, workspace, some)
		if err != nil {
			return nil, err
		}
		for i := range requests {
			entries[requests[i].ID] = &requests[i]
		}
	}
	for i := range records {
		r := &records[i]
		r.Audit, r.Entry = events[r.ID], entries[r.ID]
	}
	return records, nil
}

// FinishExport implements export.Source.
func (db *DB) FinishExport(ctx context.Context, numbers []int64, change func(*export.State)) error {
	err := db.InTx(ctx, func(tx *sql.Tx) error {
		var text string
		if err := tx.QueryRowContext(ctx, `select value from settings where name = $1`, exportSetting).Scan(&text); err != nil {
			return err
		}
		var s export.State
		if err := json.Unmarshal([]byte(text), &s); err != nil {
			return err
		}
		change(&s)
		changed, err := json.Marshal(&s)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `update settings set value = $2 where name = $1`, exportSetting, string(changed)); err != nil {
			return err
		}
		if len(numbers) == 0 {
			return nil
		}
		_, err = tx.ExecContext(ctx, `delete from export_journal where number in (`+sqldb.Placeholders(1, len(numbers))+`)`, sqldb.Args(numbers)...)
		return err
	})
	if err != nil {
		return fmt.Errorf("record the export: %w", err)
	}
	return nil
}
