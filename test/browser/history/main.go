// Command history generates a request history for screenshots: it repeats the requests of one data directory, with their
// decisions, attempts and bills, over several weeks in another one. No gateway may use the directories at the same time.
//
//	go run ./test/browser/history -from DIR -to DIR -workspace ws_…
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"time"

	"fairlead.dev/internal/id"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/store"
)

func main() {
	from := flag.String("from", "", "data directory with the requests to repeat")
	to := flag.String("to", "", "data directory to write the history to")
	workspace := flag.String("workspace", "", "id of the workspace to read requests from")
	days := flag.Int("days", 35, "length of the history in days")
	rows := flag.Int("rows", 40_000, "approximate number of requests to write")
	flag.Parse()
	ctx := context.Background()
	templates, err := read(ctx, *from, *workspace)
	if err == nil && len(templates) == 0 {
		err = errors.New("the log has no requests to repeat")
	}
	if err == nil {
		err = write(ctx, *to, templates, *days*24, *rows)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// read returns the workspace's requests with their bodies, oldest first.
func read(ctx context.Context, dir, workspace string) (all []requestlog.Entry, err error) {
	db, err := store.Open(ctx, "sqlite", dir, store.Options{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	for after := ""; ; {
		page, err := db.Log.Entries(ctx, requestlog.Filter{WorkspaceID: workspace}, requestlog.Page{After: after, Limit: 200})
		if err != nil || len(page) == 0 {
			return all, err
		}
		for _, summary := range page {
			after = max(after, summary.ID)
			entry, err := db.Log.Entry(ctx, workspace, summary.ID)
			if err != nil {
				return nil, err
			}
			if entry.BodyState == requestlog.BodyStored {
				if entry.Body, err = db.Log.EntryBody(ctx, workspace, summary.ID); err != nil {
					return nil, err
				}
			}
			all = append(all, entry)
		}
	}
}

// write repeats the requests, hour by hour and oldest first.
func write(ctx context.Context, dir string, templates []requestlog.Entry, hours, rows int) (err error) {
	db, err := store.Open(ctx, "sqlite", dir, store.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	rnd := rand.New(rand.NewPCG(7, 11))
	begin := time.Now().Add(-time.Duration(hours) * time.Hour)
	for hour := range hours {
		start := begin.Add(time.Duration(hour) * time.Hour)
		entries := make([]requestlog.Entry, int(weight(start)*float64(rows)/float64(hours)*(0.85+0.3*rnd.Float64())))
		for i := range entries {
			at := start.Add(time.Duration(rnd.Int64N(int64(time.Hour)))).Truncate(time.Millisecond)
			entries[i] = repeat(templates[rnd.IntN(len(templates))], at, 3.2*math.Exp(0.35*rnd.NormFloat64()))
		}
		slices.SortFunc(entries, func(a, b requestlog.Entry) int { return a.Time.Compare(b.Time) })
		if err := db.Log.WriteEntries(ctx, entries); err != nil {
			return err
		}
	}
	return nil
}

// weight returns the relative traffic of an hour: more by day than by night, and less on weekends. Its mean is about 1.
func weight(at time.Time) float64 {
	day := 1.2 - math.Cos(2*math.Pi*float64(at.Hour()-2)/24)
	if weekday := at.Weekday(); weekday == time.Saturday || weekday == time.Sunday {
		day *= 0.35
	}
	return day
}

// repeat returns a request at another time. Bodies, tokens and bill stay the same; the latency is multiplied by a factor.
func repeat(e requestlog.Entry, at time.Time, factor float64) requestlog.Entry {
	stretch := func(d time.Duration) time.Duration { return time.Duration(float64(d) * factor) }
	e.ID, e.Time = id.New("req", at), at
	e.Latency, e.TTFT = e.Overhead+stretch(max(0, e.Latency-e.Overhead)), stretch(e.TTFT)
	e.Attempts = slices.Clone(e.Attempts)
	for i := range e.Attempts {
		a := &e.Attempts[i]
		a.Start, a.Connect, a.Headers = stretch(a.Start), stretch(a.Connect), stretch(a.Headers)
		a.FirstToken, a.Duration = stretch(a.FirstToken), stretch(a.Duration)
	}
	return e
}
