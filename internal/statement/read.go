package statement

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"fairlead.dev/internal/requestlog"
)

const (
	maxReaders = 4 // maximum number of days read at the same time
	pagesAhead = 2 // maximum number of pages that a reader reads in advance
)

// read is a page of entries, or the error of a reader.
type read struct {
	page []requestlog.Entry
	err  error
}

// eachEntry calls add for each entry of the period, newest first. It reads several days at the same time, because decoding
// entries takes most of the time.
func (s *Statement) eachEntry(ctx context.Context, log Log, add func(*requestlog.Entry)) error {
	var all sync.WaitGroup
	defer all.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var days []requestlog.Filter // filters of the days, newest first
	for to := s.To; to.After(s.From); {
		from := to.Add(-time.Nanosecond).Truncate(24 * time.Hour)
		day := requestlog.Filter{WorkspaceID: s.WorkspaceID, From: from, To: to}
		if !s.Simulated {
			day.Simulated = new(false)
		}
		days = append(days, day)
		to = from
	}
	pages := make([]chan read, len(days))
	for i := range pages {
		pages[i] = make(chan read, pagesAhead)
	}
	slots := make(chan struct{}, min(maxReaders, runtime.GOMAXPROCS(0)))
	all.Go(func() {
		for i := range days {
			select {
			case slots <- struct{}{}:
			case <-ctx.Done():
				return
			}
			all.Go(func() {
				readDay(ctx, log, days[i], pages[i])
				<-slots
			})
		}
	})
	for i := range pages {
		for more := true; more; {
			select {
			case r, ok := <-pages[i]:
				if r.err != nil {
					return fmt.Errorf("read requests: %w", r.err)
				}
				for j := range r.page {
					add(&r.page[j])
				}
				more = ok
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	return ctx.Err()
}

// readDay sends the matching entries to the channel out, newest first, and then closes the channel.
func readDay(ctx context.Context, log Log, f requestlog.Filter, out chan<- read) {
	defer close(out)
	for before := ""; ; {
		page, err := log.Entries(ctx, f, requestlog.Page{Before: before, Limit: requestlog.MaxFigures, Figures: true})
		unfinished, partial := errors.AsType[*requestlog.UnfinishedError](err)
		if partial {
			err = nil
		}
		select {
		case out <- read{page, err}:
		case <-ctx.Done():
			return
		}
		switch {
		case err != nil:
			return
		case partial: // the search reached its time limit: continue where it stopped
			before = unfinished.Before
		case len(page) < requestlog.MaxFigures:
			return
		default:
			before = page[len(page)-1].ID
		}
	}
}
