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
		return db.texts(ctx, q, args)
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
	err := db.queryRow(ctx, q, args...).Scan(&n)
	return n < sortable, err
}

// greatestByClass goes through the classes from the top, so that only the rows of the last one it needs are sorted in vain.
func (db *DB) greatestByClass(ctx context.Context, f *requestlog.Filter, column string, limit int) ([]string, error) {
	var all []string
	for c := maxClass; len(all) < limit; c-- {
		var err error
		if c, err = db.nextClass(ctx, f, column, c); err != nil || c < 0 {
			return all, err
		}
		q, args := db.ranking(f, column, ofClass(column, c), limit-len(all))
		some, err := db.texts(ctx, q, args)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

// nextClass is the greatest class up to c that may have entries; negative when there is none. SQLite looks at an empty class
// as fast as it would look for the next one; PostgreSQL would look at every day for each of them.
func (db *DB) nextClass(ctx context.Context, f *requestlog.Filter, column string, c int) (int, error) {
	if db.dialect != dialectPostgres || c < 0 {
		return c, nil
	}
	_, b := db.within(f, requestlog.Page{})
	w := &where{}
	w.and("r.workspace_id = %s", f.WorkspaceID)
	w.conds = append(w.conds, b.conds(w, "r.id")...)
	q := fmt.Sprintf(`select coalesce(max(r.%[1]s_class), -1) from requests r where %[2]s and r.%[1]s_class <= %[3]d and r.%[1]s_class is not null`, column, w, c)
	err := db.queryRow(ctx, q, w.args...).Scan(&c)
	return c, err
}

// ofClass selects one class, in the words of the index.
func ofClass(column string, c int) string {
	return fmt.Sprintf("r.%[1]s_class = %[2]d and r.%[1]s_class is not null", column, c)
}

// ranking makes the statement that lists ids, those with the greatest values first.
func (db *DB) ranking(f *requestlog.Filter, column, cond string, limit int) (string, []any) {
	w := &where{}
	db.match(w, f)
	if kept := db.entriesKept(); kept != "" {
		w.and("r.id >= %s", kept)
	}
	return fmt.Sprintf("select r.id from requests r where %[1]s and %[3]s order by r.%[2]s desc, r.id desc limit %[4]d", w, column, cond, limit), w.args
}
