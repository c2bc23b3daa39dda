package store

import (
	"context"
	"database/sql"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"fairlead/internal/catalog"
	"fairlead/internal/requestlog"
	"fairlead/internal/route"
)

var (
	requestFields = slices.Concat(
		TextFields("workspace_id", "id", "key_id", "requested", "model", "provider", "policy", "decision", "outcome"),
		NumberFields("status", "stream", "simulated", "latency", "latency_class", "cost", "cost_class", "saved", "saved_class"),
		TextFields("session", "end_user", "preview", "failure", "body_state"),
	)
	insertRequests = NewInserter("requests", requestFields, KeepExisting)
	// insertPlaced is for SQLite, where details and bodies are in packs.
	insertPlaced  = NewInserter("requests", slices.Concat(requestFields, NumberFields("place")), KeepExisting)
	insertDetails = NewInserter("details", slices.Concat(TextFields("workspace_id", "request_id", "summary"), BytesFields("trace")), KeepExisting)
	insertBodies  = NewInserter("bodies", slices.Concat(TextFields("workspace_id", "request_id"), BytesFields("request", "response"), NumberFields("streamed")), KeepExisting)
	insertTags    = NewInserter("tags", TextFields("workspace_id", "tag", "request_id"), KeepExisting)
	insertLedger  = NewInserter("ledger", slices.Concat(TextFields("request_id", "workspace_id", "key_id"), NumberFields("at", "amount")), KeepExisting)
)

// KeepExisting lets a row that is there already be as it is.
const KeepExisting = "on conflict do nothing"

// trace is the part of an entry that only its own page shows.
type trace struct {
	Decision     *route.Decision `json:"trace,omitempty"`
	Bill         *catalog.Bill   `json:"bill,omitempty"`
	BaselineBill *catalog.Bill   `json:"baseline_bill,omitempty"`
}

// record is an entry made ready for writing, before any lock is taken.
type record struct {
	entry   *requestlog.Entry
	request []any
	detail  []any // nil for SQLite, as is body: both are in the batch's packs
	body    []any // nil when there is none
	tags    [][]any
	ledger  []any // nil when the cost is not known, or nobody's
}

// batch is what one transaction writes.
type batch struct {
	records []record
	packs   []Block // of SQLite: the records in their order, some at a time
}

// WriteEntries stores a batch with its ledger rows and roll-ups in one transaction. An entry that exists already is
// left as it is and counted no second time, so a batch whose fate is unknown can be written again.
func (db *DB) WriteEntries(ctx context.Context, entries []requestlog.Entry) error {
	room := db.buffers.Get().(*batchBuffers)
	defer db.release(room)
	b, err := db.batch(entries, room)
	if err != nil || len(b.records) == 0 {
		return err
	}
	db.prepareDays(ctx, b.records)
	if err := db.prepare(ctx); err != nil {
		return fmt.Errorf("write %d entries: %w", len(b.records), err)
	}
	if err := db.InTx(ctx, func(tx *sql.Tx) error { return db.writeBatch(ctx, tx, b) }); err != nil {
		return fmt.Errorf("write %d entries: %w", len(b.records), err)
	}
	return nil
}

// batch prepares each entry once.
func (db *DB) batch(entries []requestlog.Entry, room *batchBuffers) (batch, error) {
	chosen := distinct(entries)
	var b batch
	if db.dialect == SQLite { // a pack has entries of one workspace
		slices.SortStableFunc(chosen, func(a, b *requestlog.Entry) int { return strings.Compare(a.WorkspaceID, b.WorkspaceID) })
		packs, err := db.packs(chosen, room)
		if err != nil {
			return b, err
		}
		b.packs = packs
	}
	b.records = make([]record, len(chosen))
	for i, e := range chosen {
		r, err := db.record(e, room)
		if err != nil {
			return b, fmt.Errorf("prepare entry %s: %w", e.ID, err)
		}
		b.records[i] = r
	}
	return b, nil
}

// distinct leaves out entries that come twice. Of two with the same id a complete one wins over an interrupted one.
func distinct(entries []requestlog.Entry) []*requestlog.Entry {
	place := make(map[[2]string]int, len(entries))
	chosen := make([]*requestlog.Entry, 0, len(entries))
	for i := range entries {
		e := &entries[i]
		key := [2]string{e.WorkspaceID, e.ID}
		at, twice := place[key]
		switch {
		case !twice:
			place[key] = len(chosen)
			chosen = append(chosen, e)
		case chosen[at].Outcome == requestlog.Interrupted && e.Outcome != requestlog.Interrupted:
			chosen[at] = e
		}
	}
	return chosen
}

// record prepares one entry. What it has in the room is good until the batch is written.
func (db *DB) record(e *requestlog.Entry, room *batchBuffers) (record, error) {
	r := record{entry: e, request: requestRow(e)}
	if db.dialect == Postgres {
		if err := db.ownRows(&r, room); err != nil {
			return r, err
		}
	}
	for _, term := range e.TagTerms() {
		r.tags = append(r.tags, []any{e.WorkspaceID, term, e.ID})
	}
	if e.Cost != nil && e.KeyID != requestlog.SampleKey { // sample traffic spends nobody's budget
		r.ledger = []any{e.ID, e.WorkspaceID, e.KeyID, e.Time.UnixMilli(), int64(*e.Cost)}
	}
	return r, nil
}

// ownRows makes the rows of an entry that has rows of its own for details and bodies.
func (db *DB) ownRows(r *record, room *batchBuffers) error {
	e := r.entry
	text, err := room.appendSummary(room.text[:0], e)
	if err != nil {
		return err
	}
	r.detail = []any{e.WorkspaceID, e.ID, string(text), nil}
	if room.text, err = appendTrace(text[:0], e); err != nil {
		return err
	}
	r.detail[3] = room.compress(db.codec, room.text)
	switch {
	case e.BodyState == requestlog.BodyStored:
		request, response := room.compress(db.codec, e.Body.Request), room.compress(db.codec, e.Body.Response)
		r.body = []any{e.WorkspaceID, e.ID, request, response, Flag(e.Body.Streamed)}
	case e.Preview != "":
		r.body = []any{e.WorkspaceID, e.ID, []byte(nil), []byte(nil), 0}
	}
	return nil
}

// appendTrace appends the JSON of an entry's trace, with the decision as it was recorded where that is at hand.
func appendTrace(to []byte, e *requestlog.Entry) ([]byte, error) {
	decision := e.DecisionJSON()
	if decision == nil {
		return appendJSON(to, &trace{e.Decision, e.Bill, e.BaselineBill})
	}
	to = append(append(to, `{"trace":`...), decision...)
	end := len(to)
	to, err := appendJSON(to, &trace{nil, e.Bill, e.BaselineBill})
	if string(to[end:]) == "{}" {
		return append(to[:end], '}'), err
	}
	to[end] = ',' // it goes on
	return to, err
}

func requestRow(e *requestlog.Entry) []any {
	var cost, costClass, saved, savedClass any
	if e.Cost != nil {
		cost, costClass = int64(*e.Cost), class(int64(*e.Cost))
	}
	if amount, ok := e.Saved(); ok {
		saved, savedClass = int64(amount), class(int64(amount))
	}
	return []any{
		e.WorkspaceID, e.ID, requestlog.Term(e.KeyID), requestlog.Term(e.Requested), requestlog.Term(e.Model),
		requestlog.Term(e.Provider), requestlog.Term(e.Policy), string(e.DecisionKind), string(e.Outcome),
		e.Status, Flag(e.Stream), Flag(e.Simulated), int64(e.Latency), class(int64(e.Latency)), cost, costClass, saved, savedClass,
		requestlog.Term(e.Session), requestlog.Term(e.EndUser), e.PreviewText(), e.FailureText(), string(e.BodyState),
		nil, // its place among packs, which only writing knows
	}
}

// class is a coarse logarithm of n: a class spans a factor of four, and greater numbers have no smaller class.
func class(n int64) int64 {
	if n < 0 {
		return -int64(bits.Len64(uint64(-n))+1) / 2
	}
	return int64(bits.Len64(uint64(n))+1) / 2
}

// maxClass is the class of the largest number.
const maxClass = 32

func Flag(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (db *DB) writeBatch(ctx context.Context, tx *sql.Tx, b batch) error {
	insert := db.insertPacking
	if db.dialect == Postgres {
		insert = db.insertOwn
	}
	fresh, err := insert(ctx, tx, b)
	if err != nil || len(fresh) == 0 {
		return err
	}
	var tags, ledger [][]any
	sums, now := tally{}, db.now()
	for _, r := range fresh {
		tags = append(tags, r.tags...)
		if r.ledger != nil {
			ledger = append(ledger, r.ledger)
		}
		sums.add(r.entry, now)
	}
	if _, err := db.Insert(ctx, tx, insertTags, tags); err != nil {
		return err
	}
	if _, err := db.Insert(ctx, tx, insertLedger, ledger); err != nil {
		return err
	}
	return db.writeRollups(ctx, tx, sums.rollups())
}

// insertOwn inserts requests with their details and bodies, and returns the records that were not there before.
func (db *DB) insertOwn(ctx context.Context, tx *sql.Tx, b batch) ([]record, error) {
	rows := make([][]any, len(b.records))
	for i, r := range b.records {
		rows[i] = r.request
	}
	ids, err := db.insertReturning(ctx, tx, rows)
	if err != nil {
		return nil, err
	}
	fresh := b.among(ids)
	var details, bodies [][]any
	for _, r := range fresh {
		details = append(details, r.detail)
		if r.body != nil {
			bodies = append(bodies, r.body)
		}
	}
	if _, err := db.Insert(ctx, tx, insertDetails, details); err != nil {
		return nil, err
	}
	_, err = db.Insert(ctx, tx, insertBodies, bodies)
	return fresh, err
}

// among is the records that have one of the ids.
func (b batch) among(ids []string) []record {
	if len(ids) == len(b.records) {
		return b.records
	}
	wanted := make(map[string]bool, len(ids))
	for _, id := range ids {
		wanted[id] = true
	}
	var some []record
	for _, r := range b.records {
		if wanted[r.entry.ID] {
			some = append(some, r)
		}
	}
	return some
}

// insertReturning inserts requests into PostgreSQL, and says which ones are new.
func (db *DB) insertReturning(ctx context.Context, tx *sql.Tx, rows [][]any) (ids []string, err error) {
	q := insertRequests.arrays + " returning id"
	for len(rows) > 0 {
		n := insertRequests.group(db.dialect, rows)
		some, err := Column[string](ctx, tx, q, columnsOf(rows[:n], len(insertRequests.fields))...)
		if err != nil {
			return nil, fmt.Errorf("insert into requests: %w", err)
		}
		ids, rows = append(ids, some...), rows[n:]
	}
	return ids, nil
}
