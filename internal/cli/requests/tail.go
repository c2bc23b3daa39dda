package requests

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/id"
	"fairlead.dev/internal/requestlog"
)

const (
	tailEvery  = 500 * time.Millisecond
	tailMemory = 400 // number of newest requests that are read again, because a long request appears after shorter ones that started later

	longestRequest = 10 * time.Minute
)

func (r *requestCommands) newTail() *cobra.Command {
	var last int
	cmd := &cobra.Command{
		Use: "tail", Short: "Show new requests until Ctrl-C", Args: cli.NoArgs,
		Example: `  fairlead requests tail
  fairlead requests tail --preset errors
  fairlead requests tail --key ci --last 0 --json | jq -r '[.model, .cost_usd] | @tsv'`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if last < 0 || last > requestlog.MaxLimit {
				return cli.Usagef("use a number from 0 to 200", "--last: %d is out of range", last)
			}
			return r.selecting(cmd, func(s selected) error { return r.tail(cmd.Context(), s.store, s.filter, last) })
		},
	}
	cli.AddFilterFlags(cmd)
	cmd.Flags().IntVar(&last, "last", 10, "number of earlier requests to show first")
	return cmd
}

// tail prints matching requests until ctx is cancelled.
func (r *requestCommands) tail(ctx context.Context, store requestlog.Reader, f requestlog.Filter, last int) error {
	t := &tail{store: store, filter: f, floor: id.Floor("req", r.Console.Now().Add(-longestRequest))}
	earlier, err := t.begin(ctx)
	if err != nil {
		return err
	}
	out := &follower{requests: r}
	if err := out.write(earlier[max(0, len(earlier)-last):]); err != nil {
		return err
	}
	seen := 0
	tick := time.NewTicker(tailEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			r.Console.Infof(r.Options, "stopped after %s", cli.Plural(seen, "new request"))
			return &cli.ReportedError{Err: ctx.Err()}
		case <-tick.C:
		}
		fresh, err := t.next(ctx)
		if err != nil && ctx.Err() == nil {
			return err
		}
		seen += len(fresh)
		if err := out.write(fresh); err != nil {
			return err
		}
	}
}

// tail is a position in the log.
type tail struct {
	store  requestlog.Reader
	filter requestlog.Filter
	floor  string   // ID from which requests are read again
	known  []string // IDs already seen at or after floor, in order
}

// begin returns the newest requests in chronological order and marks them as known.
func (t *tail) begin(ctx context.Context) ([]requestlog.Entry, error) {
	entries, err := t.store.Entries(ctx, t.filter, requestlog.Page{Limit: requestlog.MaxLimit})
	if err != nil {
		return nil, err
	}
	slices.Reverse(entries)
	for _, e := range entries {
		t.known = append(t.known, e.ID)
	}
	if len(entries) == requestlog.MaxLimit {
		t.floor = entries[0].ID // requests with older IDs are not read again
	}
	return entries, nil
}

// next returns the requests that have appeared since the last call, oldest first.
func (t *tail) next(ctx context.Context) ([]requestlog.Entry, error) {
	var fresh []requestlog.Entry
	for after := t.floor; ; {
		page, err := t.store.Entries(ctx, t.filter, requestlog.Page{After: after, Limit: requestlog.MaxLimit})
		if err != nil {
			return fresh, err
		}
		for _, e := range page {
			if at, found := slices.BinarySearch(t.known, e.ID); !found {
				t.known = slices.Insert(t.known, at, e.ID)
				fresh = append(fresh, e)
			}
		}
		if len(page) < requestlog.MaxLimit {
			break
		}
		after = page[len(page)-1].ID
	}
	if over := len(t.known) - tailMemory; over > 0 {
		t.known = slices.Delete(t.known, 0, over)
		t.floor = t.known[0]
	}
	return fresh, nil
}

// follower prints rows as requests arrive.
type follower struct {
	requests *requestCommands
	widths   []int
}

func (f *follower) write(entries []requestlog.Entry) error {
	r := f.requests
	if len(entries) == 0 {
		return nil
	}
	if r.Options.JSON {
		return r.writeRows(entries)
	}
	t := r.table()
	for i := range entries {
		r.addRow(t, &entries[i])
	}
	first := f.widths == nil
	if first {
		t.MinWidths = []int{30, 15, 18, 8, 20, 10, 10, 7, 9, 7, 7, 10, 6} // keeps the columns of later rows aligned
	} else {
		t.MinWidths = f.widths
	}
	width := r.Console.Columns()
	f.widths = t.Widths(width)
	lines := t.Lines(width, r.Console.Coloured(r.Options))
	if !first {
		lines = lines[1:] // print the column titles only above the first row
	}
	for _, line := range lines {
		if err := r.Console.Print(line + "\n"); err != nil {
			return err
		}
	}
	return nil
}
