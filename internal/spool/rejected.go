package spool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"fairlead.dev/internal/requestlog"
)

const (
	rejectedPrefix = "rejected-" // a file for each rejected entry, with the id of its request
	maxStrikes     = 3
	blindTries     = 3 // number of failures, before any entry is accepted, after which the writer is considered unavailable
)

// isolate writes entries one by one after a batch failed, and returns the entries that remain, in their order. After each rejected entry,
// it writes an entry that the writer has accepted before. If the writer accepts that entry again, the rejected entry is the cause and not
// the writer. Without such an entry, Away decides. An entry that was rejected several times in this way is written to a file of its own.
// No entry is rejected during an outage.
func (d *delivery) isolate(ctx context.Context, entries []requestlog.Entry) []requestlog.Entry {
	d.rounds++
	begin := d.rounds * blindTries % len(entries) // start at another entry each time, so that a few bad entries do not block the others
	done := make([]bool, len(entries))
	for i, failed := 0, 0; i < len(entries) && failed < blindTries; i++ {
		at := (begin + i) % len(entries)
		one := []requestlog.Entry{entries[at]}
		err := d.write(ctx, one)
		switch {
		case ctx.Err() != nil:
			failed = blindTries
		case err == nil:
			delete(d.strikes, one[0].ID)
			d.delivered(one)
			done[at] = true
		case d.good == nil && d.o.Away(err):
			failed++
		case d.good != nil && d.write(ctx, []requestlog.Entry{*d.good}) != nil:
			failed = blindTries
		default:
			done[at] = d.strike(&one[0], err)
		}
	}
	var left []requestlog.Entry
	for i := range entries {
		if !done[i] {
			left = append(left, entries[i])
		}
	}
	return left
}

// strike counts a rejection of an entry. After the last allowed rejection, it sets the entry aside and returns true.
func (d *delivery) strike(e *requestlog.Entry, cause error) (rejected bool) {
	d.strikes[e.ID]++
	if d.strikes[e.ID] < maxStrikes || !d.spool.rejectEntry(e, cause) {
		return false
	}
	delete(d.strikes, e.ID)
	return true
}

// prepare calls Prepare and returns the entries that were prepared. An entry for which Prepare panics is rejected.
func (d *delivery) prepare(entries []requestlog.Entry) []requestlog.Entry {
	if d.o.Prepare == nil || d.tryPrepare(entries) == nil {
		return entries
	}
	var prepared []requestlog.Entry
	for i := range entries {
		if err := d.tryPrepare(entries[i : i+1]); err == nil || !d.spool.rejectEntry(&entries[i], err) {
			prepared = append(prepared, entries[i])
		}
	}
	return prepared
}

func (d *delivery) tryPrepare(entries []requestlog.Entry) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("prepare entry: %v", p)
		}
	}()
	d.o.Prepare(entries)
	return nil
}

// Rejected is an entry that the writer never accepted.
type Rejected struct {
	ID     string    `json:"id"`
	Time   time.Time `json:"time"`
	Reason string    `json:"reason"`
	Record []byte    `json:"record"` // content of the end record, without the id
}

// rejectEntry writes an entry to a file of its own and reports whether this succeeded.
func (s *Spool) rejectEntry(e *requestlog.Entry, cause error) bool {
	whole := *e
	var b bytes.Buffer
	var err error
	if whole.Decision, err = e.WholeDecision(); err == nil {
		_, _, err = encodeEnd(&b, &whole, s.salt)
	}
	if err == nil {
		err = s.reject(Rejected{ID: e.ID, Reason: cause.Error(), Record: b.Bytes()[headerSize+1+len(e.ID):]})
	}
	if err != nil {
		s.o.Log.Error("spool: rejected entry cannot be written", "request_id", e.ID, "error", err)
	}
	return err == nil
}

// reject writes the file of a rejected entry and syncs it, because the entry leaves the queue afterwards.
func (s *Spool) reject(r Rejected) (err error) {
	r.Time = s.o.Now()
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	f, err := s.o.FS.OpenFile(rejectedPrefix+r.ID, os.O_CREATE)
	if err != nil {
		return fmt.Errorf("open rejected entry: %w", err)
	}
	_, err = f.WriteAt(text, 0)
	if err := errors.Join(err, f.Truncate(int64(len(text))), f.Sync(), f.Close(), s.o.FS.SyncDir()); err != nil {
		return fmt.Errorf("write rejected entry: %w", err)
	}
	s.mu.Lock()
	s.backlog.rejected[r.ID] = true
	s.mu.Unlock()
	s.o.Log.Error("spool: the database rejected an entry, keeping it in a file", "request_id", r.ID, "file", rejectedPrefix+r.ID, "reason", r.Reason)
	return nil
}

// readRejected returns the rejected entries in a directory, oldest first.
func readRejected(fs FS) ([]Rejected, error) {
	names, err := fs.Names()
	if err != nil {
		return nil, fmt.Errorf("list spool: %w", err)
	}
	var list []Rejected
	for _, name := range names {
		id, ok := strings.CutPrefix(name, rejectedPrefix)
		if !ok {
			continue
		}
		r := Rejected{ID: id}
		if text, err := readFile(fs, name); err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		} else if err := json.Unmarshal(text, &r); err != nil {
			continue // the file was not written completely, so the entry is still in the queue
		}
		list = append(list, r)
	}
	slices.SortFunc(list, func(a, b Rejected) int { return a.Time.Compare(b.Time) })
	return list, nil
}

func readFile(fs FS, name string) ([]byte, error) {
	f, err := fs.OpenFile(name, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // the error is ignored: the file was only read
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	text := make([]byte, size)
	_, err = f.ReadAt(text, 0)
	return text, err
}

// ReadRejected returns the rejected entries in the directory of a spool, oldest first.
func ReadRejected(dir string) ([]Rejected, error) {
	list, err := readRejected(directory(dir))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return list, err
}

// retryRejected delivers the entries that were rejected by an earlier process, because a new version may be able to write them. An entry
// that fails again stays in its file.
func (d *delivery) retryRejected(ctx context.Context) {
	s := d.spool
	list, err := readRejected(s.o.FS)
	for _, r := range list {
		one := make([]requestlog.Entry, 1)
		if decodeEnd(r.Record, &one[0]) != nil || d.o.Prepare != nil && d.tryPrepare(one) != nil || d.write(ctx, one) != nil {
			continue
		}
		d.delivered(one)
		err = errors.Join(err, s.o.FS.Remove(rejectedPrefix+r.ID))
		s.mu.Lock()
		delete(s.backlog.rejected, r.ID)
		s.mu.Unlock()
	}
	if err != nil {
		s.o.Log.Error("spool: rejected entries cannot be delivered again", "error", err)
	}
}
