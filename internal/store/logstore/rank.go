package logstore

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/store/sqldb"
)

// maxSorted is the maximum number of matching entries that are sorted without an index.
const maxSorted = 100_000

// greatest lists the ids with the greatest values of a column. If the filter selects few entries, it sorts all of them, because an
// index by value would also visit the many entries that do not match. Otherwise it reads the entries by class of magnitude, greatest
// class first, so only the last class may contain rows that are sorted but not needed. PostgreSQL does this in one statement,
// which it plans only once for all partitions.
func (s *Store) greatest(ctx context.Context, f *requestlog.Filter, column string, limit int) ([]string, error) {
	timeless, b := s.query().Within(f, requestlog.Page{})
	if timeless.Conditions() > 0 && s.query().Indexed(&timeless) {
		q, args := s.query().Counting(&timeless, b, maxSorted)
		var n int
		if err := s.db.QueryRow(ctx, q, args...).Scan(&n); err != nil {
			return nil, err
		}
		if n < maxSorted {
			q, args := s.query().Ranking(f, column, fmt.Sprintf("r.%s is not null", column), limit)
			return s.db.Strings(ctx, q, args)
		}
	}
	if s.db.Dialect() == sqldb.Postgres {
		q, args := s.query().Ranking(f, column+"_class desc, r."+column, fmt.Sprintf("r.%s_class is not null", column), limit)
		return s.db.Strings(ctx, q, args)
	}
	var all []string
	for c := maxClass; c >= 0 && len(all) < limit; c-- {
		q, args := s.query().Ranking(f, column, ofClass(column, c), limit-len(all))
		some, err := s.db.Strings(ctx, q, args)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

// ofClass returns the condition for one class. It contains the condition of the partial index, so that SQLite uses the index.
func ofClass(column string, c int) string {
	return fmt.Sprintf("r.%[1]s_class = %[2]d and r.%[1]s_class is not null", column, c)
}

// maxTokenSorted limits how many of the newest matching entries are sorted by tokens. The token counts have no column, so the
// summary of every entry is read.
const maxTokenSorted = 10_000

// mostTokens lists the ids with the most tokens among the newest matching entries, at most maxTokenSorted. It returns an
// UnfinishedError with the result if the search for these entries took too long.
func (s *Store) mostTokens(ctx context.Context, f *requestlog.Filter, p requestlog.Page, limit int) ([]string, error) {
	p.Before, p.After = "", ""
	ids, unfinished := s.newest(ctx, f, p, maxTokenSorted)
	if _, partial := errors.AsType[*requestlog.UnfinishedError](unfinished); unfinished != nil && !partial {
		return nil, unfinished
	}
	type counted struct {
		id     string
		tokens int64
	}
	var all []counted
	for chunk := range slices.Chunk(ids, 500) {
		if err := s.details.each(ctx, s.db.Query, detailParts{}, f.WorkspaceID, chunk, func(d detail) error {
			var e struct {
				Usage llm.Usage `json:"usage"`
			}
			if err := json.Unmarshal(d.summary, &e); err != nil {
				return err
			}
			if n := e.Usage.Total(); n > 0 {
				all = append(all, counted{d.id, n})
			}
			return nil
		}); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(all, func(a, b counted) int { return cmp.Or(cmp.Compare(b.tokens, a.tokens), cmp.Compare(b.id, a.id)) })
	top := make([]string, 0, limit)
	for _, c := range all[:min(limit, len(all))] {
		top = append(top, c.id)
	}
	return top, unfinished
}
