package spool

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"fairlead.dev/internal/requestlog"
)

// RunOptions configures delivery. Zero values select the defaults given below.
type RunOptions struct {
	Batch       int                              // maximum number of entries in one write; default 1,000
	Linger      time.Duration                    // time for which a short batch waits for more entries; default 400 ms
	Timeout     time.Duration                    // timeout of one write; default 30 s
	Backoff     time.Duration                    // first wait after a failed write, doubled up to MaxBackoff; default 100 ms
	MaxBackoff  time.Duration                    // maximum wait after a failed write; default 2 s
	Busy        func() bool                      // reports whether requests need the CPU; nil for never
	Away        func(error) bool                 // reports whether a failure was caused by an unreachable writer, not by the entries; nil for never
	Prepare     func(entries []requestlog.Entry) // called with the entries of a batch before they are written; may change them
	OnDelivered func(entries []requestlog.Entry) // called with the entries that the writer accepted
}

func (o RunOptions) withDefaults() RunOptions {
	if o.Batch <= 0 {
		o.Batch = 1000
	}
	if o.Linger <= 0 {
		o.Linger = 400 * time.Millisecond
	}
	if o.Timeout <= 0 {
		o.Timeout = 30 * time.Second
	}
	if o.Backoff <= 0 {
		o.Backoff = 100 * time.Millisecond
	}
	if o.MaxBackoff <= 0 {
		o.MaxBackoff = 2 * time.Second
	}
	if o.Busy == nil {
		o.Busy = func() bool { return false }
	}
	if o.Away == nil {
		o.Away = func(error) bool { return false }
	}
	return o
}

// longestPause is the maximum pause of delivery between two batches while requests need the CPU and the queue is at least half full.
const longestPause = 500 * time.Millisecond

// Run delivers entries to the writer until the context is done. Only one call may run at a time. If the writer fails, Run retries until it
// succeeds. An entry that the writer rejects repeatedly while it accepts others is written to a file of its own. The next call of Run delivers
// it again.
func (s *Spool) Run(ctx context.Context, w requestlog.Writer, o RunOptions) error {
	d := &delivery{spool: s, writer: w, o: o.withDefaults(), strikes: map[string]int{}}
	if err := d.deliverOrphans(ctx); err != nil {
		return err
	}
	d.retryRejected(ctx)
	for worked := time.Duration(0); ; {
		if err := d.makeWay(ctx, worked); err != nil {
			return err
		}
		began := time.Now()
		more, err := d.step(ctx)
		if err != nil {
			return err
		}
		worked = time.Since(began)
		s.trim()
		switch {
		case more:
			err = d.gather(ctx)
		case !s.sealIdle():
			err = d.idle(ctx)
		}
		if err != nil {
			return err
		}
	}
}

// backlog holds the entries to deliver, and counts the goroutines that wait for delivery. The lock of the spool guards all fields except
// wake and file.
type backlog struct {
	orphans  []requestlog.Entry // interrupted requests of an earlier process, until delivered
	pos      position           // delivery position; all entries before it are delivered
	entries  int64              // number of ended entries from pos on
	oldest   time.Time          // end time of the oldest of these entries
	wanted   int64              // number of entries that delivery waits for
	failing  bool               // whether the latest write failed
	rejected map[string]bool    // ids of the entries that have a file of their own
	flushing int                // number of callers of Flush that wait for an empty queue
	reading  int                // number of callers of Settle that wait for queued entries
	progress chan struct{}      // channel that is closed and replaced after each delivery
	wake     chan struct{}      // channel that signals that wanted entries are queued, or that a caller waits
	file     File               // position file, which stores pos; used by Run and Close
}

// announce wakes the goroutines that wait for progress.
func (b *backlog) announce() {
	close(b.progress)
	b.progress = make(chan struct{})
}

// poke signals to Run that entries are waiting.
func (b *backlog) poke() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

type delivery struct {
	spool   *Spool
	writer  requestlog.Writer
	o       RunOptions
	good    *requestlog.Entry // latest entry that the writer accepted; nil before the first one
	strikes map[string]int    // number of times the writer rejected an entry while accepting others
	rounds  int               // number of calls of isolate
	piece   piece             // result of the latest read, which is being delivered
	full    bool              // whether there may be more entries after the latest read
}

// deliverOrphans delivers the requests that were running when an earlier process ended.
func (d *delivery) deliverOrphans(ctx context.Context) error {
	s := d.spool
	for {
		s.mu.Lock()
		n := min(len(s.backlog.orphans), d.o.Batch)
		batch := append([]requestlog.Entry{}, s.backlog.orphans[:n]...)
		s.mu.Unlock()
		if n == 0 {
			return nil
		}
		if err := d.deliver(ctx, batch); err != nil {
			return err
		}
		s.mu.Lock()
		s.backlog.orphans = s.backlog.orphans[n:]
		s.backlog.announce()
		s.mu.Unlock()
	}
}

// makeWay pauses delivery while requests need the CPU, unless a caller waits for an empty queue. If the queue is less than half full, the
// pause lasts until the requests have enough CPU time. Otherwise, the pause is shorter when the queue is fuller.
func (d *delivery) makeWay(ctx context.Context, worked time.Duration) error {
	for d.o.Busy() && d.spool.fullness() < 0.5 {
		if err := d.sleep(ctx, d.o.Linger); err != nil {
			return err
		}
	}
	if full := d.spool.fullness(); worked > 0 && full > 0 && d.o.Busy() {
		return d.sleep(ctx, min(time.Duration(float64(worked)*(1-full)/full), longestPause))
	}
	return nil
}

// step delivers one batch and reports whether there may be more.
func (d *delivery) step(ctx context.Context) (more bool, err error) {
	s := d.spool
	s.mu.Lock()
	from := s.backlog.pos
	s.mu.Unlock()
	p := &d.piece
	defer p.empty()
	if err := s.read(p, from, d.o.Batch); err != nil {
		s.o.Log.Error("spool: entries cannot be read", "error", err)
		return true, d.sleep(ctx, d.o.MaxBackoff)
	}
	d.full = p.full
	if p.next == from {
		return false, nil
	}
	for _, b := range p.broken {
		if err := s.reject(Rejected{ID: b.id, Record: b.rest, Reason: b.err.Error()}); err != nil {
			s.o.Log.Error("spool: rejected entry cannot be written", "request_id", b.id, "error", err)
			return true, d.sleep(ctx, d.o.MaxBackoff)
		}
	}
	if len(p.entries) > 0 {
		s.mu.Lock()
		s.backlog.oldest = p.entries[0].Time.Add(p.entries[0].Latency)
		s.mu.Unlock()
		if err := d.deliver(ctx, p.entries); err != nil {
			return false, err
		}
	}
	s.advance(p)
	return true, nil
}

// deliver writes entries until every entry is stored or rejected, or until the context is done.
func (d *delivery) deliver(ctx context.Context, entries []requestlog.Entry) error {
	entries = d.prepare(entries)
	wait, refused := d.o.Backoff, 0
	for tries := 1; len(entries) > 0; tries++ {
		err := d.write(ctx, entries)
		if err == nil {
			d.delivered(entries)
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if tries == 1 || tries%30 == 0 {
			d.spool.o.Log.Error("spool: entries cannot be delivered; they stay in the queue", "entries", len(entries), "tries", tries, "error", err)
		}
		// Writing entries one by one can change their order, so do it only if an entry may have caused the failure.
		suspicious := !d.o.Away(err) || errors.Is(err, context.DeadlineExceeded)
		if suspicious {
			refused++
		}
		if suspicious && refused > 2 {
			entries = d.isolate(ctx, entries)
		}
		if err := d.sleep(ctx, wait); err != nil {
			return err
		}
		wait = min(2*wait, d.o.MaxBackoff)
	}
	return nil
}

func (d *delivery) write(ctx context.Context, entries []requestlog.Entry) error {
	ctx, cancel := context.WithTimeout(ctx, d.o.Timeout)
	defer cancel()
	err := d.tryWrite(ctx, entries)
	d.spool.mu.Lock()
	defer d.spool.mu.Unlock()
	d.spool.backlog.failing = err != nil
	return err
}

// tryWrite returns a panic of the writer as an error, because one entry must not end the process at every start.
func (d *delivery) tryWrite(ctx context.Context, entries []requestlog.Entry) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("write entries: %v", p)
		}
	}()
	return d.writer.WriteEntries(ctx, entries)
}

func (d *delivery) delivered(entries []requestlog.Entry) {
	if len(entries) == 0 {
		return
	}
	d.good = withoutBodies(&entries[len(entries)-1])
	d.good.Recorded = requestlog.Recorded{} // its text is in memory that the next read overwrites
	if d.o.OnDelivered != nil {
		d.o.OnDelivered(entries)
	}
}

// sleep waits for the given time minus a random part of up to a fifth, so that replicas do not retry at the same time.
func (d *delivery) sleep(ctx context.Context, span time.Duration) error {
	timer := time.NewTimer(span - time.Duration(rand.Int64N(int64(span)/5+1)))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// idle waits until there are entries to deliver, but at most Options.IdleAfter. If there are only a few entries, it waits a little longer
// for more.
func (d *delivery) idle(ctx context.Context) error {
	s := d.spool
	if s.want(1) {
		return d.linger(ctx)
	}
	timer := time.NewTimer(s.o.IdleAfter)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	case <-s.backlog.wake:
	}
	return d.linger(ctx)
}

// gather waits for more entries if few arrived during the last delivery. Without this wait, a steady stream of entries would be
// written in many small batches, and most of the cost of a small batch does not depend on its size.
func (d *delivery) gather(ctx context.Context) error {
	d.spool.mu.Lock()
	empty := d.spool.backlog.entries == 0
	d.spool.mu.Unlock()
	if d.full || empty {
		return nil
	}
	return d.linger(ctx)
}

// linger waits until a full batch is queued, a caller waits for delivery, or the maximum wait has passed.
func (d *delivery) linger(ctx context.Context) error {
	timer := time.NewTimer(d.o.Linger)
	defer timer.Stop()
	for !d.spool.want(d.o.Batch) && !d.spool.hurry() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C:
			return nil
		case <-d.spool.backlog.wake:
		}
	}
	return nil
}

// want reports whether at least the given number of ended entries is queued. If not, Run is woken when that number is reached. Waking
// Run for every entry would take too much CPU time.
func (s *Spool) want(entries int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.backlog.wanted = int64(entries)
	return s.backlog.entries >= s.backlog.wanted
}

// hurry reports whether a caller waits for delivery.
func (s *Spool) hurry() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.backlog.flushing > 0 || s.backlog.reading > 0
}

// fullness returns the used fraction of the queue, or 1 when a caller waits for an empty queue.
func (s *Spool) fullness() float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.backlog.flushing > 0 {
		return 1
	}
	return min(float64(s.space.used)/float64(s.o.Limit), 1)
}

// advance moves the position past a delivered piece. If the position file is lost, entries are delivered again.
func (s *Spool) advance(p *piece) {
	s.mu.Lock()
	s.backlog.pos = p.next
	for i := range p.entries {
		s.recent.forget(p.entries[i].ID)
	}
	s.backlog.entries = max(s.backlog.entries-int64(p.count()), 0)
	for workspace, size := range p.sizes {
		s.space.add(workspace, -size)
	}
	if !p.next.before(s.disk.end()) {
		s.backlog.entries = 0 // damaged entries are never delivered, so do not wait for them
		clear(s.space.queued)
	}
	s.backlog.announce()
	s.mu.Unlock()
	if err := s.savePosition(p.next); err != nil {
		s.o.Log.Warn("spool: the position cannot be written; after a restart entries are delivered again", "error", err)
	}
}

// Flush waits until everything written so far is delivered.
func (s *Spool) Flush(ctx context.Context) error {
	if err := s.await(ctx, &s.backlog.flushing); err != nil {
		return fmt.Errorf("flush spool: %w", err)
	}
	return nil
}

// Settle waits until all entries written so far are delivered, so that a reader of the database finds them. It stops waiting after
// the limit and does not wait for a failing writer. Unlike Flush, it does not take priority over requests under load.
func (s *Spool) Settle(ctx context.Context, limit time.Duration) {
	s.mu.Lock()
	idle := s.backlog.failing || s.backlog.entries == 0
	s.mu.Unlock()
	if idle {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	_ = s.await(ctx, &s.backlog.reading) // the error is ignored: after the limit, the caller reads without the remaining entries
}

// await waits until all entries written so far are delivered. waiters is incremented for the duration of the call.
func (s *Spool) await(ctx context.Context, waiters *int) error {
	s.mu.Lock()
	target := s.disk.end()
	*waiters++
	s.mu.Unlock()
	s.backlog.poke()
	defer func() {
		s.mu.Lock()
		*waiters--
		s.mu.Unlock()
	}()
	for {
		s.mu.Lock()
		done := !s.backlog.pos.before(target) && len(s.backlog.orphans) == 0
		progress := s.backlog.progress
		s.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-progress:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
