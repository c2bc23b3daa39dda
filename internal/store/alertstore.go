package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"

	"fairlead.dev/internal/alert"
	"fairlead.dev/internal/store/sqldb"
)

// Alerts implements the stores of package alert.
type Alerts struct{ db *sqldb.DB }

// newAlerts returns a store that uses db.
func newAlerts(db *sqldb.DB) *Alerts { return &Alerts{db: db} }

const ruleColumns = `select id, workspace_id, name, kind, threshold, time_window, key_id, channels, enabled, muted_until, created_by, created_at from alert_rules `

func (s *Alerts) rules(ctx context.Context, where string, args ...any) ([]alert.Rule, error) {
	ctx, cancel := s.db.Bounded(ctx)
	defer cancel()
	rows, err := s.db.Query(ctx, ruleColumns+where, args...)
	rules, err := sqldb.Collect(rows, err, func(row sqldb.Scanner) (r alert.Rule, err error) {
		var channels string
		var enabled, muted, created int64
		if err := row.Scan(&r.ID, &r.WorkspaceID, &r.Name, &r.Kind, &r.Threshold, &r.Window, &r.KeyID, &channels, &enabled, &muted, &r.CreatedBy, &created); err != nil {
			return r, err
		}
		r.Enabled, r.MutedUntil, r.CreatedAt = enabled != 0, sqldb.FromMillis(muted), sqldb.FromMillis(created)
		return r, json.Unmarshal([]byte(channels), &r.Channels)
	})
	if err != nil {
		return nil, fmt.Errorf("read alert rules: %w", err)
	}
	return rules, nil
}

// Rules implements alert.RuleStore. Rules are sorted by age, oldest first.
func (s *Alerts) Rules(ctx context.Context, workspaceID string) ([]alert.Rule, error) {
	return s.rules(ctx, `where workspace_id = $1 order by id`, workspaceID)
}

// EnabledRules implements alert.EngineStore.
func (s *Alerts) EnabledRules(ctx context.Context) ([]alert.Rule, error) {
	return s.rules(ctx, `where enabled = 1 order by workspace_id, id`)
}

// HasRules implements alert.ReportStore.
func (s *Alerts) HasRules(ctx context.Context, kinds ...alert.Kind) (bool, error) {
	ctx, cancel := s.db.Bounded(ctx)
	defer cancel()
	var n int64
	q := `select count(*) from alert_rules where enabled = 1 and kind in (` + sqldb.Placeholders(1, len(kinds)) + `)`
	args := make([]any, len(kinds))
	for i, k := range kinds {
		args[i] = string(k)
	}
	if err := s.db.QueryRow(ctx, q, args...).Scan(&n); err != nil {
		return false, fmt.Errorf("count alert rules: %w", err)
	}
	return n > 0, nil
}

// AddRule implements alert.RuleStore.
func (s *Alerts) AddRule(ctx context.Context, r alert.Rule, maximum int) error {
	channels, err := json.Marshal(r.Channels)
	if err != nil {
		return err
	}
	return s.add(ctx, "alert_rules", r.WorkspaceID, maximum, `insert into alert_rules
		(id, workspace_id, name, kind, threshold, time_window, key_id, channels, enabled, muted_until, created_by, created_at)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
		r.ID, r.WorkspaceID, r.Name, string(r.Kind), r.Threshold, string(r.Window), r.KeyID, string(channels), sqldb.Flag(r.Enabled), sqldb.Millis(r.MutedUntil),
		r.CreatedBy, sqldb.Millis(r.CreatedAt))
}

// add inserts a row unless the workspace has the maximum number of rows. The revision serialises concurrent calls.
func (s *Alerts) add(ctx context.Context, table, workspaceID string, maximum int, q string, args ...any) error {
	err := s.db.InTx(ctx, func(tx *sql.Tx) error {
		if _, err := sqldb.NextRevision(ctx, tx, "alerts"); err != nil {
			return err
		}
		var n int
		if err := tx.QueryRowContext(ctx, `select count(*) from `+table+` where workspace_id = $1`, workspaceID).Scan(&n); err != nil {
			return err
		}
		if n >= maximum {
			return alert.ErrTooMany
		}
		_, err := tx.ExecContext(ctx, q, args...)
		return err
	})
	if err != nil {
		return fmt.Errorf("add to %s: %w", table, err)
	}
	return nil
}

// ChangeRule implements alert.RuleStore.
func (s *Alerts) ChangeRule(ctx context.Context, r alert.Rule, reset bool) error {
	channels, err := json.Marshal(r.Channels)
	if err != nil {
		return err
	}
	err = s.db.InTx(ctx, func(tx *sql.Tx) error {
		const q = `update alert_rules set name = $3, threshold = $4, time_window = $5, key_id = $6, channels = $7, enabled = $8, muted_until = $9
			where workspace_id = $1 and id = $2`
		res, err := tx.ExecContext(ctx, q, r.WorkspaceID, r.ID, r.Name, r.Threshold, string(r.Window), r.KeyID, string(channels), sqldb.Flag(r.Enabled), sqldb.Millis(r.MutedUntil))
		if err != nil {
			return err
		}
		if err := orNotFound(res); err != nil || !reset {
			return err
		}
		_, err = tx.ExecContext(ctx, `delete from alert_states where rule_id = $1`, r.ID)
		return err
	})
	if err != nil {
		return fmt.Errorf("change alert rule %s: %w", r.ID, err)
	}
	return nil
}

// orNotFound returns alert.ErrNotFound if a statement changed no row.
func orNotFound(res sql.Result) error {
	n, err := res.RowsAffected()
	if err == nil && n == 0 {
		return alert.ErrNotFound
	}
	return err
}

// DeleteRule implements alert.RuleStore.
func (s *Alerts) DeleteRule(ctx context.Context, workspaceID, ruleID string) error {
	return s.remove(ctx, `delete from alert_rules where workspace_id = $1 and id = $2`, workspaceID, ruleID)
}

func (s *Alerts) remove(ctx context.Context, q, workspaceID, id string) error {
	res, err := s.db.Exec(ctx, q, workspaceID, id)
	if err == nil {
		err = orNotFound(res)
	}
	if err != nil {
		return fmt.Errorf("delete %s: %w", id, err)
	}
	return nil
}

const channelColumns = `select id, workspace_id, name, type, target, sealed, created_by, created_at from alert_channels `

func scanChannel(row sqldb.Scanner) (alert.Channel, error) {
	var c alert.Channel
	var created int64
	err := row.Scan(&c.ID, &c.WorkspaceID, &c.Name, &c.Type, &c.Target, &c.Sealed, &c.CreatedBy, &created)
	c.CreatedAt = sqldb.FromMillis(created)
	return c, err
}

// Channels implements alert.ChannelStore. Channels are sorted by age, oldest first.
func (s *Alerts) Channels(ctx context.Context, workspaceID string) ([]alert.Channel, error) {
	ctx, cancel := s.db.Bounded(ctx)
	defer cancel()
	rows, err := s.db.Query(ctx, channelColumns+`where workspace_id = $1 order by id`, workspaceID)
	channels, err := sqldb.Collect(rows, err, scanChannel)
	if err != nil {
		return nil, fmt.Errorf("read alert channels: %w", err)
	}
	return channels, nil
}

// AddChannel implements alert.ChannelStore.
func (s *Alerts) AddChannel(ctx context.Context, c alert.Channel, maximum int) error {
	return s.add(ctx, "alert_channels", c.WorkspaceID, maximum, `insert into alert_channels (id, workspace_id, name, type, target, sealed, created_by, created_at)
		values ($1, $2, $3, $4, $5, $6, $7, $8)`, c.ID, c.WorkspaceID, c.Name, string(c.Type), c.Target, c.Sealed, c.CreatedBy, sqldb.Millis(c.CreatedAt))
}

// ChangeChannel implements alert.ChannelStore.
func (s *Alerts) ChangeChannel(ctx context.Context, c alert.Channel) error {
	const q = `update alert_channels set name = $3, target = $4, sealed = $5 where workspace_id = $1 and id = $2`
	res, err := s.db.Exec(ctx, q, c.WorkspaceID, c.ID, c.Name, c.Target, c.Sealed)
	if err == nil {
		err = orNotFound(res)
	}
	if err != nil {
		return fmt.Errorf("change alert channel %s: %w", c.ID, err)
	}
	return nil
}

// DeleteChannel implements alert.ChannelStore.
func (s *Alerts) DeleteChannel(ctx context.Context, workspaceID, channelID string) error {
	rules, err := s.Rules(ctx, workspaceID)
	if err != nil {
		return err
	}
	for i := range rules {
		if slices.Contains(rules[i].Channels, channelID) {
			return alert.ErrUsed
		}
	}
	return s.remove(ctx, `delete from alert_channels where workspace_id = $1 and id = $2`, workspaceID, channelID)
}
