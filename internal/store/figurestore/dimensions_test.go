package figurestore

import (
	"database/sql"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/id"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/store/pgtest"
	"fairlead.dev/internal/store/sqldb"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// migrated opens a database and migrates it up to the given number.
func migrated(t *testing.T, dsn, dir string, through int) *sqldb.DB {
	t.Helper()
	db, err := sqldb.Connect(dsn, dir, sqldb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if err := db.Migrate(t.Context(), through); err != nil {
		t.Fatal(err)
	}
	return db
}

// TestMigrationAddsRollupDimensions migrates a database whose roll-ups have only rows with all dimensions, and then
// writes to it.
func TestMigrationAddsRollupDimensions(t *testing.T) {
	t.Parallel()
	pgtest.EachDialect(t, func(t *testing.T, dsn, dir string) {
		db := migrated(t, dsn, dir, 3)
		entry := requestlog.Entry{ID: id.New("req", time.Now()), Owner: requestlog.Owner{WorkspaceID: "ws"}, Timing: requestlog.Timing{Time: time.Now()}}
		entry.Model, entry.KeyID = "small", "key_a"
		start := hours.floor(entry.Stamp()).UnixMilli()
		for i, row := range []struct{ id, model, latency string }{{"1", "small", "100:2 120:1"}, {"2", "small", "90:1 120:3"}, {"3", "large", ""}} {
			const q = `insert into rollup_hours (id, workspace_id, start, key_id, model, provider, policy, simulated, requests, errors, rejected, expected,
				fallbacks, policies, priced, compared, cost, compared_cost, baseline_cost, input_tokens, cached_tokens, output_tokens, latency, ttft)
				values ($1, 'ws', $2, $3, $4, '', '', 0, 5, 1, 1, 1, 1, 1, 1, 1, 10, 10, 10, 7, 7, 7, $5, '')`
			if _, err := db.Exec(t.Context(), q, row.id, start, []string{"key_a", "key_b"}[i%2], row.model, row.latency); err != nil {
				t.Fatal(err)
			}
		}

		if err := db.Migrate(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		figures := New(db)
		batch := Batch{}
		batch.Add(&entry, time.Now())
		if err := db.InTx(t.Context(), func(tx *sql.Tx) error { return figures.Write(t.Context(), tx, batch) }); err != nil {
			t.Fatal(err)
		}
		if more, err := figures.Fold(t.Context()); more || err != nil {
			t.Fatal(more, err)
		}

		for g, want := range map[rollupDimensions]map[string]int64{
			dimensionsNone: {"": 16}, dimensionModel: {"small": 11, "large": 5}, dimensionKey: {"key_a": 11, "key_b": 5}, dimensionProvider: {"": 16}, dimensionPolicy: {"": 16},
		} {
			got := map[string]int64{}
			span := []segment{{hours, sqldb.FromMillis(start), sqldb.FromMillis(start).Add(time.Hour)}}
			if err := figures.eachFigure(t.Context(), &requestlog.RollupFilter{WorkspaceID: "ws"}, g, span, func(r *figureRow) {
				name := r.key + r.model + r.provider + r.policy
				if _, twice := got[name]; twice {
					t.Errorf("two rows with dimensions %s for %q", g, name)
				}
				got[name] = r.sums.Requests
				if latency := r.sums.Latency.String(); name == "small" && latency != "90:1 100:2 120:4" {
					t.Errorf("latency of small is %q, want 90:1 100:2 120:4", latency)
				}
			}); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("dimensions %s: %s", g, diff)
			}
		}
	})
}

func TestCoarsestDimensionsForFilter(t *testing.T) {
	t.Parallel()
	one := []string{"x"}
	for _, test := range []struct {
		filter requestlog.RollupFilter
		by     rollupDimensions
		want   rollupDimensions
	}{
		{requestlog.RollupFilter{}, dimensionsNone, dimensionsNone},
		{requestlog.RollupFilter{}, dimensionModel, dimensionModel},
		{requestlog.RollupFilter{Key: one}, dimensionsNone, dimensionKey},
		{requestlog.RollupFilter{Key: one}, dimensionKey, dimensionKey},
		{requestlog.RollupFilter{Key: one}, dimensionModel, dimensionsAll},
		{requestlog.RollupFilter{Key: one, Policy: one}, dimensionsNone, dimensionsAll},
		{requestlog.RollupFilter{Provider: one}, dimensionPolicy, dimensionsAll},
	} {
		if got := coarsest(&test.filter, test.by); got != test.want {
			t.Errorf("%+v by %s needs dimensions %s, want %s", test.filter, test.by, got, test.want)
		}
	}
}

// TestMigrationSeparatesPlaygroundAndServed migrates a database whose roll-ups do not separate playground and served
// requests.
func TestMigrationSeparatesPlaygroundAndServed(t *testing.T) {
	t.Parallel()
	pgtest.EachDialect(t, func(t *testing.T, dsn, dir string) {
		db := migrated(t, dsn, dir, 5)
		entry := requestlog.Entry{ID: id.New("req", time.Now()), Owner: requestlog.Owner{WorkspaceID: "ws"}, Timing: requestlog.Timing{Time: time.Now()}}
		entry.Model, entry.KeyID, entry.Latency = "small", "key_a", 0
		start := hours.floor(entry.Stamp()).UnixMilli()
		for _, row := range []struct{ id, grain, key, model, latency string }{
			{"1", "all", "key_a", "small", "100:2"}, {"2", "all", "", "small", "120:1"}, {"3", "all", "key_a", "", "5:9"}, {"4", "total", "", "", "5:9 100:2 120:1"},
		} {
			const q = `insert into rollup_hours (id, grain, workspace_id, start, key_id, model, provider, policy, simulated, requests, errors, rejected, expected,
				fallbacks, policies, priced, compared, cost, compared_cost, baseline_cost, input_tokens, cached_tokens, output_tokens, latency, ttft)
				values ($1, $2, 'ws', $3, $4, $5, '', '', 0, 3, 1, 1, 1, 1, 1, 1, 1, 10, 10, 10, 7, 7, 7, $6, '')`
			if _, err := db.Exec(t.Context(), q, row.id, row.grain, start, row.key, row.model, row.latency); err != nil {
				t.Fatal(err)
			}
		}

		if err := db.Migrate(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		figures := New(db)
		batch := Batch{}
		batch.Add(&entry, time.Now())
		if err := db.InTx(t.Context(), func(tx *sql.Tx) error { return figures.Write(t.Context(), tx, batch) }); err != nil {
			t.Fatal(err)
		}
		if more, err := figures.Fold(t.Context()); more || err != nil {
			t.Fatal(more, err)
		}

		for source, want := range map[string][3]any{
			requestlog.SourceKey:        {int64(7), int64(4), "100:2"},
			requestlog.SourcePlayground: {int64(3), int64(3), "120:1"},
		} {
			var got [][3]any
			span := []segment{{hours, sqldb.FromMillis(start), sqldb.FromMillis(start).Add(time.Hour)}}
			f := requestlog.RollupFilter{WorkspaceID: "ws", Source: source}
			if err := figures.eachFigure(t.Context(), &f, dimensionsNone, span, func(r *figureRow) {
				got = append(got, [3]any{r.sums.Requests, r.sums.Served, r.sums.Latency.String()})
			}); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([][3]any{want}, got); diff != "" {
				t.Errorf("%s: %s", source, diff)
			}
		}
	})
}
