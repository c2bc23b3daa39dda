package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/policystore"
	"fairlead.dev/internal/store"
	"fairlead.dev/internal/store/configstore"
	"fairlead.dev/internal/store/logstore"
	"fairlead.dev/internal/store/storetest/accounttest"
)

// Routing runs the tests of policies, feedback and archived versions. open returns a new, empty database.
func Routing(t *testing.T, open func(t testing.TB) *store.DB) {
	t.Helper()
	db := open(t)
	for _, name := range []string{"ann", "bob"} {
		accounttest.Enrol(t, db, name)
	}
	for _, test := range []struct {
		name string
		run  func(*testing.T, *store.DB)
	}{
		{"PolicyVersionsRoundTrip", policiesReadBack},
		{"OneConcurrentEditIsSaved", oneConcurrentEditIsSaved},
		{"ChangedPoliciesAreTheNewest", changedPoliciesAreNewest},
		{"PoliciesNeedAWorkspace", policiesNeedWorkspace},
		{"RatingsRoundTrip", ratingsReadBack},
		{"LaterRatingReplacesEarlier", laterRatingReplaces},
		{"NewestRatingsCount", newestRatingsCount},
		{"ResetRatingsAreNotCounted", resetRatings},
		{"RatingsAreDeletedWithTheirRequests", ratingsAreDeletedWithRequests},
		{"VersionsAreKeptOnce", versionsAreKept},
		{"ModelListsKeepTheFirstSighting", modelListsReadBack},
		{"ConnectedProvidersReadBack", connectedProvidersReadBack},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.run(t, db)
		})
	}
	t.Run("OrphanedRatingsExpire", func(t *testing.T) {
		t.Parallel()
		orphanedRatingsExpire(t, open)
	})
	t.Run("VersionsExpireAfterTheirRequests", func(t *testing.T) {
		t.Parallel()
		versionsExpire(t, open)
	})
}

// newTenant creates a workspace.
func newTenant(t *testing.T, db *store.DB) string {
	t.Helper()
	w := accounttest.Workspace(fmt.Sprint("tenant", serial.Add(1)), now)
	_, err := db.Accounts.Enrol(t.Context(), account.Enrolment{Account: accounttest.Person(w.Name), Workspace: w, Event: accounttest.Event("", "account.register")})
	must(t, err)
	return w.ID
}

func draft(source string) policystore.Version {
	return policystore.Version{Hash: "hash of " + source, Source: source, Note: "why it's so: ä€😀", CreatedBy: "acc_ann", CreatedAt: now}
}

func policiesReadBack(t *testing.T, db *store.DB) {
	ctx, ws, other := t.Context(), newTenant(t, db), newTenant(t, db)
	var want []policystore.Version
	for i, source := range []string{"policies: []\n", "policies:\n  - name: \"it's\"\n"} {
		v, err := db.Config.AddPolicies(ctx, ws, int64(i), draft(source))
		must(t, err)
		want = append(want, v)
	}

	newest, err := db.Config.PolicyVersion(ctx, ws, 0)
	must(t, err)
	first, err := db.Config.PolicyVersion(ctx, ws, 1)
	must(t, err)
	all, err := db.Config.PolicyVersions(ctx, ws)
	must(t, err)

	wanted := draft("policies: []\n")
	wanted.Number = 1
	if diff := cmp.Diff([]policystore.Version{wanted, want[1]}, []policystore.Version{first, newest}); diff != "" {
		t.Error(diff)
	}
	inList := []policystore.Version{want[1], want[0]}
	inList[0].Source, inList[1].Source = "", ""
	if diff := cmp.Diff(inList, all); diff != "" {
		t.Error(diff)
	}
	for _, missing := range []struct {
		ws     string
		number int64
	}{{ws, 3}, {other, 0}, {other, 1}, {"ws_nobody", 0}, {"nul\x00", 0}} {
		if _, err := db.Config.PolicyVersion(ctx, missing.ws, missing.number); !errors.Is(err, policystore.ErrNotFound) {
			t.Errorf("version %d of %q: %v, want ErrNotFound", missing.number, missing.ws, err)
		}
	}
}

func oneConcurrentEditIsSaved(t *testing.T, db *store.DB) {
	ctx, ws := t.Context(), newTenant(t, db)
	const editors = 6
	results := make([]error, editors)
	var all sync.WaitGroup
	for i := range editors {
		all.Go(func() { _, results[i] = db.Config.AddPolicies(ctx, ws, 0, draft(fmt.Sprint(i))) })
	}
	all.Wait()

	won := 0
	for _, err := range results {
		if err == nil {
			won++
		} else if !errors.Is(err, policystore.ErrConflict) {
			t.Error(err)
		}
	}
	if _, err := db.Config.AddPolicies(ctx, ws, 2, draft("from the future")); won != 1 || !errors.Is(err, policystore.ErrConflict) {
		t.Errorf("%d drafts saved, want 1; draft based on a missing version: %v, want ErrConflict", won, err)
	}
	versions, err := db.Config.PolicyVersions(ctx, ws)
	if err != nil || len(versions) != 1 || versions[0].Number != 1 {
		t.Errorf("versions %+v, %v; want one", versions, err)
	}
}

func changedPoliciesAreNewest(t *testing.T, db *store.DB) {
	ctx, ws, other := t.Context(), newTenant(t, db), newTenant(t, db)
	changed := func(after int64) map[string]string {
		found := map[string]string{}
		must(t, db.Config.ChangedPolicies(ctx, after, func(workspaceID string, v policystore.Version) error {
			if workspaceID == ws || workspaceID == other {
				found[workspaceID] = v.Source
			}
			return nil
		}))
		return found
	}
	for i, source := range []string{"a", "b"} {
		_, err := db.Config.AddPolicies(ctx, ws, int64(i), draft(source))
		must(t, err)
	}
	before, err := db.Revisions(ctx)
	must(t, err)
	_, err = db.Config.AddPolicies(ctx, other, 0, draft("c"))
	must(t, err)

	if diff := cmp.Diff(map[string]string{ws: "b", other: "c"}, changed(0)); diff != "" {
		t.Error(diff)
	}
	if got := changed(before[policystore.Topic]); got[other] != "c" {
		t.Errorf("changes since the earlier revision: %v, want the new policies", got)
	}
	after, err := db.Revisions(ctx)
	must(t, err)
	if got := changed(after[policystore.Topic]); len(got) > 0 {
		t.Errorf("changes since the newest revision: %v, want none", got)
	}
	stop := errors.New("enough")
	if err := db.Config.ChangedPolicies(ctx, 0, func(string, policystore.Version) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("ChangedPolicies: %v, want the error of the visitor", err)
	}
}

func policiesNeedWorkspace(t *testing.T, db *store.DB) {
	if _, err := db.Config.AddPolicies(t.Context(), "ws_nobody", 0, draft("x")); err == nil {
		t.Error("AddPolicies in an unknown workspace returned no error")
	}
}

func modelListsReadBack(t *testing.T, db *store.DB) {
	ctx := t.Context()
	save := func(day int, complete bool, models ...string) {
		t.Helper()
		must(t, db.Config.SaveModelList(ctx, "house", models, complete, now.AddDate(0, 0, day)))
	}
	rows := func() (list []string) {
		t.Helper()
		all, err := db.Config.ListedModels(ctx)
		must(t, err)
		for _, m := range all {
			if m.Provider == "house" {
				days := func(at time.Time) int { return int(at.Sub(now).Hours() / 24) }
				list = append(list, fmt.Sprintf("%s days %d to %d, missed %d", m.Model, days(m.FirstSeen), days(m.LastSeen), m.Missed))
			}
		}
		return list
	}
	must(t, db.Config.SaveModelList(ctx, "other", []string{"b"}, true, now))
	save(0, true, "a", "b")
	save(1, true, "b", "c")
	save(2, false, "c") // an incomplete list does not mark other models as missed
	save(3, true, "c", "it's ä/€")
	want := []string{"a days 0 to 0, missed 2", "b days 0 to 1, missed 1", "c days 1 to 3, missed 0", "it's ä/€ days 3 to 3, missed 0"}
	if diff := cmp.Diff(want, rows()); diff != "" {
		t.Error(diff)
	}
	save(4, true, "a", "c")
	if got := rows(); got[0] != "a days 0 to 4, missed 0" {
		t.Errorf("model listed again: %s, want days 0 to 4", got[0])
	}
	save(100, true, "c")
	if diff := cmp.Diff([]string{"c days 1 to 100, missed 0"}, rows()); diff != "" {
		t.Errorf("models after three months (-want +got):\n%s", diff)
	}
	var all sync.WaitGroup
	for _, models := range [][]string{{"x", "y", "z"}, {"z", "y", "x"}, {"y", "x", "z"}} {
		all.Go(func() {
			if err := db.Config.SaveModelList(ctx, "shared", models, true, now.AddDate(0, 0, 100)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

func versionsAreKept(t *testing.T, db *store.DB) {
	ctx := t.Context()
	for _, body := range [][]byte{[]byte("short"), bytes.Repeat([]byte("long "), 10_000), {}} {
		version := fmt.Sprint("v", len(body))
		must(t, db.Config.KeepVersion(ctx, "snapshot", version, body))
		must(t, db.Config.KeepVersion(ctx, "snapshot", version, []byte("another body under the same version")))

		got, err := db.Config.KeptVersion(ctx, "snapshot", version)

		if err != nil || !bytes.Equal(got, body) {
			t.Errorf("%d bytes were read as %d other bytes, %v", len(body), len(got), err)
		}
	}
	for _, missing := range [][2]string{{"policies", "v5"}, {"snapshot", "v6"}} {
		if _, err := db.Config.KeptVersion(ctx, missing[0], missing[1]); !errors.Is(err, configstore.ErrNoVersion) {
			t.Errorf("KeptVersion(%s, %s): %v, want ErrNoVersion", missing[0], missing[1], err)
		}
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if err := db.Config.KeepVersion(ctx, "abilities", "together", []byte("same")); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

// versionsExpire archives a version at the suite's current time and checks until which time it is kept.
func versionsExpire(t *testing.T, open func(testing.TB) *store.DB) {
	ctx, db := t.Context(), open(t)
	const day = 24 * time.Hour
	must(t, db.Config.KeepVersion(ctx, "policies", "old", []byte("x")))
	for _, step := range []struct {
		name string
		at   time.Duration // time after the last use
		keep logstore.Retention
		want bool
	}{
		{"unlimited retention", 1000 * day, logstore.Retention{}, true},
		{"requests may still refer to the version", 31 * day, logstore.Retention{Entries: 30 * day}, true},
		{"retention of bodies is ignored", 31 * day, logstore.Retention{Entries: 30 * day, Bodies: day}, true},
		{"all requests have expired", 33 * day, logstore.Retention{Entries: 30 * day}, false},
	} {
		_, err := db.Log.Expire(ctx, now.Add(step.at), step.keep)
		must(t, err)
		if _, err := db.Config.KeptVersion(ctx, "policies", "old"); (err == nil) != step.want {
			t.Errorf("%s: KeptVersion: %v, want kept = %t", step.name, err, step.want)
		}
	}
}
