// Package figurestore stores figures about requests: roll-ups by minute, hour and day, the series and breakdowns read from
// them, and spending from the ledger.
package figurestore

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/store/sqldb"
)

// Store implements requestlog.FigureReader.
type Store struct {
	db            *sqldb.DB
	insert        [unitCount]*sqldb.Inserter
	insertWaiting *sqldb.Inserter
}

// New returns a store that uses db.
func New(db *sqldb.DB) *Store {
	s := &Store{db: db, insertWaiting: sqldb.NewInserter("rollup_waiting", slices.Concat(sqldb.TextFields("unit"), rollupFields()), "")}
	for u := range unitCount { // the statement adds the counts to an existing row and replaces its histograms
		var sets []string
		for _, c := range countColumns() {
			sets = append(sets, fmt.Sprintf("%s = %s.%s + excluded.%s", c, u.table(), c, c))
		}
		for _, h := range histogramColumns() {
			sets = append(sets, h+" = excluded."+h)
		}
		s.insert[u] = sqldb.NewInserter(u.table(), rollupFields(), "on conflict (id) do update set "+strings.Join(sets, ", "))
	}
	return s
}

// unit is the bucket width of one roll-up table. Units are ordered coarsest first; coarser units are kept longer.
type unit int

const (
	days unit = iota
	hours
	minutes
	unitCount
)

func (u unit) table() string {
	return [...]string{"rollup_days", "rollup_hours", "rollup_minutes"}[u]
}

func (u unit) width() time.Duration {
	return [...]time.Duration{24 * time.Hour, time.Hour, time.Minute}[u]
}

// horizon returns the time from which all rows of the unit are still stored.
func (u unit) horizon(now time.Time) time.Time {
	switch u {
	case minutes:
		return now.Add(-48 * time.Hour)
	case hours:
		return now.Add(-400 * 24 * time.Hour)
	default:
		return time.Time{} // days are kept forever
	}
}

func (u unit) floor(t time.Time) time.Time { return t.UTC().Truncate(u.width()) }

func (u unit) ceil(t time.Time) time.Time {
	floor := u.floor(t)
	if floor.Equal(t) {
		return floor
	}
	return floor.Add(u.width())
}

// rollupDimensions names the dimensions by which roll-up rows are separated. The number of rows with all dimensions
// grows with the product of their values. Rows with one dimension or none are few, and most pages read only those. The
// stored column is called grain.
type rollupDimensions string

const (
	dimensionsAll     rollupDimensions = "all"
	dimensionsNone    rollupDimensions = "total"
	dimensionKey      rollupDimensions = "key"
	dimensionModel    rollupDimensions = "model"
	dimensionProvider rollupDimensions = "provider"
	dimensionPolicy   rollupDimensions = "policy"
)

// rollupKey identifies a roll-up row. Dimensions by which the row is not separated are empty.
type rollupKey struct {
	workspace                    string
	dimensions                   rollupDimensions
	key, model, provider, policy string
	simulated                    bool
	playground                   bool  // whether the requests were sent from the playground, without a key; separate in all rows
	start                        int64 // start of the bucket in Unix milliseconds
}

// only returns the key reduced to the given dimensions.
func (k rollupKey) only(d rollupDimensions) rollupKey {
	kept := rollupKey{workspace: k.workspace, dimensions: d, simulated: k.simulated, playground: k.playground, start: k.start}
	switch d {
	case dimensionsAll:
		kept = k
		kept.dimensions = d
	case dimensionKey:
		kept.key = k.key
	case dimensionModel:
		kept.model = k.model
	case dimensionProvider:
		kept.provider = k.provider
	case dimensionPolicy:
		kept.policy = k.policy
	case dimensionsNone:
	}
	return kept
}

// id returns the row's primary key. It begins with the time, so that new rows are stored close to each other. With all
// dimensions, the API key already identifies playground requests.
func (k rollupKey) id() string {
	if k.dimensions != dimensionsAll {
		return fmt.Sprintf("%014d-%s-%s-%d-%s", k.start, k.workspace, k.dimensions, sqldb.Flag(k.simulated)+2*sqldb.Flag(k.playground), k.key+k.model+k.provider+k.policy)
	}
	sum := sha256.Sum256([]byte(strings.Join([]string{k.workspace, k.key, k.model, k.provider, k.policy, strconv.FormatBool(k.simulated)}, "\x00")))
	return fmt.Sprintf("%014d-%s", k.start, hex.EncodeToString(sum[:12]))
}

// rollups holds sums by table and row.
type rollups map[unit]map[rollupKey]*requestlog.Sums

// Batch sums the entries of a batch by all dimensions and by minute. Deriving the rows of all tables from these sums is
// far less work than adding each entry to every row it belongs to.
type Batch map[batchKey]*requestlog.Sums

type batchKey struct {
	rollupKey
	units unit // number of units, counted from the coarsest, whose tables still store this time
}

// Add counts an entry. An attempt counts for the model and provider that were tried, even if another one served the request.
func (b Batch) Add(e *requestlog.Entry, now time.Time) {
	at := e.Stamp()
	key := batchKey{rollupKey: rollupKey{
		workspace: e.WorkspaceID, dimensions: dimensionsAll, key: requestlog.Term(e.KeyID), model: requestlog.Term(e.Model), provider: requestlog.Term(e.Provider),
		policy: requestlog.Term(e.Policy), simulated: e.Simulated, playground: e.Source() == requestlog.SourcePlayground, start: minutes.floor(at).UnixMilli(),
	}}
	for key.units < unitCount && !at.Before(key.units.horizon(now)) {
		key.units++
	}
	b.sums(key).Add(e)
	for i := range e.Attempts {
		a := &e.Attempts[i]
		key.model, key.provider = requestlog.Term(a.Model), requestlog.Term(a.Provider)
		b.sums(key).AddAttempt(a)
	}
}

func (b Batch) sums(key batchKey) *requestlog.Sums {
	sums := b[key]
	if sums == nil {
		sums = &requestlog.Sums{}
		b[key] = sums
	}
	return sums
}

// rollups adds the sums to the rows of all tables and dimensions.
func (b Batch) rollups() rollups {
	r := rollups{}
	for key, sums := range b {
		at := time.UnixMilli(key.start)
		for u := range key.units {
			key.start = u.floor(at).UnixMilli()
			for _, d := range []rollupDimensions{dimensionsAll, dimensionsNone, dimensionKey, dimensionModel, dimensionProvider, dimensionPolicy} {
				r.sums(u, key.only(d)).Merge(sums)
			}
		}
	}
	return r
}

// sums returns the sums of one row. It creates them if they are missing.
func (r rollups) sums(u unit, key rollupKey) *requestlog.Sums {
	if r[u] == nil {
		r[u] = map[rollupKey]*requestlog.Sums{}
	}
	sums := r[u][key]
	if sums == nil {
		sums = &requestlog.Sums{}
		r[u][key] = sums
	}
	return sums
}

func countColumns() []string {
	return []string{
		"requests", "served", "attempts", "failed_attempts", "errors", "rejected", "expected", "fallbacks", "policies", "priced", "compared",
		"cost", "compared_cost", "baseline_cost", "input_tokens", "cached_tokens", "output_tokens", "cache_hits", "cache_saved",
	}
}

func histogramColumns() []string { return []string{"latency", "ttft"} }

func rollupFields() []sqldb.Field {
	return slices.Concat(
		sqldb.TextFields("id", "workspace_id", "grain"), sqldb.NumberFields("start"), sqldb.TextFields("key_id", "model", "provider", "policy"),
		sqldb.NumberFields("simulated", "playground"), sqldb.NumberFields(countColumns()...), sqldb.TextFields(histogramColumns()...),
	)
}

// Write adds the sums of a batch in the transaction that writes its entries. In PostgreSQL the sums are queued until a
// replica adds them to the roll-ups.
func (s *Store) Write(ctx context.Context, tx *sql.Tx, b Batch) error {
	sums := b.rollups()
	if s.db.Dialect() != sqldb.Postgres {
		return s.merge(ctx, tx, sums)
	}
	var rows [][]any
	for u := range unitCount {
		for key, sum := range sums[u] {
			rows = append(rows, append([]any{u.table()}, rollupRow(key.id(), key, sum)...))
		}
	}
	_, err := s.db.Insert(ctx, tx, s.insertWaiting, rows)
	return err
}

// merge adds sums to the tables. The database adds the counts; histograms are read, merged and written back, which is safe
// because only one transaction at a time runs merge.
func (s *Store) merge(ctx context.Context, tx *sql.Tx, sums rollups) error {
	for u := range unitCount {
		byID := make(map[string]*requestlog.Sums, len(sums[u]))
		keys := make(map[string]rollupKey, len(sums[u]))
		for key, sum := range sums[u] {
			id := key.id()
			byID[id], keys[id] = sum, key
		}
		ids := slices.Sorted(maps.Keys(byID))
		if err := s.mergeStored(ctx, tx, u, ids, byID); err != nil {
			return fmt.Errorf("read roll-ups: %w", err)
		}
		rows := make([][]any, len(ids))
		for i, id := range ids {
			rows[i] = rollupRow(id, keys[id], byID[id])
		}
		if _, err := s.db.Insert(ctx, tx, s.insert[u], rows); err != nil {
			return err
		}
	}
	return nil
}

// mergeRows is the number of rows that one statement reads.
const mergeRows = 50

// selectHistograms returns the statement that reads the histograms of mergeRows rows.
func (u unit) selectHistograms() string {
	return `select id, latency, ttft from ` + u.table() + ` where id in (` + sqldb.Placeholders(1, mergeRows) + `)`
}

// Statements returns the SQLite statements of Write, for Prepare.
func (s *Store) Statements() []string {
	var all []string
	for u := range unitCount {
		all = append(append(all, s.insert[u].Statements()...), u.selectHistograms())
	}
	return all
}

// mergeStored adds the stored histograms to the histograms of the batch.
func (s *Store) mergeStored(ctx context.Context, tx *sql.Tx, u unit, ids []string, byID map[string]*requestlog.Sums) error {
	args := make([]any, mergeRows)
	for some := range slices.Chunk(ids, mergeRows) {
		for i := range args { // the number of arguments is fixed, so repeat the last ID
			args[i] = some[min(i, len(some)-1)]
		}
		rows, err := s.db.QueryPrepared(ctx, tx, u.selectHistograms(), args) //nolint:rowserrcheck // sqldb.Each checks rows.Err
		if err := sqldb.Each(rows, err, func(row sqldb.Scanner) error {
			var id, latency, ttft string
			if err := row.Scan(&id, &latency, &ttft); err != nil {
				return err
			}
			return mergeHistograms(byID[id], latency, ttft)
		}); err != nil {
			return err
		}
	}
	return nil
}

func mergeHistograms(s *requestlog.Sums, latency, ttft string) error {
	l, err := requestlog.ParseHistogram(latency)
	if err != nil {
		return err
	}
	t, err := requestlog.ParseHistogram(ttft)
	if err != nil {
		return err
	}
	s.Latency.Merge(l)
	s.TTFT.Merge(t)
	return nil
}

func rollupRow(id string, k rollupKey, s *requestlog.Sums) []any {
	return []any{
		id, k.workspace, string(k.dimensions), k.start, k.key, k.model, k.provider, k.policy, sqldb.Flag(k.simulated), sqldb.Flag(k.playground),
		s.Requests, s.Served, s.Attempts, s.Failed, s.Errors, s.Rejected, s.Expected, s.Fallbacks, s.Policies, s.Priced, s.Compared,
		int64(s.Cost), int64(s.ComparedCost), int64(s.BaselineCost), s.InputTokens, s.CachedTokens, s.OutputTokens, s.CacheHits, int64(s.CacheSaved),
		s.Latency.String(), s.TTFT.String(),
	}
}

// Expire deletes expired minute and hour rows. It keeps one bucket more than the retention requires.
func (s *Store) Expire(ctx context.Context, now time.Time) error {
	for _, u := range []unit{minutes, hours} {
		bound := fmt.Sprintf("%014d", u.horizon(now).Add(-u.width()).UnixMilli()) // IDs begin with the time
		q := fmt.Sprintf(`delete from %[1]s where id in (select id from %[1]s where id < $1 order by id limit $2)`, u.table())
		for n := int64(sqldb.DeleteBatch); n == sqldb.DeleteBatch; {
			res, err := s.db.Exec(ctx, q, bound, sqldb.DeleteBatch)
			if err != nil {
				return err
			}
			if n, err = res.RowsAffected(); err != nil {
				return err
			}
		}
		if s.db.Dialect() == sqldb.Postgres {
			if _, err := s.db.Exec(ctx, `delete from rollup_waiting where unit = $1 and id < $2`, u.table(), bound); err != nil {
				return err
			}
		}
	}
	return nil
}

// DeleteSimulated deletes the figures of simulated requests.
func (s *Store) DeleteSimulated(ctx context.Context, workspace string) error {
	return s.db.InTx(ctx, func(tx *sql.Tx) error {
		if s.db.Dialect() == sqldb.Postgres { // delete queued rows first, so that they are not added afterwards
			if _, err := tx.ExecContext(ctx, `delete from rollup_waiting where workspace_id = $1 and simulated = 1`, workspace); err != nil {
				return err
			}
		}
		for u := range unitCount {
			if _, err := tx.ExecContext(ctx, `delete from `+u.table()+` where workspace_id = $1 and simulated = 1`, workspace); err != nil {
				return err
			}
		}
		return nil
	})
}
