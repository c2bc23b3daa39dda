package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/store"
	"fairlead.dev/internal/store/logstore"
	"fairlead.dev/internal/store/storetest/accounttest"
)

// ancient returns a time before the entries of all other tests, so that expiry does not affect them.
func ancient(age time.Duration) time.Time { return now.AddDate(-3, 0, 0).Add(-age) }

func bodiesExpireBeforeEntries(t *testing.T, db *store.DB) {
	ctx, ws := t.Context(), newWorkspace()
	deleted, expired, preview, kept := sample(ws, ancient(10*time.Hour)), sample(ws, ancient(5*time.Hour)), sample(ws, ancient(5*time.Hour)), sample(ws, ancient(time.Hour))
	preview.BodyState, preview.Body = requestlog.BodyTooLarge, requestlog.Body{}
	batch := []requestlog.Entry{deleted, expired, preview, kept}
	for range 1000 { // together with the entry above, more than two batches
		batch = append(batch, sample(ws, ancient(9*time.Hour)))
	}
	write(t, db, batch...)

	total, err := db.Log.Expire(ctx, ancient(0), logstore.Retention{Entries: 8 * time.Hour, Bodies: 2 * time.Hour})

	must(t, err)
	if total != (logstore.Expired{Entries: 1001, Bodies: 2}) {
		t.Errorf("expired %+v, want 1001 entries and 2 bodies", total)
	}
	want := []requestlog.Entry{listed(kept), listed(preview), listed(expired)}
	want[1].Preview, want[2].Preview, want[2].BodyState = "", "", requestlog.BodyExpired
	got, err := db.Log.Entries(ctx, requestlog.Filter{WorkspaceID: ws}, requestlog.Page{})
	must(t, err)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, e := range []requestlog.Entry{deleted, expired, preview} {
		if _, err := db.Log.EntryBody(ctx, ws, e.ID); !errors.Is(err, requestlog.ErrNotFound) {
			t.Errorf("body of an expired entry: %v, want ErrNotFound", err)
		}
	}
	if _, err := db.Log.EntryBody(ctx, ws, kept.ID); err != nil {
		t.Errorf("body of a kept entry: %v", err)
	}
	spent, err := db.Figures.Spent(ctx, "workspace", ws, time.Time{})
	must(t, err)
	if spent != *amountOf("0.31124") {
		t.Errorf("spent %s after expiry, want it unchanged", spent)
	}
	if n, err := db.Log.Count(ctx, requestlog.Filter{WorkspaceID: ws, Lists: requestlog.Lists{Tag: []string{"team"}}}, 10); err != nil || n != 3 {
		t.Errorf("%d tagged entries, %v; want 3", n, err)
	}
}

func oldRollupsExpire(t *testing.T, open func(testing.TB) *store.DB) {
	db := open(t) // a separate database, because the minute figures of every workspace expire
	ctx, ws := t.Context(), newWorkspace()
	write(t, db, sample(ws, now.Add(-47*time.Hour)))
	query := requestlog.SeriesQuery{RollupFilter: requestlog.RollupFilter{WorkspaceID: ws, From: now.Add(-47*time.Hour - time.Minute), To: now.Add(-47*time.Hour + time.Minute)}, Step: time.Minute}

	_, err := db.Log.Expire(ctx, now.Add(72*time.Hour), logstore.Retention{})
	must(t, err)

	inMinutes, err := db.Figures.Series(ctx, query)
	must(t, err)
	query.Step = time.Hour
	query.From, query.To = query.From.Truncate(time.Hour), query.To.Truncate(time.Hour).Add(time.Hour)
	inHours, err := db.Figures.Series(ctx, query)
	must(t, err)
	var minutes, hours int64
	for _, b := range inMinutes {
		minutes += b.Requests
	}
	for _, b := range inHours {
		hours += b.Requests
	}
	if minutes != 0 || hours != 1 {
		t.Errorf("%d requests in minutes and %d in hours, want 0 and 1", minutes, hours)
	}
}

func entriesAreDeletedByFilter(t *testing.T, db *store.DB) {
	ctx, ws := t.Context(), newWorkspace()
	real, simulated := sample(ws, now), []requestlog.Entry{}
	for range 701 { // more than one batch of deletions
		e := sample(ws, now)
		e.Simulated = true
		simulated = append(simulated, e)
	}
	write(t, db, append(simulated, real)...)
	yes := true
	filter := requestlog.Filter{WorkspaceID: ws, Simulated: &yes}

	counted, err := db.Log.DeleteEntries(ctx, filter, true)
	must(t, err)
	before, err := db.Log.Count(ctx, filter, 1000)
	must(t, err)
	deleted, err := db.Log.DeleteEntries(ctx, filter, false)
	must(t, err)

	if counted != 701 || before != 701 || deleted != 701 {
		t.Errorf("dry run counted %d, %d before the deletion, deleted %d; want 701 each", counted, before, deleted)
	}
	left, err := db.Log.Entries(ctx, requestlog.Filter{WorkspaceID: ws}, requestlog.Page{})
	must(t, err)
	if diff := cmp.Diff([]string{real.ID}, ids(left)); diff != "" {
		t.Error(diff)
	}
	groups, err := db.Figures.Breakdown(ctx, requestlog.BreakdownQuery{RollupFilter: requestlog.RollupFilter{WorkspaceID: ws}, By: "model"})
	must(t, err)
	if len(groups) != 1 || groups[0].Requests != 1 {
		t.Errorf("figures after all simulated entries were deleted: %+v, want 1 request", groups)
	}
}

func longestRetentionIsOfAnyWorkspace(t *testing.T, db *store.DB) {
	ctx, ws := t.Context(), newWorkspace()
	long := account.Workspace{ID: ws, Name: "keeps long", EntryRetention: 5000 * time.Hour, BodyRetention: time.Hour, CreatedAt: now}
	accounttest.Enrol(t, db, "keeper")
	owner := account.Member{AccountID: "acc_keeper", WorkspaceID: ws, Role: account.Owner, JoinedAt: now}
	must(t, db.Accounts.CreateWorkspace(ctx, long, owner, 20, accounttest.Event(ws, "workspace.create")))

	for _, test := range []struct{ defaults, want logstore.Retention }{
		{logstore.Retention{Entries: 4000 * time.Hour, Bodies: 3000 * time.Hour}, logstore.Retention{Entries: 5000 * time.Hour, Bodies: 3000 * time.Hour}},
		{logstore.Retention{Entries: 6000 * time.Hour}, logstore.Retention{Entries: 6000 * time.Hour}},
		{logstore.Retention{}, logstore.Retention{}}, // unlimited is longer than any duration
	} {
		got, err := db.Log.LongestRetention(ctx, test.defaults)
		must(t, err)
		if got != test.want {
			t.Errorf("LongestRetention(%v) = %v, want %v", test.defaults, got, test.want)
		}
	}
}

func usageCounts(t *testing.T, db *store.DB) {
	write(t, db, sample(newWorkspace(), now))

	u, err := db.Log.Usage(t.Context())

	must(t, err)
	if u.Bytes < 4096 || u.Entries < 1 || u.Bodies < 1 || u.Oldest.IsZero() || u.Oldest.After(now) {
		t.Errorf("usage = %+v, want bytes, entries, bodies and an oldest time", u)
	}
}

// manyWritersAndReaders writes and reads concurrently. No call may fail, and every entry must count once.
func manyWritersAndReaders(t *testing.T, db *store.DB) {
	const writers, batches, perBatch = 50, 4, 5
	ws := newWorkspace()
	var wg sync.WaitGroup
	failures := make(chan error, writers*batches*4)
	for range writers {
		wg.Go(func() {
			for range batches {
				var batch []requestlog.Entry
				for range perBatch {
					batch = append(batch, sample(ws, now))
				}
				failures <- db.Log.WriteEntries(context.Background(), batch)
				failures <- db.SetSetting(context.Background(), "shared", batch[0].ID)
				_, err := db.Log.Entries(context.Background(), requestlog.Filter{WorkspaceID: ws, Q: "haiku"}, requestlog.Page{})
				failures <- err
				_, err = db.Figures.Breakdown(context.Background(), requestlog.BreakdownQuery{RollupFilter: requestlog.RollupFilter{WorkspaceID: ws}, By: "key"})
				failures <- err
			}
		})
	}
	wg.Wait()
	close(failures)
	for err := range failures {
		if err != nil {
			t.Fatalf("concurrent call failed: %v (locked: %t)", err, strings.Contains(fmt.Sprint(err), "locked"))
		}
	}
	groups, err := db.Figures.Breakdown(t.Context(), requestlog.BreakdownQuery{RollupFilter: requestlog.RollupFilter{WorkspaceID: ws}, By: "key"})
	must(t, err)
	want := requestlog.Sums{}
	for range writers * batches * perBatch {
		e := sample(ws, now)
		want.Add(&e)
		for i := range e.Attempts {
			want.AddAttempt(&e.Attempts[i])
		}
	}
	if diff := cmp.Diff([]requestlog.Group{{Name: "key_1", Figures: want.Total()}}, groups); diff != "" {
		t.Error(diff)
	}
}
