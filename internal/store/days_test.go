package store

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead/internal/id"
	"fairlead/internal/requestlog"
	"fairlead/internal/store/pgtest"
)

var noon = time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)

// openDays opens a PostgreSQL database whose clock stands still.
func openDays(t *testing.T, dsn string) *DB {
	t.Helper()
	db, err := Open(t.Context(), dsn, "", Options{Now: func() time.Time { return noon }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// aged is an entry that was received this long before noon, with text.
func aged(age time.Duration) requestlog.Entry {
	at := noon.Add(-age)
	return requestlog.Entry{
		ID: id.New("req", at), WorkspaceID: "ws", Time: at, Preview: "secret words", Tags: map[string]string{"a": "b"},
		BodyState: requestlog.BodyStored, Body: requestlog.Body{Request: []byte("?"), Response: []byte("!")},
	}
}

func writeAll(t *testing.T, db *DB, entries ...requestlog.Entry) {
	t.Helper()
	if err := db.WriteEntries(t.Context(), entries); err != nil {
		t.Fatal(err)
	}
}

// rowsOf counts the rows of each partition of a table that has any.
func rowsOf(t *testing.T, db *DB, table string) map[string]int {
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

func count(t *testing.T, db *DB, f requestlog.Filter) int {
	t.Helper()
	f.WorkspaceID = "ws"
	n, err := db.Count(t.Context(), f, 1000)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

const day = 24 * time.Hour

func TestEveryEntryFindsItsDay(t *testing.T) {
	t.Parallel()
	db := openDays(t, pgtest.Start(t))
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
			t.Errorf("%s: %v", e.ID, err)
		}
	}
}

// TestRestIsSortedIntoItsDays writes while no partition can be made, as another transaction holds what making needs.
func TestRestIsSortedIntoItsDays(t *testing.T) {
	t.Parallel()
	db := openDays(t, pgtest.Start(t))
	holder, err := db.write.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := holder.ExecContext(t.Context(), `select pg_advisory_xact_lock($1)`, daysLock); err != nil {
		t.Fatal(err)
	}
	late := []requestlog.Entry{aged(0), aged(2 * day)}
	writeAll(t, db, late...)
	if diff := cmp.Diff(map[string]int{"requests_rest": 2}, rowsOf(t, db, "requests")); diff != "" {
		t.Fatal(diff)
	}
	if err := holder.Rollback(); err != nil {
		t.Fatal(err)
	}

	fresh := openDays(t, db.connection.ConnString())
	if err := fresh.MakeDays(t.Context()); err != nil {
		t.Fatal(err)
	}

	for _, table := range dayTables {
		per := map[string]int{"requests": 1, "details": 1, "bodies": 1, "tags": 2}[table.name]
		want := map[string]int{table.name + "_d20261115": per, table.name + "_d20261113": per}
		if diff := cmp.Diff(want, rowsOf(t, fresh, table.name)); diff != "" {
			t.Error(diff)
		}
	}
	writeAll(t, fresh, late...)
	if n := count(t, fresh, requestlog.Filter{}); n != 2 {
		t.Errorf("%d entries, want 2", n)
	}
}

func TestReplicasMakeDaysAtOnce(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Start(t)
	var all sync.WaitGroup
	for range 3 {
		db := openDays(t, dsn)
		all.Go(func() {
			for i := range 20 {
				if err := db.WriteEntries(t.Context(), []requestlog.Entry{aged(time.Duration(i%5) * day)}); err != nil {
					t.Error(err)
				}
				_ = db.MakeDays(t.Context()) // it may have to wait too long for another; entries are kept all the same
			}
		})
	}
	all.Wait()
	if n := count(t, openDays(t, dsn), requestlog.Filter{}); n != 60 {
		t.Errorf("%d entries, want 60", n)
	}
}

func TestOldDaysAreDroppedAndHiddenBefore(t *testing.T) {
	t.Parallel()
	db := openDays(t, pgtest.Start(t))
	keep := Retention{Entries: 10 * day, Bodies: 3 * day}
	dropped, hidden, silent, told := aged(12*day), aged(10*day+time.Hour), aged(5*day), aged(3*day+time.Hour)
	ancient, fresh := aged(1000*day), aged(0)
	writeAll(t, db, dropped, hidden, silent, told, ancient, fresh)

	total, err := db.Expire(t.Context(), noon, keep)

	// Whole days and what is old in the rest count; what is hidden goes with its day, tomorrow.
	if err != nil || total != (Expired{Entries: 2, Bodies: 4}) {
		t.Errorf("expired %+v, %v", total, err)
	}
	for _, table := range dayTables {
		for name := range rowsOf(t, db, table.name) {
			if strings.HasSuffix(name, "_d20261103") || strings.HasSuffix(name, "_rest") {
				t.Errorf("%s is still there", name)
			}
		}
	}
	if n := count(t, db, requestlog.Filter{}); n != 3 {
		t.Errorf("%d entries are shown, want 3", n)
	}
	if n := count(t, db, requestlog.Filter{Q: "secret"}); n != 1 {
		t.Errorf("an expired text is found: %d entries", n)
	}
	for _, e := range []requestlog.Entry{dropped, hidden, ancient} {
		if _, err := db.Entry(t.Context(), "ws", e.ID); err != requestlog.ErrNotFound { //nolint:errorlint // exactly as an unknown one
			t.Errorf("an entry past its time: %v", err)
		}
	}
	for _, e := range []requestlog.Entry{silent, told} {
		got, err := db.Entry(t.Context(), "ws", e.ID)
		if err != nil || got.Preview != "" || got.BodyState != requestlog.BodyExpired {
			t.Errorf("an entry past the time of its text: %+v, %v", got, err)
		}
		if _, err := db.EntryBody(t.Context(), "ws", e.ID); err != requestlog.ErrNotFound { //nolint:errorlint // as above
			t.Errorf("a body past its time: %v", err)
		}
	}
	if err := db.QueryRow(t.Context(), `select preview from requests where id = $1`, silent.ID).Scan(new(string)); err != nil {
		t.Error(err)
	}
	var left string
	if err := db.QueryRow(t.Context(), `select preview from requests where id = $1`, silent.ID).Scan(&left); err != nil || left != "" {
		t.Errorf("the preview is still stored: %q, %v", left, err)
	}
	late := aged(12 * day)
	writeAll(t, db, late)
	if again, err := db.Expire(t.Context(), noon, keep); err != nil || again.Entries != 1 {
		t.Errorf("a late entry of a dropped day: %+v, %v", again, err)
	}
}

// TestEarlierLogBecomesOnePartition upgrades a database that has entries, some of them of tomorrow by a clock that is wrong.
func TestEarlierLogBecomesOnePartition(t *testing.T) {
	t.Parallel()
	db := connectTo(t, pgtest.Start(t), "")
	if err := db.migrate(t.Context(), embedded()[:9]); err != nil {
		t.Fatal(err)
	}
	insert := func(e requestlog.Entry) {
		t.Helper()
		const q = `insert into requests (workspace_id, id, key_id, requested, model, provider, policy, decision, outcome, status, stream, simulated, latency,
			latency_class, session, end_user, preview, failure, body_state) values ('ws', $1, '', '', '', '', '', '', 'ok', 200, 0, 0, 0, 0, '', '', '', '', '')`
		if _, err := db.Exec(t.Context(), q, e.ID); err != nil {
			t.Fatal(err)
		}
		if _, err := db.Exec(t.Context(), `insert into tags values ('ws', 'a', $1)`, e.ID); err != nil {
			t.Fatal(err)
		}
	}
	now := time.Now()
	old := requestlog.Entry{ID: id.New("req", now.Add(-time.Hour)), WorkspaceID: "ws", Time: now}
	future := requestlog.Entry{ID: id.New("req", now.Add(50*time.Hour)), WorkspaceID: "ws", Time: now}
	insert(old)
	insert(future)

	if err := db.migrate(t.Context(), embedded()); err != nil {
		t.Fatal(err)
	}
	writeAll(t, db, old, textEntry("new"))
	if err := db.MakeDays(t.Context()); err != nil {
		t.Fatal(err)
	}

	tomorrow := "requests_d" + dayOf(now.Add(50*time.Hour)).Format("20060102")
	if diff := cmp.Diff(map[string]int{"requests_before": 2, tomorrow: 1}, rowsOf(t, db, "requests")); diff != "" {
		t.Error(diff)
	}
	if _, err := db.Expire(t.Context(), now.Add(20*day), Retention{Entries: 10 * day}); err != nil {
		t.Fatal(err)
	}
	names, err := db.partitions(t.Context(), dayTables[0])
	if err != nil || slices.Contains(names, "requests_before") {
		t.Errorf("the earlier log is past its time and still there: %v, %v", names, err)
	}
}

// TestRangesReadOnlyTheirDays looks at plans: a statement with a range of time touches no other day.
func TestRangesReadOnlyTheirDays(t *testing.T) {
	t.Parallel()
	db := openDays(t, pgtest.Start(t))
	for i := range 10 {
		writeAll(t, db, aged(time.Duration(i)*day))
	}
	f := requestlog.Filter{WorkspaceID: "ws", From: noon.Add(-26 * time.Hour), To: noon.Add(-25 * time.Hour)}
	timeless, b := db.within(&f, requestlog.Page{})
	listing, listArgs := db.listing(&timeless, b, 50)
	counting, countArgs := db.counting(&timeless, b, 50)
	ranking, rankArgs := db.ranking(&f, "cost", ofClass("cost", 3), 50)
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
			partition := dayTables[0].partition(dayOf(noon.Add(-time.Duration(i) * day)))
			if strings.Contains(plan, partition) != (i == 1) {
				t.Errorf("%s of yesterday, day %d back: %s", name, i, plan)
			}
		}
		if strings.Contains(plan, "_rest") {
			t.Errorf("%s looks through the rest: %s", name, plan)
		}
	}
}

func TestWaitingRollupsCountOnceBeforeAndAfter(t *testing.T) {
	t.Parallel()
	db := openDays(t, pgtest.Start(t))
	figures := func() string {
		t.Helper()
		groups, err := db.Breakdown(t.Context(), requestlog.BreakdownQuery{RollupFilter: requestlog.RollupFilter{WorkspaceID: "ws"}, By: "model"})
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
			if more, err = db.FoldRollups(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if after := figures(); after != before {
			t.Errorf("figures were %s and are %s", before, after)
		}
	}
	var left int
	if err := db.QueryRow(t.Context(), `select count(*) from rollup_waiting`).Scan(&left); err != nil || left != 0 {
		t.Errorf("%d rows wait, %v", left, err)
	}
}
