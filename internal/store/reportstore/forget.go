package reportstore

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"fairlead/internal/report"
	"fairlead/internal/store/sqldb"
)

// Values are values of dimensions.
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

// Forget removes values from all figures of a workspace: the requests then have no value. It is used for values whose requests are all
// deleted. Counts and amounts stay.
func (s *Store) Forget(ctx context.Context, workspace string, values Values) error {
	if len(values) == 0 {
		return nil
	}
	s.folding.Lock()
	defer s.folding.Unlock()
	err := s.db.InTx(ctx, func(tx *sql.Tx) error {
		if s.db.Dialect() == sqldb.Postgres {
			if _, err := tx.ExecContext(ctx, `select pg_advisory_xact_lock($1)`, foldLock); err != nil {
				return err
			}
		}
		for _, table := range []string{"report_waiting", "report_facts"} {
			if err := s.forgetFacts(ctx, tx, table, workspace, values); err != nil {
				return err
			}
		}
		return s.forgetDays(ctx, tx, workspace, values)
	})
	if err != nil {
		return fmt.Errorf("forget values in report roll-ups: %w", err)
	}
	return nil
}

func (s *Store) forgetFacts(ctx context.Context, tx *sql.Tx, table, workspace string, values Values) error {
	type key struct{ start, number int64 }
	changed := map[key][]byte{}
	rows, err := tx.QueryContext(ctx, `select start, number, data from `+table+` where workspace_id = $1`, workspace) //nolint:rowserrcheck // Each checks it
	if err := sqldb.Each(rows, err, func(row sqldb.Scanner) error {
		var k key
		var data []byte
		if err := row.Scan(&k.start, &k.number, &data); err != nil {
			return err
		}
		b, err := s.parse(data)
		if err != nil {
			return err
		}
		if !b.forget(values) {
			return nil
		}
		again := &builder{}
		if err := again.append(b); err != nil {
			return err
		}
		changed[k] = s.codec.Pack(again.encode())
		return nil
	}); err != nil {
		return err
	}
	for k, data := range changed {
		if _, err := tx.ExecContext(ctx, `update `+table+` set data = $1 where workspace_id = $2 and start = $3 and number = $4`, data, workspace, k.start, k.number); err != nil {
			return err
		}
	}
	return nil
}

// forget replaces values in a block by empty ones, and reports whether it has any.
func (b *block) forget(values Values) (found bool) {
	for i, d := range report.Dimensions() {
		for k, value := range b.text[i].values {
			if values[d][value] {
				b.text[i].values[k], found = "", true
			}
		}
	}
	for k, text := range b.text[tagColumn].values {
		tags := map[string]string{}
		eachTag(text, func(name, value string) {
			if values[report.Tag(name)][value] {
				value, found = "", true
			}
			tags[name] = value
		})
		b.text[tagColumn].values[k] = tagText(tags)
	}
	return found
}

func (s *Store) forgetDays(ctx context.Context, tx *sql.Tx, workspace string, values Values) error {
	var changed [][]any
	rows, err := tx.QueryContext(ctx, `select grain, start, class, data from report_days where workspace_id = $1`, workspace) //nolint:rowserrcheck // Each checks it
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
		out, found := &day{groups: sums{}}, false
		if err := eachGroup(plain, &out.rest, func(_ []byte, by, then string, data []byte) ([]byte, error) {
			if outer[by] {
				by, found = "", true
			}
			if inner[then] {
				then, found = "", true
			}
			return out.groups.row(by, then).MergeBinary(data)
		}); err != nil {
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
