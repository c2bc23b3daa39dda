package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"fairlead/internal/llm"
	"fairlead/internal/requestlog"
)

const (
	pageLimit    = 50  // entries listed when the caller does not say
	maxPageLimit = 200 // entries listed at most
)

// Entries lists matching entries without their traces and bodies.
func (db *DB) Entries(ctx context.Context, f requestlog.Filter, p requestlog.Page) ([]requestlog.Entry, error) {
	ctx, cancel := db.bounded(ctx)
	defer cancel()
	ids, err := db.entryIDs(ctx, &f, p)
	unfinished, partial := errors.AsType[*requestlog.UnfinishedError](err)
	if err != nil && !partial {
		return nil, slow(ctx, fmt.Errorf("list requests: %w", err))
	}
	entries, err := db.summaries(ctx, f.WorkspaceID, ids)
	if err != nil {
		return nil, slow(ctx, fmt.Errorf("read requests: %w", err))
	}
	if partial {
		return entries, fmt.Errorf("list requests: %w", unfinished)
	}
	return entries, nil
}

// slow names the cause when a read ran out of time.
func slow(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("%w: %w", requestlog.ErrTooSlow, err)
	}
	return err
}

func (db *DB) entryIDs(ctx context.Context, f *requestlog.Filter, p requestlog.Page) ([]string, error) {
	limit := p.Limit
	if limit <= 0 {
		limit = pageLimit
	}
	limit = min(limit, maxPageLimit)
	switch p.Sort {
	case "", "time":
		return db.newest(ctx, f, p, limit)
	case "cost", "latency":
		return db.greatest(ctx, f, p.Sort, limit)
	}
	return nil, &llm.Error{Kind: llm.InvalidRequest, Message: fmt.Sprintf("Cannot sort by %q; use time, cost or latency.", p.Sort), Param: "sort"}
}

// newest lists ids in order of time, newest first unless the page is one of a tail.
func (db *DB) newest(ctx context.Context, f *requestlog.Filter, p requestlog.Page, limit int) ([]string, error) {
	timeless, b := db.within(f, p)
	if !b.descending || db.walked(&timeless) {
		return db.walk(ctx, &timeless, b, limit)
	}
	var all []string
	err := db.search(ctx, f.WorkspaceID, b, p.Within, func(ctx context.Context, b bounds) (bool, error) {
		q, args := db.listing(&timeless, b, limit-len(all))
		some, err := db.texts(ctx, q, args)
		if err != nil {
			return false, err
		}
		all = append(all, some...)
		return len(all) >= limit, nil
	})
	return all, err
}

func (db *DB) texts(ctx context.Context, q string, args []any) ([]string, error) {
	rows, err := db.query(ctx, q, args...)
	if err != nil {
		return nil, err
	}
	return scanColumn[string](rows)
}

const summaryColumns = `select r.id, r.preview, r.body_state, d.summary from requests r
	join details d on d.workspace_id = r.workspace_id and d.request_id = r.id`

// summaries reads entries without traces, in the order of the ids. One deleted in the meantime is left out.
func (db *DB) summaries(ctx context.Context, workspaceID string, ids []string) ([]requestlog.Entry, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	// The bounds say the same again, for both tables: PostgreSQL then plans for the days of these ids alone.
	q := summaryColumns + fmt.Sprintf(` where r.workspace_id = $1 and r.id in (%s) and r.id between $%[2]d and $%[3]d and d.request_id between $%[2]d and $%[3]d`,
		list(2, len(ids)), len(ids)+2, len(ids)+3)
	if db.dialect == dialectPostgres { // and it reads these details alone, instead of all between them
		q += fmt.Sprintf(` and d.workspace_id = $1 and d.request_id in (%s)`, list(2, len(ids)))
	}
	args := append([]any{workspaceID}, anys(ids)...)
	rows, err := db.query(ctx, q, append(args, slices.Min(ids), slices.Max(ids))...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	byID := make(map[string]requestlog.Entry, len(ids))
	for rows.Next() {
		var id, preview, state, summary string
		if err := rows.Scan(&id, &preview, &state, &summary); err != nil {
			return nil, err
		}
		e, err := readEntry(preview, state, summary, nil)
		if err != nil {
			return nil, fmt.Errorf("entry %s: %w", id, err)
		}
		db.hide(&e)
		byID[id] = e
	}
	entries := make([]requestlog.Entry, 0, len(ids))
	for _, id := range ids {
		if e, ok := byID[id]; ok {
			entries = append(entries, e)
		}
	}
	return entries, rows.Err()
}

// readEntry puts an entry together. What changes after it was written is kept outside the summary.
func readEntry(preview, state, summary string, details []byte) (requestlog.Entry, error) {
	var e requestlog.Entry
	if err := json.Unmarshal([]byte(summary), &e); err != nil {
		return e, err
	}
	e.Preview, e.BodyState = preview, requestlog.BodyState(state)
	if details == nil {
		return e, nil
	}
	var t trace
	if err := json.Unmarshal(details, &t); err != nil {
		return e, err
	}
	e.Decision, e.Bill, e.BaselineBill = t.Decision, t.Bill, t.BaselineBill
	return e, nil
}

// Entry returns one whole entry without its bodies, or requestlog.ErrNotFound.
func (db *DB) Entry(ctx context.Context, workspaceID, id string) (requestlog.Entry, error) {
	ctx, cancel := db.bounded(ctx)
	defer cancel()
	if id < db.entriesKept() {
		return requestlog.Entry{}, requestlog.ErrNotFound
	}
	const q = `select r.preview, r.body_state, d.summary, d.trace from requests r
		join details d on d.workspace_id = r.workspace_id and d.request_id = r.id where r.workspace_id = $1 and r.id = $2 and d.request_id = $2`
	var preview, state, summary string
	var packed []byte
	if err := db.queryRow(ctx, q, workspaceID, id).Scan(&preview, &state, &summary, &packed); err != nil {
		return requestlog.Entry{}, notFound(fmt.Errorf("read request: %w", err))
	}
	details, err := db.packer.unpack(packed)
	if err != nil {
		return requestlog.Entry{}, fmt.Errorf("read request %s: %w", id, err)
	}
	e, err := readEntry(preview, state, summary, details)
	db.hide(&e)
	return e, err
}

// EntryBody returns the stored bodies, or requestlog.ErrNotFound when none are stored.
func (db *DB) EntryBody(ctx context.Context, workspaceID, id string) (requestlog.Body, error) {
	ctx, cancel := db.bounded(ctx)
	defer cancel()
	if id < max(db.entriesKept(), db.bodiesKept()) {
		return requestlog.Body{}, requestlog.ErrNotFound
	}
	const q = `select b.request, b.response, b.streamed from bodies b
		join requests r on r.workspace_id = b.workspace_id and r.id = b.request_id
		where b.workspace_id = $1 and b.request_id = $2 and r.id = $2 and r.body_state = 'stored'`
	var body requestlog.Body
	var streamed int
	if err := db.queryRow(ctx, q, workspaceID, id).Scan(&body.Request, &body.Response, &streamed); err != nil {
		return requestlog.Body{}, notFound(fmt.Errorf("read body: %w", err))
	}
	body.Streamed = streamed == 1
	var errRequest, errResponse error
	body.Request, errRequest = db.packer.unpack(body.Request)
	body.Response, errResponse = db.packer.unpack(body.Response)
	return body, errors.Join(errRequest, errResponse)
}

func notFound(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return requestlog.ErrNotFound
	}
	return err
}

// countTime is how long matching entries are counted.
const countTime = 600 * time.Millisecond

// Count counts matching entries, no further than limit.
func (db *DB) Count(ctx context.Context, f requestlog.Filter, limit int) (int, error) {
	ctx, cancel := db.bounded(ctx)
	defer cancel()
	timeless, b := db.within(&f, requestlog.Page{})
	total := 0
	count := func(ctx context.Context, b bounds) (bool, error) {
		q, args := db.counting(&timeless, b, limit-total)
		var n int
		err := db.queryRow(ctx, q, args...).Scan(&n)
		total += n
		return total >= limit, err
	}
	var err error
	if db.walked(&timeless) {
		_, err = count(ctx, b)
	} else {
		err = db.search(ctx, f.WorkspaceID, b, countTime, count)
	}
	if err != nil {
		return total, slow(ctx, fmt.Errorf("count requests: %w", err))
	}
	return total, nil
}

// counting makes the statement that counts matching entries.
func (db *DB) counting(f *requestlog.Filter, b bounds, limit int) (string, []any) {
	if len(f.Tag) > 0 && len(f.Values()) == 1 {
		return countingTags(f, b, limit)
	}
	w := &where{}
	db.match(w, f)
	w.conds = append(w.conds, b.conds(w, "r.id")...)
	return fmt.Sprintf(`select count(*) from (select 1 from requests r where %s limit %d) matching`, w, max(limit, 0)), w.args
}

// countingTags counts entries by nothing but their tags, without looking at the entries. One with several is counted once.
func countingTags(f *requestlog.Filter, b bounds, limit int) (string, []any) {
	w := &where{}
	w.and("g.workspace_id = %s", f.WorkspaceID)
	w.in("g.tag", f.Tag)
	w.conds = append(w.conds, b.conds(w, "g.request_id")...)
	selected := "g.request_id"
	if len(f.Tag) > 1 {
		selected = "distinct g.request_id"
	}
	return fmt.Sprintf(`select count(*) from (select %s from tags g where %s limit %d) matching`, selected, w, max(limit, 0)), w.args
}
