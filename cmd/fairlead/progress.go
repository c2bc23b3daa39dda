package main

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

// progress tells how far a long work is: a bar on a terminal, now and then a line elsewhere.
type progress struct {
	w        io.Writer // nil when nobody wants to know
	terminal bool
	now      func() time.Time
	began    time.Time
	told     time.Time
	done     int
	total    int // 0 when not known
	drawn    bool
}

func (r *requestCommands) newProgress(ctx context.Context, store requestlog.Reader, f requestlog.Filter) *progress {
	p := &progress{now: r.console.now, terminal: r.console.progress, began: r.console.now()}
	p.told = p.began
	if r.options.quiet {
		return p
	}
	p.w = r.console.err
	if p.terminal {
		if total, err := store.Count(ctx, f, countAtMost); err == nil && total < countAtMost {
			p.total = total // else the bar goes without: counting must not hold up the work
		}
	}
	return p
}

// add notes that more is done.
func (p *progress) add(n int) {
	p.done += n
	every := tellEvery
	if p.terminal {
		every = redrawEvery
	}
	if now := p.now(); p.w != nil && now.Sub(p.told) >= every {
		p.told = now
		p.tell(now)
	}
}

func (p *progress) tell(now time.Time) {
	if !p.terminal {
		fmt.Fprintln(p.w, p.text(now))
		return
	}
	p.drawn = true
	fmt.Fprintf(p.w, "\r\x1b[K%s", p.text(now))
}

// text is done of total, the rate and the time left.
func (p *progress) text(now time.Time) string {
	rate := float64(p.done) / max(now.Sub(p.began).Seconds(), 0.001)
	if p.total == 0 {
		return fmt.Sprintf("%s, %s/s", plural(p.done, "request"), count(int64(rate)))
	}
	left := time.Duration(float64(p.total-p.done) / max(rate, 0.001) * float64(time.Second)).Round(time.Second)
	return fmt.Sprintf("[%s] %s/%s, %s/s, %s left", p.bar(), count(int64(p.done)), count(int64(p.total)), count(int64(rate)), max(left, 0))
}

func (p *progress) bar() string {
	full := min(barWidth, barWidth*p.done/p.total)
	return strings.Repeat("#", full) + strings.Repeat(".", barWidth-full)
}

// end takes the bar away.
func (p *progress) end() {
	if p.drawn {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
