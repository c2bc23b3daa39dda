package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"fairlead.dev/internal/alert"
	"fairlead.dev/internal/store/sqldb"
)

const stateColumns = `select s.rule_id, s.subject, s.label, s.firing, s.since, s.value, s.detail, s.seen_at, s.event_id, s.notified, s.revision from alert_states s `

func (s *Alerts) states(ctx context.Context, rest string, args ...any) ([]alert.State, error) {
	ctx, cancel := s.db.Bounded(ctx)
	defer cancel()
	rows, err := s.db.Query(ctx, stateColumns+rest, args...)
	states, err := sqldb.Collect(rows, err, func(row sqldb.Scanner) (s alert.State, err error) {
		var firing, since, seen, notified int64
		err = row.Scan(&s.RuleID, &s.Subject, &s.Label, &firing, &since, &s.Value, &s.Detail, &seen, &s.EventID, &notified, &s.Revision)
		s.Firing, s.Since, s.SeenAt, s.Notified = firing != 0, sqldb.FromMillis(since), sqldb.FromMillis(seen), notified != 0
		return s, err
	})
	if err != nil {
		return nil, fmt.Errorf("read alert states: %w", err)
	}
	return states, nil
}

// States implements alert.EngineStore.
func (s *Alerts) States(ctx context.Context) ([]alert.State, error) {
	return s.states(ctx, `order by s.rule_id, s.subject`)
}

// WorkspaceStates implements alert.HistoryStore.
func (s *Alerts) WorkspaceStates(ctx context.Context, workspaceID string) ([]alert.State, error) {
	return s.states(ctx, `join alert_rules r on r.id = s.rule_id where r.workspace_id = $1 order by s.rule_id, s.subject`, workspaceID)
}

// Apply implements alert.EngineStore.
func (s *Alerts) Apply(ctx context.Context, c *alert.Change, deliveries []alert.Delivery) (applied bool, err error) {
	err = s.db.InTx(ctx, func(tx *sql.Tx) error {
		n, err := saveState(ctx, tx, c)
		if applied = n > 0; err != nil || !applied || c.Event == nil {
			return err
		}
		return addEvent(ctx, tx, c.Event, deliveries)
	})
	if err != nil {
		return false, fmt.Errorf("save the alert state of %s: %w", c.Next.RuleID, err)
	}
	return applied, nil
}

// saveState writes a state if its revision equals the stored revision. It returns the number of changed rows, which
// is 0 if the revision differs or the rule was deleted or disabled in the meantime.
func saveState(ctx context.Context, tx *sql.Tx, c *alert.Change) (int64, error) {
	n := &c.Next
	var res sql.Result
	var err error
	switch {
	case c.Remove:
		res, err = tx.ExecContext(ctx, `delete from alert_states where rule_id = $1 and subject = $2 and revision = $3`, n.RuleID, n.Subject, n.Revision)
	case n.Revision == 0:
		const q = `insert into alert_states (rule_id, subject, label, firing, since, value, detail, seen_at, event_id, notified, revision)
			select id, $2, $3, cast($4 as bigint), cast($5 as bigint), cast($6 as double precision), $7, cast($8 as bigint), $9, cast($10 as bigint), 1 from alert_rules where id = $1 and enabled = 1 on conflict (rule_id, subject) do nothing`
		res, err = tx.ExecContext(ctx, q, n.RuleID, n.Subject, n.Label, sqldb.Flag(n.Firing), sqldb.Millis(n.Since), n.Value, n.Detail, sqldb.Millis(n.SeenAt), n.EventID, sqldb.Flag(n.Notified))
	default:
		const q = `update alert_states set label = $4, firing = $5, since = $6, value = $7, detail = $8, seen_at = $9, event_id = $10, notified = $11, revision = revision + 1
			where rule_id = $1 and subject = $2 and revision = $3`
		res, err = tx.ExecContext(ctx, q, n.RuleID, n.Subject, n.Revision, n.Label, sqldb.Flag(n.Firing), sqldb.Millis(n.Since), n.Value, n.Detail, sqldb.Millis(n.SeenAt), n.EventID, sqldb.Flag(n.Notified))
	}
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// AddEvent implements alert.HistoryStore.
func (s *Alerts) AddEvent(ctx context.Context, e *alert.Event) error {
	err := s.db.InTx(ctx, func(tx *sql.Tx) error { return addEvent(ctx, tx, e, e.Deliveries) })
	if err != nil {
		return fmt.Errorf("save alert event: %w", err)
	}
	return nil
}

func addEvent(ctx context.Context, tx *sql.Tx, e *alert.Event, deliveries []alert.Delivery) error {
	const q = `insert into alert_events (id, workspace_id, type, rule_id, rule_name, kind, threshold, time_window, subject, label, value, detail, at, since, muted)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)`
	if _, err := tx.ExecContext(ctx, q, e.ID, e.WorkspaceID, string(e.Type), e.RuleID, e.RuleName, string(e.Kind), e.Threshold, string(e.Window), e.Subject, e.Label,
		e.Value, e.Detail, sqldb.Millis(e.At), sqldb.Millis(e.Since), sqldb.Flag(e.Muted)); err != nil {
		return err
	}
	const deliver = `insert into alert_deliveries (id, event_id, workspace_id, channel_id, channel_name, state, attempts, next_at, error, updated_at)
		select $1, $2, $3, $4, coalesce((select name from alert_channels where workspace_id = $3 and id = $4), $5), $6, cast($7 as bigint), cast($8 as bigint), $9, cast($10 as bigint)`
	for i := range deliveries {
		d := &deliveries[i]
		if _, err := tx.ExecContext(ctx, deliver, d.ID, d.EventID, d.WorkspaceID, d.ChannelID, d.ChannelName, string(d.State), d.Attempts, sqldb.Millis(d.NextAt), d.Error,
			sqldb.Millis(d.UpdatedAt)); err != nil {
			return err
		}
	}
	return nil
}

const deliveryColumns = `select id, event_id, workspace_id, channel_id, channel_name, state, attempts, next_at, error, updated_at from alert_deliveries `

func scanDelivery(row sqldb.Scanner) (alert.Delivery, error) {
	var d alert.Delivery
	var next, updated int64
	err := row.Scan(&d.ID, &d.EventID, &d.WorkspaceID, &d.ChannelID, &d.ChannelName, &d.State, &d.Attempts, &next, &d.Error, &updated)
	d.NextAt, d.UpdatedAt = sqldb.FromMillis(next), sqldb.FromMillis(updated)
	return d, err
}

// Due implements alert.EngineStore.
func (s *Alerts) Due(ctx context.Context, now time.Time, limit int) ([]alert.Delivery, error) {
	ctx, cancel := s.db.Bounded(ctx)
	defer cancel()
	rows, err := s.db.Query(ctx, deliveryColumns+`where state = 'pending' and next_at <= $1 order by next_at, id limit $2`, sqldb.Millis(now), limit)
	list, err := sqldb.Collect(rows, err, scanDelivery)
	if err != nil {
		return nil, fmt.Errorf("read alert deliveries: %w", err)
	}
	return list, nil
}

// Update implements alert.EngineStore.
func (s *Alerts) Update(ctx context.Context, d *alert.Delivery, attempts int) (bool, error) {
	const q = `update alert_deliveries set state = $3, attempts = $4, next_at = $5, error = $6, updated_at = $7 where id = $1 and attempts = $2 and state = 'pending'`
	res, err := s.db.Exec(ctx, q, d.ID, attempts, string(d.State), d.Attempts, sqldb.Millis(d.NextAt), d.Error, sqldb.Millis(d.UpdatedAt))
	if err != nil {
		return false, fmt.Errorf("update alert delivery %s: %w", d.ID, err)
	}
	n, err := res.RowsAffected()
	return n > 0, err
}

const eventColumns = `select id, workspace_id, type, rule_id, rule_name, kind, threshold, time_window, subject, label, value, detail, at, since, muted from alert_events `

func scanEvent(row sqldb.Scanner) (alert.Event, error) {
	var e alert.Event
	var at, since, muted int64
	err := row.Scan(&e.ID, &e.WorkspaceID, &e.Type, &e.RuleID, &e.RuleName, &e.Kind, &e.Threshold, &e.Window, &e.Subject, &e.Label, &e.Value, &e.Detail, &at, &since, &muted)
	e.At, e.Since, e.Muted = sqldb.FromMillis(at), sqldb.FromMillis(since), muted != 0
	return e, err
}

// Notification implements alert.EngineStore.
func (s *Alerts) Notification(ctx context.Context, d *alert.Delivery) (alert.Event, alert.Channel, error) {
	ctx, cancel := s.db.Bounded(ctx)
	defer cancel()
	e, err := scanEvent(s.db.QueryRow(ctx, eventColumns+`where id = $1`, d.EventID))
	if err != nil {
		return e, alert.Channel{}, fmt.Errorf("read alert event %s: %w", d.EventID, err)
	}
	c, err := scanChannel(s.db.QueryRow(ctx, channelColumns+`where workspace_id = $1 and id = $2`, d.WorkspaceID, d.ChannelID))
	if sqldb.IsNotFound(err) {
		return e, c, alert.ErrNoChannel
	}
	if err != nil {
		return e, c, fmt.Errorf("read alert channel %s: %w", d.ChannelID, err)
	}
	return e, c, nil
}

// Events implements alert.HistoryStore.
func (s *Alerts) Events(ctx context.Context, workspaceID, ruleID, before string, limit int) ([]alert.Event, error) {
	ctx, cancel := s.db.Bounded(ctx)
	defer cancel()
	w := &sqldb.Where{}
	w.And("workspace_id = %s", workspaceID)
	if ruleID != "" {
		w.And("rule_id = %s", ruleID)
	}
	if before != "" {
		w.And("id < %s", before)
	}
	rows, err := s.db.Query(ctx, eventColumns+`where `+w.String()+` order by id desc limit `+w.Arg(limit), w.Args...)
	events, err := sqldb.Collect(rows, err, scanEvent)
	if sqldb.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read alert events: %w", err)
	}
	if len(events) == 0 {
		return nil, nil
	}
	at := make(map[string]*alert.Event, len(events))
	ids := make([]any, len(events))
	for i := range events {
		at[events[i].ID], ids[i] = &events[i], events[i].ID
	}
	rows, err = s.db.Query(ctx, deliveryColumns+`where event_id in (`+sqldb.Placeholders(1, len(ids))+`) order by id`, ids...)
	deliveries, err := sqldb.Collect(rows, err, scanDelivery)
	if err != nil {
		return nil, fmt.Errorf("read alert deliveries: %w", err)
	}
	for _, d := range deliveries {
		at[d.EventID].Deliveries = append(at[d.EventID].Deliveries, d)
	}
	return events, nil
}

// Expire deletes events older than the given time, with their deliveries. It also deletes reports older than 24 hours, which ended replicas
// left behind.
func (s *Alerts) Expire(ctx context.Context, before time.Time) error {
	if _, err := s.db.Exec(ctx, `delete from alert_reports where at < $1`, sqldb.Millis(s.db.Now().Add(-24*time.Hour))); err != nil {
		return fmt.Errorf("delete old alert reports: %w", err)
	}
	_, err := s.db.InBatches(ctx, func(tx *sql.Tx) (int, error) {
		ids, err := sqldb.Column[string](ctx, tx, `select id from alert_events where at < $1 order by id limit $2`, sqldb.Millis(before), sqldb.DeleteBatch)
		if err != nil || len(ids) == 0 {
			return 0, err
		}
		_, err = tx.ExecContext(ctx, `delete from alert_events where id in (`+sqldb.Placeholders(1, len(ids))+`)`, sqldb.Args(ids)...)
		return len(ids), err
	})
	if err != nil {
		return fmt.Errorf("delete old alert events: %w", err)
	}
	return nil
}

// SaveReport implements alert.ReportStore.
func (s *Alerts) SaveReport(ctx context.Context, r alert.Report) error {
	const q = `insert into alert_reports (replica, kind, value, detail, at) values ($1, $2, $3, $4, $5)
		on conflict (replica, kind) do update set value = excluded.value, detail = excluded.detail, at = excluded.at`
	if _, err := s.db.Exec(ctx, q, r.Replica, string(r.Kind), r.Value, r.Detail, sqldb.Millis(r.At)); err != nil {
		return fmt.Errorf("save alert report: %w", err)
	}
	return nil
}

// Reports implements alert.ReportStore.
func (s *Alerts) Reports(ctx context.Context, since time.Time) ([]alert.Report, error) {
	ctx, cancel := s.db.Bounded(ctx)
	defer cancel()
	rows, err := s.db.Query(ctx, `select replica, kind, value, detail, at from alert_reports where at >= $1 order by replica, kind`, sqldb.Millis(since))
	list, err := sqldb.Collect(rows, err, func(row sqldb.Scanner) (alert.Report, error) {
		var r alert.Report
		var at int64
		err := row.Scan(&r.Replica, &r.Kind, &r.Value, &r.Detail, &at)
		r.At = sqldb.FromMillis(at)
		return r, err
	})
	if err != nil {
		return nil, fmt.Errorf("read alert reports: %w", err)
	}
	return list, nil
}
