package logstore

import (
	"database/sql"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/id"
	"fairlead.dev/internal/outline"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/store/partition"
	"fairlead.dev/internal/store/pgtest"
	"fairlead.dev/internal/store/sqldb"
)

var noon = time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)

// openAtNoon opens a PostgreSQL database whose clock always returns noon.
func openAtNoon(t *testing.T, dsn string) *testDB {
	t.Helper()
	return openTest(t, dsn, "", sqldb.Options{Now: func() time.Time { return noon }})
}

// aged returns an entry with bodies that was received the given time before noon.
func aged(age time.Duration) requestlog.Entry {
	at := noon.Add(-age)
	return requestlog.Entry{
		ID: id.New("req", at), Owner: requestlog.Owner{WorkspaceID: "ws"}, Timing: requestlog.Timing{Time: at},
		Call: requestlog.Call{Preview: "secret words"}, Labels: requestlog.Labels{Tags: map[string]string{"a": "b"}},
		BodyState: requestlog.BodyStored, Body: requestlog.Body{Request: []byte("?"), Response: []byte("!")},
	}
}

func writeAll(t *testing.T, db *testDB, entries ...requestlog.Entry) {
	t.Helper()
	if err := db.WriteEntries(t.Context(), entries); err != nil {
		t.Fatal(err)
	}
}

// rowsOf returns the number of rows of each partition of a table. It omits empty partitions.
func rowsOf(t *testing.T, db *testDB, table string) map[string]int {
	t.Helper()
	counts := map[string]int{}
	names, err := db.Strings(t.Context(), `select tableoid::regclass::text from `+table, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		counts[name]++
	}
	return counts
}

func count(t *testing.T, db *testDB, f requestlog.Filter) int {
	t.Helper()
	f.WorkspaceID = "ws"
	n, err := db.Count(t.Context(), f, 1000)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

const day = 24 * time.Hour

func TestEntriesAreWrittenToTheirPartition(t *testing.T) {
	t.Parallel()
	db := openAtNoon(t, pgtest.Start(t))
	strange := aged(0)
	strange.ID = "req_not one of ours"
	entries := []requestlog.Entry{aged(0), aged(5 * day), aged(1000 * day), aged(-30 * day), strange}

	writeAll(t, db, entries...)
	writeAll(t, db, entries...)

	want := map[string]int{"requests_d20261115": 1, "requests_d20261110": 1, "requests_rest": 3}
	if diff := cmp.Diff(want, rowsOf(t, db, "requests")); diff != "" {
		t.Error(diff)
	}
	if n := count(t, db, requestlog.Filter{}); n != 5 {
		t.Errorf("%d entries, want each of 5 once", n)
	}
	for _, e := range entries {
		if _, err := db.EntryBody(t.Context(), "ws", e.ID); err != nil {
			t.Errorf("body of %s: %v", e.ID, err)
		}
	}
}

// TestDefaultPartitionIsEmptied writes while another transaction holds the lock for creating partitions.
func TestDefaultPartitionIsEmptied(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Start(t)
	db := openAtNoon(t, dsn)
	pool, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = pool.Close() }()
	holder, err := pool.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := holder.ExecContext(t.Context(), `select pg_advisory_xact_lock($1)`, partition.CreateLock); err != nil {
		t.Fatal(err)
	}
	late := []requestlog.Entry{aged(0), aged(2 * day)}
	writeAll(t, db, late...)
	if diff := cmp.Diff(map[string]int{"requests_rest": 2}, rowsOf(t, db, "requests")); diff != "" {
		t.Fatal(diff)
	}
	for _, e := range late {
		if _, err := db.Exec(t.Context(), `insert into message_parts (segment, scope, address) values (1, $1, '\x01')`, outline.DayOf(e.Time)<<partition.ScopeBits+1); err != nil {
			t.Fatal(err)
		}
		if _, err := db.Exec(t.Context(), `insert into message_segments values (1, $1, '', '', '')`, outline.DayOf(e.Time)<<partition.ScopeBits+1); err != nil {
			t.Fatal(err)
		}
	}
	if err := holder.Rollback(); err != nil {
		t.Fatal(err)
	}

	fresh := openAtNoon(t, dsn)
	if err := fresh.MaintainPartitions(t.Context()); err != nil {
		t.Fatal(err)
	}

	for _, table := range partition.Tables() {
		per := map[string]int{"requests": 1, "details": 1, "bodies": 1, "message_parts": 1, "message_segments": 1, "tags": 2}[table.Name]
		want := map[string]int{table.Name + "_d20261115": per, table.Name + "_d20261113": per}
		if diff := cmp.Diff(want, rowsOf(t, fresh, table.Name)); diff != "" {
			t.Error(diff)
		}
	}
	writeAll(t, fresh, late...)
	if n := count(t, fresh, requestlog.Filter{}); n != 2 {
		t.Errorf("%d entries, want 2", n)
	}
}

func TestReplicasCreatePartitionsConcurrently(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Start(t)
	var all sync.WaitGroup
	for range 3 {
		db := openAtNoon(t, dsn)
		all.Go(func() {
			for i := range 20 {
				if err := db.WriteEntries(t.Context(), []requestlog.Entry{aged(time.Duration(i%5) * day)}); err != nil {
					t.Error(err)
				}
				_ = db.MaintainPartitions(t.Context()) // the error is ignored: the call may time out waiting for another replica, and entries are stored anyway
			}
		})
	}
	all.Wait()
	if n := count(t, openAtNoon(t, dsn), requestlog.Filter{}); n != 60 {
		t.Errorf("%d entries, want 60", n)
	}
}

func TestExpiredEntriesAreHiddenUntilTheirPartitionIsDropped(t *testing.T) {
	t.Parallel()
	db := openAtNoon(t, pgtest.Start(t))
	keep := Retention{Entries: 10 * day, Bodies: 3 * day}
	dropped, hidden, bodyDropped, bodyHidden := aged(12*day), aged(10*day+time.Hour), aged(5*day), aged(3*day+time.Hour)
	ancient, fresh := aged(1000*day), aged(0)
	writeAll(t, db, dropped, hidden, bodyDropped, bodyHidden, ancient, fresh)

	total, err := db.Expire(t.Context(), noon, keep)

	// The result counts the entries of dropped days and of the default partition. Hidden entries are dropped later, with their day.
	if err != nil || total != (Expired{Entries: 2, Bodies: 4}) {
		t.Errorf("expired %+v, %v; want 2 entries and 4 bodies", total, err)
	}
	for _, table := range partition.Tables() {
		for name := range rowsOf(t, db, table.Name) {
			if strings.HasSuffix(name, "_d20261103") || strings.HasSuffix(name, "_rest") {
				t.Errorf("partition %s still exists", name)
			}
		}
	}
	if n := count(t, db, requestlog.Filter{}); n != 3 {
		t.Errorf("%d entries are visible, want 3", n)
	}
	if n := count(t, db, requestlog.Filter{Q: "secret"}); n != 1 {
		t.Errorf("%d entries contain the text, want 1 whose body has not expired", n)
	}
	for _, e := range []requestlog.Entry{dropped, hidden, ancient} {
		if _, err := db.Entry(t.Context(), "ws", e.ID); err != requestlog.ErrNotFound { //nolint:errorlint // the error must equal the error for an unknown entry
			t.Errorf("read of an expired entry: %v, want ErrNotFound", err)
		}
	}
	for _, e := range []requestlog.Entry{bodyDropped, bodyHidden} {
		got, err := db.Entry(t.Context(), "ws", e.ID)
		if err != nil || got.Preview != "" || got.BodyState != requestlog.BodyExpired {
			t.Errorf("entry with expired bodies: %+v, %v; want no preview", got, err)
		}
		if _, err := db.EntryBody(t.Context(), "ws", e.ID); err != requestlog.ErrNotFound { //nolint:errorlint // the error must equal the error for an unknown entry
			t.Errorf("read of an expired body: %v, want ErrNotFound", err)
		}
	}
	if err := db.QueryRow(t.Context(), `select preview from requests where id = $1`, bodyDropped.ID).Scan(new(string)); err != nil {
		t.Error(err)
	}
	var left string
	if err := db.QueryRow(t.Context(), `select preview from requests where id = $1`, bodyDropped.ID).Scan(&left); err != nil || left != "" {
		t.Errorf("stored preview = %q, %v; want none", left, err)
	}
	late := aged(12 * day)
	writeAll(t, db, late)
	if again, err := db.Expire(t.Context(), noon, keep); err != nil || again.Entries != 1 {
		t.Errorf("expiry of an entry written after its day was dropped: %+v, %v; want 1 entry", again, err)
	}
}

// TestTimeRangesReadOnlyTheirPartitions checks query plans.
func TestTimeRangesReadOnlyTheirPartitions(t *testing.T) {
	t.Parallel()
	db := openAtNoon(t, pgtest.Start(t))
	for i := range 10 {
		writeAll(t, db, aged(time.Duration(i)*day))
	}
	f := requestlog.Filter{WorkspaceID: "ws", From: noon.Add(-26 * time.Hour), To: noon.Add(-25 * time.Hour)}
	timeless, b := db.query().Within(&f, requestlog.Page{})
	listing, listArgs := db.query().Listing(&timeless, b, 50)
	counting, countArgs := db.query().Counting(&timeless, b, 50)
	ranking, rankArgs := db.query().Ranking(&f, "cost", ofClass("cost", 3), 50)
	for name, test := range map[string]struct {
		q    string
		args []any
	}{"list": {listing, listArgs}, "count": {counting, countArgs}, "rank": {ranking, rankArgs}} {
		lines, err := db.Strings(t.Context(), "explain "+test.q, test.args)
		if err != nil {
			t.Fatal(err)
		}
		plan := strings.Join(lines, "\n")
		for i := range 10 {
			name := "requests_d" + partition.Day(noon.Add(-time.Duration(i)*day)).Format("20060102")
			if strings.Contains(plan, name) != (i == 1) {
				t.Errorf("plan of %s for yesterday reads partition of day -%d wrongly: %s", name, i, plan)
			}
		}
		if strings.Contains(plan, "_rest") {
			t.Errorf("%s reads the default partition: %s", name, plan)
		}
	}
}

func TestQueuedRollupsCountOnce(t *testing.T) {
	t.Parallel()
	db := openAtNoon(t, pgtest.Start(t))
	figures := func() string {
		t.Helper()
		groups, err := db.figures.Breakdown(t.Context(), requestlog.BreakdownQuery{RollupFilter: requestlog.RollupFilter{WorkspaceID: "ws"}, By: "model"})
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("%+v", groups)
	}
	for range 3 {
		e := aged(time.Minute)
		e.Model, e.Latency, e.Outcome, e.Status = "small", time.Second, requestlog.OK, 200
		writeAll(t, db, e, aged(26*time.Hour))
		before := figures()
		for more := true; more; {
			var err error
			if more, err = db.figures.Fold(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if after := figures(); after != before {
			t.Errorf("figures changed from %s to %s", before, after)
		}
	}
	var left int
	if err := db.QueryRow(t.Context(), `select count(*) from rollup_waiting`).Scan(&left); err != nil || left != 0 {
		t.Errorf("%d rows are queued, %v; want 0", left, err)
	}
}
