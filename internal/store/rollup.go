package store

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

	"fairlead/internal/requestlog"
)

// unit is the width of the buckets of one roll-up table.
type unit struct {
	table string
	width time.Duration
	keep  time.Duration // how long its rows are kept; 0 for always
}

var (
	minutes = unit{"rollup_minutes", time.Minute, 48 * time.Hour}
	hours   = unit{"rollup_hours", time.Hour, 400 * 24 * time.Hour}
	days    = unit{"rollup_days", 24 * time.Hour, 0}
)

// horizon is the time from which the unit's rows are all still there.
func (u unit) horizon(now time.Time) time.Time {
	if u.keep == 0 {
		return time.Time{}
	}
	return now.Add(-u.keep)
}

func (u unit) floor(t time.Time) time.Time { return t.UTC().Truncate(u.width) }

func (u unit) ceil(t time.Time) time.Time {
	floor := u.floor(t)
	if floor.Equal(t) {
		return floor
	}
	return floor.Add(u.width)
}

// rollupDimensions says which dimensions a roll-up row keeps apart. Rows that keep every combination grow with the product of all
// dimensions; those that keep one or none are few, and answer what the pages ask most.
type rollupDimensions string

const (
	dimensionsAll     rollupDimensions = "all"
	dimensionsNone    rollupDimensions = "total"
	dimensionKey      rollupDimensions = "key"
	dimensionModel    rollupDimensions = "model"
	dimensionProvider rollupDimensions = "provider"
	dimensionPolicy   rollupDimensions = "policy"
)

var dimensionSets = []rollupDimensions{dimensionsAll, dimensionsNone, dimensionKey, dimensionModel, dimensionProvider, dimensionPolicy}

// rollupKey is a combination of dimensions that sums are kept for. Those that its grain does not keep are empty.
type rollupKey struct {
	workspace                    string
	grain                        rollupDimensions
	key, model, provider, policy string
	simulated                    bool
	playground                   bool  // sent by a person and no key: all grains keep these apart
	start                        int64 // unix milliseconds
}

// of is the key with only the dimensions that a grain keeps.
func (k rollupKey) of(g rollupDimensions) rollupKey {
	kept := rollupKey{workspace: k.workspace, grain: g, simulated: k.simulated, playground: k.playground, start: k.start}
	switch g {
	case dimensionsAll:
		kept = k
		kept.grain = g
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

// id is the key as one text that begins with the time, so that new rows are near each other. Migration 6 writes the ids
// of the coarser grains too. Where the API key is known, it says whether there was one.
func (k rollupKey) id() string {
	if k.grain != dimensionsAll {
		return fmt.Sprintf("%014d-%s-%s-%d-%s", k.start, k.workspace, k.grain, Flag(k.simulated)+2*Flag(k.playground), k.key+k.model+k.provider+k.policy)
	}
	sum := sha256.Sum256([]byte(strings.Join([]string{k.workspace, k.key, k.model, k.provider, k.policy, strconv.FormatBool(k.simulated)}, "\x00")))
	return fmt.Sprintf("%014d-%s", k.start, hex.EncodeToString(sum[:12]))
}

// rollups are the sums of a batch, by table and key.
type rollups map[unit]map[rollupKey]*requestlog.Sums

// tally sums up a batch by every dimension and the minute, and by how many tables keep its time. What goes into the tables is
// made from it: that is far less work than counting each entry wherever it belongs.
type tally map[tallyKey]*requestlog.Sums

type tallyKey struct {
	rollupKey
	tables int // the first so many of longKept
}

// longKept are the tables, those that keep their rows longest first.
var longKept = []unit{days, hours, minutes}

// add counts an entry. An attempt counts at the model and the provider that were tried, which need not be those that served.
func (t tally) add(e *requestlog.Entry, now time.Time) {
	at := e.Stamp()
	key := tallyKey{rollupKey: rollupKey{
		workspace: e.WorkspaceID, grain: dimensionsAll, key: requestlog.Term(e.KeyID), model: requestlog.Term(e.Model), provider: requestlog.Term(e.Provider),
		policy: requestlog.Term(e.Policy), simulated: e.Simulated, playground: e.Source() == requestlog.SourcePlayground, start: minutes.floor(at).UnixMilli(),
	}}
	for key.tables < len(longKept) && !at.Before(longKept[key.tables].horizon(now)) {
		key.tables++
	}
	t.sums(key).Add(e)
	for i := range e.Attempts {
		a := &e.Attempts[i]
		key.model, key.provider = requestlog.Term(a.Model), requestlog.Term(a.Provider)
		t.sums(key).AddAttempt(a)
	}
}

func (t tally) sums(key tallyKey) *requestlog.Sums {
	sums := t[key]
	if sums == nil {
		sums = &requestlog.Sums{}
		t[key] = sums
	}
	return sums
}

// rollups spreads the sums over tables and grains.
func (t tally) rollups() rollups {
	r := rollups{}
	for key, sums := range t {
		at := time.UnixMilli(key.start)
		for _, u := range longKept[:key.tables] {
			key.start = u.floor(at).UnixMilli()
			for _, g := range dimensionSets {
				r.sums(u, key.of(g)).Merge(sums)
			}
		}
	}
	return r
}

// sums returns the sums of one row, empty ones when there are none yet.
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

var (
	rollupCounts = []string{
		"requests", "served", "attempts", "failed_attempts", "errors", "rejected", "expected", "fallbacks", "policies", "priced", "compared",
		"cost", "compared_cost", "baseline_cost", "input_tokens", "cached_tokens", "output_tokens",
	}
	rollupHistograms = []string{"latency", "ttft"}
	rollupFields     = slices.Concat(
		TextFields("id", "workspace_id", "grain"), NumberFields("start"), TextFields("key_id", "model", "provider", "policy"),
		NumberFields("simulated", "playground"), NumberFields(rollupCounts...), TextFields(rollupHistograms...),
	)
)

// writeRollups adds the sums of a batch. In PostgreSQL they wait for the replica that folds them in.
func (db *DB) writeRollups(ctx context.Context, tx *sql.Tx, sums rollups) error {
	if db.dialect == Postgres {
		return db.putWaiting(ctx, tx, sums)
	}
	return db.mergeRollups(ctx, tx, sums)
}

// mergeRollups adds sums to the tables. Counts are added by the database; histograms are read, merged and written back,
// which is safe because only one transaction at a time gets here.
func (db *DB) mergeRollups(ctx context.Context, tx *sql.Tx, sums rollups) error {
	for _, u := range []unit{minutes, hours, days} {
		byID := make(map[string]*requestlog.Sums, len(sums[u]))
		keys := make(map[string]rollupKey, len(sums[u]))
		for key, s := range sums[u] {
			id := key.id()
			byID[id], keys[id] = s, key
		}
		ids := slices.Sorted(maps.Keys(byID))
		if err := db.mergeStored(ctx, tx, u, ids, byID); err != nil {
			return fmt.Errorf("read roll-ups: %w", err)
		}
		rows := make([][]any, len(ids))
		for i, id := range ids {
			rows[i] = rollupRow(id, keys[id], byID[id])
		}
		if _, err := db.Insert(ctx, tx, insertRollups[u], rows); err != nil {
			return err
		}
	}
	return nil
}

// mergeRows is how many rows one statement reads.
const mergeRows = 50

// selecting is the statement that reads the histograms of mergeRows rows.
func (u unit) selecting() string {
	return `select id, latency, ttft from ` + u.table + ` where id in (` + Placeholders(1, mergeRows) + `)`
}

// mergeStored adds the histograms that the table has to those of the batch.
func (db *DB) mergeStored(ctx context.Context, tx *sql.Tx, u unit, ids []string, byID map[string]*requestlog.Sums) error {
	args := make([]any, mergeRows)
	for some := range slices.Chunk(ids, mergeRows) {
		for i := range args { // the statement stays as it is: where it asks for fewer, it asks for one of them again
			args[i] = some[min(i, len(some)-1)]
		}
		rows, err := db.QueryPrepared(ctx, tx, u.selecting(), args)
		if err != nil {
			return err
		}
		if err := mergeSome(rows, byID); err != nil {
			return err
		}
	}
	return nil
}

func mergeSome(rows *sql.Rows, byID map[string]*requestlog.Sums) error {
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var id, latency, ttft string
		if err := rows.Scan(&id, &latency, &ttft); err != nil {
			return err
		}
		if err := mergeHistograms(byID[id], latency, ttft); err != nil {
			return err
		}
	}
	return rows.Err()
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

// insertRollups are the inserters of the tables.
var insertRollups = map[unit]*Inserter{minutes: minutes.inserter(), hours: hours.inserter(), days: days.inserter()}

// Inserter adds to the counts of a row that exists, and replaces its histograms.
func (u unit) inserter() *Inserter {
	sets := make([]string, 0, len(rollupCounts)+len(rollupHistograms))
	for _, c := range rollupCounts {
		sets = append(sets, fmt.Sprintf("%s = %s.%s + excluded.%s", c, u.table, c, c))
	}
	for _, h := range rollupHistograms {
		sets = append(sets, h+" = excluded."+h)
	}
	return NewInserter(u.table, rollupFields, "on conflict (id) do update set "+strings.Join(sets, ", "))
}

func rollupRow(id string, k rollupKey, s *requestlog.Sums) []any {
	return []any{
		id, k.workspace, string(k.grain), k.start, k.key, k.model, k.provider, k.policy, Flag(k.simulated), Flag(k.playground),
		s.Requests, s.Served, s.Attempts, s.Failed, s.Errors, s.Rejected, s.Expected, s.Fallbacks, s.Policies, s.Priced, s.Compared,
		int64(s.Cost), int64(s.ComparedCost), int64(s.BaselineCost), s.InputTokens, s.CachedTokens, s.OutputTokens,
		s.Latency.String(), s.TTFT.String(),
	}
}

func Args[T any](values []T) []any {
	out := make([]any, len(values))
	for i, v := range values {
		out[i] = v
	}
	return out
}
