package logstore

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/route"
	"fairlead.dev/internal/store/entryblock"
	"fairlead.dev/internal/store/figurestore"
	"fairlead.dev/internal/store/messagestore"
	"fairlead.dev/internal/store/reportstore"
	"fairlead.dev/internal/store/sqldb"
)

// trace is the part of an entry that is shown only on the entry's own page.
type trace struct {
	Decision     *route.Decision `json:"trace,omitempty"`
	Bill         *catalog.Bill   `json:"bill,omitempty"`
	BaselineBill *catalog.Bill   `json:"baseline_bill,omitempty"`
}

// record is an encoded entry. Entries are encoded before the transaction takes any lock.
type record struct {
	entry   *requestlog.Entry
	request []any
	detail  []any // row of the details table; nil for SQLite, where blocks contain details and bodies
	body    []any // row of the bodies table; nil for SQLite, and without bodies and preview
	tags    [][]any
	ledger  []any // ledger row; nil if the cost is unknown or not charged
}

// batch holds everything that one transaction writes.
type batch struct {
	records []record
	blocks  []entryblock.Block // SQLite: blocks of consecutive records
	parts   messagestore.Batch
}

// WriteEntries stores a batch with its ledger rows and roll-ups in one transaction. An existing entry is left unchanged and
// is not counted again, so a batch can be written again when its result is unknown.
func (s *Store) WriteEntries(ctx context.Context, entries []requestlog.Entry) error {
	buffers := s.buffers.Get().(*batchBuffers)
	defer s.release(buffers)
	b, err := s.batch(entries, buffers)
	if err != nil || len(b.records) == 0 {
		return err
	}
	ids := make([]string, len(b.records))
	for i, r := range b.records {
		ids[i] = r.entry.ID
	}
	s.partitions.Prepare(ctx, ids)
	if err := s.db.Prepare(ctx, s.statements); err != nil {
		return fmt.Errorf("write %d entries: %w", len(b.records), err)
	}
	if err := s.db.InTx(ctx, func(tx *sql.Tx) error { return s.writeBatch(ctx, tx, b) }); err != nil {
		return fmt.Errorf("write %d entries: %w", len(b.records), err)
	}
	return nil
}

// batch encodes each distinct entry once. The result refers to memory in buffers, which must not be reused until the batch is written.
func (s *Store) batch(entries []requestlog.Entry, buffers *batchBuffers) (batch, error) {
	chosen := distinct(entries)
	var b batch
	if s.db.Dialect() == sqldb.SQLite { // sort by workspace, because a block has entries of one workspace
		slices.SortStableFunc(chosen, func(a, b *requestlog.Entry) int { return strings.Compare(a.WorkspaceID, b.WorkspaceID) })
		blocks, err := s.encodeBlocks(chosen, buffers)
		if err != nil {
			return b, err
		}
		b.blocks = blocks
	}
	parts, err := s.messages.Batch(chosen, buffers.compress)
	if err != nil {
		return b, err
	}
	b.parts, b.records = parts, make([]record, len(chosen))
	for i, e := range chosen {
		r := &b.records[i]
		r.entry, r.request = e, requestRow(e)
		if s.db.Dialect() == sqldb.Postgres {
			if err := s.encodeRows(r, buffers); err != nil {
				return b, fmt.Errorf("encode entry %s: %w", e.ID, err)
			}
		}
		for _, term := range e.TagTerms() {
			r.tags = append(r.tags, []any{e.WorkspaceID, term, e.ID})
		}
		if e.Cost != nil {
			r.ledger = []any{e.ID, e.WorkspaceID, e.KeyID, e.Time.UnixMilli(), int64(*e.Cost)}
		}
	}
	return b, nil
}

// distinct removes duplicate entries. Of two entries with the same id, it prefers a complete one to an interrupted one.
func distinct(entries []requestlog.Entry) []*requestlog.Entry {
	index := make(map[[2]string]int, len(entries))
	chosen := make([]*requestlog.Entry, 0, len(entries))
	for i := range entries {
		e := &entries[i]
		key := [2]string{e.WorkspaceID, e.ID}
		at, twice := index[key]
		switch {
		case !twice:
			index[key] = len(chosen)
			chosen = append(chosen, e)
		case chosen[at].Outcome == requestlog.Interrupted && e.Outcome != requestlog.Interrupted:
			chosen[at] = e
		}
	}
	return chosen
}

// encodeRows encodes the details and the bodies of an entry as rows, for PostgreSQL.
func (s *Store) encodeRows(r *record, buffers *batchBuffers) error {
	e := r.entry
	text, err := buffers.appendSummary(buffers.text[:0], e)
	if err != nil {
		return err
	}
	r.detail = []any{e.WorkspaceID, e.ID, string(text), nil}
	if buffers.text, err = appendTrace(text[:0], e); err != nil {
		return err
	}
	r.detail[3] = buffers.compress(s.codec.AppendPart, buffers.text)
	switch {
	case e.BodyState == requestlog.BodyStored:
		response, packRequest := buffers.compress(s.codec.AppendPart, e.Body.Response), s.codec.AppendPart
		if e.Body.Split {
			packRequest = s.codec.AppendOutline
		}
		request := buffers.compress(packRequest, e.Body.Request)
		r.body = []any{e.WorkspaceID, e.ID, request, response, sqldb.Flag(e.Body.Streamed)}
	case e.Preview != "":
		r.body = []any{e.WorkspaceID, e.ID, []byte(nil), []byte(nil), 0}
	}
	return nil
}

// appendTrace appends the JSON of an entry's trace. If the entry has the recorded JSON of its decision, appendTrace copies that
// JSON.
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
	to[end] = ',' // replaces the opening brace
	return to, err
}

func (s *Store) writeBatch(ctx context.Context, tx *sql.Tx, b batch) error {
	insert := s.insertBlocks
	if s.db.Dialect() == sqldb.Postgres {
		insert = s.insertRows
	}
	if err := s.messages.Write(ctx, tx, b.parts); err != nil {
		return err
	}
	fresh, err := insert(ctx, tx, b)
	if err != nil {
		return err
	}
	written := make([]*requestlog.Entry, len(fresh))
	for i, r := range fresh {
		written[i] = r.entry
	}
	if err := s.messages.AddTurns(ctx, tx, b.parts, written); err != nil || len(fresh) == 0 {
		return err
	}
	var tags, ledger [][]any
	if err := s.journal(ctx, tx, fresh); err != nil {
		return err
	}
	figures, reports, sessions, now := figurestore.Batch{}, reportstore.Batch{}, sessionBatch{}, s.db.Now()
	for _, r := range fresh {
		tags = append(tags, r.tags...)
		if r.ledger != nil {
			ledger = append(ledger, r.ledger)
		}
		figures.Add(r.entry, now)
		reports.Add(r.entry)
		sessions.Add(r.entry)
	}
	if _, err := s.db.Insert(ctx, tx, s.inserters.tags, tags); err != nil {
		return err
	}
	if _, err := s.db.Insert(ctx, tx, s.inserters.ledger, ledger); err != nil {
		return err
	}
	if err := s.sessions.Write(ctx, tx, sessions); err != nil {
		return err
	}
	if err := s.reports.Write(ctx, tx, &reports); err != nil {
		return err
	}
	return s.figures.Write(ctx, tx, figures)
}

// journal records the ids of new entries for export, if entries are exported.
func (s *Store) journal(ctx context.Context, tx *sql.Tx, fresh []record) error {
	var on int
	if err := tx.QueryRowContext(ctx, `select count(*) from settings where name = 'export'`).Scan(&on); err != nil || on == 0 {
		return err
	}
	rows := make([][]any, len(fresh))
	for i, r := range fresh {
		rows[i] = []any{r.entry.WorkspaceID, r.entry.ID}
	}
	_, err := s.db.Insert(ctx, tx, s.inserters.journal, rows)
	return err
}

// insertRows inserts requests, details and bodies into PostgreSQL, and returns the records that did not exist before.
func (s *Store) insertRows(ctx context.Context, tx *sql.Tx, b batch) ([]record, error) {
	rows := make([][]any, len(b.records))
	for i, r := range b.records {
		rows[i] = r.request
	}
	ids, err := s.db.InsertReturning(ctx, tx, s.inserters.requests, rows, "id")
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
	if _, err := s.db.Insert(ctx, tx, s.inserters.details, details); err != nil {
		return nil, err
	}
	_, err = s.db.Insert(ctx, tx, s.inserters.bodies, bodies)
	return fresh, err
}

// among returns the records whose id is in ids.
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
