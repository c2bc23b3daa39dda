//go:build unix

// Command log measures the request log at scale. It stores many requests through the same call as the gateway, measures the
// queries of the dashboard pages, and fails when a query exceeds its limit.
//
//	go run ./bench/log -store sqlite
//	go run ./bench/log -store postgres -rows 1000000
//
// PostgreSQL is the server named in FAIRLEAD_TEST_POSTGRES, or one that the program starts and stops.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"

	"fairlead.dev/internal/store"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// options are the program's flags.
type options struct {
	store string
	rows  int
	runs  int
	keep  string
	only  string
	bulk  bool
}

func run(ctx context.Context, args []string, out io.Writer) error {
	var o options
	flags := flag.NewFlagSet("log", flag.ContinueOnError)
	flags.StringVar(&o.store, "store", "sqlite", "database to measure: sqlite or postgres")
	flags.IntVar(&o.rows, "rows", 1_000_000, "number of requests to store")
	flags.IntVar(&o.runs, "runs", 20, "number of runs per question")
	flags.StringVar(&o.keep, "keep", "", "folder (sqlite) or database (postgres) to keep and reuse in the next run")
	flags.StringVar(&o.only, "only", "", "run only the questions whose name contains this text")
	flags.BoolVar(&o.bulk, "bulk", false, "store only the roll-ups of requests over 90 days, and run only the questions of the report")
	if err := flags.Parse(args); err != nil {
		return err
	}
	return o.measure(ctx, out)
}

// measure fills a database, runs every question and prints a table.
func (o options) measure(ctx context.Context, out io.Writer) (err error) {
	place, err := o.place(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, place.remove()) }()
	db, err := store.Open(ctx, place.dsn, place.dir, store.Options{Now: func() time.Time { return now }})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	days, fill, asked := span, o.fill, questions()
	if o.bulk {
		days, fill, asked = bulkSpan, o.bulkFill, bulkReports()
	}
	fmt.Fprintf(out, "%s, %d requests over %d days; load average %s\n", o.store, o.rows, int(days.Hours()/24), loadAverage())
	if err := fill(ctx, db, out); err != nil {
		return err
	}
	if err := place.settle(ctx); err != nil {
		return err
	}
	over, err := o.ask(ctx, db, asked, out)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "load average at the end %s\n", loadAverage())
	fmt.Fprintf(out, "%d questions exceeded their limit\n", over)
	return nil
}

// loadAverage returns the load averages in /proc/loadavg, or "unknown" on systems without this file.
func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	fields := strings.Fields(string(text))
	if err != nil || len(fields) < 3 {
		return "unknown"
	}
	return strings.Join(fields[:3], " ")
}
