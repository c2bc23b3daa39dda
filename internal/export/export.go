// Package export sends the audit log and the request log to a receiver outside the gateway: a file, a webhook or an OpenTelemetry
// collector. The database records the id of each change and of each request in the transaction that stores it. The elected leader reads
// the records in that order, sends them, and deletes the ids when the receiver has confirmed them. A record is therefore sent at least
// once, also after a crash and for entries that another replica delivers late, and no more than one batch is in memory. A record that was
// deleted from the database before its export is counted.
package export

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/requestlog"
)

const (
	pageSize   = 100              // maximum number of records in a batch
	batchBytes = 512 << 10        // size of a batch, unless its first record is larger
	pollEvery  = time.Second      // interval of reads when no records are waiting
	sendTime   = 30 * time.Second // timeout of one attempt
	firstPause = time.Second      // pause after the first failed attempt; each further failure doubles it
	maxPause   = time.Minute
)

// Record is a change or a request to export. Both Audit and Entry are nil if it was deleted from the database.
type Record struct {
	Number      int64 // position in the journal
	ID          string
	WorkspaceID string // empty for a change of an account
	Audit       *account.AuditEvent
	Entry       *requestlog.Entry
}

// State is the stored state of the export.
type State struct {
	Since        time.Time `json:"since"`                  // start of the export; earlier records are not exported
	Sent         int64     `json:"sent"`                   // number of records that the receiver has confirmed
	SentAt       time.Time `json:"sent_at,omitzero"`       // time of the last confirmation
	Deleted      int64     `json:"deleted,omitempty"`      // number of records that were deleted from the database before their export
	DeletedAt    time.Time `json:"deleted_at,omitzero"`    // time at which the last of them was detected
	FailingSince time.Time `json:"failing_since,omitzero"` // time of the first failed attempt since the last confirmation
	Error        string    `json:"error,omitempty"`        // error of the last attempt, if it failed
	Oldest       time.Time `json:"-"`                      // time of the oldest waiting record; zero if no record is waiting
}

// Source is the journal in the database.
type Source interface {
	// ExportState returns the state. ok is false if nothing is exported.
	ExportState(ctx context.Context) (s State, ok bool, err error)
	// ExportRecords returns the oldest records that are not exported yet, in the order in which they were stored.
	ExportRecords(ctx context.Context, limit int) ([]Record, error)
	// FinishExport deletes records from the journal and stores the changed state in one transaction.
	FinishExport(ctx context.Context, numbers []int64, change func(*State)) error
}

// Line is an encoded record.
type Line struct {
	Type string // "audit" or "request"
	Time time.Time
	JSON []byte // the record as JSON, on one line without line break
}

// Sink is a receiver. Send returns nil after the receiver has stored all lines. It may be called again with the same lines.
type Sink interface {
	Send(ctx context.Context, lines []Line) error
}

// Exporter sends the records of a source to a sink.
type Exporter struct {
	Source Source
	Sink   Sink
	// View returns the representation of a request. It reads the bodies if they are exported.
	View func(ctx context.Context, e *requestlog.Entry) (any, error)
	Log  *slog.Logger

	state atomic.Pointer[State] // state after the last step; nil while another replica exports
}

// State returns the state after the last step. ok is false while another replica exports.
func (e *Exporter) State() (s State, ok bool) {
	if p := e.state.Load(); p != nil {
		return *p, true
	}
	return State{}, false
}

// Lead exports until ctx is cancelled. Only the elected leader runs it.
func (e *Exporter) Lead(ctx context.Context) {
	defer e.state.Store(nil)
	failures := 0
	for ctx.Err() == nil {
		more, err := e.step(ctx)
		pause := pollEvery
		switch {
		case ctx.Err() != nil: // no longer the leader, or stopping
			return
		case err != nil:
			pause = min(firstPause<<min(failures, 10), maxPause)
			failures++
			e.Log.WarnContext(ctx, "export failed, retrying", "error", err.Error(), "pause", pause.String())
			_ = e.Source.FinishExport(ctx, nil, func(s *State) { // fails if the database is the cause
				s.Error = err.Error()
				if s.FailingSince.IsZero() {
					s.FailingSince = time.Now()
				}
			})
		case more:
			failures, pause = 0, 0
		default:
			failures = 0
		}
		if state, ok, err := e.Source.ExportState(ctx); err == nil && ok {
			e.state.Store(&state)
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// step sends one batch. It reads the records again for each attempt, so that nothing is held in memory during an outage of the receiver,
// and a record that was deleted in the meantime is not sent. more is whether further records may be waiting.
func (e *Exporter) step(ctx context.Context) (more bool, err error) {
	records, err := e.Source.ExportRecords(ctx, pageSize)
	if err != nil || len(records) == 0 {
		return false, err
	}
	var deleted, sent []int64
	var lines []Line
	size := 0
	for i := range records {
		r := &records[i]
		if r.Audit == nil && r.Entry == nil {
			deleted = append(deleted, r.Number)
			continue
		}
		line, err := e.encode(ctx, r)
		if err != nil {
			return false, err
		}
		if size += len(line.JSON); size > batchBytes && len(lines) > 0 {
			break
		}
		lines, sent = append(lines, line), append(sent, r.Number)
	}
	if len(deleted) > 0 {
		if err := e.Source.FinishExport(ctx, deleted, func(s *State) {
			s.Deleted, s.DeletedAt = s.Deleted+int64(len(deleted)), time.Now()
		}); err != nil {
			return false, err
		}
		e.Log.WarnContext(ctx, "records were deleted before they were exported", "records", len(deleted))
	}
	if len(lines) == 0 {
		return true, nil
	}
	sending, cancel := context.WithTimeout(ctx, sendTime)
	err = e.Sink.Send(sending, lines)
	cancel()
	if err != nil {
		return false, err
	}
	return true, e.Source.FinishExport(ctx, sent, func(s *State) {
		s.Sent, s.SentAt, s.FailingSince, s.Error = s.Sent+int64(len(sent)), time.Now(), time.Time{}, ""
	})
}

// auditView is the exported form of a change.
type auditView struct {
	ID     string          `json:"id"`
	At     time.Time       `json:"at"`
	Actor  string          `json:"actor"`
	Action string          `json:"action"`
	Object string          `json:"object"`
	Before json.RawMessage `json:"before,omitempty"`
	After  json.RawMessage `json:"after,omitempty"`
}

// encode encodes a record with the members that Standard Webhooks recommends.
func (e *Exporter) encode(ctx context.Context, r *Record) (Line, error) {
	envelope := struct {
		Type        string    `json:"type"`
		ID          string    `json:"id"`
		Timestamp   time.Time `json:"timestamp"`
		WorkspaceID string    `json:"workspace_id,omitempty"`
		Data        any       `json:"data"`
	}{ID: r.ID, WorkspaceID: r.WorkspaceID}
	var err error
	if a := r.Audit; a != nil {
		envelope.Type, envelope.Timestamp = "audit", a.At.UTC()
		envelope.Data = auditView{a.ID, a.At.UTC(), a.Actor, a.Action, a.Object, a.Before, a.After}
	} else {
		envelope.Type, envelope.Timestamp = "request", r.Entry.Time.UTC()
		envelope.Data, err = e.View(ctx, r.Entry)
	}
	line := Line{Type: envelope.Type, Time: envelope.Timestamp}
	if err == nil {
		line.JSON, err = json.Marshal(&envelope)
	}
	if err != nil {
		return line, fmt.Errorf("encode %s for export: %w", r.ID, err)
	}
	return line, nil
}
