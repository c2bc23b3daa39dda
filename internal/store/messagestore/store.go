// Package messagestore stores the messages of requests once for all turns of a conversation. The log stores the outline of a split request;
// this package stores its parts, once per day and workspace, until the last entry that refers to them is deleted.
//
// The new parts of each request are grouped in segments, one row each. An index maps each part to its segment. A
// segment that contains lists of parts also records the segments of these parts, so reading a long conversation needs few index searches.
package messagestore

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"fairlead.dev/internal/id"
	"fairlead.dev/internal/outline"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/store/entryblock"
	"fairlead.dev/internal/store/partition"
	"fairlead.dev/internal/store/sqldb"
)

// Outlines returns the outlines of a workspace's entries with ids from low up to, but not including, high.
type Outlines func(ctx context.Context, tx *sql.Tx, workspace, low, high string) ([][]byte, error)

// Store stores the parts of split requests.
type Store struct {
	db          *sqldb.DB
	codec       *entryblock.Codec
	outlines    Outlines
	pack        func(to, text []byte) []byte
	segmentSize int // maximum length of the parts of a segment, unless one part is longer
	parts       *sqldb.Inserter
	segments    *sqldb.Inserter
	search      string // SQL statement that find runs
}

// New returns the store of parts in db. Sweep calls outlines to find the parts that stored entries use.
func New(db *sqldb.DB, codec *entryblock.Codec, outlines Outlines) *Store {
	number, blob := sqldb.NumberFields, sqldb.BytesFields
	s := &Store{
		db: db, codec: codec, outlines: outlines, pack: codec.AppendPart, segmentSize: entryblock.MaxZstd,
		parts:    sqldb.NewInserter("message_parts", slices.Concat(number("scope"), blob("address"), number("segment")), sqldb.KeepExisting),
		segments: sqldb.NewInserter("message_segments", slices.Concat(number("number", "scope"), blob("refs", "lists", "content")), ""),
		search:   `select address, segment from message_parts where scope = $1 and address = any($2::bytea[])`,
	}
	if db.Dialect() == sqldb.SQLite { // SQLite uses S2, because zstd would take most of the time of a batch
		s.pack, s.segmentSize = codec.AppendPartFast, 64<<10
		s.search = `select address, segment from message_parts where scope = ? and address in (` + marks(searchSize) + `)`
	}
	return s
}

// Statements returns the SQLite statements of Write, for Prepare.
func (s *Store) Statements() []string {
	return slices.Concat(s.parts.Statements(), s.segments.Statements(), []string{s.search})
}

// partScope is the scope in which equal parts are stored once: a day of a workspace.
type partScope struct {
	day       int64
	workspace string
}

// scopeOf returns the scope of the parts of an entry.
func scopeOf(workspace, requestID string) partScope {
	at, _ := id.Time(requestID) // ids without a time belong to the day of the zero time
	return partScope{outline.DayOf(at), workspace}
}

// Batch holds the parts of a batch of entries, by scope.
type Batch map[partScope]*scopeParts

// scopeParts are the parts of a batch in one scope.
type scopeParts struct {
	segments []segment
	position map[outline.Address]int                 // index of the segment of each part in the batch
	wanted   map[outline.Address]struct{}            // parts that the batch refers to but does not contain
	refers   map[*requestlog.Entry][]outline.Address // parts that each entry refers to but does not contain
	exists   map[outline.Address]bool                // whether a part was stored before the batch; set by Write
	stored   int64                                   // number of bytes that Write stored
}

// segment is a group of parts that is stored in one row.
type segment struct {
	parts   []outline.Part
	lists   []byte            // parts that are lists of other parts, encoded
	content []byte            // all other parts, encoded and compressed
	refers  []outline.Address // parts that the lists refer to
}

// Compress compresses text with pack, a method of entryblock.Codec, into memory that the caller reuses.
type Compress func(pack func(to, text []byte) []byte, text []byte) []byte

// Batch encodes the parts of the entries that have split requests. It shares memory with the entries.
func (s *Store) Batch(entries []*requestlog.Entry, compress Compress) (Batch, error) {
	batch := Batch{}
	var text []byte // reused by each segment
	for _, e := range entries {
		if !e.Body.Split || e.BodyState != requestlog.BodyStored {
			continue
		}
		scope := scopeOf(e.WorkspaceID, e.ID)
		p := batch[scope]
		if p == nil {
			p = &scopeParts{position: map[outline.Address]int{}, wanted: map[outline.Address]struct{}{}, refers: map[*requestlog.Entry][]outline.Address{}}
			batch[scope] = p
		}
		first := len(p.segments)
		missing, err := outline.Missing(e.Body.Request, e.Body.Parts)
		if err == nil {
			err = p.add(e, s.segmentSize)
		}
		for i := first; err == nil && i < len(p.segments); i++ {
			text, err = p.segments[i].encode(text[:0], func(text []byte) []byte { return compress(s.pack, text) })
		}
		if err != nil {
			return nil, fmt.Errorf("encode the parts of %s: %w", e.ID, err)
		}
		if len(missing) > 0 {
			p.refers[e] = missing
		}
		for _, a := range missing {
			p.wanted[a] = struct{}{}
		}
	}
	for _, p := range batch {
		for a := range p.wanted {
			if _, ok := p.position[a]; ok {
				delete(p.wanted, a)
			}
		}
	}
	return batch, nil
}

// partOverhead is the size of an encoded part without its content, in bytes.
const partOverhead = outline.AddressSize + 4

// add puts the parts of an entry that are new to the batch into new segments of at most size bytes.
func (p *scopeParts) add(e *requestlog.Entry, size int) error {
	filled, began := 0, false
	return outline.EachPart(e.Body.Parts, func(part outline.Part) error {
		if _, twice := p.position[part.Address]; twice {
			return nil
		}
		length := len(part.Content) + partOverhead
		if filled += length; !began || filled > size {
			p.segments, filled, began = append(p.segments, segment{}), length, true
		}
		last := &p.segments[len(p.segments)-1]
		last.parts = append(last.parts, part)
		p.position[part.Address] = len(p.segments) - 1
		return nil
	})
}

// encode sets the stored form of a segment. It encodes the parts into text and returns text, so that the caller can reuse the memory.
func (g *segment) encode(text []byte, pack func(text []byte) []byte) ([]byte, error) {
	g.lists, g.content, g.refers = []byte{}, []byte{}, nil
	for _, part := range g.parts {
		if part.Kind != outline.List {
			text = outline.AppendPart(text, part)
			continue
		}
		g.lists = outline.AppendPart(g.lists, part)
		if err := outline.Each(part.Content, func(_ []byte, kind outline.Kind, a outline.Address) error {
			if kind != outline.Text {
				g.refers = append(g.refers, a)
			}
			return nil
		}); err != nil {
			return text, err
		}
	}
	if len(text) > 0 {
		g.content = pack(text)
	}
	return text, nil
}

// scopes returns the scopes in the order of their keys.
func (b Batch) scopes() []partScope {
	scopes := make([]partScope, 0, len(b))
	for scope := range b {
		scopes = append(scopes, scope)
	}
	slices.SortFunc(scopes, func(a, b partScope) int {
		return cmp.Or(cmp.Compare(a.day, b.day), cmp.Compare(a.workspace, b.workspace))
	})
	return scopes
}

const (
	// lockKey is the key of the advisory lock that is shared by writers of parts and held exclusively while parts are deleted.
	lockKey = 0x7061727473
	// scopeLock is the key of the advisory lock held while a scope is added.
	scopeLock = 0x7061727474
)

// lockShared prevents the deletion of parts until the transaction ends.
func (s *Store) lockShared(ctx context.Context, tx *sql.Tx) error {
	return s.lock(ctx, tx, `select pg_advisory_xact_lock_shared($1)`)
}

// lockExclusive prevents writes and the deletion of parts by other transactions until the transaction ends.
func (s *Store) lockExclusive(ctx context.Context, tx *sql.Tx) error {
	return s.lock(ctx, tx, `select pg_advisory_xact_lock($1)`)
}

// lock runs a statement that takes a lock. SQLite needs no lock, because it allows only one writer.
func (s *Store) lock(ctx context.Context, tx *sql.Tx, statement string) error {
	if s.db.Dialect() != sqldb.Postgres {
		return nil
	}
	_, err := tx.ExecContext(ctx, statement, lockKey)
	return err
}

// Write inserts the parts that are not stored, in the order of their keys so that replicas do not block each other. It sets
// Body.Missing of entries that refer to parts which are not stored.
func (s *Store) Write(ctx context.Context, tx *sql.Tx, batch Batch) error {
	if len(batch) == 0 {
		return nil
	}
	if err := s.lockShared(ctx, tx); err != nil {
		return err
	}
	scopes, total := batch.scopes(), 0
	scopeIDs := make([]int64, len(scopes)) // scopes are added before the first part is written, because adding one waits for other replicas
	for i, scope := range scopes {
		var err error
		if scopeIDs[i], err = s.addScope(ctx, tx, scope); err != nil {
			return fmt.Errorf("add a message scope: %w", err)
		}
		total += len(batch[scope].segments)
	}
	numbers, err := s.newNumbers(ctx, tx, total)
	if err != nil {
		return fmt.Errorf("assign segment numbers: %w", err)
	}
	for i, scope := range scopes {
		p := batch[scope]
		if err := s.writeScope(ctx, tx, p, scopeIDs[i], numbers[:len(p.segments)]); err != nil {
			return fmt.Errorf("write messages: %w", err)
		}
		numbers = numbers[len(p.segments):]
	}
	return nil
}

// scopeNumber returns the number of a scope, or 0 if the scope has no number.
func scopeNumber(ctx context.Context, query queryFunc, scope partScope) (number int64, err error) {
	rows, err := query(ctx, `select scope from message_days where day = $1 and workspace_id = $2`, scope.day, scope.workspace) //nolint:rowserrcheck // sqldb.Each checks rows.Err
	err = sqldb.Each(rows, err, func(row sqldb.Scanner) error { return row.Scan(&number) })
	return number, err
}

// addScope returns the number of a scope. It adds the scope if necessary.
func (s *Store) addScope(ctx context.Context, tx *sql.Tx, scope partScope) (number int64, err error) {
	if number, err = scopeNumber(ctx, tx.QueryContext, scope); number != 0 || err != nil {
		return number, err
	}
	if s.db.Dialect() == sqldb.Postgres {
		if _, err := tx.ExecContext(ctx, `select pg_advisory_xact_lock($1)`, scopeLock); err != nil {
			return 0, err
		}
	}
	const q = `insert into message_days (day, workspace_id, turns, request_bytes, stored_bytes, sweep, scope)
		values ($1, $2, 0, 0, 0, 0, (select coalesce(max(scope) + 1, $3) from message_days where day = $1))
		on conflict (day, workspace_id) do update set scope = message_days.scope returning scope`
	err = tx.QueryRowContext(ctx, q, scope.day, scope.workspace, scope.day<<partition.ScopeBits+1).Scan(&number)
	return number, err
}

// numberBlock is the number of segment numbers that a replica reserves in PostgreSQL at a time.
const numberBlock = 4096

// newNumbers returns n increasing numbers for new segments.
func (s *Store) newNumbers(ctx context.Context, tx *sql.Tx, n int) ([]int64, error) {
	q, size := `select coalesce(max(number), 0) + 1 from message_segments`, n
	if s.db.Dialect() == sqldb.Postgres {
		q, size = fmt.Sprintf(`select nextval('message_segment_blocks') * %d`, numberBlock), numberBlock
	}
	numbers := make([]int64, 0, n)
	for len(numbers) < n {
		var next int64
		if err := tx.QueryRowContext(ctx, q).Scan(&next); err != nil {
			return nil, err
		}
		for range min(size, n-len(numbers)) {
			numbers = append(numbers, next)
			next++
		}
	}
	return numbers, nil
}

// writeScope writes the segments of a scope. A part that is already in the index stays in its segment.
func (s *Store) writeScope(ctx context.Context, tx *sql.Tx, p *scopeParts, scopeID int64, numbers []int64) error {
	rows := make([][]any, 0, len(p.position))
	for a, i := range p.position {
		rows = append(rows, []any{scopeID, a[:], numbers[i]})
	}
	slices.SortFunc(rows, func(a, b []any) int { return bytes.Compare(a[1].([]byte), b[1].([]byte)) })
	added, err := s.db.Insert(ctx, tx, s.parts, rows)
	if err != nil {
		return err
	}
	addresses := make([]outline.Address, 0, len(p.wanted))
	for a := range p.wanted {
		addresses = append(addresses, a)
	}
	all := added == int64(len(rows))
	if !all {
		for a := range p.position {
			addresses = append(addresses, a)
		}
	}
	found := make(map[outline.Address]int64, len(addresses)) // segment number of each part
	p.exists, p.stored = map[outline.Address]bool{}, 0
	query := func(ctx context.Context, q string, args ...any) (*sql.Rows, error) {
		return s.db.QueryPrepared(ctx, tx, q, args)
	}
	if err := s.find(ctx, query, scopeID, addresses, func(a outline.Address, number int64) {
		i, ok := p.position[a]
		found[a], p.exists[a] = number, !ok || numbers[i] != number
	}); err != nil {
		return err
	}
	p.findMissing()
	rows = make([][]any, 0, len(p.segments))
	for i, g := range p.segments {
		if !all {
			before := len(g.parts)
			g.parts = slices.DeleteFunc(slices.Clone(g.parts), func(part outline.Part) bool { return p.exists[part.Address] })
			if len(g.parts) == 0 {
				continue
			}
			if len(g.parts) < before {
				if _, err := g.encode(nil, func(text []byte) []byte { return s.pack(nil, text) }); err != nil {
					return err
				}
			}
		}
		var near []int64
		for _, a := range g.refers {
			if number, ok := found[a]; ok {
				near = append(near, number)
			} else if at, ok := p.position[a]; ok {
				near = append(near, numbers[at])
			}
		}
		rows = append(rows, []any{numbers[i], scopeID, appendRefs([]byte{}, numbers[i], near), g.lists, g.content})
		p.stored += int64(len(g.lists) + len(g.content))
	}
	_, err = s.db.Insert(ctx, tx, s.segments, rows)
	return err
}

// findMissing sets Body.Missing of the entries: the parts that are neither in the batch nor in a stored segment.
func (p *scopeParts) findMissing() {
	for e, refers := range p.refers {
		e.Body.Missing = nil
		for _, a := range refers {
			if _, inBatch := p.position[a]; !inBatch && !p.exists[a] {
				e.Body.Missing = append(e.Body.Missing, a)
			}
		}
	}
}

// appendRefs encodes the numbers of the segments that a segment refers to. It omits the number of the segment itself, own.
func appendRefs(to []byte, own int64, numbers []int64) []byte {
	slices.Sort(numbers)
	for _, number := range slices.Compact(numbers) {
		if number != own {
			to = binary.AppendVarint(to, own-number)
		}
	}
	return to
}

// refsOf decodes the result of appendRefs.
func refsOf(refs []byte, own int64) ([]int64, error) {
	var numbers []int64
	for len(refs) > 0 {
		distance, width := binary.Varint(refs)
		if width <= 0 {
			return nil, errors.New("corrupt segment references")
		}
		numbers, refs = append(numbers, own-distance), refs[width:]
	}
	return numbers, nil
}

// AddTurns adds the new entries of a batch, and the bytes that Write stored, to the daily figures.
func (s *Store) AddTurns(ctx context.Context, tx *sql.Tx, batch Batch, fresh []*requestlog.Entry) error {
	type figures struct{ turns, request, stored int64 }
	days := map[partScope]figures{}
	for scope, p := range batch {
		days[scope] = figures{stored: p.stored}
	}
	for _, e := range fresh {
		if b := &e.Body; b.Split && e.BodyState == requestlog.BodyStored {
			scope := scopeOf(e.WorkspaceID, e.ID)
			f := days[scope]
			days[scope] = figures{f.turns + 1, f.request + int64(b.Whole), f.stored + int64(len(b.Request))}
		}
	}
	const q = `update message_days set turns = turns + $3, request_bytes = request_bytes + $4, stored_bytes = stored_bytes + $5 where day = $1 and workspace_id = $2`
	for _, scope := range batch.scopes() {
		f := days[scope]
		if f == (figures{}) {
			continue
		}
		if _, err := tx.ExecContext(ctx, q, scope.day, scope.workspace, f.turns, f.request, f.stored); err != nil {
			return fmt.Errorf("update message statistics: %w", err)
		}
	}
	return nil
}

// Usage describes the storage used by requests with shared messages in the last usageDays days.
type Usage struct {
	Since        time.Time
	Requests     int64
	RequestBytes int64 // size of the requests before they were split
	StoredBytes  int64 // size of their stored outlines and parts
}

// usageDays is the number of days that Usage covers, including today.
const usageDays = 7

// Usage sums the figures of the last usageDays days.
func (s *Store) Usage(ctx context.Context) (Usage, error) {
	today := outline.DayOf(s.db.Now())
	u := Usage{Since: time.Unix((today-usageDays+1)*24*60*60, 0).UTC()}
	const q = `select coalesce(sum(turns), 0), coalesce(sum(request_bytes), 0), coalesce(sum(stored_bytes), 0) from message_days where day > $1`
	if err := s.db.QueryRow(ctx, q, today-usageDays).Scan(&u.Requests, &u.RequestBytes, &u.StoredBytes); err != nil {
		return u, fmt.Errorf("sum message statistics: %w", err)
	}
	return u, nil
}
