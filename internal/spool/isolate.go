package spool

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"fairlead/internal/requestlog"
)

const (
	rejectedName = "rejected.jsonl"
	maxStrikes   = 3
	blindTries   = 3 // failures after which, with no success to compare, the writer is taken to be out
)

// isolate writes entries one by one after a batch failed, and returns those that are still to be written. An entry is
// put aside when it was refused several times and each time an entry that the writer had taken before was taken again
// right after: then it is the entry and not the writer. Nothing is put aside during an outage.
func (d *delivery) isolate(ctx context.Context, entries []requestlog.Entry) []requestlog.Entry {
	d.rounds++
	begin := d.rounds * blindTries % len(entries) // start at another entry each time, so that a few bad ones do not block the others
	var left []requestlog.Entry
	for i := range entries {
		one := []requestlog.Entry{entries[(begin+i)%len(entries)]}
		e := one[0]
		err := d.write(ctx, one)
		if err == nil {
			delete(d.strikes, e.ID)
			d.took(one)
			continue
		}
		if d.good == nil {
			if left = append(left, e); len(left) >= blindTries {
				return append(left, d.remaining(entries, begin, i+1)...)
			}
			continue
		}
		if d.write(ctx, []requestlog.Entry{*d.good}) != nil {
			return append(append(left, e), d.remaining(entries, begin, i+1)...)
		}
		if !d.strike(e, err) {
			left = append(left, e)
		}
	}
	return left
}

func (d *delivery) remaining(entries []requestlog.Entry, begin, done int) []requestlog.Entry {
	left := make([]requestlog.Entry, 0, len(entries)-done)
	for i := done; i < len(entries); i++ {
		left = append(left, entries[(begin+i)%len(entries)])
	}
	return left
}

// strike counts a refusal, and puts the entry aside when it was the last.
func (d *delivery) strike(e requestlog.Entry, cause error) (aside bool) {
	d.strikes[e.ID]++
	if d.strikes[e.ID] < maxStrikes {
		return false
	}
	var err error
	if e.Decision, err = e.WholeDecision(); err != nil {
		d.spool.o.Log.Error("spool: an entry is put aside without its decision", "request_id", e.ID, "error", err)
	}
	err = d.spool.reject(rejection{ID: e.ID, Entry: &e, Request: e.Body.JoinedRequest(), Response: e.Body.Response, Reason: cause.Error()})
	if err != nil {
		d.spool.o.Log.Error("spool: an entry cannot be put aside", "request_id", e.ID, "error", err)
		return false
	}
	delete(d.strikes, e.ID)
	return true
}

// rejection is a line of the file of entries that the writer never took.
type rejection struct {
	Time     time.Time         `json:"time"`
	ID       string            `json:"id"`
	Reason   string            `json:"reason"`
	Entry    *requestlog.Entry `json:"entry,omitempty"`
	Request  []byte            `json:"request,omitempty"`
	Response []byte            `json:"response,omitempty"`
	Raw      []byte            `json:"raw,omitempty"` // a record that could not be understood
}

// reject appends to the file of rejected entries and syncs it: the entry leaves the queue after this.
func (s *Spool) reject(r rejection) (err error) {
	r.Time = s.o.Now()
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	f, err := s.o.FS.OpenFile(rejectedName, os.O_CREATE)
	if err != nil {
		return fmt.Errorf("open rejected entries: %w", err)
	}
	defer func() { _ = f.Close() }() // synced before
	size, err := f.Size()
	if err != nil {
		return err
	}
	if _, err := f.WriteAt(append(line, '\n'), size); err != nil {
		return fmt.Errorf("write rejected entry: %w", err)
	}
	if err := f.Sync(); err != nil {
		return fmt.Errorf("sync rejected entries: %w", err)
	}
	if err := s.o.FS.SyncDir(); err != nil {
		return fmt.Errorf("sync spool directory: %w", err)
	}
	s.mu.Lock()
	s.rejected++
	s.mu.Unlock()
	s.o.Log.Error("spool: the database does not take an entry; it is kept in "+rejectedName, "request_id", r.ID, "reason", r.Reason)
	return nil
}
