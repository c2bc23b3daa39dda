package logstore

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"

	"fairlead/internal/id"
	"fairlead/internal/outline"
	"fairlead/internal/requestlog"
	"fairlead/internal/store/sqldb"
)

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

// partBatch is the parts of a batch of entries.
type partBatch map[partScope]*scopeParts

// scopeParts are the parts of a batch in one scope.
type scopeParts struct {
	content  map[outline.Address][]byte   // packed
	wanted   map[outline.Address]struct{} // referred to by the batch, and not in it
	referrer map[*requestlog.Entry][]outline.Address
	exists   map[outline.Address]bool // stored before the batch; set by insertParts
}

// partBatch encodes the parts of the entries that have split requests.
func (s *Store) partBatch(entries []*requestlog.Entry) (partBatch, error) {
	batch := partBatch{}
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
		if err := s.addParts(p, e); err != nil {
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

func (s *Store) addParts(p *scopeParts, e *requestlog.Entry) error {
	if err := outline.EachPart(e.Body.Parts, func(part outline.Part) error {
		if p.content[part.Address] == nil {
			p.content[part.Address] = s.codec.AppendPart(nil, part.Content)
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

// partLock is the key of the advisory lock that is shared by writers of parts and held exclusively while unused parts are deleted.
const partLock = 0x7061727473

// lockParts keeps parts from being deleted until the transaction ends; exclusive keeps them from being written. SQLite has one writer.
func (s *Store) lockParts(ctx context.Context, tx *sql.Tx, exclusive bool) error {
	if s.db.Dialect() != sqldb.Postgres {
		return nil
	}
	q := `select pg_advisory_xact_lock_shared($1)`
	if exclusive {
		q = `select pg_advisory_xact_lock($1)`
	}
	_, err := tx.ExecContext(ctx, q, partLock)
	return err
}

// insertParts inserts the parts that are not stored, in the order of their keys so that replicas do not block each other, and returns
// the bytes stored per scope. It sets Body.Missing of entries that refer to parts which are not stored.
func (s *Store) insertParts(ctx context.Context, tx *sql.Tx, batch partBatch) (map[partScope]int64, error) {
	if len(batch) == 0 {
		return nil, nil
	}
	if err := s.lockParts(ctx, tx, false); err != nil {
		return nil, err
	}
	stored := map[partScope]int64{}
	var rows [][]any
	for scope, p := range batch {
		addresses := make([]outline.Address, 0, len(p.content)+len(p.wanted))
		for a := range p.content {
			addresses = append(addresses, a)
		}
		for a := range p.wanted {
			addresses = append(addresses, a)
		}
		exists := make(map[outline.Address]bool, len(addresses))
		if err := s.eachPart(ctx, tx.QueryContext, scope, addresses, false, func(a outline.Address, _ []byte) error {
			exists[a] = true
			return nil
		}); err != nil {
			return nil, fmt.Errorf("look up messages: %w", err)
		}
		for a, content := range p.content {
			if !exists[a] {
				rows = append(rows, []any{scope.day, scope.workspace, a[:], content})
				stored[scope] += int64(len(content))
			}
		}
		p.exists = exists
		p.setMissing(exists)
	}
	slices.SortFunc(rows, func(a, b []any) int {
		return cmp.Or(cmp.Compare(a[0].(int64), b[0].(int64)), cmp.Compare(a[1].(string), b[1].(string)), bytes.Compare(a[2].([]byte), b[2].([]byte)))
	})
	_, err := s.db.Insert(ctx, tx, s.inserters.messages, rows)
	return stored, err
}

// setMissing reports the parts that are neither in the batch nor stored to the entries that refer to them.
func (p *scopeParts) setMissing(exists map[outline.Address]bool) {
	for e, refers := range p.referrer {
		e.Body.Missing = nil
		for _, a := range refers {
			if _, inBatch := p.content[a]; !inBatch && !exists[a] {
				e.Body.Missing = append(e.Body.Missing, a)
			}
		}
	}
}

// maxLookup is the number of parts that one statement looks up.
const maxLookup = 500

// eachPart calls fn with those of the parts that are stored; the content is valid only during the call, and nil unless wanted.
func (s *Store) eachPart(ctx context.Context, query queryFunc, scope partScope, addresses []outline.Address, content bool, fn func(a outline.Address, content []byte) error) error {
	column := "null"
	if content {
		column = "content"
	}
	for some := range slices.Chunk(addresses, maxLookup) {
		args := []any{scope.day, scope.workspace}
		marks := sqldb.Placeholders(3, len(some))
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

// addTurns adds new entries with split requests, and the bytes of their parts, to the figures of their day.
func (s *Store) addTurns(ctx context.Context, tx *sql.Tx, fresh []record, stored map[partScope]int64) error {
	type figures struct{ turns, request, stored int64 }
	days := map[partScope]*figures{}
	for scope, bytes := range stored {
		days[scope] = &figures{stored: bytes}
	}
	for _, r := range fresh {
		if b := &r.entry.Body; b.Split && r.entry.BodyState == requestlog.BodyStored {
			scope := scopeOf(r.entry.WorkspaceID, r.entry.ID)
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
		if err := s.eachPart(ctx, query, scope, addresses, true, func(a outline.Address, packed []byte) error {
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
