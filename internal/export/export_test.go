package export

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/requestlog"
)

// journal is a Source in memory.
type journal struct {
	mu      sync.Mutex
	records []Record
	added   int64
	state   State
	broken  error // result of FinishExport for sent records
}

func (j *journal) add(records ...Record) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, r := range records {
		j.added++
		r.Number = j.added
		j.records = append(j.records, r)
	}
}

func (j *journal) ExportState(context.Context) (State, bool, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.state, true, nil
}

func (j *journal) ExportRecords(_ context.Context, limit int) ([]Record, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return append([]Record(nil), j.records[:min(limit, len(j.records))]...), nil
}

func (j *journal) FinishExport(_ context.Context, numbers []int64, change func(*State)) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.broken != nil && len(numbers) > 0 {
		return j.broken
	}
	change(&j.state)
	done := map[int64]bool{}
	for _, n := range numbers {
		done[n] = true
	}
	var rest []Record
	for _, r := range j.records {
		if !done[r.Number] {
			rest = append(rest, r)
		}
	}
	j.records = rest
	return nil
}

// receiver is a Sink that records what it receives.
type receiver struct {
	respond  func(ctx context.Context, lines []Line) error
	received []string // ids
	attempts int
	largest  int // size of the largest batch in bytes
}

func (r *receiver) Send(ctx context.Context, lines []Line) error {
	r.attempts++
	size := 0
	for _, l := range lines {
		size += len(l.JSON)
	}
	r.largest = max(r.largest, size)
	if r.respond != nil {
		if err := r.respond(ctx, lines); err != nil {
			return err
		}
	}
	for _, l := range lines {
		var record struct {
			ID string `json:"id"`
		}
		if err := json.Unmarshal(l.JSON, &record); err != nil {
			return err
		}
		r.received = append(r.received, record.ID)
	}
	return nil
}

func request(n int) Record {
	id := fmt.Sprintf("req_%05d", n)
	return Record{ID: id, WorkspaceID: "ws_1", Entry: &requestlog.Entry{ID: id, Timing: requestlog.Timing{Time: time.Unix(int64(n), 0)}}}
}

func newExporter(j *journal, r *receiver) *Exporter {
	return &Exporter{
		Source: j, Sink: r, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		View: func(_ context.Context, e *requestlog.Entry) (any, error) {
			return map[string]string{"id": e.ID, "text": strings.Repeat("x", 20_000)}, nil
		},
	}
}

// lead runs the exporter for some time.
func lead(t *testing.T, e *Exporter, d time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	e.Lead(ctx)
	if _, ok := e.State(); ok {
		t.Error("the exporter has a state after its term")
	}
}

func TestReceiverThatFailsForAnHourLosesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j, began := &journal{}, time.Now()
		r := &receiver{respond: func(ctx context.Context, _ []Line) error {
			switch since := time.Since(began); {
			case since > time.Hour:
				return nil
			case since > 30*time.Minute:
				<-ctx.Done() // the receiver does not respond
				return ctx.Err()
			}
			return errors.New("status 500")
		}}
		var want []string
		for n := range 600 {
			j.add(request(n))
			want = append(want, request(n).ID)
		}
		e := newExporter(j, r)
		lead(t, e, 50*time.Minute) // another replica takes over during the failure
		if j.state.Error == "" || !j.state.FailingSince.Equal(began) || len(r.received) > 0 {
			t.Errorf("state during the failure: %+v", j.state)
		}
		lead(t, newExporter(j, r), 15*time.Minute)
		if diff := cmp.Diff(want, r.received); diff != "" {
			t.Error(diff)
		}
		if failed := r.attempts - 600/25; failed < 40 || failed > 80 {
			t.Errorf("%d failed attempts in an hour", failed)
		}
		if r.largest > batchBytes {
			t.Errorf("a batch has %d bytes", r.largest)
		}
		if s := j.state; s.Sent != 600 || s.Error != "" || !s.FailingSince.IsZero() || s.SentAt.Before(began.Add(time.Hour)) {
			t.Errorf("state after the failure: %+v", s)
		}
	})
}

// A crash between the confirmation of the receiver and the end of the transaction repeats one batch.
func TestUnrecordedConfirmationRepeatsOneBatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j, r := &journal{broken: errors.New("database unavailable")}, &receiver{}
		for n := range 60 {
			j.add(request(n))
		}
		lead(t, newExporter(j, r), 500*time.Millisecond)
		j.broken = nil
		lead(t, newExporter(j, r), time.Minute)
		var want []string
		for _, n := range []int{26, 60} {
			for i := range n {
				want = append(want, request(i).ID)
			}
		}
		if diff := cmp.Diff(want, r.received); diff != "" {
			t.Error(diff)
		}
	})
}

func TestDeletedRecordsAreCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j, r := &journal{}, &receiver{}
		j.add(Record{ID: "req_gone"}, request(1), Record{ID: "aud_gone"})
		for range pageSize {
			j.add(Record{ID: "req_expired"})
		}
		j.add(request(2))
		lead(t, newExporter(j, r), 10*time.Second)
		if diff := cmp.Diff([]string{"req_00001", "req_00002"}, r.received); diff != "" {
			t.Error(diff)
		}
		if s := j.state; s.Deleted != pageSize+2 || s.Sent != 2 || s.DeletedAt.IsZero() || len(j.records) > 0 {
			t.Errorf("state %+v with %d records", s, len(j.records))
		}
	})
}

func TestLinesAreSelfContained(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 20, 8, 30, 0, 0, time.FixedZone("", 3600))
	e := newExporter(&journal{}, &receiver{})
	e.View = func(_ context.Context, e *requestlog.Entry) (any, error) {
		return map[string]string{"model": "a\nb"}, nil
	}
	for _, c := range []struct {
		record Record
		want   Line
	}{
		{
			Record{ID: "aud_1", WorkspaceID: "ws_1", Audit: &account.AuditEvent{ID: "aud_1", WorkspaceID: "ws_1", At: at, Actor: "acc_1", Action: "key.create", Object: "key_1", After: json.RawMessage(`{"name":"ci"}`)}},
			Line{"audit", at.UTC(), []byte(`{"type":"audit","id":"aud_1","timestamp":"2026-11-20T07:30:00Z","workspace_id":"ws_1","data":` +
				`{"id":"aud_1","at":"2026-11-20T07:30:00Z","actor":"acc_1","action":"key.create","object":"key_1","after":{"name":"ci"}}}`)},
		},
		{
			Record{ID: "req_1", WorkspaceID: "ws_1", Entry: &requestlog.Entry{ID: "req_1", Timing: requestlog.Timing{Time: at}}},
			Line{"request", at.UTC(), []byte(`{"type":"request","id":"req_1","timestamp":"2026-11-20T07:30:00Z","workspace_id":"ws_1","data":{"model":"a\nb"}}`)},
		},
	} {
		got, err := e.encode(t.Context(), &c.record)
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%v\n%s", err, diff)
		}
	}
}
