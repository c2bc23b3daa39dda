// Package textstore indexes the text of stored requests and responses for full-text search. PostgreSQL has one row with the
// words of each entry; SQLite has one index per day. Package logquery builds the statements that search them.
package textstore

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"fairlead.dev/internal/fulltext"
	"fairlead.dev/internal/id"
	"fairlead.dev/internal/outline"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/store/logquery"
	"fairlead.dev/internal/store/sqldb"
)

// Store writes and deletes the words of entries.
type Store struct {
	Enabled atomic.Bool // whether the text of entries is indexed and Filter.Text is supported
	db      *sqldb.DB
	days    atomic.Pointer[[]int64] // SQLite: days with an index, from the latest call of loadDays
}

// New returns a store that uses db.
func New(db *sqldb.DB) *Store { return &Store{db: db} }

// Days returns the days with an index in SQLite, newest first, as Prepare or Expire last read them.
func (s *Store) Days() []int64 {
	if days := s.days.Load(); days != nil {
		return *days
	}
	return nil
}

// Batch holds the words of a batch of entries. It is nil when text is not indexed.
type Batch map[*requestlog.Entry][]passage

// passage holds the words of one piece of an entry's text.
type passage struct {
	part  outline.Address // part that contains the text; zero for text outside the parts
	words []byte
}

// Batch reads the words of entries with stored bodies. It reads only the parts that an entry contains. The other parts were stored
// and indexed with earlier entries.
func (s *Store) Batch(entries []*requestlog.Entry) Batch {
	if !s.Enabled.Load() {
		return nil
	}
	batch := make(Batch, len(entries))
	for _, e := range entries {
		if e.BodyState == requestlog.BodyStored {
			batch[e] = passagesOf(&e.Body)
		}
	}
	return batch
}

func passagesOf(b *requestlog.Body) []passage {
	var all []passage
	room := fulltext.MaxWords
	request := &fulltext.Scanner{SkipAnswers: true}
	add := func(sc *fulltext.Scanner, part outline.Address, text []byte) {
		var words []byte
		sc.Scan(text, func(text []byte) {
			if room > 0 {
				var n int
				words, n = fulltext.AppendWords(words, text)
				room -= n
			}
		})
		if len(words) > 0 {
			all = append(all, passage{part, words})
		}
	}
	if !b.Streamed { // a streamed body consists of events, which are not text
		add(&fulltext.Scanner{}, outline.Address{}, b.Response)
	}
	if !b.Split {
		add(request, outline.Address{}, b.Request)
		return all
	}
	carried := map[outline.Address]outline.Part{}
	if err := outline.EachPart(b.Parts, func(p outline.Part) error {
		carried[p.Address] = p
		return nil
	}); err != nil {
		return all // messagestore reports the error
	}
	var walk func(steps []byte, list outline.Address)
	walk = func(steps []byte, list outline.Address) {
		_ = outline.Each(steps, func(text []byte, kind outline.Kind, a outline.Address) error {
			part, ok := carried[a]
			switch {
			case kind == outline.Text:
				add(request, list, text)
			case !ok: // the part and the text before it were indexed with an earlier entry
				request.Lost()
			default:
				add(request, list, text)
				if kind == outline.List {
					walk(part.Content, a)
				} else {
					add(request, a, part.Content)
				}
			}
			return nil
		})
	}
	walk(b.Request, outline.Address{})
	return all
}

// Document is an entry that did not exist before the batch, with its slot number in SQLite. Package logstore explains slot numbers.
type Document struct {
	Entry      *requestlog.Entry
	SlotNumber int64
}

// dayOf returns the day of an entry. It is negative for an id without a time.
func dayOf(requestID string) int64 {
	at, _ := id.Time(requestID)
	return outline.DayOf(at)
}

// Write writes the words of documents. The words of a part are indexed with the first entry that stores the part. existed reports
// whether a part was stored before the batch.
func (s *Store) Write(ctx context.Context, tx *sql.Tx, batch Batch, documents []Document, existed func(*requestlog.Entry, outline.Address) bool) error {
	if batch == nil {
		return nil
	}
	type owned struct {
		day       int64
		workspace string
		part      outline.Address
	}
	taken := map[owned]*requestlog.Entry{}
	days := map[int64][][]any{}
	var rows [][3]string
	for _, d := range documents {
		passages, ok := batch[d.Entry]
		if !ok {
			continue
		}
		day, workspace := dayOf(d.Entry.ID), d.Entry.WorkspaceID
		if day < 0 {
			continue // an id without a time
		}
		words := append([]byte(fulltext.Tag(workspace)), ' ')
		for _, p := range passages {
			if p.part != (outline.Address{}) {
				key := owned{day, workspace, p.part}
				owner := taken[key]
				if existed(d.Entry, p.part) || owner != nil && owner != d.Entry {
					continue
				}
				taken[key] = d.Entry // the same entry may contain further passages of this part
			}
			words = append(words, p.words...)
		}
		words = fulltext.CutWords(words, fulltext.MaxWords)
		if s.db.Dialect() == sqldb.Postgres {
			rows = append(rows, [3]string{workspace, d.Entry.ID, fulltext.TSVector(words)})
		} else {
			days[day] = append(days[day], []any{d.SlotNumber, string(words)})
		}
	}
	if err := insertVectors(ctx, tx, rows); err != nil {
		return fmt.Errorf("index text: %w", err)
	}
	for day, documents := range days {
		if err := insertDocuments(ctx, tx, day, documents); err != nil {
			return fmt.Errorf("index text: %w", err)
		}
	}
	return nil
}

// vectorRows is the number of documents per statement in PostgreSQL.
const vectorRows = 100

// insertVectors adds documents in PostgreSQL: workspace, request and words.
func insertVectors(ctx context.Context, tx *sql.Tx, rows [][3]string) error {
	const q = `insert into request_text (workspace_id, request_id, words)
		select w, r, t::tsvector from unnest($1::text[], $2::text[], $3::text[]) as x (w, r, t) on conflict do nothing`
	for some := range slices.Chunk(rows, vectorRows) {
		var columns [3][]string
		for _, row := range some {
			for i, value := range row {
				columns[i] = append(columns[i], value)
			}
		}
		if _, err := tx.ExecContext(ctx, q, columns[0], columns[1], columns[2]); err != nil {
			return err
		}
	}
	return nil
}

// documentRows is the number of documents per statement.
const documentRows = 20

// insertDocuments adds documents to the index of a day. The index does not contain the text, because it is already stored. The
// simple ascii tokenizer is sufficient, because the words are already separated.
func insertDocuments(ctx context.Context, tx *sql.Tx, day int64, documents [][]any) error {
	res, err := tx.ExecContext(ctx, `insert into text_days (day, merge) values ($1, 0) on conflict do nothing`, day)
	if err != nil {
		return err
	}
	table := logquery.TextTable(day)
	if n, err := res.RowsAffected(); err != nil {
		return err
	} else if n > 0 {
		q := `create virtual table if not exists ` + table + ` using fts5(words, content='', contentless_delete=1, tokenize='ascii')`
		if _, err := tx.ExecContext(ctx, q); err != nil {
			return err
		}
	}
	for some := range slices.Chunk(documents, documentRows) {
		marks := bytes.Repeat([]byte("(?,?),"), len(some))
		if _, err := tx.ExecContext(ctx, `insert or replace into `+table+` (rowid, words) values `+string(marks[:len(marks)-1]), slices.Concat(some...)...); err != nil {
			return err
		}
	}
	return nil
}

// Prepare reads which days have an index if the filter searches text. It returns an error if such a search is not supported.
func (s *Store) Prepare(ctx context.Context, f *requestlog.Filter) error {
	if f.Text == "" {
		return nil
	}
	if !s.Enabled.Load() {
		return requestlog.ErrTextNotIndexed()
	}
	if s.db.Dialect() != sqldb.SQLite {
		return nil
	}
	_, err := s.loadDays(ctx)
	return err
}

// loadDays returns the days with an index in SQLite, newest first.
func (s *Store) loadDays(ctx context.Context) ([]int64, error) {
	rows, err := s.db.Query(ctx, `select day from text_days order by day desc`)
	days, err := sqldb.Collect(rows, err, func(row sqldb.Scanner) (day int64, err error) {
		err = row.Scan(&day)
		return day, err
	})
	if err != nil {
		return nil, fmt.Errorf("list the days with a text index: %w", err)
	}
	s.days.Store(&days)
	return days, nil
}

// Delete deletes the words of entries. It must be called before the entries are deleted. In SQLite, the words stay in the file until
// Merge removes them.
func (s *Store) Delete(ctx context.Context, tx *sql.Tx, workspace string, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	marks, args := sqldb.Placeholders(2, len(ids)), append([]any{workspace}, sqldb.Args(ids)...)
	if s.db.Dialect() == sqldb.Postgres {
		_, err := tx.ExecContext(ctx, `delete from request_text where workspace_id = $1 and request_id in (`+marks+`)`, args...)
		return err
	}
	q := `select id, place from requests where workspace_id = $1 and id in (` + marks + `) and place is not null`
	rows, err := tx.QueryContext(ctx, q, args...) //nolint:rowserrcheck // sqldb.Each checks rows.Err
	days := map[int64][]any{}
	if err := sqldb.Each(rows, err, func(row sqldb.Scanner) error {
		var id string
		var slotNumber int64
		if err := row.Scan(&id, &slotNumber); err != nil {
			return err
		}
		day := dayOf(id)
		days[day] = append(days[day], slotNumber)
		return nil
	}); err != nil {
		return err
	}
	for day, slotNumbers := range days {
		res, err := tx.ExecContext(ctx, `update text_days set merge = 1 where day = $1`, day)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			if err != nil {
				return err
			}
			continue // the day has no index
		}
		q := fmt.Sprintf(`delete from %s where rowid in (%s)`, logquery.TextTable(day), sqldb.Placeholders(1, len(slotNumbers)))
		if _, err := tx.ExecContext(ctx, q, slotNumbers...); err != nil {
			return fmt.Errorf("delete from text index: %w", err)
		}
	}
	return nil
}

// Expire drops the indexes of days that have expired in SQLite, and merges the others.
func (s *Store) Expire(ctx context.Context, now time.Time, expired func(day int64, now time.Time) bool) error {
	if s.db.Dialect() != sqldb.SQLite {
		return nil
	}
	days, err := s.loadDays(ctx)
	if err != nil {
		return err
	}
	for _, day := range days {
		if !expired(day, now) {
			continue
		}
		if err := s.db.InTx(ctx, func(tx *sql.Tx) error {
			if _, err := tx.ExecContext(ctx, `drop table if exists `+logquery.TextTable(day)); err != nil {
				return err
			}
			_, err := tx.ExecContext(ctx, `delete from text_days where day = $1`, day)
			return err
		}); err != nil {
			return fmt.Errorf("drop expired text indexes: %w", err)
		}
	}
	// An index that is dropped tomorrow loses documents with every run. Merging it each time would only write the same data again.
	return s.Merge(ctx, func(day int64) bool { return expired(day, now.Add(24*time.Hour)) })
}

// mergePages is the number of pages that one transaction of Merge writes.
const mergePages = 400

// Merge removes the words of deleted documents from the indexes, except from the indexes of days for which skip returns true.
func (s *Store) Merge(ctx context.Context, skip func(day int64) bool) error {
	if s.db.Dialect() != sqldb.SQLite {
		return nil
	}
	rows, err := s.db.Query(ctx, `select day from text_days where merge = 1 order by day`)
	days, err := sqldb.Collect(rows, err, func(row sqldb.Scanner) (day int64, err error) {
		err = row.Scan(&day)
		return day, err
	})
	if err != nil {
		return err
	}
	for _, day := range days {
		if skip != nil && skip(day) {
			continue
		}
		for done := false; !done; {
			if err := s.db.InTx(ctx, func(tx *sql.Tx) (err error) {
				done, err = mergeSome(ctx, tx, day)
				return err
			}); err != nil {
				return fmt.Errorf("merge text indexes: %w", err)
			}
		}
	}
	return nil
}

// mergeSome merges some pages of the index of a day and reports whether nothing is left to merge.
func mergeSome(ctx context.Context, tx *sql.Tx, day int64) (done bool, err error) {
	var before, after int64
	if err := tx.QueryRowContext(ctx, `select total_changes()`).Scan(&before); err != nil {
		return false, err
	}
	table := logquery.TextTable(day)
	if _, err := tx.ExecContext(ctx, fmt.Sprintf(`insert into %[1]s (%[1]s, rank) values ('merge', %[2]d)`, table, -mergePages)); err != nil {
		return false, err
	}
	if err := tx.QueryRowContext(ctx, `select total_changes()`).Scan(&after); err != nil || after-before >= 2 {
		return false, err
	}
	_, err = tx.ExecContext(ctx, `update text_days set merge = 0 where day = $1`, day)
	return true, err
}
