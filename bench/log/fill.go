//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"
	"time"

	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/store"
)

// batch is the number of entries per write, about as many as the spool delivers under load.
const batch = 1000

// fill writes the requests and prints the write rate. A database kept from an earlier run (-keep) is not changed.
func (o options) fill(ctx context.Context, db *store.DB, out io.Writer) error {
	usage, err := db.Log.Usage(ctx)
	if err != nil {
		return err
	}
	if usage.Entries == int64(o.rows) {
		fmt.Fprintf(out, "the requests are already stored\n\n")
		return nil
	}
	if usage.Entries > 0 {
		return fmt.Errorf("the database has %d requests instead of %d; use another -keep folder or database", usage.Entries, o.rows)
	}
	var wall, busy time.Duration
	g := newGenerator(o.rows)
	entries := make([]requestlog.Entry, 0, batch)
	for first := 0; first < o.rows; first += batch {
		entries = entries[:0]
		for i := first; i < min(first+batch, o.rows); i++ {
			entries = append(entries, g.entry(i))
		}
		start, cpu := time.Now(), cpuTime()
		if err := db.Log.WriteEntries(ctx, entries); err != nil {
			return err
		}
		wall, busy = wall+time.Since(start), busy+cpuTime()-cpu
	}
	for more := true; more; { // the gateway calls Figures.Fold every second
		if more, err = db.Figures.Fold(ctx); err != nil {
			return err
		}
	}
	folding, cpu := time.Now(), cpuTime()
	for more := true; more; { // the gateway calls Report.Fold every 15 seconds
		if more, err = db.Report.Fold(ctx); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "report roll-ups: %.0f requests per second, %.0f per CPU second of this process\n",
		float64(o.rows)/time.Since(folding).Seconds(), float64(o.rows)/(cpuTime()-cpu).Seconds())
	usage, err = db.Log.Usage(ctx)
	if err != nil && !errors.Is(err, requestlog.ErrTooSlow) {
		return err
	}
	fmt.Fprintf(out, "written in batches of %d: %.0f per second, %.0f per CPU second of this process; %d MiB on disk\n\n",
		batch, float64(o.rows)/wall.Seconds(), float64(o.rows)/busy.Seconds(), usage.Bytes>>20)
	return nil
}

// cpuTime returns the CPU time of this process.
func cpuTime() time.Duration {
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		return 0
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}
