package storetest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/budget"
	"fairlead.dev/internal/store"
)

// chargesAreSummedByIntervals writes charges of two keys and of the playground.
func chargesAreSummedByIntervals(t *testing.T, db *store.DB) {
	ctx, ws := t.Context(), newWorkspace()
	one, two := ws+"_key1", ws+"_key2"
	subject := "session:" + ws
	for _, spend := range []struct {
		key  string
		age  time.Duration
		cost string
	}{
		{one, time.Minute, "0.25"},
		{one, 61 * time.Minute, "1"},
		{one, 26 * time.Hour, "4"},
		{one, 40 * time.Hour, "8"},
		{two, time.Minute, "16"},
		{"", time.Minute, "32"},
		{one, 500 * 24 * time.Hour, "128"},
	} {
		e := sample(ws, now.Add(-spend.age))
		e.KeyID, e.Cost = spend.key, amountOf(spend.cost)
		if spend.key == one {
			e.Subjects = []string{subject}
		}
		write(t, db, e)
	}
	text := func(list []budget.Charge) string {
		var out strings.Builder
		for _, c := range list {
			fmt.Fprintf(&out, "%s %s; ", c.At.Format("2006-01-02 15:04"), c.Amount)
		}
		return out.String()
	}
	hour := now.Truncate(time.Hour)
	workspace := func(since time.Time, step time.Duration) string {
		list, err := db.Figures.WorkspaceCharges(ctx, ws, since, step)
		must(t, err)
		return text(list)
	}
	keys, err := db.Figures.KeyCharges(ctx, ws, []string{one, two, "key_none"}, hour.Add(-48*time.Hour), 24*time.Hour)
	must(t, err)
	subjects, err := db.Sessions.SubjectCharges(ctx, []string{subject, "session:none"}, hour.Add(-time.Hour), time.Hour)
	must(t, err)
	all, err := db.Sessions.SubjectCharges(ctx, []string{subject}, time.Time{}, 24*time.Hour)
	must(t, err)
	got := []string{
		workspace(hour.Add(-time.Hour), time.Hour), workspace(hour.Add(-48*time.Hour), 24*time.Hour),
		workspace(now.AddDate(0, 0, -600).Truncate(24*time.Hour), 24*time.Hour),
		text(keys[one]), text(keys[two]), text(keys["key_none"]), text(subjects[subject]), text(subjects["session:none"]), text(all[subject]),
	}
	want := []string{
		"2026-11-15 11:00 1; 2026-11-15 12:00 48.25; ", "2026-11-13 12:00 12; 2026-11-14 12:00 1; 2026-11-15 12:00 48.25; ",
		"2025-07-03 00:00 128; 2026-11-13 00:00 8; 2026-11-14 00:00 4; 2026-11-15 00:00 49.25; ",
		"2026-11-13 12:00 12; 2026-11-14 12:00 1; 2026-11-15 12:00 0.25; ", "2026-11-15 12:00 16; ", "",
		"2026-11-15 11:00 1; 2026-11-15 12:00 0.25; ", "", "2025-07-03 00:00 128; 2026-11-13 00:00 8; 2026-11-14 00:00 4; 2026-11-15 00:00 1.25; ",
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for id, want := range map[string]string{"ws:" + ws: "49.25", "key:" + two: "16", subject: "1.25"} {
		spent, err := db.Charged(ctx, id, now.Add(-2*time.Hour))
		if err != nil || spent.String() != want {
			t.Errorf("charges of %s = %s, %v; want %s", id, spent, err, want)
		}
	}
}
