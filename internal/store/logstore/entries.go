package logstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/store/sqldb"
)

const (
	pageLimit    = 50  // entries on a page by default
	maxPageLimit = 200 // maximum number of entries on a page
)

// Entries lists matching entries without their traces and bodies.
func (s *Store) Entries(ctx context.Context, f requestlog.Filter, p requestlog.Page) ([]requestlog.Entry, error) {
	ctx, cancel := s.db.Bounded(ctx)
	defer cancel()
	byTime := !p.Figures && p.After == "" && (p.Sort == "" || p.Sort == "time")
	if !byTime {
		if err := requestlog.RejectText(&f); err != nil {
			return nil, err
		}
	}
	if p.Figures {
		return s.entryFigures(ctx, &f, p)
	}
	ids, err := s.entryIDs(ctx, &f, p)
	unfinished, partial := errors.AsType[*requestlog.UnfinishedError](err)
	if err != nil && !partial {
		return nil, requestlog.WrapTimeout(ctx, fmt.Errorf("list requests: %w", err))
	}
	entries, err := s.summaries(ctx, f.WorkspaceID, ids, readEntry)
	if err != nil {
		return nil, requestlog.WrapTimeout(ctx, fmt.Errorf("read requests: %w", err))
	}
	if partial {
		return entries, fmt.Errorf("list requests: %w", unfinished)
	}
	return entries, nil
}

func (s *Store) entryIDs(ctx context.Context, f *requestlog.Filter, p requestlog.Page) ([]string, error) {
	limit := p.Limit
	if limit <= 0 {
		limit = pageLimit
	}
	limit = min(limit, maxPageLimit)
	switch p.Sort {
	case "", "time":
		if f.Text != "" {
			return s.newestWithText(ctx, f, p, limit)
		}
		return s.newest(ctx, f, p, limit)
	case "cost", "latency":
		return s.greatest(ctx, f, p.Sort, limit)
	case "tokens":
		return s.mostTokens(ctx, f, p, limit)
	}
	return nil, &llm.Error{Kind: llm.InvalidRequest, Message: fmt.Sprintf("Cannot sort by %q. Use time, cost, latency or tokens.", p.Sort), Param: "sort"}
}

// newest lists ids by time, newest first. A page with After is listed oldest first.
func (s *Store) newest(ctx context.Context, f *requestlog.Filter, p requestlog.Page, limit int) ([]string, error) {
	var all []string
	err := s.inParts(ctx, f, p, limit, func(ctx context.Context, f *requestlog.Filter, b idBounds, limit int) (int, error) {
		q, args := s.query().Listing(f, b, limit)
		some, err := s.db.Strings(ctx, q, args)
		all = append(all, some...)
		return len(some), err
	})
	return all, err
}

// listing lists at most limit entries within the bounds and returns their number. It must have no effect if it is cancelled.
type listing func(ctx context.Context, f *requestlog.Filter, b idBounds, limit int) (int, error)

// inParts lists a page in order of time. It calls list for one or more consecutive parts of the time span.
func (s *Store) inParts(ctx context.Context, f *requestlog.Filter, p requestlog.Page, limit int, list listing) error {
	timeless, b := s.query().Within(f, p)
	if !b.Descending || s.query().Indexed(&timeless) {
		return s.walk(ctx, &timeless, b, limit, list)
	}
	found := 0
	return s.search(ctx, f.WorkspaceID, b, p.Within, func(ctx context.Context, b idBounds) (bool, error) {
		n, err := list(ctx, &timeless, b, limit-found)
		found += n
		return found >= limit, err
	})
}

// summaries reads entries without traces, in the order of the ids. It omits entries that were deleted in the meantime.
func (s *Store) summaries(ctx context.Context, workspaceID string, ids []string, decode func(*requestlog.Entry, *detail) error) ([]requestlog.Entry, error) {
	position := make(map[string]int, len(ids))
	for i, id := range ids {
		position[id] = i
	}
	entries := make([]requestlog.Entry, len(ids))
	if err := s.details.each(ctx, s.db.Query, detailParts{request: true}, workspaceID, ids, func(d detail) error {
		e := &entries[position[d.id]]
		if err := decode(e, &d); err != nil {
			return err
		}
		s.applyBodyExpiry(e)
		return nil
	}); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(entries, func(e requestlog.Entry) bool { return e.ID == "" }), nil
}

// summaryOptions are the options for decoding summaries with version 2 of encoding/json, which takes about a third of the time of version
// 1.
var summaryOptions = jsonv2.JoinOptions(jsonv1.FormatDurationAsNano(true), jsontext.AllowInvalidUTF8(true))

// readEntry decodes an entry without its trace. Fields that change after writing are stored outside the summary.
func readEntry(e *requestlog.Entry, d *detail) error {
	if err := jsonv2.Unmarshal(d.summary, e, summaryOptions); err != nil {
		return err
	}
	e.Preview, e.BodyState = d.preview, requestlog.BodyState(d.state)
	return nil
}

// readTrace adds the trace to an entry.
func readTrace(e *requestlog.Entry, text []byte) error {
	var t trace
	if err := json.Unmarshal(text, &t); err != nil {
		return err
	}
	e.Decision, e.Bill, e.BaselineBill = t.Decision, t.Bill, t.BaselineBill
	return nil
}

// Entry returns one entry with its trace and without its bodies, or requestlog.ErrNotFound.
func (s *Store) Entry(ctx context.Context, workspaceID, id string) (requestlog.Entry, error) {
	entries, err := s.WholeEntries(ctx, workspaceID, []string{id})
	if err == nil && len(entries) == 0 {
		err = requestlog.ErrNotFound
	}
	if err != nil {
		return requestlog.Entry{}, err
	}
	return entries[0], nil
}

// WholeEntries returns entries with their traces and without their bodies, in any order. It omits ids of entries that do not exist.
func (s *Store) WholeEntries(ctx context.Context, workspaceID string, ids []string) ([]requestlog.Entry, error) {
	ctx, cancel := s.db.Bounded(ctx)
	defer cancel()
	from := s.query().EntriesFrom
	ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return id < from })
	entries := make([]requestlog.Entry, 0, len(ids))
	if err := s.details.each(ctx, s.db.Query, detailParts{request: true, trace: true}, workspaceID, ids, func(d detail) error {
		var e requestlog.Entry
		text, err := d.trace(nil)
		if err == nil {
			err = readEntry(&e, &d)
		}
		if err == nil {
			err = readTrace(&e, text)
		}
		if err != nil {
			return err
		}
		s.applyBodyExpiry(&e)
		entries = append(entries, e)
		return nil
	}); err != nil {
		return nil, fmt.Errorf("read request: %w", err)
	}
	return entries, nil
}

// EntryBody returns the stored bodies, or requestlog.ErrNotFound when none are stored. It joins a split request from its parts;
// parts that have expired are replaced with outline.Gone.
func (s *Store) EntryBody(ctx context.Context, workspaceID, id string) (requestlog.Body, error) {
	ctx, cancel := s.db.Bounded(ctx)
	defer cancel()
	if id < max(s.query().EntriesFrom, s.query().BodiesFrom) {
		return requestlog.Body{}, requestlog.ErrNotFound
	}
	body, err := s.body(ctx, workspaceID, id)
	if err != nil || !body.Split {
		return body, err
	}
	if body.Request, body.Gone, err = s.messages.Join(ctx, workspaceID, id, body.Request); err != nil {
		return requestlog.Body{}, err
	}
	body.Split = false
	return body, nil
}

// body reads bodies as they are stored, without joining a split request.
func (s *Store) body(ctx context.Context, workspaceID, id string) (requestlog.Body, error) {
	if s.db.Dialect() == sqldb.SQLite {
		return s.blockBody(ctx, workspaceID, id)
	}
	const q = `select b.request, b.response, b.streamed from bodies b
		join requests r on r.workspace_id = b.workspace_id and r.id = b.request_id
		where b.workspace_id = $1 and b.request_id = $2 and r.id = $2 and r.body_state = 'stored'`
	var request, response []byte
	var streamed int
	if err := s.db.QueryRow(ctx, q, workspaceID, id).Scan(&request, &response, &streamed); err != nil {
		return requestlog.Body{}, notFound(fmt.Errorf("read body: %w", err))
	}
	return s.codec.DecodeBody(request, response, streamed == 1)
}

// blockBody reads bodies from SQLite.
func (s *Store) blockBody(ctx context.Context, workspaceID, id string) (requestlog.Body, error) {
	const q = `select r.place - p.number, p.content from requests r
		join packed_bodies p on p.number = (select max(number) from packed_bodies where number <= r.place) and r.place < p.number + p.size
		where r.workspace_id = $1 and r.id = $2 and r.body_state = 'stored'`
	var slot int64
	var content []byte
	if err := s.db.QueryRow(ctx, q, workspaceID, id).Scan(&slot, &content); err != nil {
		return requestlog.Body{}, notFound(fmt.Errorf("read body: %w", err))
	}
	all, err := s.codec.DecodeSlots(content)
	if err != nil {
		return requestlog.Body{}, fmt.Errorf("read body: %w", err)
	}
	text := all.At(slot)
	if len(text) == 0 {
		return requestlog.Body{}, requestlog.ErrNotFound
	}
	return s.codec.DecodeSlotBody(text)
}

func notFound(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return requestlog.ErrNotFound
	}
	return err
}

// countTime is the time limit of a count that cannot use an index.
const countTime = 600 * time.Millisecond

// Count counts matching entries, at most limit.
func (s *Store) Count(ctx context.Context, f requestlog.Filter, limit int) (int, error) {
	ctx, cancel := s.db.Bounded(ctx)
	defer cancel()
	if err := requestlog.RejectText(&f); err != nil {
		return 0, err
	}
	timeless, b := s.query().Within(&f, requestlog.Page{})
	total := 0
	count := func(ctx context.Context, b idBounds) (bool, error) {
		q, args := s.query().Counting(&timeless, b, limit-total)
		var n int
		err := s.db.QueryRow(ctx, q, args...).Scan(&n)
		total += n
		return total >= limit, err
	}
	var err error
	if s.query().Indexed(&timeless) {
		_, err = count(ctx, b)
	} else {
		err = s.search(ctx, f.WorkspaceID, b, countTime, count)
	}
	if err != nil {
		return total, requestlog.WrapTimeout(ctx, fmt.Errorf("count requests: %w", err))
	}
	return total, nil
}
