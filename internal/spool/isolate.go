package spool

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"fairlead.dev/internal/requestlog"
)

const (
	rejectedName = "rejected.jsonl"
	maxStrikes   = 3
	blindTries   = 3 // number of failures, before any entry is accepted, after which the writer is considered unavailable
)

// isolate writes entries one by one after a batch failed, and returns the entries that remain. After each rejected entry, it writes
// an entry that the writer has accepted before. If the writer accepts that entry again, the rejected entry is the cause and not the
// writer. An entry that was rejected several times in this way is written to the file of rejected entries. No entry is rejected
// during an outage.
func (d *delivery) isolate(ctx context.Context, entries []requestlog.Entry) []requestlog.Entry {
	d.rounds++
	begin := d.rounds * blindTries % len(entries) // start at another entry each time, so that a few bad entries do not block the others
	var left []requestlog.Entry
	for i := range entries {
		one := []requestlog.Entry{entries[(begin+i)%len(entries)]}
		e := one[0]
		err := d.write(ctx, one)
		if err == nil {
			delete(d.strikes, e.ID)
			d.delivered(one)
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

// strike counts a rejection of an entry. After the last allowed rejection, it writes the entry to the file of rejected entries and returns
// true.
func (d *delivery) strike(e requestlog.Entry, cause error) (rejected bool) {
	d.strikes[e.ID]++
	if d.strikes[e.ID] < maxStrikes {
		return false
	}
	var err error
	if e.Decision, err = e.WholeDecision(); err != nil {
		d.spool.o.Log.Error("spool: entry rejected, written without its decision", "request_id", e.ID, "error", err)
	}
	err = d.spool.reject(rejection{ID: e.ID, Entry: &e, Request: e.Body.JoinedRequest(), Response: e.Body.Response, Reason: cause.Error()})
	if err != nil {
		d.spool.o.Log.Error("spool: rejected entry cannot be written", "request_id", e.ID, "error", err)
		return false
	}
	delete(d.strikes, e.ID)
	return true
}

// rejection is one line of the file of rejected entries: an entry that the writer never accepted.
type rejection struct {
	Time     time.Time         `json:"time"`
	ID       string            `json:"id"`
	Reason   string            `json:"reason"`
	Entry    *requestlog.Entry `json:"entry,omitempty"`
	Request  []byte            `json:"request,omitempty"`
	Response []byte            `json:"response,omitempty"`
	Raw      []byte            `json:"raw,omitempty"` // record that could not be decoded
}

// reject appends an entry to the file of rejected entries and syncs the file, because the entry leaves the queue afterwards.
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
	defer func() { _ = f.Close() }() // the error is ignored: the file is already synced
	size, err := f.Size()
	if err != nil {
		return err
	}
	if _, err := f.WriteAt(append(line, '\n'), size); err != nil {
		return fmt.Errorf("write rejected entry: %w", err)
	}
	if err := f.Sync(); err != nil {
		return fmt.Errorf("sync the file of rejected entries: %w", err)
	}
	if err := s.o.FS.SyncDir(); err != nil {
		return fmt.Errorf("sync spool directory: %w", err)
	}
	s.mu.Lock()
	s.backlog.rejected++
	s.mu.Unlock()
	s.o.Log.Error("spool: the database rejected an entry, keeping it in "+rejectedName, "request_id", r.ID, "reason", r.Reason)
	return nil
}
