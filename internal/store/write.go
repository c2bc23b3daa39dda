package store

import (
	"context"
	"database/sql"
	"fmt"
	"math/bits"
	"slices"

	"fairlead/internal/catalog"
	"fairlead/internal/requestlog"
	"fairlead/internal/route"
	"fairlead/internal/scribe"
)

var (
	insertRequests = newInserter("requests",
		slices.Concat(
			textFields("workspace_id", "id", "key_id", "requested", "model", "provider", "policy", "decision", "outcome"),
			numberFields("status", "stream", "simulated", "latency", "latency_class", "cost", "cost_class", "saved", "saved_class"),
			textFields("session", "end_user", "preview", "failure", "body_state"),
		),
		leaveExisting)
	insertDetails = newInserter("details", slices.Concat(textFields("workspace_id", "request_id", "summary"), bytesFields("trace")), leaveExisting)
	insertBodies  = newInserter("bodies", slices.Concat(textFields("workspace_id", "request_id"), bytesFields("request", "response"), numberFields("streamed")), leaveExisting)
	insertTags    = newInserter("tags", textFields("workspace_id", "tag", "request_id"), leaveExisting)
	insertLedger  = newInserter("ledger", slices.Concat(textFields("request_id", "workspace_id", "key_id"), numberFields("at", "amount")), leaveExisting)
)

// leaveExisting lets a row that is there already be as it is.
const leaveExisting = "on conflict do nothing"

// trace is the part of an entry that only its own page shows.
type trace struct {
	Decision     *route.Decision `json:"trace,omitempty"`
	Bill         *catalog.Bill   `json:"bill,omitempty"`
	BaselineBill *catalog.Bill   `json:"baseline_bill,omitempty"`
}

// What is stored is written by these, and read by encoding/json.
var (
	summaries = scribe.For[requestlog.Entry]()
	traces    = scribe.For[trace]()
)

// record is an entry made ready for writing, before any lock is taken.
type record struct {
	entry   *requestlog.Entry
	request []any
	detail  []any
	body    []any // nil when there is none
	tags    [][]any
	ledger  []any // nil when the cost is not known, or nobody's
}

// WriteEntries stores a batch with its ledger rows and roll-ups in one transaction. An entry that exists already is
// left as it is and counted no second time, so a batch whose fate is unknown can be written again.
func (db *DB) WriteEntries(ctx context.Context, entries []requestlog.Entry) error {
	room := db.rooms.Get().(*room)
	defer db.giveBack(room)
	records, err := db.records(entries, room)
	if err != nil || len(records) == 0 {
		return err
	}
	db.prepareDays(ctx, records)
	if err := db.prepare(ctx); err != nil {
		return fmt.Errorf("write %d entries: %w", len(records), err)
	}
	if err := db.inTx(ctx, func(tx *sql.Tx) error { return db.writeRecords(ctx, tx, records) }); err != nil {
		return fmt.Errorf("write %d entries: %w", len(records), err)
	}
	return nil
}

// records prepares each entry once. Of two with the same id a complete one wins over an interrupted one.
func (db *DB) records(entries []requestlog.Entry, room *room) ([]record, error) {
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
	room.grow(chosen)
	records := make([]record, len(chosen))
	for i, e := range chosen {
		r, err := db.record(e, room)
		if err != nil {
			return nil, fmt.Errorf("prepare entry %s: %w", e.ID, err)
		}
		records[i] = r
	}
	return records, nil
}

// room is the memory that the texts of a batch are made in, used again by the next one.
type room struct {
	summary requestlog.Entry // of one record after the other, as are the texts
	text    []byte
	packed  []byte // of all records
}

// largestRoom is the most memory that is kept from one batch to the next.
const largestRoom = 4 << 20

func (db *DB) giveBack(r *room) {
	if cap(r.packed) <= largestRoom && cap(r.text) <= largestRoom {
		r.packed, r.summary = r.packed[:0], requestlog.Entry{}
		db.rooms.Put(r)
	}
}

// grow makes room for about what the entries come to.
func (r *room) grow(entries []*requestlog.Entry) {
	const trace = 2 << 10
	n := 0
	for _, e := range entries {
		n += trace
		for _, body := range [][]byte{e.Body.Request, e.Body.Response} {
			if len(body) < packMin {
				n += len(body) + 1
			} else {
				n += len(body) / 3
			}
		}
	}
	r.packed = slices.Grow(r.packed, n)
}

// pack makes a text ready for storage; nil stays nil.
func (r *room) pack(b []byte, how func(to, b []byte) []byte) []byte {
	if b == nil {
		return nil
	}
	from := len(r.packed)
	r.packed = how(r.packed, b)
	return r.packed[from:len(r.packed):len(r.packed)]
}

// record prepares one entry. What it has in the room is good until the batch is written.
func (db *DB) record(e *requestlog.Entry, room *room) (record, error) {
	r := record{entry: e, request: requestRow(e)}
	summary := &room.summary
	*summary = *e
	summary.Decision, summary.Bill, summary.BaselineBill, summary.Preview = nil, nil, nil, ""
	text, err := summaries.Append(room.text[:0], summary)
	if err != nil {
		return r, err
	}
	r.detail = []any{e.WorkspaceID, e.ID, string(text), nil}
	if room.text, err = appendTrace(text[:0], e); err != nil {
		return r, err
	}
	r.detail[3] = room.pack(room.text, db.packer.appendQuick)
	switch {
	case e.BodyState == requestlog.BodyStored:
		request, response := room.pack(e.Body.Request, db.packer.appendPacked), room.pack(e.Body.Response, db.packer.appendPacked)
		r.body = []any{e.WorkspaceID, e.ID, request, response, flag(e.Body.Streamed)}
	case e.Preview != "":
		r.body = []any{e.WorkspaceID, e.ID, []byte(nil), []byte(nil), 0}
	}
	for _, term := range e.TagTerms() {
		r.tags = append(r.tags, []any{e.WorkspaceID, term, e.ID})
	}
	if e.Cost != nil && e.KeyID != requestlog.SampleKey { // sample traffic spends nobody's budget
		r.ledger = []any{e.ID, e.WorkspaceID, e.KeyID, e.Time.UnixMilli(), int64(*e.Cost)}
	}
	return r, nil
}

// appendTrace appends the JSON of an entry's trace, with the decision as it was recorded where that is at hand.
func appendTrace(to []byte, e *requestlog.Entry) ([]byte, error) {
	decision := e.DecisionJSON()
	if decision == nil {
		return traces.Append(to, &trace{e.Decision, e.Bill, e.BaselineBill})
	}
	to = append(append(to, `{"trace":`...), decision...)
	end := len(to)
	to, err := traces.Append(to, &trace{nil, e.Bill, e.BaselineBill})
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
		e.Status, flag(e.Stream), flag(e.Simulated), int64(e.Latency), class(int64(e.Latency)), cost, costClass, saved, savedClass,
		requestlog.Term(e.Session), requestlog.Term(e.EndUser), e.PreviewText(), e.FailureText(), string(e.BodyState),
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

func flag(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (db *DB) writeRecords(ctx context.Context, tx *sql.Tx, records []record) error {
	fresh, err := db.insertFresh(ctx, tx, records)
	if err != nil || len(fresh) == 0 {
		return err
	}
	var details, bodies, tags, ledger [][]any
	sums, now := tally{}, db.now()
	for _, r := range fresh {
		details = append(details, r.detail)
		if r.body != nil {
			bodies = append(bodies, r.body)
		}
		tags = append(tags, r.tags...)
		if r.ledger != nil {
			ledger = append(ledger, r.ledger)
		}
		sums.add(r.entry, now)
	}
	for _, part := range []struct {
		in   *inserter
		rows [][]any
	}{{insertDetails, details}, {insertBodies, bodies}, {insertTags, tags}, {insertLedger, ledger}} {
		if _, err := db.insert(ctx, tx, part.in, part.rows); err != nil {
			return err
		}
	}
	return db.writeRollups(ctx, tx, sums.rollups())
}

// insertFresh inserts the rows of the requests table and returns the records that were not there before.
func (db *DB) insertFresh(ctx context.Context, tx *sql.Tx, records []record) ([]record, error) {
	rows := make([][]any, len(records))
	for i, r := range records {
		rows[i] = r.request
	}
	insert := db.insertNumbered
	if db.dialect == dialectPostgres {
		insert = db.insertReturning
	}
	ids, all, err := insert(ctx, tx, rows)
	if err != nil || all {
		return records, err
	}
	inserted := make(map[string]bool, len(ids))
	for _, id := range ids {
		inserted[id] = true
	}
	var fresh []record
	for _, r := range records {
		if inserted[r.entry.ID] {
			fresh = append(fresh, r)
		}
	}
	return fresh, nil
}

// insertNumbered inserts requests into SQLite, and says which ones are new unless all are. SQLite numbers its rows: nobody else
// writes meanwhile, so the new ones have the greatest numbers, and need to be read only where some were there before.
func (db *DB) insertNumbered(ctx context.Context, tx *sql.Tx, rows [][]any) (ids []string, all bool, err error) {
	var last int64
	if err := tx.QueryRowContext(ctx, `select coalesce(max(rowid), 0) from requests`).Scan(&last); err != nil {
		return nil, false, err
	}
	n, err := db.insert(ctx, tx, insertRequests, rows)
	if err != nil || int(n) == len(rows) {
		return nil, true, err
	}
	ids, err = column[string](ctx, tx, `select id from requests where rowid > $1`, last)
	return ids, false, err
}

// insertReturning inserts requests into PostgreSQL, and says which ones are new.
func (db *DB) insertReturning(ctx context.Context, tx *sql.Tx, rows [][]any) (ids []string, all bool, err error) {
	total := len(rows)
	q := insertRequests.arrays + " returning id"
	for len(rows) > 0 {
		n := insertRequests.group(db.dialect, rows)
		some, err := column[string](ctx, tx, q, columnsOf(rows[:n], len(insertRequests.fields))...)
		if err != nil {
			return nil, false, fmt.Errorf("insert into requests: %w", err)
		}
		ids, rows = append(ids, some...), rows[n:]
	}
	return ids, len(ids) == total, nil
}
