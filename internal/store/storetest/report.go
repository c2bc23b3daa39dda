package storetest

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fairlead.dev/internal/money"
	"fairlead.dev/internal/report"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/store"
	"fairlead.dev/internal/store/logstore"
)

// source returns the roll-ups of a database.
func source(db *store.DB) *report.Source {
	return &report.Source{Figures: db.Figures, Facts: db.Report, Owner: func(key string) string {
		return map[string]string{"key_1": "acc_1", "key_2": "acc_1"}[key]
	}}
}

// folder is implemented by *testing.T and *rapid.T.
type folder interface {
	Helper()
	Fatal(args ...any)
	Context() context.Context
}

// fold folds all queued figures and facts.
func fold(t folder, db *store.DB) {
	t.Helper()
	for _, step := range []func(context.Context) (bool, error){db.Figures.Fold, db.Report.Fold} {
		for more := true; more; {
			var err error
			if more, err = step(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// valueOf returns the value of a dimension directly from an entry, without the code under test.
func valueOf(d report.Dimension, e *requestlog.Entry) string {
	switch d {
	case "":
		return ""
	case report.Model:
		return requestlog.Term(e.Model)
	case report.Provider:
		return requestlog.Term(e.Provider)
	case report.Key:
		return e.KeyID
	case report.Policy:
		return requestlog.Term(e.Policy)
	case report.Member:
		if e.KeyID != "" {
			return "acc_1"
		}
		return e.AccountID
	case report.User:
		return requestlog.Term(e.EndUser)
	case report.Session:
		return requestlog.Term(e.Session)
	case report.Client:
		return requestlog.Term(e.Client)
	}
	name, _ := d.Tag()
	return requestlog.Term(e.Tags[name])
}

// reportsEqualRecomputation compares reports by any two dimensions with sums computed from the entries, before and after facts are folded.
func reportsEqualRecomputation(t *testing.T, db *store.DB) {
	dimensions := append(report.Dimensions(), report.Tag("team"), report.Tag("x,y"), report.Tag("absent"), "")
	rapid.Check(t, func(t *rapid.T) {
		ws := newWorkspace()
		const span = 40 * time.Hour // short enough that figures by minute are still kept, so the ends of a range are exact
		var all []requestlog.Entry
		for range rapid.IntRange(1, 4).Draw(t, "batches") {
			var batch []requestlog.Entry
			for range rapid.IntRange(0, 15).Draw(t, "entries") {
				e := drawEntry(t, ws, span)
				e.Attempts = nil // reports have no group for a model that was only tried
				e.Client = rapid.SampledFrom([]string{"", "curl/8", "openai-python/2"}).Draw(t, "client")
				if e.KeyID == "" {
					e.AccountID = rapid.SampledFrom([]string{"acc_1", "acc_2"}).Draw(t, "account")
				}
				batch = append(batch, e)
			}
			write(t, db, batch...)
			all = append(all, batch...)
			if rapid.Bool().Draw(t, "fold") {
				fold(t, db)
			}
		}
		q := report.Query{Limit: report.MaxLimit, Measure: report.Requests}
		q.WorkspaceID = ws
		q.From = now.Add(-time.Duration(rapid.IntRange(1, 40*60).Draw(t, "from")) * time.Minute).Truncate(time.Minute)
		q.To = now.Add(time.Minute).Truncate(time.Minute)
		q.By = rapid.SampledFrom(dimensions).Draw(t, "by")
		if q.By != "" {
			q.Then = rapid.SampledFrom(slices.DeleteFunc(slices.Clone(dimensions), func(d report.Dimension) bool { return d == q.By })).Draw(t, "then")
		}
		q.Source = rapid.SampledFrom([]string{"", "key", "playground"}).Draw(t, "source")
		for _, set := range rapid.SliceOfNDistinct(rapid.SampledFrom([]int{0, 1, 2, 3, 4}), 0, 2, rapid.ID[int]).Draw(t, "filters") {
			switch set {
			case 0:
				q.Model = []string{"small-b", "a"}
			case 1:
				q.User = []string{"small-b", "it's", "100%"}
			case 2:
				q.Tag = []string{"team"}
			case 3:
				q.Tag = []string{"team=a"}
			case 4:
				q.Simulated = new(true)
			}
		}
		want := map[[2]string]*requestlog.Sums{}
		var total requestlog.Sums
		for i := range all {
			e := &all[i]
			f := requestlog.Filter{
				WorkspaceID: ws, From: q.From, To: q.To, Lists: requestlog.Lists{Model: q.Model, User: q.User, Tag: q.Tag},
				Simulated: q.Simulated, Source: q.Source,
			}
			if len(q.Tag) > 0 && q.Tag[0] == "team" && e.Tags["team"] == "" { // an empty value counts as a missing tag
				continue
			}
			if !f.Match(e) {
				continue
			}
			key := [2]string{valueOf(q.By, e), valueOf(q.Then, e)}
			if want[key] == nil {
				want[key] = &requestlog.Sums{}
			}
			want[key].Add(e)
			total.Add(e)
		}
		r, err := source(db).Run(t.Context(), q, now)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(total.Total(), r.Total); diff != "" {
			t.Fatalf("total of %+v: %s", q, diff)
		}
		got := map[[2]string]requestlog.Figures{}
		for _, g := range r.Groups {
			if q.Then == "" {
				got[[2]string{g.Value, ""}] = g.Figures
			}
			for _, inner := range g.Groups {
				got[[2]string{g.Value, inner.Value}] = inner.Figures
			}
			if g.Rest != nil {
				t.Fatalf("group %q of %+v has a rest, want none", g.Value, q)
			}
		}
		if q.By != "" && len(got) != len(want) {
			t.Fatalf("%d groups of %+v, want %d", len(got), q, len(want))
		}
		for key, figures := range got {
			if diff := cmp.Diff(want[key].Total(), figures); diff != "" {
				t.Fatalf("group %q of %+v: %s", key, q, diff)
			}
		}
	})
}

// reportsKeepTheTopValues writes more pairs of values than a day keeps.
func reportsKeepTheTopValues(t *testing.T, db *store.DB) {
	ws := newWorkspace()
	day := now.Truncate(24 * time.Hour).Add(-3 * 24 * time.Hour)
	const users = 2*report.TopPairs + 300
	for part := range 3 {
		batch := make([]requestlog.Entry, 0, users)
		for i := range users {
			e := sample(ws, day.Add(time.Duration(part)*time.Hour+time.Second))
			e.Attempts, e.Decision, e.BodyState, e.Body, e.Preview = nil, nil, requestlog.BodyDisabled, requestlog.Body{}, ""
			e.EndUser, e.Session, e.Tags = fmt.Sprintf("u-%04d", i), "", nil
			e.Cost = new(money.Amount(1000 + i))
			batch = append(batch, e)
		}
		write(t, db, batch...)
		fold(t, db)
	}
	q := report.Query{By: report.User, Then: report.Model, Limit: 5}
	q.WorkspaceID, q.From, q.To = ws, day, day.Add(24*time.Hour)
	r, err := source(db).Run(t.Context(), q, now)
	must(t, err)
	if r.Total.Requests != 3*users || len(r.Groups) != 5 || r.Groups[0].Value != fmt.Sprintf("u-%04d", users-1) || r.Groups[0].Requests != 3 {
		t.Errorf("total %+v, groups %+v; want all requests and the five top users", r.Total, r.Groups)
	}
	if len(r.Groups[0].Groups) != 1 || r.Groups[0].Groups[0].Value != "small-b" || r.Groups[0].Rest != nil {
		t.Errorf("second level of the first group: %+v, want only small-b without a rest", r.Groups[0])
	}
	if r.Rest == nil || r.Rest.Requests != 3*users-15 {
		t.Fatalf("rest %+v, want %d requests", r.Rest, 3*users-15)
	}
	var sum money.Amount
	for _, g := range r.Groups {
		sum = sum.Add(g.Cost)
	}
	if sum.Add(r.Rest.Cost) != r.Total.Cost {
		t.Errorf("groups and rest cost %s, want the total %s", sum.Add(r.Rest.Cost), r.Total.Cost)
	}
	if !slices.ContainsFunc(r.Notes, func(n report.Note) bool { return n.Code == report.NoteTop }) {
		t.Errorf("notes %+v, want the note about top values", r.Notes)
	}
}

func simulatedReportsAreDeleted(t *testing.T, db *store.DB) {
	ws := newWorkspace()
	for i, age := range []time.Duration{0, 3 * time.Hour, 50 * time.Hour} {
		for _, simulated := range []bool{false, true} {
			e := sample(ws, now.Add(-age))
			e.Simulated, e.EndUser = simulated, fmt.Sprintf("u-%d", i)
			write(t, db, e)
		}
	}
	fold(t, db)
	_, err := db.Log.DeleteEntries(t.Context(), requestlog.Filter{WorkspaceID: ws, Simulated: new(true)}, false)
	must(t, err)
	q := report.Query{By: report.User}
	q.WorkspaceID, q.From, q.To = ws, now.Add(-60*time.Hour), now.Add(time.Minute)
	r, err := source(db).Run(t.Context(), q, now)
	must(t, err)
	if len(r.Groups) != 3 || r.Total.Requests != 3 || r.Groups[0].Requests != 1 {
		t.Errorf("report %+v, want three groups of one request", r)
	}
}

// reportsExpireWithTheEntries lets the entries of two days expire, and reads a report of them.
func reportsExpireWithTheEntries(t *testing.T, db *store.DB) {
	ws := newWorkspace()
	for day := range 6 {
		e := sample(ws, now.Add(-time.Duration(day)*24*time.Hour))
		e.EndUser = fmt.Sprintf("u-%d", day)
		write(t, db, e)
	}
	fold(t, db)
	_, err := db.Log.Expire(t.Context(), now, logstore.Retention{Entries: 3 * 24 * time.Hour})
	must(t, err)
	q := report.Query{By: report.User}
	q.WorkspaceID, q.From, q.To = ws, now.Add(-10*24*time.Hour), now.Add(time.Minute)
	r, err := source(db).Run(t.Context(), q, now)
	must(t, err)
	if r.Total.Requests != 6 || len(r.Groups) != 4 || r.Uncovered == nil || r.Uncovered.Requests != 2 {
		t.Errorf("total %d, groups %+v, uncovered %+v; want 6, 4 groups and 2 requests", r.Total.Requests, r.Groups, r.Uncovered)
	}
	if want := now.Truncate(24 * time.Hour).Add(-3 * 24 * time.Hour); !r.Since.Equal(want) {
		t.Errorf("since %s, want %s", r.Since, want)
	}
	q.User = []string{"u-5", "u-2"} // the filter selects from sorted facts
	r, err = source(db).Run(t.Context(), q, now)
	must(t, err)
	if r.Total.Requests != 1 || len(r.Groups) != 1 || r.Groups[0].Value != "u-2" {
		t.Errorf("report of end users: total %d, groups %+v; want only u-2", r.Total.Requests, r.Groups)
	}
}

// deletedUsersAreRemovedFromReports deletes all requests of an end user.
func deletedUsersAreRemovedFromReports(t *testing.T, db *store.DB) {
	ws := newWorkspace()
	for _, age := range []time.Duration{0, 3 * time.Hour, 50 * time.Hour} {
		for _, user := range []string{"ann", "bob"} {
			e := sample(ws, now.Add(-age))
			e.EndUser = user
			write(t, db, e)
		}
	}
	fold(t, db)
	_, err := db.Log.DeleteEntries(t.Context(), requestlog.Filter{WorkspaceID: ws, Lists: requestlog.Lists{User: []string{"ann"}}}, false)
	must(t, err)
	for _, then := range []report.Dimension{report.Model, report.Client, report.Tag("team")} {
		q := report.Query{By: report.User, Then: then, Measure: report.Requests}
		q.WorkspaceID, q.From, q.To = ws, now.Add(-4*24*time.Hour), now.Add(time.Minute)
		r, err := source(db).Run(t.Context(), q, now)
		must(t, err)
		if r.Total.Requests != 6 || len(r.Groups) != 2 || r.Groups[0].Value != "" || r.Groups[0].Requests != 3 || r.Groups[1].Value != "bob" || len(r.Groups[0].Groups) != 1 {
			t.Errorf("groups by user, then %s: %+v; want no name and bob", then, r.Groups)
		}
	}
}

// bulk writes requests of many users on two days, and two more requests that arrive late. It folds all requests.
func bulk(t *testing.T, db *store.DB, ws string) (all []requestlog.Entry, from, to time.Time) {
	t.Helper()
	from = now.Truncate(24 * time.Hour).Add(-4 * 24 * time.Hour)
	to = from.Add(48 * time.Hour)
	for part := range 3 {
		var batch []requestlog.Entry
		for i := range 5000 {
			if part == 2 && i == 2 { // the third part has only the two late requests
				break
			}
			e := sample(ws, from.Add(time.Duration(part%2)*24*time.Hour+time.Duration(i)*17*time.Second))
			e.Attempts, e.Decision, e.BodyState, e.Body, e.Preview, e.Tags = nil, nil, requestlog.BodyDisabled, requestlog.Body{}, "", nil
			e.EndUser, e.Session, e.Client = fmt.Sprintf("u-%04d", i*i%997), fmt.Sprintf("s-%04d", i/3), []string{"curl", "sdk"}[i%2]
			e.Cost = new(money.Amount(1000 + i))
			batch = append(batch, e)
		}
		write(t, db, batch...)
		fold(t, db)
		all = append(all, batch...)
	}
	return all, from, to
}

// factsOfEndedDaysAreSorted reads reports of one user and one session from sorted facts, and deletes the user.
func factsOfEndedDaysAreSorted(t *testing.T, db *store.DB) {
	ws := newWorkspace()
	all, from, to := bulk(t, db, ws)
	check := func(q report.Query, match func(e *requestlog.Entry) bool) {
		t.Helper()
		q.WorkspaceID, q.From, q.To, q.Limit = ws, from.Add(90*time.Minute), to, report.MaxLimit
		var want requestlog.Sums
		for i := range all {
			if match(&all[i]) && !all[i].Time.Before(q.From) {
				want.Add(&all[i])
			}
		}
		r, err := source(db).Run(t.Context(), q, now)
		must(t, err)
		if diff := cmp.Diff(want.Total(), r.Total); diff != "" || r.Sampled {
			t.Errorf("total of %+v: %s", q, diff)
		}
		var sum int64
		for _, g := range r.Groups {
			for _, inner := range g.Groups {
				sum += inner.Requests
			}
		}
		if sum != want.Requests {
			t.Errorf("the groups of %+v have %d requests, want %d", q, sum, want.Requests)
		}
	}
	user, session := all[100].EndUser, all[100].Session
	check(report.Query{By: report.Session, Then: report.Client, User: []string{user}}, func(e *requestlog.Entry) bool { return e.EndUser == user })
	check(report.Query{By: report.User, Then: report.Client, Session: []string{session}}, func(e *requestlog.Entry) bool { return e.Session == session })
	check(report.Query{By: report.Model, Then: report.Provider, User: []string{user, "u-0001"}, Client: []string{"sdk"}}, func(e *requestlog.Entry) bool {
		return e.Client == "sdk" && (e.EndUser == user || e.EndUser == "u-0001")
	})
	_, err := db.Log.DeleteEntries(t.Context(), requestlog.Filter{WorkspaceID: ws, Lists: requestlog.Lists{User: []string{user}}}, false)
	must(t, err)
	check(report.Query{By: report.Session, Then: report.Client, User: []string{user}}, func(*requestlog.Entry) bool { return false })
	check(report.Query{By: report.Client, Then: report.Model, User: []string{"u-0001"}}, func(e *requestlog.Entry) bool { return e.EndUser == "u-0001" })
}

// reportsStayExactWhileFactsMove reads a report while Fold moves facts from the queue to the hourly facts, daily sums and chunks.
func reportsStayExactWhileFactsMove(t *testing.T, db *store.DB) {
	ws := newWorkspace()
	day := now.Truncate(24 * time.Hour).Add(-24 * time.Hour)
	for i := range 40 {
		e := sample(ws, day.Add(time.Duration(i)*time.Hour/2))
		e.EndUser, e.Client = "ann", []string{"curl", "sdk"}[i%2]
		write(t, db, e)
	}
	folded := make(chan error, 1)
	go func() {
		for {
			if more, err := db.Report.Fold(t.Context()); err != nil || !more {
				folded <- err
				return
			}
		}
	}()
	for running := true; running; {
		select {
		case err := <-folded:
			must(t, err)
			running = false // read once more after all facts have moved
		default:
		}
		for _, q := range []report.Query{{By: report.Client, Then: report.User}, {By: report.Client, User: []string{"ann"}}} {
			q.WorkspaceID, q.From, q.To = ws, day, day.Add(24*time.Hour)
			r, err := source(db).Run(t.Context(), q, now)
			must(t, err)
			if len(r.Groups) != 2 || r.Groups[0].Requests != 20 || r.Groups[1].Requests != 20 || r.Rest != nil {
				t.Fatalf("report of %+v is %+v, want two groups of 20 requests", q, r)
			}
		}
	}
}

// longReportsReadASample lowers the limits, and compares estimates with the exact figures.
func longReportsReadASample(t *testing.T, db *store.DB) {
	db.Report.Facts, db.Report.SampleSize = 1000, 1250
	ws := newWorkspace()
	all, from, to := bulk(t, db, ws)
	q := report.Query{By: report.Client, Then: report.Provider}
	q.WorkspaceID, q.From, q.To, q.Model = ws, from, to, []string{all[0].Model}
	r, err := source(db).Run(t.Context(), q, now)
	must(t, err)
	if !r.Sampled || r.Total.Requests != int64(len(all)) || len(r.Groups) != 2 || !slices.ContainsFunc(r.Notes, func(n report.Note) bool { return n.Code == report.NoteSampled }) {
		t.Fatalf("report %+v, want it sampled with the exact total", r)
	}
	for _, g := range r.Groups {
		if got := g.Groups[0].Requests; got < g.Requests*9/10 || got > g.Requests*11/10 {
			t.Errorf("%s: %d requests estimated, want about %d", g.Value, got, g.Requests)
		}
	}
	q.By, q.Then, q.Client, q.Provider = report.User, "", []string{"sdk"}, []string{all[0].Provider}
	if _, err := source(db).Run(t.Context(), q, now); err == nil {
		t.Error("a report with a sampled total returned no error")
	}
	again, err := db.Report.Slices(t.Context(), &q)
	must(t, err)
	same, err := db.Report.Slices(t.Context(), &q)
	must(t, err)
	if diff := cmp.Diff(again.Rows[0].Figures, same.Rows[0].Figures); diff != "" || !again.Sampled {
		t.Errorf("a second report has another sample: %s", diff)
	}
}
