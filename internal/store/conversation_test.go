package store_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"fairlead.dev/internal/outline/outlinetest"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/store"
	"fairlead.dev/internal/store/sqldb"
	"fairlead.dev/internal/store/storetest"
)

// sessionGrowth describes sessions that grow to 150 KB in 40 turns, or to 650 KB in 200 turns.
var sessionGrowth = []outlinetest.Session{{Turns: 40, Growth: 3200}, {Turns: 200, Growth: 3000}}

func TestConversationsGrowByWhatIsNew(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(testing.TB) *store.DB{"sqlite": openSQLite, "postgres": openPostgres} {
		for _, format := range outlinetest.Formats() {
			t.Run(name+"/"+format, func(t *testing.T) {
				t.Parallel()
				for _, s := range sessionGrowth {
					s.Format, s.Seed, s.Marks = format, 11, true
					growConversations(t, open(t), s)
				}
			})
		}
	}
}

// growConversations writes concurrent sessions, one batch per turn, and compares the growth of the database with the new bytes.
func growConversations(t *testing.T, db *store.DB, s outlinetest.Session) {
	t.Helper()
	const sessions = 4
	turns := make([][]outlinetest.Turn, sessions)
	for i := range turns {
		s.Seed += uint64(i)
		turns[i] = s.Make()
	}
	at := time.Date(2026, 11, 15, 0, 0, 1, 0, time.UTC)
	w := storetest.NewWriter(t, "ws")
	var last [sessions]string
	half, fresh, size := s.Turns/2, 0, int64(0)
	for turn := range s.Turns {
		if turn == half {
			size = databaseSize(t, db)
		}
		var batch []requestlog.Entry
		for i := range sessions {
			e := w.Entry(t, "ws", at.Add(time.Duration(turn)*time.Second), turns[i][turn])
			batch, last[i] = append(batch, e), e.ID
			if turn >= half {
				fresh += turns[i][turn].New + len(turns[i][turn].Answer)
			}
		}
		w.Write(t, db, batch...)
	}
	grown, count := databaseSize(t, db)-size, int64((s.Turns-half)*sessions)
	ratio := float64(grown) / float64(fresh)
	var times []time.Duration
	for range 9 {
		for i := range sessions {
			began := time.Now()
			body, err := db.Log.EntryBody(t.Context(), "ws", last[i])
			times = append(times, time.Since(began))
			if err != nil || !bytes.Equal(body.Request, turns[i][s.Turns-1].Body) {
				t.Fatalf("the last turn of %d bytes was read as %d other bytes: %v", len(turns[i][s.Turns-1].Body), len(body.Request), err)
			}
		}
	}
	slices.Sort(times)
	t.Logf("%d turns to %d KB: %d bytes per turn, new %d: %.2f; one turn is read in %s", s.Turns, len(turns[0][s.Turns-1].Body)>>10,
		grown/count, int64(fresh)/count, ratio, times[len(times)/2].Round(time.Microsecond))
	if ratio > 2.5 {
		t.Errorf("a turn in a session of %d turns grows the database by %.2f times the new bytes, want at most 2.5", s.Turns, ratio)
	}
}

// databaseSize returns the size of the tables, without the queue of roll-ups that the leader empties.
func databaseSize(t testing.TB, db *store.DB) int64 {
	t.Helper()
	ctx := context.Background()
	if db.Dialect() == sqldb.SQLite {
		var pages, free, size int64
		for pragma, to := range map[string]*int64{"page_count": &pages, "freelist_count": &free, "page_size": &size} {
			if err := db.QueryRow(ctx, `pragma `+pragma).Scan(to); err != nil {
				t.Fatal(err)
			}
		}
		return (pages - free) * size
	}
	var n int64
	const q = `select sum(pg_total_relation_size(c.oid))::bigint from pg_class c where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace and c.relname <> 'rollup_waiting'`
	if err := db.QueryRow(ctx, q).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// readSessions is the number of sessions of 200 turns from which BenchmarkReadTurn reads.
var readSessions = flag.Int("read.sessions", 50, "number of stored sessions of 200 turns, a multiple of 50")

// BenchmarkReadTurn reads the last turns of sessions in random order. The sessions have the same texts, but share no stored part.
func BenchmarkReadTurn(b *testing.B) {
	db, last := openSQLite(b), make([]string, 0, *readSessions)
	turns := outlinetest.Session{Format: "chat", Turns: 200, Growth: 3000, Seed: 1}.Make()
	at := time.Date(2026, 11, 15, 0, 0, 1, 0, time.UTC)
	for len(last) < *readSessions {
		writers := make([]*storetest.Writer, 50) // concurrent sessions
		for i := range writers {
			writers[i] = storetest.NewWriter(b, fmt.Sprint(len(last)+i))
		}
		var batch []requestlog.Entry
		for _, turn := range turns {
			at, batch = at.Add(50*time.Millisecond), batch[:0]
			for _, w := range writers {
				batch = append(batch, w.Entry(b, "ws", at, turn))
			}
			if err := db.Log.WriteEntries(b.Context(), batch); err != nil {
				b.Fatal(err)
			}
			for i, w := range writers {
				w.Remember(&batch[i])
			}
		}
		for i := range batch {
			last = append(last, batch[i].ID)
		}
	}
	var times []time.Duration
	for b.Loop() {
		began := time.Now()
		body, err := db.Log.EntryBody(b.Context(), "ws", last[rand.IntN(len(last))]) //nolint:gosec // the order does not need to be secure
		if err != nil || body.Gone > 0 {
			b.Fatal(fmt.Errorf("%d parts missing: %w", body.Gone, err))
		}
		times = append(times, time.Since(began))
	}
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)*99/100].Microseconds())/1000, "p99-ms")
	b.ReportMetric(float64(databaseSize(b, db))/(1<<20), "MiB")
}
