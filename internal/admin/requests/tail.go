package requests

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/admin/adminapi"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/requestlog"
)

const (
	tailBatch     = 250 * time.Millisecond // interval between batches: at most four updates per second
	tailCounts    = 5 * time.Second        // interval between batches that contain only counts
	tailHeartbeat = 15 * time.Second
	tailCheck     = time.Second // interval between permission checks
	tailStall     = time.Minute // time limit for a client to read an event
	tailBacklog   = 500         // maximum number of requests sent after a reconnect
	maxTails      = 256         // maximum number of concurrent streams
	maxTailsEach  = 64          // maximum number of concurrent streams per workspace
)

// TailBatch holds the updates since the previous batch.
type TailBatch struct {
	Requests []RequestRow `json:"requests" doc:"Requests in the order in which they started or ended. A running request is sent again when it ends."`
	Ended    int          `json:"ended" doc:"Number of requests that ended since the previous batch."`
	Lost     int          `json:"lost" doc:"Minimum number of updates that were not sent because the client reads too slowly or missed more than 500 requests. Use list-requests to get them."`
}

type tailInput struct {
	Filters
	Rows        string `query:"rows" enum:"all,none" default:"all" doc:"none: only counts, at most one event every five seconds."`
	After       string `query:"after" maxLength:"64" doc:"Request ID. Starts with requests that ended after it."`
	LastEventID string `header:"Last-Event-ID" maxLength:"64" doc:"Same as after. Sent by browsers when they reconnect."`
}

func (a *handlers) registerTail() {
	batch := a.Schema(reflect.TypeFor[TailBatch]())
	adminapi.Register(a.Server, account.ReadRequests, huma.Operation{
		OperationID: "tail-requests", Method: http.MethodGet, Path: "/requests/tail", Tags: []string{"requests"},
		Summary: "Stream matching requests as they start and end",
		Description: "Sends server-sent events named requests, at most four per second, each with a TailBatch and the ID of the last request that ended. " +
			"rows=none only counts requests that ended. Comments keep the connection alive. An event named error contains an error and ends the stream.",
		Responses: map[string]*huma.Response{"200": {Description: "Server-sent events.", Content: map[string]*huma.MediaType{
			"text/event-stream": {Schema: batch},
		}}},
	}, func(ctx context.Context, c *adminapi.Call, in *tailInput) (*huma.StreamResponse, error) {
		f, _, err := ParseFilter(c, a.Now())
		if err != nil {
			return nil, err
		}
		f.To = time.Time{} // a live view has no end
		if c.Method() == http.MethodHead {
			return nil, nil
		}
		if in.LastEventID != "" {
			in.After = in.LastEventID
		}
		if in.Rows == "none" {
			in.After = "" // no backlog: a client that receives only counts reloads its data
		}
		if !a.tails.enter(c.WorkspaceID) {
			return nil, llm.Errorf(llm.Overloaded, "Too many live views are open. Close some, or try again later.")
		}
		backlog, omitted, err := a.backlog(ctx, f, in.After)
		if err != nil {
			a.tails.leave(c.WorkspaceID)
			return nil, err
		}
		return &huma.StreamResponse{Body: func(out huma.Context) {
			defer a.tails.leave(c.WorkspaceID)
			out.SetHeader("Content-Type", "text/event-stream")
			out.SetHeader("X-Accel-Buffering", "no") // disable buffering in proxies
			out.SetStatus(http.StatusOK)
			watch, cancel := context.WithCancel(ctx)
			defer cancel()
			t := &tail{api: a, call: c, out: out, sent: map[string]bool{}, every: tailBatch}
			if in.Rows == "none" {
				t.counting, t.every = true, tailCounts
			}
			if err := t.run(watch, a.Live.Subscribe(watch, f, in.After), backlog, omitted); err != nil && ctx.Err() == nil {
				a.Log.WarnContext(ctx, "tail ended", "request_id", c.RequestID, "error", err)
			}
		}}, nil
	})
}

// tails counts the open event streams of each workspace.
type tails struct {
	mu   sync.Mutex
	all  int
	each map[string]int
}

// enter counts a new stream. It returns false if the maximum is reached.
func (t *tails) enter(workspaceID string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.all >= maxTails || t.each[workspaceID] >= maxTailsEach {
		return false
	}
	t.all++
	t.each[workspaceID]++
	return true
}

func (t *tails) leave(workspaceID string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all--
	if t.each[workspaceID]--; t.each[workspaceID] == 0 {
		delete(t.each, workspaceID)
	}
}

// backlog lists up to tailBacklog entries that are newer than the entry with the given ID, oldest first. If more entries match, omitted is
// the number of entries that backlog read but does not return. Further entries are not counted.
func (a *handlers) backlog(ctx context.Context, f requestlog.Filter, after string) (updates []requestlog.Update, omitted int, err error) {
	if after == "" {
		return nil, 0, nil
	}
	for len(updates) <= tailBacklog {
		entries, err := a.Requests.Entries(ctx, f, requestlog.Page{After: after, Limit: requestlog.MaxLimit})
		if err != nil {
			return nil, 0, err
		}
		for i := range entries {
			updates = append(updates, requestlog.Update{Entry: &entries[i]})
		}
		if len(entries) < requestlog.MaxLimit {
			break
		}
		after = entries[len(entries)-1].ID
	}
	omitted = max(0, len(updates)-tailBacklog)
	return updates[:len(updates)-omitted], omitted, nil
}

// tail writes one event stream.
type tail struct {
	api  *handlers
	call *adminapi.Call
	out  huma.Context
	sent map[string]bool // IDs of requests sent with the backlog, which the feed may repeat

	counting bool          // whether to send only counts, without rows
	every    time.Duration // interval between batches
}

func (t *tail) run(ctx context.Context, s *requestlog.Subscription, backlog []requestlog.Update, omitted int) error {
	if err := t.write(": connected\n\n"); err != nil { // opens the stream in the browser
		return err
	}
	if err := t.batch(backlog, omitted); err != nil {
		return err
	}
	for i := range backlog {
		t.sent[backlog[i].Entry.ID] = true
	}
	checked := t.api.Now()
	for {
		updates, lost, err := t.next(ctx, s)
		if err != nil {
			return err
		}
		if now := t.api.Now(); now.Sub(checked) >= tailCheck {
			checked = now
			if err := t.recheck(); err != nil {
				e := t.api.ClientError(ctx, t.call, err)
				return t.write(fmt.Sprintf("event: error\ndata: %s\n\n", t.call.ErrorBody(e)))
			}
		}
		if err := t.batch(updates, lost); err != nil {
			return err
		}
		if err := pause(ctx, t.every); err != nil {
			return err
		}
	}
}

// next waits for updates. If there are none for a while, it sends a heartbeat.
func (t *tail) next(ctx context.Context, s *requestlog.Subscription) ([]requestlog.Update, int, error) {
	soon, cancel := context.WithTimeout(ctx, tailHeartbeat)
	defer cancel()
	updates, lost, err := s.Next(soon)
	if err == nil {
		return updates, lost, nil
	}
	if ctx.Err() != nil {
		return nil, 0, ctx.Err()
	}
	return nil, 0, t.write(": heartbeat\n\n")
}

// recheck checks the caller's permissions again, because sessions end, keys are revoked and roles change.
func (t *tail) recheck() error {
	call, err := t.api.Readmit(t.call, account.ReadRequests)
	if err != nil {
		return err
	}
	t.call.Actor = call.Actor
	_, _, err = ParseFilter(call, t.api.Now())
	return err
}

// batch writes updates as one event. It omits requests that were sent with the backlog.
func (t *tail) batch(updates []requestlog.Update, lost int) error {
	b, last := TailBatch{Lost: lost}, ""
	for i := range updates {
		u := &updates[i]
		if t.sent[u.Entry.ID] {
			continue
		}
		row := requestRow(u.Entry, t.call.Actor)
		if u.Running {
			row.State = "running"
		} else {
			last = row.ID
			b.Ended++
		}
		if !t.counting {
			b.Requests = append(b.Requests, row)
		}
	}
	if len(b.Requests) == 0 && b.Ended == 0 && lost == 0 {
		return nil
	}
	data, err := adminapi.Encode(b)
	if err != nil {
		return err
	}
	event := fmt.Sprintf("event: requests\ndata: %s\n\n", data)
	if last != "" {
		event = "id: " + last + "\n" + event
	}
	return t.write(event)
}

func (t *tail) write(s string) error {
	if _, err := t.out.BodyWriter().Write([]byte(s)); err != nil {
		return err
	}
	return adminapi.Flush(t.out.BodyWriter(), tailStall)
}

// pause waits for d or until ctx is cancelled.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
