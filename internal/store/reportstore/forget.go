package reportstore

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"

	"fairlead.dev/internal/report"
	"fairlead.dev/internal/store/sqldb"
)

// Values holds sets of values by dimension.
type Values map[report.Dimension]map[string]bool

// Add adds a value that is not empty.
func (v Values) Add(d report.Dimension, value string) {
	if value == "" {
		return
	}
	if v[d] == nil {
		v[d] = map[string]bool{}
	}
	v[d][value] = true
}

// Forget replaces values of dimensions, such as the names of end users, with the empty string in all figures of a workspace. It is called
// for values whose requests have all been deleted. Counts and amounts are kept.
func (s *Store) Forget(ctx context.Context, workspace string, values Values) error {
	if len(values) == 0 {
		return nil
	}
	err := s.change(ctx, func(tx *sql.Tx) error {
		for _, table := range []string{"report_waiting", "report_facts", "report_samples", "report_chunks"} {
			if err := s.forgetFacts(ctx, tx, table, workspace, values); err != nil {
				return err
			}
		}
		return s.forgetDays(ctx, tx, workspace, values)
	})
	if err != nil {
		return fmt.Errorf("clear values in report roll-ups: %w", err)
	}
	return nil
}

// forgetFacts removes values from the facts of a table. If all values are end users or sessions, it skips chunks that cannot contain
// them.
func (s *Store) forgetFacts(ctx context.Context, tx *sql.Tx, table, workspace string, values Values) error {
	users, sessions := slices.Collect(maps.Keys(values[report.User])), slices.Collect(maps.Keys(values[report.Session]))
	few := table == "report_chunks" && len(values) == min(len(users), 1)+min(len(sessions), 1)
	columns := "'', '', ''"
	if few {
		columns = "low, high, sessions"
	}
	type key struct{ start, number, class int64 }
	var all []key
	rows, err := tx.QueryContext(ctx, `select start, number, class, `+columns+` from `+table+` where workspace_id = $1`, workspace) //nolint:rowserrcheck // sqldb.Each checks rows.Err
	if err := sqldb.Each(rows, err, func(row sqldb.Scanner) error {
		var k key
		var low, high string
		var hashes sql.RawBytes
		if err := row.Scan(&k.start, &k.number, &k.class, &low, &high, &hashes); err != nil {
			return err
		}
		if !few || hasSession(hashes, sessions) || slices.ContainsFunc(users, func(user string) bool { return low <= user && user <= high }) {
			all = append(all, k)
		}
		return nil
	}); err != nil {
		return err
	}
	for _, k := range all {
		var data []byte
		if err := tx.QueryRowContext(ctx, `select data from `+table+` where workspace_id = $1 and start = $2 and number = $3`, workspace, k.start, k.number).Scan(&data); err != nil {
			return err
		}
		b, err := s.parse(data)
		if err != nil {
			return err
		}
		if found, err := b.forget(values); err != nil || !found {
			if err != nil {
				return err
			}
			continue
		}
		changed := &builder{}
		if err := changed.append(b, nil); err != nil {
			return err
		}
		if table == "report_chunks" {
			_, err = s.db.Insert(ctx, tx, s.chunks, [][]any{s.chunkRow(place{workspace, k.start, k.class}, k.number, changed)})
		} else {
			_, err = tx.ExecContext(ctx, `update `+table+` set data = $1 where workspace_id = $2 and start = $3 and number = $4`, s.codec.Pack(changed.encode()), workspace, k.start, k.number)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// forget replaces the values in a block with empty values, and reports whether the block contained any of the values.
func (b *block) forget(values Values) (found bool, err error) {
	for i := range b.text {
		all, err := b.text[i].values()
		if err != nil {
			return false, err
		}
		for k, text := range all {
			if i < tagColumn {
				if values[report.Dimensions()[i]][text] {
					all[k], found = "", true
				}
				continue
			}
			tags := map[string]string{}
			eachTag(text, func(name, value string) {
				if values[report.Tag(name)][value] {
					value, found = "", true
				}
				tags[name] = value
			})
			all[k] = tagText(tags)
		}
	}
	return found, nil
}

func (s *Store) forgetDays(ctx context.Context, tx *sql.Tx, workspace string, values Values) error {
	var changed [][]any
	rows, err := tx.QueryContext(ctx, `select grain, start, class, data from report_days where workspace_id = $1`, workspace) //nolint:rowserrcheck // sqldb.Each checks rows.Err
	if err := sqldb.Each(rows, err, func(row sqldb.Scanner) error {
		var name string
		var start, class int64
		var data []byte
		if err := row.Scan(&name, &start, &class, &data); err != nil {
			return err
		}
		first, second, _ := strings.Cut(name, separator)
		outer, inner := values[report.Dimension(first)], values[report.Dimension(second)]
		if len(outer)+len(inner) == 0 {
			return nil
		}
		plain, err := s.codec.Unpack(data)
		if err != nil {
			return err
		}
		before, err := parseDay(newGrain(report.Dimension(first), report.Dimension(second)), plain)
		if err != nil {
			return err
		}
		found := false
		for i, gone := range [...]map[string]bool{outer, inner} {
			names, err := before.names[i].values()
			if err != nil {
				return err
			}
			for k, name := range names {
				if gone[name] {
					names[k], found = "", true
				}
			}
		}
		out := &day{rest: before.rest}
		if err := out.add(before, &selection{by: before.grain[0], then: before.grain[1]}); err != nil {
			return err
		}
		if found {
			changed = append(changed, []any{workspace, name, start, class, s.codec.Pack(out.encode())})
		}
		return nil
	}); err != nil {
		return err
	}
	_, err = s.db.Insert(ctx, tx, s.days, changed)
	return err
}
