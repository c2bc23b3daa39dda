package requests

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/cli/clitest"
	"fairlead.dev/internal/cli/instance"
	"fairlead.dev/internal/requestlog"
)

// growing is a store that grows while it is read.
type growing struct {
	requestlog.Reader
	mu      sync.Mutex
	entries []requestlog.Entry // entries by ID
	pages   int
}

func (g *growing) add(entries ...requestlog.Entry) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, e := range entries {
		i, _ := slices.BinarySearchFunc(g.entries, e.ID, func(e requestlog.Entry, id string) int { return strings.Compare(e.ID, id) })
		g.entries = slices.Insert(g.entries, i, e)
	}
}

func (g *growing) Entries(ctx context.Context, _ requestlog.Filter, p requestlog.Page) ([]requestlog.Entry, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pages++
	var page []requestlog.Entry
	for _, e := range g.entries {
		if p.After == "" && (p.Before == "" || e.ID < p.Before) || p.After != "" && e.ID > p.After {
			page = append(page, e)
		}
	}
	if p.After != "" {
		return page[:min(len(page), p.Limit)], nil
	}
	slices.Reverse(page)
	return page[:min(len(page), p.Limit)], nil
}

func at(second, n int) requestlog.Entry {
	moment := clitest.Noon.Add(time.Duration(second) * time.Second)
	return requestlog.Entry{ID: clitest.RequestID(moment, n), Timing: requestlog.Timing{Time: moment}, Result: requestlog.Result{Outcome: requestlog.OK, Status: 200}}
}

func ids(entries ...requestlog.Entry) []string {
	list := []string{}
	for _, e := range entries {
		list = append(list, e.ID)
	}
	return list
}

func TestTailShowsNewRequestsAndStopsCleanly(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	synctest.Test(t, func(t *testing.T) {
		store := &growing{}
		store.add(at(-30, 1), at(-20, 2), at(-10, 3))
		ctx, cancel := context.WithCancel(t.Context())
		commands := &requestCommands{instance.Commands{Console: l.Console, Options: &cli.Options{JSON: true}}}
		ended := make(chan error)
		go func() { ended <- commands.tail(ctx, store, requestlog.Filter{}, 2) }()
		synctest.Wait()
		store.add(at(1, 5))
		time.Sleep(tailEvery)
		synctest.Wait()
		store.add(at(-15, 4)) // started before requests that are already shown
		time.Sleep(2 * tailEvery)
		synctest.Wait()
		cancel()
		err := <-ended

		var got []string
		for _, row := range clitest.Lines(t, l.Out.String()) {
			got = append(got, row["id"].(string))
		}
		if diff := cmp.Diff(ids(at(-20, 2), at(-10, 3), at(1, 5), at(-15, 4)), got); diff != "" {
			t.Error(diff)
		}
		if text := cli.ErrorText(ctx, err); text != "" || cli.ExitCode(ctx, err) != cli.ExitInterrupted {
			t.Errorf("ended with %q, exit code %d", text, cli.ExitCode(ctx, err))
		}
		clitest.MustContain(t, l.Err.String(), "stopped after 2 new requests")
	})
}

func TestTailShowsEveryRequestOnce(t *testing.T) {
	t.Parallel()
	store := &growing{}
	for n := range 1000 {
		store.add(at(-2000+n, n))
	}
	place := &tail{store: store, floor: clitest.RequestID(clitest.Noon.Add(-longestRequest), 0)}
	earlier, err := place.begin(t.Context())
	if err != nil || len(earlier) != requestlog.MaxLimit {
		t.Fatalf("%d earlier, %v", len(earlier), err)
	}
	var got, want []string
	for round := range 4 {
		for n := range 450 {
			e := at(round*450+n, n)
			store.add(e)
			want = append(want, e.ID)
		}
		fresh, err := place.next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, ids(fresh...)...)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if len(place.known) != tailMemory {
		t.Errorf("%d known requests, want %d", len(place.known), tailMemory)
	}
	store.pages = 0
	if fresh, err := place.next(t.Context()); err != nil || len(fresh) != 0 || store.pages > 3 {
		t.Errorf("poll without new requests: %d new, %d pages, %v", len(fresh), store.pages, err)
	}
}
