package messagestore

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/internal/outline"
	"fairlead.dev/internal/store/sqldb"
)

// queryFunc runs a query on a database or in a transaction.
type queryFunc func(ctx context.Context, q string, args ...any) (*sql.Rows, error)

// searchSize is the number of parts that find looks up in one SQLite statement. loadSize is the number of rows that other statements read.
const (
	searchSize = 32
	loadSize   = 256
)

// marks returns n placeholders of a SQLite statement. They are not numbered, because SQLite compares each numbered parameter with all
// earlier ones.
func marks(n int) string { return strings.Repeat(",?", n)[1:] }

// find calls fn with each part that is in a segment, and the number of the segment.
func (s *Store) find(ctx context.Context, query queryFunc, scope int64, addresses []outline.Address, fn func(a outline.Address, number int64)) error {
	size := searchSize
	if s.db.Dialect() == sqldb.Postgres { // an array is one parameter, so the statement is prepared once
		size = max(len(addresses), 1)
	}
	for some := range slices.Chunk(addresses, size) {
		args := []any{scope, bytesOf(some)}
		if s.db.Dialect() == sqldb.SQLite {
			args = append(args[:1], sqldb.Args(bytesOf(some))...)
			for len(args) <= searchSize { // nulls keep the number of parameters constant, so the statement is prepared once
				args = append(args, nil)
			}
		}
		rows, err := query(ctx, s.search, args...) //nolint:rowserrcheck // sqldb.Each checks rows.Err
		if err := sqldb.Each(rows, err, func(row sqldb.Scanner) error {
			var address sql.RawBytes
			var number int64
			if err := row.Scan(&address, &number); err != nil {
				return err
			}
			if len(address) != outline.AddressSize {
				return fmt.Errorf("invalid message address of %d bytes", len(address))
			}
			fn(outline.Address(address), number)
			return nil
		}); err != nil {
			return fmt.Errorf("look up messages: %w", err)
		}
	}
	return nil
}

func bytesOf(addresses []outline.Address) [][]byte {
	list := make([][]byte, len(addresses))
	for i := range addresses {
		list[i] = addresses[i][:]
	}
	return list
}

// contentMode selects whether the content of parts is read.
type contentMode bool

const (
	withContent    contentMode = true
	withoutContent contentMode = false
)

// Join returns a split request in one piece. Parts that have expired are replaced with outline.Gone and counted.
func (s *Store) Join(ctx context.Context, workspaceID, id string, steps []byte) (request []byte, gone int, err error) {
	parts, err := s.reachable(ctx, s.db.Query, scopeOf(workspaceID, id), [][]byte{steps}, withContent)
	if err != nil {
		return nil, 0, fmt.Errorf("read messages: %w", err)
	}
	request, gone, err = outline.Join(steps, func(a outline.Address) ([]byte, bool) {
		content := parts[a]
		return content, content != nil
	})
	if err != nil {
		return nil, 0, fmt.Errorf("reassemble the request: %w", err)
	}
	return request, gone, nil
}

// loaded holds the segments that were read for an outline.
type loaded struct {
	refs  map[int64][]int64 // numbers of the segments that each segment refers to
	parts map[outline.Address]loadedPart
}

type loadedPart struct {
	content []byte
	segment int64
}

// load reads the segments with the given numbers and stores them in to. In the mode withoutContent, it reads only their lists.
func (s *Store) load(ctx context.Context, query queryFunc, scope int64, numbers []int64, mode contentMode, to loaded) error {
	columns := "number, refs, lists, null"
	if mode == withContent {
		columns = "number, refs, lists, content"
	}
	slices.Sort(numbers)
	for some := range slices.Chunk(slices.Compact(numbers), loadSize) {
		args, condition := []any{scope, some}, "scope = $1 and number = any($2::bigint[])"
		if s.db.Dialect() == sqldb.SQLite {
			args, condition = append(args[:1], sqldb.Args(some)...), "scope = ? and number in ("+marks(len(some))+")"
		}
		rows, err := query(ctx, `select `+columns+` from message_segments where `+condition, args...) //nolint:rowserrcheck // sqldb.Each checks rows.Err
		if err := sqldb.Each(rows, err, func(row sqldb.Scanner) error {
			var number int64
			var refs, lists, packed sql.RawBytes
			if err := row.Scan(&number, &refs, &lists, &packed); err != nil {
				return err
			}
			var err error
			if to.refs[number], err = refsOf(refs, number); err != nil {
				return err
			}
			text, err := s.codec.AppendUnpacked(nil, packed)
			if err != nil {
				return err
			}
			add := func(p outline.Part) error {
				to.parts[p.Address] = loadedPart{p.Content, number}
				return nil
			}
			if err := outline.EachPart(bytes.Clone(lists), add); err != nil {
				return err
			}
			return outline.EachPart(text, add)
		}); err != nil {
			return fmt.Errorf("read segments: %w", err)
		}
		for _, number := range some {
			if _, ok := to.refs[number]; !ok {
				to.refs[number] = nil // the segment was deleted; it is not read again
			}
		}
	}
	return nil
}

// reference is a step of an outline that refers to a part.
type reference struct {
	address outline.Address
	kind    outline.Kind
}

// reachable returns the parts that outlines refer to, directly or through lists. Parts that are not stored are nil. In the mode
// withoutContent, only lists are read and other parts are empty.
func (s *Store) reachable(ctx context.Context, query queryFunc, scope partScope, outlines [][]byte, mode contentMode) (map[outline.Address][]byte, error) {
	scopeID, err := scopeNumber(ctx, query, scope)
	if err != nil {
		return nil, err
	}
	parts, have := map[outline.Address][]byte{}, loaded{map[int64][]int64{}, map[outline.Address]loadedPart{}}
	var open []reference // references whose parts have not been read
	var near []int64     // segments that probably contain these parts
	for {
		for _, steps := range outlines {
			if err := outline.Each(steps, func(_ []byte, kind outline.Kind, a outline.Address) error {
				if _, seen := parts[a]; seen || kind == outline.Text {
					return nil
				}
				if parts[a] = nil; mode == withContent || kind == outline.List {
					open = append(open, reference{a, kind})
				} else {
					parts[a] = []byte{}
				}
				return nil
			}); err != nil {
				return nil, err
			}
		}
		outlines = nil
		open = slices.DeleteFunc(open, func(r reference) bool {
			p, ok := have.parts[r.address]
			if !ok {
				return false
			}
			if parts[r.address] = p.content; r.kind == outline.List {
				outlines = append(outlines, p.content)
				near = append(near, have.refs[p.segment]...)
			}
			return true
		})
		if len(outlines) > 0 {
			continue
		}
		if len(open) == 0 {
			return parts, nil
		}
		near = slices.DeleteFunc(near, func(number int64) bool {
			_, read := have.refs[number]
			return read
		})
		if len(near) == 0 {
			if near, open, err = s.searchOpen(ctx, query, scopeID, open, have); err != nil {
				return nil, err
			}
		}
		if err := s.load(ctx, query, scopeID, near, mode, have); err != nil {
			return nil, err
		}
		near = nil
	}
}

// searchOpen looks up the open parts. It returns the segments to read next and the references to parts in these segments.
func (s *Store) searchOpen(ctx context.Context, query queryFunc, scopeID int64, open []reference, have loaded) (near []int64, left []reference, err error) {
	addresses, kinds := make([]outline.Address, len(open)), make(map[outline.Address]outline.Kind, len(open))
	for i, r := range open {
		addresses[i], kinds[r.address] = r.address, r.kind
	}
	err = s.find(ctx, query, scopeID, addresses, func(a outline.Address, number int64) {
		if _, read := have.refs[number]; !read {
			near, left = append(near, number), append(left, reference{a, kinds[a]})
		}
	})
	return near, left, err
}
