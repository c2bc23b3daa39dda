package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"fairlead.dev/internal/requestlog"
)

const (
	redrawEvery = 100 * time.Millisecond // minimum interval between updates on a terminal
	tellEvery   = 10 * time.Second       // minimum interval between lines without a terminal
	countAtMost = 1_000_000
	barWidth    = 24
)

// Progress reports the progress of a long task, with a bar on a terminal and otherwise with a line every few seconds.
type Progress struct {
	Out      io.Writer // destination of the output; nil for no output
	Terminal bool
	Now      func() time.Time
	Began    time.Time
	Shown    time.Time
	Done     int
	Total    int // total number of items; 0 when unknown
	drawn    bool
}

// NewProgress returns the progress of a task that processes the matching requests. On a terminal it counts them first, to show
// the total.
func NewProgress(ctx context.Context, c *Console, o *Options, store requestlog.Reader, f requestlog.Filter) *Progress {
	p := &Progress{Now: c.Now, Terminal: c.progress, Began: c.Now()}
	p.Shown = p.Began
	if o.Quiet {
		return p
	}
	p.Out = c.Err
	if p.Terminal {
		if total, err := store.Count(ctx, f, countAtMost); err == nil && total < countAtMost {
			p.Total = total // larger totals stay unknown, because counting all requests would delay the task
		}
	}
	return p
}

// Add adds n completed items.
func (p *Progress) Add(n int) {
	p.Done += n
	every := tellEvery
	if p.Terminal {
		every = redrawEvery
	}
	now := p.Now()
	if p.Out == nil || now.Sub(p.Shown) < every {
		return
	}
	p.Shown = now
	if !p.Terminal {
		fmt.Fprintln(p.Out, p.text(now))
		return
	}
	p.drawn = true
	fmt.Fprintf(p.Out, "\r\x1b[K%s", p.text(now))
}

// text formats the completed items, the rate and the remaining time.
func (p *Progress) text(now time.Time) string {
	rate := float64(p.Done) / max(now.Sub(p.Began).Seconds(), 0.001)
	if p.Total == 0 {
		return fmt.Sprintf("%s, %s/s", Plural(p.Done, "request"), Count(int64(rate)))
	}
	left := time.Duration(float64(p.Total-p.Done) / max(rate, 0.001) * float64(time.Second)).Round(time.Second)
	full := min(barWidth, barWidth*p.Done/p.Total)
	bar := strings.Repeat("#", full) + strings.Repeat(".", barWidth-full)
	return fmt.Sprintf("[%s] %s/%s, %s/s, %s left", bar, Count(int64(p.Done)), Count(int64(p.Total)), Count(int64(rate)), max(left, 0))
}

// End removes the bar.
func (p *Progress) End() {
	if p.drawn {
		fmt.Fprint(p.Out, "\r\x1b[K")
	}
}
