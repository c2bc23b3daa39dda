package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"fairlead/internal/requestlog"
)

const (
	redrawEvery = 100 * time.Millisecond // on a terminal
	tellEvery   = 10 * time.Second       // elsewhere
	countAtMost = 1_000_000
	barWidth    = 24
)

// Progress tells how far a long work is: a bar on a terminal, now and then a line elsewhere.
type Progress struct {
	Out      io.Writer // nil when nobody wants to know
	Terminal bool
	Now      func() time.Time
	Began    time.Time
	Shown    time.Time
	Done     int
	Total    int // 0 when not known
	drawn    bool
}

// NewProgress counts the matching requests and returns a progress bar for them.
func NewProgress(ctx context.Context, c *Console, o *Options, store requestlog.Reader, f requestlog.Filter) *Progress {
	p := &Progress{Now: c.Now, Terminal: c.progress, Began: c.Now()}
	p.Shown = p.Began
	if o.Quiet {
		return p
	}
	p.Out = c.Err
	if p.Terminal {
		if total, err := store.Count(ctx, f, countAtMost); err == nil && total < countAtMost {
			p.Total = total // else the bar goes without: counting must not hold up the work
		}
	}
	return p
}

// Add notes that more is done.
func (p *Progress) Add(n int) {
	p.Done += n
	every := tellEvery
	if p.Terminal {
		every = redrawEvery
	}
	if now := p.Now(); p.Out != nil && now.Sub(p.Shown) >= every {
		p.Shown = now
		p.tell(now)
	}
}

func (p *Progress) tell(now time.Time) {
	if !p.Terminal {
		fmt.Fprintln(p.Out, p.text(now))
		return
	}
	p.drawn = true
	fmt.Fprintf(p.Out, "\r\x1b[K%s", p.text(now))
}

// text is done of total, the rate and the time left.
func (p *Progress) text(now time.Time) string {
	rate := float64(p.Done) / max(now.Sub(p.Began).Seconds(), 0.001)
	if p.Total == 0 {
		return fmt.Sprintf("%s, %s/s", Plural(p.Done, "request"), Count(int64(rate)))
	}
	left := time.Duration(float64(p.Total-p.Done) / max(rate, 0.001) * float64(time.Second)).Round(time.Second)
	return fmt.Sprintf("[%s] %s/%s, %s/s, %s left", p.bar(), Count(int64(p.Done)), Count(int64(p.Total)), Count(int64(rate)), max(left, 0))
}

func (p *Progress) bar() string {
	full := min(barWidth, barWidth*p.Done/p.Total)
	return strings.Repeat("#", full) + strings.Repeat(".", barWidth-full)
}

// End takes the bar away.
func (p *Progress) End() {
	if p.drawn {
		fmt.Fprint(p.Out, "\r\x1b[K")
	}
}
