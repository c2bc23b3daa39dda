// Package messagestore stores the messages of requests, which the turns of a conversation share. The log has the outline of a
// split request; its parts are here, once per day and workspace, until the last entry that refers to them is deleted.
package messagestore

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"fairlead/internal/id"
	"fairlead/internal/outline"
	"fairlead/internal/requestlog"
	"fairlead/internal/store/entryblock"
	"fairlead/internal/store/sqldb"
)

// Outlines returns the outlines of a workspace's entries with ids from low up to, but not including, high.
type Outlines func(ctx context.Context, tx *sql.Tx, workspace, low, high string) ([][]byte, error)

// Store stores the parts of split requests.
type Store struct {
	db       *sqldb.DB
	codec    *entryblock.Codec
	outlines Outlines
	inserter *sqldb.Inserter
}

// New returns the parts stored in db. It reads the outlines of stored entries to find out which parts are in use.
func New(db *sqldb.DB, codec *entryblock.Codec, outlines Outlines) *Store {
	fields := slices.Concat(sqldb.NumberFields("day"), sqldb.TextFields("workspace_id"), sqldb.BytesFields("address", "content"))
	return &Store{db: db, codec: codec, outlines: outlines, inserter: sqldb.NewInserter("messages", fields, sqldb.KeepExisting)}
}

// Statements returns the SQLite statements of Write, for Prepare.
func (s *Store) Statements() []string { return s.inserter.Statements() }

// partScope is where parts are shared: a day of a workspace.
type partScope struct {
	day       int64
	workspace string
}

// scopeOf returns the scope of the parts of an entry.
func scopeOf(workspace, requestID string) partScope {
	at, _ := id.Time(requestID) // ids without a time share a day
	return partScope{outline.DayOf(at), workspace}
}

// Batch is the parts of a batch of entries.
type Batch map[partScope]*scopeParts

// scopeParts are the parts of a batch in one scope.
type scopeParts struct {
	content  map[outline.Address][]byte   // packed
	wanted   map[outline.Address]struct{} // referred to by the batch, and not in it
	referrer map[*requestlog.Entry][]outline.Address
	exists   map[outline.Address]bool // stored before the batch; set by Write
	stored   int64                    // bytes that Write stored
}

// Compress packs a text with a method of entryblock.Codec into memory that the caller reuses.
type Compress func(pack func(to, text []byte) []byte, text []byte) []byte

// Batch encodes the parts of the entries that have split requests.
func (s *Store) Batch(entries []*requestlog.Entry, compress Compress) (Batch, error) {
	batch := Batch{}
	for _, e := range entries {
		if !e.Body.Split || e.BodyState != requestlog.BodyStored {
			continue
		}
		scope := scopeOf(e.WorkspaceID, e.ID)
		p := batch[scope]
		if p == nil {
			p = &scopeParts{content: map[outline.Address][]byte{}, wanted: map[outline.Address]struct{}{}, referrer: map[*requestlog.Entry][]outline.Address{}}
			batch[scope] = p
		}
		if err := s.add(p, e, compress); err != nil {
			return nil, fmt.Errorf("encode the parts of %s: %w", e.ID, err)
		}
	}
	for _, p := range batch {
		for a := range p.content {
			delete(p.wanted, a)
		}
	}
	return batch, nil
}

func (s *Store) add(p *scopeParts, e *requestlog.Entry, compress Compress) error {
	pack := s.codec.AppendPart
	if s.db.Dialect() == sqldb.SQLite { // its rows are smaller, and compression would take the most time of a batch
		pack = s.codec.AppendPartFast
	}
	if err := outline.EachPart(e.Body.Parts, func(part outline.Part) error {
		if p.content[part.Address] == nil {
			p.content[part.Address] = compress(pack, part.Content)
		}
		return nil
	}); err != nil {
		return err
	}
	missing, err := outline.Missing(e.Body.Request, e.Body.Parts)
	if len(missing) > 0 {
		p.referrer[e] = missing
	}
	for _, a := range missing {
		p.wanted[a] = struct{}{}
	}
	return err
}

// Existed reports whether a part that an entry of the batch refers to was stored before the batch was written.
func (b Batch) Existed(e *requestlog.Entry, a outline.Address) bool {
	return b[scopeOf(e.WorkspaceID, e.ID)].exists[a]
}

// lockKey is the key of the advisory lock that is shared by writers of parts and held exclusively while unused parts are deleted.
const lockKey = 0x7061727473

// lock keeps parts from being deleted until the transaction ends; exclusive keeps them from being written. SQLite has one writer.
func (s *Store) lock(ctx context.Context, tx *sql.Tx, exclusive bool) error {
	if s.db.Dialect() != sqldb.Postgres {
		return nil
	}
	q := `select pg_advisory_xact_lock_shared($1)`
	if exclusive {
		q = `select pg_advisory_xact_lock($1)`
	}
	_, err := tx.ExecContext(ctx, q, lockKey)
	return err
}

// Write inserts the parts that are not stored, in the order of their keys so that replicas do not block each other. It sets
// Body.Missing of entries that refer to parts which are not stored.
func (s *Store) Write(ctx context.Context, tx *sql.Tx, batch Batch) error {
	if len(batch) == 0 {
		return nil
	}
	if err := s.lock(ctx, tx, false); err != nil {
		return err
	}
	var rows [][]any
	for scope, p := range batch {
		addresses := make([]outline.Address, 0, len(p.content)+len(p.wanted))
		for a := range p.content {
			addresses = append(addresses, a)
		}
		for a := range p.wanted {
			addresses = append(addresses, a)
		}
		p.exists, p.stored = make(map[outline.Address]bool, len(addresses)), 0
		if err := s.each(ctx, tx.QueryContext, scope, addresses, false, func(a outline.Address, _ []byte) error {
			p.exists[a] = true
			return nil
		}); err != nil {
			return fmt.Errorf("look up messages: %w", err)
		}
		for a, content := range p.content {
			if !p.exists[a] {
				rows = append(rows, []any{scope.day, scope.workspace, a[:], content})
				p.stored += int64(len(content))
			}
		}
		for e, refers := range p.referrer {
			e.Body.Missing = nil
			for _, a := range refers {
				if _, inBatch := p.content[a]; !inBatch && !p.exists[a] {
					e.Body.Missing = append(e.Body.Missing, a)
				}
			}
		}
	}
	slices.SortFunc(rows, func(a, b []any) int {
		return cmp.Or(cmp.Compare(a[0].(int64), b[0].(int64)), cmp.Compare(a[1].(string), b[1].(string)), bytes.Compare(a[2].([]byte), b[2].([]byte)))
	})
	_, err := s.db.Insert(ctx, tx, s.inserter, rows)
	return err
}

// queryFunc runs a query on a database or in a transaction.
type queryFunc func(ctx context.Context, q string, args ...any) (*sql.Rows, error)

// maxLookup is the number of parts that one statement looks up.
const maxLookup = 500

// each calls fn with those of the parts that are stored; the content is valid only during the call, and nil unless wanted.
func (s *Store) each(ctx context.Context, query queryFunc, scope partScope, addresses []outline.Address, content bool, fn func(a outline.Address, content []byte) error) error {
	column := "null"
	if content {
		column = "content"
	}
	for some := range slices.Chunk(addresses, maxLookup) {
		args := []any{scope.day, scope.workspace}
		// Without numbers, because SQLite compares each numbered parameter with all before it.
		marks := strings.Repeat(",?", len(some))[1:]
		if s.db.Dialect() == sqldb.Postgres { // one parameter, so that the statement is prepared once
			list := make([][]byte, len(some))
			for i := range some {
				list[i] = some[i][:]
			}
			args, marks = append(args, list), "select unnest($3::bytea[])"
		} else {
			for i := range some {
				args = append(args, some[i][:])
			}
		}
		rows, err := query(ctx, `select address, `+column+` from messages where day = $1 and workspace_id = $2 and address in (`+marks+`)`, args...) //nolint:rowserrcheck // Each checks it
		if err := sqldb.Each(rows, err, func(row sqldb.Scanner) error {
			var address, content sql.RawBytes
			if err := row.Scan(&address, &content); err != nil {
				return err
			}
			if len(address) != outline.AddressSize {
				return fmt.Errorf("address of %d bytes", len(address))
			}
			return fn(outline.Address(address), content)
		}); err != nil {
			return err
		}
	}
	return nil
}

// AddTurns adds the entries of a batch that did not exist before, and the bytes that Write stored, to the figures of their day.
func (s *Store) AddTurns(ctx context.Context, tx *sql.Tx, batch Batch, fresh []*requestlog.Entry) error {
	type figures struct{ turns, request, stored int64 }
	days := map[partScope]*figures{}
	for scope, p := range batch {
		if p.stored > 0 {
			days[scope] = &figures{stored: p.stored}
		}
	}
	for _, e := range fresh {
		if b := &e.Body; b.Split && e.BodyState == requestlog.BodyStored {
			scope := scopeOf(e.WorkspaceID, e.ID)
			if days[scope] == nil {
				days[scope] = &figures{}
			}
			days[scope].turns++
			days[scope].request += int64(b.Whole)
			days[scope].stored += int64(len(b.Request))
		}
	}
	scopes := make([]partScope, 0, len(days))
	for scope := range days {
		scopes = append(scopes, scope)
	}
	slices.SortFunc(scopes, func(a, b partScope) int {
		return cmp.Or(cmp.Compare(a.day, b.day), cmp.Compare(a.workspace, b.workspace))
	})
	const q = `insert into message_days (day, workspace_id, turns, request_bytes, stored_bytes, sweep) values ($1, $2, $3, $4, $5, 0)
		on conflict (day, workspace_id) do update set turns = message_days.turns + excluded.turns,
		request_bytes = message_days.request_bytes + excluded.request_bytes, stored_bytes = message_days.stored_bytes + excluded.stored_bytes`
	for _, scope := range scopes {
		f := days[scope]
		if _, err := tx.ExecContext(ctx, q, scope.day, scope.workspace, f.turns, f.request, f.stored); err != nil {
			return fmt.Errorf("add to the figures of messages: %w", err)
		}
	}
	return nil
}

// Join returns a split request in one piece. Parts that have expired are replaced by outline.Gone and counted.
func (s *Store) Join(ctx context.Context, workspaceID, id string, steps []byte) (request []byte, gone int, err error) {
	parts, err := s.reachable(ctx, s.db.Query, scopeOf(workspaceID, id), [][]byte{steps}, true)
	if err != nil {
		return nil, 0, fmt.Errorf("read messages: %w", err)
	}
	request, gone, err = outline.Join(steps, func(a outline.Address) ([]byte, bool) {
		content := parts[a]
		return content, content != nil
	})
	if err != nil {
		return nil, 0, fmt.Errorf("join the request: %w", err)
	}
	return request, gone, nil
}

// reachable returns the parts that outlines refer to, directly or through lists. The parts that are not stored are nil. Without
// content, other parts than lists are not read and are empty.
func (s *Store) reachable(ctx context.Context, query queryFunc, scope partScope, outlines [][]byte, content bool) (map[outline.Address][]byte, error) {
	parts := map[outline.Address][]byte{}
	for len(outlines) > 0 {
		var addresses []outline.Address
		lists := map[outline.Address]bool{}
		for _, steps := range outlines {
			if err := outline.Each(steps, func(_ []byte, kind outline.Kind, a outline.Address) error {
				if _, seen := parts[a]; seen || kind == outline.Text {
					return nil
				}
				parts[a] = nil
				if kind == outline.List {
					lists[a] = true
				}
				if content || kind == outline.List {
					addresses = append(addresses, a)
				} else {
					parts[a] = []byte{}
				}
				return nil
			}); err != nil {
				return nil, err
			}
		}
		outlines = nil
		if err := s.each(ctx, query, scope, addresses, true, func(a outline.Address, packed []byte) error {
			text, err := s.codec.AppendUnpacked([]byte{}, packed)
			if parts[a] = text; lists[a] {
				outlines = append(outlines, text)
			}
			return err
		}); err != nil {
			return nil, err
		}
	}
	return parts, nil
}

// Usage is how requests that share their messages with others were stored in the last days.
type Usage struct {
	Since        time.Time
	Requests     int64
	RequestBytes int64 // of the whole requests
	StoredBytes  int64 // of their outlines and parts
}

// usageDays is the number of days, with the present one, that Usage counts.
const usageDays = 7

// Usage sums the figures of the last days.
func (s *Store) Usage(ctx context.Context) (Usage, error) {
	today := outline.DayOf(s.db.Now())
	u := Usage{Since: time.Unix((today-usageDays+1)*24*60*60, 0).UTC()}
	const q = `select coalesce(sum(turns), 0), coalesce(sum(request_bytes), 0), coalesce(sum(stored_bytes), 0) from message_days where day > $1`
	if err := s.db.QueryRow(ctx, q, today-usageDays).Scan(&u.Requests, &u.RequestBytes, &u.StoredBytes); err != nil {
		return u, fmt.Errorf("sum the figures of messages: %w", err)
	}
	return u, nil
}
