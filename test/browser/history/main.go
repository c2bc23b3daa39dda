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
	"os"
	"time"

	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/store"
)

// batchSize is the number of entries per write.
const batchSize = 500

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) (err error) {
	flags := flag.NewFlagSet("history", flag.ContinueOnError)
	from := flags.String("from", "", "data directory with the requests to repeat")
	to := flags.String("to", "", "data directory to write the history to")
	workspace := flags.String("workspace", "", "id of the workspace to read requests from")
	days := flags.Int("days", 35, "length of the history in days")
	rows := flags.Int("rows", 40_000, "approximate number of requests to write")
	baseline := flags.String("baseline", "", "model that a part of the requests was compared with; empty writes no comparisons")
	if err := flags.Parse(args); err != nil {
		return err
	}
	templates, err := read(ctx, *from, *workspace)
	if err != nil {
		return err
	}
	if len(templates) == 0 {
		return errors.New("the log has no requests to repeat")
	}
	return write(ctx, *to, newGenerator(templates, time.Now(), *days, *rows), *baseline)
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

func write(ctx context.Context, dir string, g *generator, baseline string) (err error) {
	db, err := store.Open(ctx, "sqlite", dir, store.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	var entries []requestlog.Entry
	for entry := range g.entries() {
		if record, ok := g.comparison(&entry, baseline); ok {
			if err := db.Proof.Save(ctx, &record); err != nil {
				return err
			}
		}
		if entries = append(entries, entry); len(entries) == batchSize {
			if err := db.Log.WriteEntries(ctx, entries); err != nil {
				return err
			}
			entries = entries[:0]
		}
	}
	return db.Log.WriteEntries(ctx, entries)
}
