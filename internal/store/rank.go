package store

import (
	"context"
	"fmt"

	"fairlead/internal/requestlog"
)

// sortable is how many matching entries are sorted without an index.
const sortable = 100_000

// greatest lists the ids with the greatest values of a column.
func (db *DB) greatest(ctx context.Context, f *requestlog.Filter, column string, limit int) ([]string, error) {
	few, err := db.few(ctx, f)
	if err != nil {
		return nil, err
	}
	if few {
		q, args := db.ranking(f, column, fmt.Sprintf("r.%s is not null", column), limit)
		return db.Strings(ctx, q, args)
	}
	return db.greatestByClass(ctx, f, column, limit)
}

// few reports whether a filter has conditions that leave so few entries that all of them can be sorted. What has none
// of the greatest values would otherwise be found only after passing over all who have.
func (db *DB) few(ctx context.Context, f *requestlog.Filter) (bool, error) {
	timeless, b := db.within(f, requestlog.Page{})
	if len(timeless.Values()) == 0 || !db.walked(&timeless) {
		return false, nil
	}
	q, args := db.counting(&timeless, b, sortable)
	var n int
	err := db.QueryRow(ctx, q, args...).Scan(&n)
	return n < sortable, err
}

// greatestByClass goes through the classes from the top, so that only the rows of the last one it needs are sorted in vain.
// PostgreSQL does so within one statement, and plans for every day there is only once.
func (db *DB) greatestByClass(ctx context.Context, f *requestlog.Filter, column string, limit int) ([]string, error) {
	if db.dialect == Postgres {
		q, args := db.ranking(f, column+"_class desc, r."+column, fmt.Sprintf("r.%s_class is not null", column), limit)
		return db.Strings(ctx, q, args)
	}
	var all []string
	for c := maxClass; c >= 0 && len(all) < limit; c-- {
		q, args := db.ranking(f, column, ofClass(column, c), limit-len(all))
		some, err := db.Strings(ctx, q, args)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

// ofClass selects one class, in the words of the index.
func ofClass(column string, c int) string {
	return fmt.Sprintf("r.%[1]s_class = %[2]d and r.%[1]s_class is not null", column, c)
}

// ranking makes the statement that lists ids, those with the greatest values first.
func (db *DB) ranking(f *requestlog.Filter, column, cond string, limit int) (string, []any) {
	w := &Where{}
	db.match(w, f)
	if kept := db.entriesKept(); kept != "" {
		w.And("r.id >= %s", kept)
	}
	return fmt.Sprintf("select r.id from requests r where %[1]s and %[3]s order by r.%[2]s desc, r.id desc limit %[4]d", w, column, cond, limit), w.Args
}
