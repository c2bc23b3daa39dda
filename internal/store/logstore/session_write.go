package logstore

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"

	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/store/sqldb"
)

// SessionStore stores the sums of sessions, and the charges of sessions and end users whose spending a key limits.
type SessionStore struct {
	db       *sqldb.DB
	sessions *sqldb.Inserter
	charges  *sqldb.Inserter
}

// NewSessionStore returns a store that keeps sessions in db.
func NewSessionStore(db *sqldb.DB) *SessionStore {
	text, number := sqldb.TextFields, sqldb.NumberFields
	return &SessionStore{
		db: db,
		sessions: sqldb.NewInserter("log_sessions", slices.Concat(
			text("workspace_id", "session", "first_id", "last_id", "source", "key_id", "end_user", "client", "models"), number("simulated"), number(sessionSums()...)), mergeSessions()),
		charges: sqldb.NewInserter("subject_charges", slices.Concat(text("subject"), number("at"), text("request_id"), number("amount")), sqldb.KeepExisting),
	}
}

// Statements returns the SQLite statements of Write, for Prepare.
func (s *SessionStore) Statements() []string {
	return slices.Concat(s.sessions.Statements(), s.charges.Statements())
}

func sessionSums() []string {
	return []string{
		"turns", "errors", "rejected", "unpriced", "cost", "compared_cost", "baseline_cost", "input_tokens", "cached_tokens", "output_tokens", "latency", "overhead",
	}
}

// mergeSessions returns the clause that adds the sums of a row to the sums of the session, and its models if the session does not have
// them yet. Entries may arrive out of order, so fields such as the key and the end user are taken from the row of the first request.
func mergeSessions() string {
	var sets []string
	for _, c := range sessionSums() {
		sets = append(sets, fmt.Sprintf("%[1]s = log_sessions.%[1]s + excluded.%[1]s", c))
	}
	for _, c := range []string{"source", "key_id", "end_user", "client", "simulated"} {
		sets = append(sets, fmt.Sprintf("%[1]s = case when excluded.first_id < log_sessions.first_id then excluded.%[1]s else log_sessions.%[1]s end", c))
	}
	sets = append(sets,
		"models = log_sessions.models || case when replace(log_sessions.models, excluded.models, '') = log_sessions.models then excluded.models else '' end",
		"first_id = case when excluded.first_id < log_sessions.first_id then excluded.first_id else log_sessions.first_id end",
		"last_id = case when excluded.last_id > log_sessions.last_id then excluded.last_id else log_sessions.last_id end")
	return "on conflict (workspace_id, session) do update set " + strings.Join(sets, ", ")
}

// packModels returns the column models.
func packModels(models []string) string {
	var packed strings.Builder
	for _, m := range models {
		packed.WriteString("\x1f" + m + "\x1f")
	}
	return packed.String()
}

// unpackModels returns the models in the column models, in sorted order. A model is in the column more than once if it served a session
// alone and with another model.
func unpackModels(packed string) []string {
	models := strings.FieldsFunc(packed, func(r rune) bool { return r == '\x1f' })
	slices.Sort(models)
	return slices.Compact(models)
}

// sessionBatch collects the sessions and charges of a batch of entries.
type sessionBatch struct {
	sessions map[sessionKey]requestlog.Session
	charges  [][]any
}

type sessionKey struct{ workspace, session string }

// Add counts an entry.
func (b *sessionBatch) Add(e *requestlog.Entry) {
	if e.Cost != nil {
		for _, subject := range e.Subjects {
			b.charges = append(b.charges, []any{subject, e.Time.UnixMilli(), e.ID, int64(*e.Cost)})
		}
	}
	if e.Session == "" {
		return
	}
	if b.sessions == nil {
		b.sessions = map[sessionKey]requestlog.Session{}
	}
	one := requestlog.NewSession(e)
	k := sessionKey{e.WorkspaceID, one.ID}
	if known, ok := b.sessions[k]; ok {
		one = joinSessions(known, one)
	}
	b.sessions[k] = one
}

// joinSessions combines two partial records of a session. It adds their sums and takes fields such as the key from the earlier record.
func joinSessions(a, b requestlog.Session) requestlog.Session {
	if b.FirstID < a.FirstID {
		a, b = b, a
	}
	a.LastID = max(a.LastID, b.LastID)
	for _, m := range b.Models {
		if i, known := slices.BinarySearch(a.Models, m); !known {
			a.Models = slices.Insert(a.Models, i, m)
		}
	}
	a.Turns, a.Errors, a.Rejected, a.Unpriced = a.Turns+b.Turns, a.Errors+b.Errors, a.Rejected+b.Rejected, a.Unpriced+b.Unpriced
	a.Cost, a.ComparedCost, a.BaselineCost = a.Cost.Add(b.Cost), a.ComparedCost.Add(b.ComparedCost), a.BaselineCost.Add(b.BaselineCost)
	a.InputTokens, a.CachedTokens, a.OutputTokens = a.InputTokens+b.InputTokens, a.CachedTokens+b.CachedTokens, a.OutputTokens+b.OutputTokens
	a.Latency, a.Overhead = a.Latency+b.Latency, a.Overhead+b.Overhead
	return a
}

// Write stores a batch in the transaction that writes its entries. Rows are in order of their keys, so that replicas that write the same
// sessions wait for each other instead of deadlocking.
func (s *SessionStore) Write(ctx context.Context, tx *sql.Tx, b sessionBatch) error {
	keys := slices.SortedFunc(maps.Keys(b.sessions), func(a, b sessionKey) int {
		return strings.Compare(a.workspace+"\x00"+a.session, b.workspace+"\x00"+b.session)
	})
	rows := make([][]any, len(keys))
	for i, k := range keys {
		s := b.sessions[k]
		rows[i] = []any{
			s.WorkspaceID, s.ID, s.FirstID, s.LastID, s.Source, s.KeyID, s.EndUser, s.Client, packModels(s.Models), sqldb.Flag(s.Simulated),
			s.Turns, s.Errors, s.Rejected, s.Unpriced, int64(s.Cost), int64(s.ComparedCost), int64(s.BaselineCost),
			s.InputTokens, s.CachedTokens, s.OutputTokens, int64(s.Latency), int64(s.Overhead),
		}
	}
	if _, err := s.db.Insert(ctx, tx, s.sessions, rows); err != nil {
		return err
	}
	_, err := s.db.Insert(ctx, tx, s.charges, b.charges)
	return err
}

// DeleteEmpty deletes the given sessions if they have no entries.
func (s *SessionStore) DeleteEmpty(ctx context.Context, tx *sql.Tx, workspace string, sessions []string) error {
	for some := range slices.Chunk(sessions, 500) {
		q := `delete from log_sessions where workspace_id = $1 and session in (` + sqldb.Placeholders(2, len(some)) + `) and not exists
			(select 1 from requests r where r.workspace_id = $1 and r.session = log_sessions.session and r.session <> '')`
		if _, err := tx.ExecContext(ctx, q, append([]any{workspace}, sqldb.Args(some)...)...); err != nil {
			return fmt.Errorf("delete sessions: %w", err)
		}
	}
	return nil
}

// SessionsOf returns the session IDs of the entries with the given IDs, without duplicates.
func (s *SessionStore) SessionsOf(ctx context.Context, tx *sql.Tx, workspace string, ids []string) ([]string, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	q := `select distinct session from requests where workspace_id = $1 and session <> '' and id in (` + sqldb.Placeholders(2, len(ids)) + `)`
	return sqldb.Column[string](ctx, tx, q, append([]any{workspace}, sqldb.Args(ids)...)...)
}

// Expire deletes the sessions of a workspace whose latest request has an ID less than before.
func (s *SessionStore) Expire(ctx context.Context, workspace, before string) error {
	_, err := s.db.InBatches(ctx, func(tx *sql.Tx) (int, error) {
		old, err := sqldb.Column[string](ctx, tx, `select session from log_sessions where workspace_id = $1 and last_id < $2 order by last_id limit $3`, workspace, before, sqldb.DeleteBatch)
		if err != nil || len(old) == 0 {
			return 0, err
		}
		q := `delete from log_sessions where workspace_id = $1 and session in (` + sqldb.Placeholders(2, len(old)) + `)`
		_, err = tx.ExecContext(ctx, q, append([]any{workspace}, sqldb.Args(old)...)...)
		return len(old), err
	})
	if err != nil {
		return fmt.Errorf("expire sessions: %w", err)
	}
	return nil
}

// NextWorkspace returns the first workspace after the given one that has sessions, or "" after the last one.
func (s *SessionStore) NextWorkspace(ctx context.Context, after string) (string, error) {
	var next sql.NullString
	err := s.db.QueryRow(ctx, `select min(workspace_id) from log_sessions where workspace_id > $1`, after).Scan(&next)
	return next.String, err
}
