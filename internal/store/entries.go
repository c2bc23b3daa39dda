package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
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
	ctx, cancel := db.Bounded(ctx)
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
		some, err := db.Strings(ctx, q, args)
		if err != nil {
			return false, err
		}
		all = append(all, some...)
		return len(all) >= limit, nil
	})
	return all, err
}

func (db *DB) Strings(ctx context.Context, q string, args []any) ([]string, error) {
	rows, err := db.Query(ctx, q, args...)
	if err != nil {
		return nil, err
	}
	return ScanColumn[string](rows)
}

// Summaries reads entries without traces, in the order of the ids. One deleted in the meantime is left out.
func (db *DB) summaries(ctx context.Context, workspaceID string, ids []string) ([]requestlog.Entry, error) {
	byID := make(map[string]requestlog.Entry, len(ids))
	if err := db.eachDetail(ctx, db.read, detailParts{request: true}, workspaceID, ids, func(d detail) error {
		e, err := readEntry(d, nil)
		if err != nil {
			return err
		}
		db.hide(&e)
		byID[d.id] = e
		return nil
	}); err != nil {
		return nil, err
	}
	entries := make([]requestlog.Entry, 0, len(ids))
	for _, id := range ids {
		if e, ok := byID[id]; ok {
			entries = append(entries, e)
		}
	}
	return entries, nil
}

// readEntry puts an entry together. What changes after it was written is kept outside the summary.
func readEntry(d detail, traceText []byte) (requestlog.Entry, error) {
	var e requestlog.Entry
	if err := json.Unmarshal(d.summary, &e); err != nil {
		return e, err
	}
	e.Preview, e.BodyState = d.preview, requestlog.BodyState(d.state)
	if traceText == nil {
		return e, nil
	}
	var t trace
	if err := json.Unmarshal(traceText, &t); err != nil {
		return e, err
	}
	e.Decision, e.Bill, e.BaselineBill = t.Decision, t.Bill, t.BaselineBill
	return e, nil
}

// Entry returns one whole entry without its bodies, or requestlog.ErrNotFound.
func (db *DB) Entry(ctx context.Context, workspaceID, id string) (requestlog.Entry, error) {
	ctx, cancel := db.Bounded(ctx)
	defer cancel()
	if id < db.entriesKept() {
		return requestlog.Entry{}, requestlog.ErrNotFound
	}
	var e requestlog.Entry
	found := false
	if err := db.eachDetail(ctx, db.read, detailParts{request: true, trace: true}, workspaceID, []string{id}, func(d detail) error {
		text, err := d.trace(nil)
		if err != nil {
			return err
		}
		found = true
		e, err = readEntry(d, text)
		return err
	}); err != nil {
		return e, fmt.Errorf("read request: %w", err)
	}
	if !found {
		return e, requestlog.ErrNotFound
	}
	db.hide(&e)
	return e, nil
}

// EntryBody returns the stored bodies, or requestlog.ErrNotFound when none are stored.
func (db *DB) EntryBody(ctx context.Context, workspaceID, id string) (requestlog.Body, error) {
	ctx, cancel := db.Bounded(ctx)
	defer cancel()
	if id < max(db.entriesKept(), db.bodiesKept()) {
		return requestlog.Body{}, requestlog.ErrNotFound
	}
	if db.dialect == SQLite {
		return db.packedBody(ctx, workspaceID, id)
	}
	const q = `select b.request, b.response, b.streamed from bodies b
		join requests r on r.workspace_id = b.workspace_id and r.id = b.request_id
		where b.workspace_id = $1 and b.request_id = $2 and r.id = $2 and r.body_state = 'stored'`
	var request, response []byte
	var streamed int
	if err := db.QueryRow(ctx, q, workspaceID, id).Scan(&request, &response, &streamed); err != nil {
		return requestlog.Body{}, notFound(fmt.Errorf("read body: %w", err))
	}
	return db.codec.DecodeBody(request, response, streamed == 1)
}

// packedBody reads bodies from SQLite, where they are in packs, or in rows that were written before there were packs.
func (db *DB) packedBody(ctx context.Context, workspaceID, id string) (requestlog.Body, error) {
	q := `select b.request, b.response, b.streamed, r.place - p.number, p.content from requests r
		left join bodies b on r.place is null and b.workspace_id = r.workspace_id and b.request_id = r.id` + fmt.Sprintf(inPack, "packed_bodies") +
		` where r.workspace_id = $1 and r.id = $2 and r.body_state = 'stored' and (b.streamed is not null or p.number is not null)`
	var request, response, content []byte
	var streamed, slot sql.NullInt64
	if err := db.QueryRow(ctx, q, workspaceID, id).Scan(&request, &response, &streamed, &slot, &content); err != nil {
		return requestlog.Body{}, notFound(fmt.Errorf("read body: %w", err))
	}
	if streamed.Valid {
		return db.codec.DecodeBody(request, response, streamed.Int64 == 1)
	}
	all, err := db.codec.DecodeSlots(content)
	if err != nil {
		return requestlog.Body{}, fmt.Errorf("read body: %w", err)
	}
	text := all.At(slot.Int64)
	if len(text) == 0 {
		return requestlog.Body{}, requestlog.ErrNotFound
	}
	return db.codec.DecodeSlotBody(text)
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
	ctx, cancel := db.Bounded(ctx)
	defer cancel()
	timeless, b := db.within(&f, requestlog.Page{})
	total := 0
	count := func(ctx context.Context, b bounds) (bool, error) {
		q, args := db.counting(&timeless, b, limit-total)
		var n int
		err := db.QueryRow(ctx, q, args...).Scan(&n)
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
	w := &Where{}
	db.match(w, f)
	w.Conds = append(w.Conds, b.conds(w, "r.id")...)
	return fmt.Sprintf(`select count(*) from (select 1 from requests r where %s limit %d) matching`, w, max(limit, 0)), w.Args
}

// countingTags counts entries by nothing but their tags, without looking at the entries. One with several is counted once.
func countingTags(f *requestlog.Filter, b bounds, limit int) (string, []any) {
	w := &Where{}
	w.And("g.workspace_id = %s", f.WorkspaceID)
	w.In("g.tag", f.Tag)
	w.Conds = append(w.Conds, b.conds(w, "g.request_id")...)
	selected := "g.request_id"
	if len(f.Tag) > 1 {
		selected = "distinct g.request_id"
	}
	return fmt.Sprintf(`select count(*) from (select %s from tags g where %s limit %d) matching`, selected, w, max(limit, 0)), w.Args
}
