package spool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"fairlead.dev/internal/outline"
	"fairlead.dev/internal/outline/outlinetest"
	"fairlead.dev/internal/requestlog"
)

// partsDatabase is a database that stores parts.
type partsDatabase struct {
	*database
	parts map[outline.Address][]byte
}

func (d *partsDatabase) WriteEntries(ctx context.Context, batch []requestlog.Entry) error {
	if err := d.database.WriteEntries(ctx, batch); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range batch {
		stored := batch[i]
		stored.Body.Request = bytes.Clone(stored.Body.Request) // the spool reuses its memory
		d.entries[stored.ID] = stored
		if err := outline.EachPart(batch[i].Body.Parts, func(p outline.Part) error {
			d.parts[p.Address] = bytes.Clone(p.Content)
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// replica splits requests like the gateway does.
type replica struct {
	scope outline.Scope
	known *outline.Known
}

func newReplica(t *testing.T) *replica {
	t.Helper()
	key, err := outline.NewKey(bytes.Repeat([]byte("k"), 32))
	must(t, err)
	return &replica{key.Scope("ws"), outline.NewKnown()}
}

func (r *replica) split(e *requestlog.Entry, memory []byte) *requestlog.Entry {
	split := *e
	var ok bool
	if split.Body.Request, split.Body.Parts, ok = r.scope.Split(e.Body.Request, memory, r.known.Of(1)); !ok {
		return e
	}
	split.Body.Split, split.Body.Whole = true, len(e.Body.Request)
	return &split
}

func (r *replica) delivered(entries []requestlog.Entry) {
	for i := range entries {
		r.known.Add(1, entries[i].Body.Parts)
	}
}

// TestEveryTurnOfASessionIsDelivered kills the process at every other turn. The database fails occasionally.
func TestEveryTurnOfASessionIsDelivered(t *testing.T) {
	t.Parallel()
	disk, db := newMemFS(), &partsDatabase{newDatabase(), map[outline.Address][]byte{}}
	turns := outlinetest.Session{Format: "messages", Turns: 50, Growth: 3000, Seed: 1}.Make()
	r := newReplica(t)
	s := open(t, disk, Options{Split: r.split})
	var written int64
	for i, turn := range turns {
		e := entry(fmt.Sprintf("req_%d", i))
		e.Body.Request = turn.Body
		must(t, s.Begin(e))
		before := s.Stats().Disk
		must(t, s.End(e))
		written = s.Stats().Disk - before
		if i%3 == 0 && i < 45 { // the process ends before or during delivery
			if i%2 == 0 {
				refused := 0
				db.set(func([]requestlog.Entry) error {
					if refused++; refused > 1 {
						return nil
					}
					return errors.New("connection lost")
				})
				stop := running(t, s, db, RunOptions{OnDelivered: r.delivered, Backoff: 1})
				_ = s.Flush(t.Context())
				stop()
				db.set(nil)
			}
			disk = disk.kill()
			r = newReplica(t)
			s = open(t, disk, Options{Split: r.split})
		}
		stop := running(t, s, db, RunOptions{OnDelivered: r.delivered})
		must(t, s.Flush(t.Context()))
		stop()
	}
	for i, turn := range turns {
		e := db.entries[fmt.Sprintf("req_%d", i)]
		body, gone, err := outline.Join(e.Body.Request, func(a outline.Address) ([]byte, bool) { c, ok := db.parts[a]; return c, ok })
		if err != nil || gone > 0 || !bytes.Equal(body, turn.Body) {
			t.Fatalf("turn %d: %d parts missing, %v", i, gone, err)
		}
	}
	if last := turns[len(turns)-1]; written > int64(last.New)+8<<10 {
		t.Errorf("the last turn of %d bytes with %d new bytes takes %d bytes of the queue", len(last.Body), last.New, written)
	}
}
