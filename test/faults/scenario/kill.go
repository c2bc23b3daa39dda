package scenario

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fairlead.dev/test/harness"
)

// Transcript is the client's view of one request.
type Transcript struct {
	Session  string // identifies the request even without a response
	ID       string // request ID from the response header; empty without a response
	Status   int
	Code     string // error code, if any
	Complete bool   // whether the response is complete
	Unsent   bool   // whether the connection failed, or keys were not loaded yet

	Began, Ended time.Time
}

// Load is traffic that continues regardless of the gateway's state.
type Load struct {
	Gateway *harness.Gateway
	Client  *http.Client
	Key     string
	number  atomic.Int64
	Running sync.WaitGroup

	mu   sync.Mutex
	Seen []Transcript
}

// Start sends non-streamed requests at the given rate and keeps the given number of streams open until the context is done. Running
// requests continue.
func (l *Load) Start(ctx context.Context, rate, streams int) {
	l.Running.Go(func() {
		tick := time.NewTicker(time.Second / time.Duration(rate))
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				l.Running.Go(func() { l.Send(context.WithoutCancel(ctx), Chat("plain")) })
			}
		}
	})
	for range streams {
		l.Running.Go(func() {
			for ctx.Err() == nil {
				if l.Send(context.WithoutCancel(ctx), Chat("plain", Streaming)).Unsent {
					time.Sleep(50 * time.Millisecond) // wait in real time until the gateway is up
				}
			}
		})
	}
}

// Send sends one request and records its transcript.
func (l *Load) Send(ctx context.Context, body string) Transcript {
	t := Transcript{Session: fmt.Sprintf("load-%d", l.number.Add(1))}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	t.Began = time.Now()
	l.exchange(ctx, &t, body)
	t.Ended = time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.Seen = append(l.Seen, t)
	return t
}

func (l *Load) exchange(ctx context.Context, t *Transcript, body string) {
	req, err := Post(ctx, l.Gateway, l.Key, body, "X-Fairlead-Session", t.Session)
	if err != nil {
		return
	}
	resp, err := l.Client.Do(req)
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		t.Unsent = true
	}
	if err != nil {
		return
	}
	defer resp.Body.Close()
	t.ID, t.Status, t.Code = resp.Header.Get("X-Request-Id"), resp.StatusCode, resp.Header.Get("X-Fairlead-Error-Code")
	data, err := io.ReadAll(resp.Body)
	streamed := resp.Header.Get("Content-Type") != "application/json"
	t.Complete = err == nil && (!streamed || bytes.HasSuffix(data, []byte("data: [DONE]\n\n")))
	if resp.Header.Get("X-Fairlead-Error-Code") == "LEDGER_UNAVAILABLE" {
		t.Unsent, t.Complete = true, false // the gateway is starting and has not loaded keys yet
	}
}

// Paced responds to non-streamed requests after 50 ms, and streams 20 events per second.
func Paced(words int) http.Handler {
	const usage = `"usage":{"prompt_tokens":11,"completion_tokens":7,"total_tokens":18}`
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked struct{ Stream bool }
		if json.NewDecoder(r.Body).Decode(&asked) != nil {
			return
		}
		if !asked.Stream {
			if Wait(r.Context(), 50*time.Millisecond) {
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, `{"id":"x","object":"chat.completion","model":"plain","choices":[{"index":0,"message":{"role":"assistant","content":"yes"},"finish_reason":"stop"}],`+usage+`}`)
			}
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for range words {
			if _, err := io.WriteString(w, `data: {"id":"x","object":"chat.completion.chunk","model":"plain","choices":[{"index":0,"delta":{"content":"word "}}]}`+"\n\n"); err != nil {
				return
			}
			_ = http.NewResponseController(w).Flush() // the next write detects a disconnect
			if !Wait(r.Context(), 50*time.Millisecond) {
				return
			}
		}
		_, _ = io.WriteString(w, `data: {"id":"x","object":"chat.completion.chunk","model":"plain","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\n"+
			`data: {"id":"x","object":"chat.completion.chunk","model":"plain","choices":[],`+usage+`}`+"\n\ndata: [DONE]\n\n")
	})
}

// Wait waits for d. It returns false if the context is done first.
func Wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Row is an entry of the log export.
type Row struct {
	ID      string  `json:"id"`
	Outcome string  `json:"outcome"`
	Status  int     `json:"status"`
	Session string  `json:"session"`
	Cost    *string `json:"cost_usd"`
}

// Export reads the entries of all requests from the log export.
func Export(t testing.TB, g *harness.Gateway, reader string) []Row {
	t.Helper()
	resp := g.Open(t, harness.Request{
		Method: http.MethodGet, Key: reader, Path: "/api/v1/requests/export?format=jsonl&columns=id,outcome,status,session,cost_usd",
	})
	defer resp.Body.Close()
	var rows []Row
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		var r Row
		harness.Decode(t, lines.Bytes(), &r)
		rows = append(rows, r)
	}
	if err := lines.Err(); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("export the log: status %d (%v)", resp.StatusCode, err)
	}
	return rows
}

// Settled waits until every entry has reached the database.
func Settled(t testing.TB, g *harness.Gateway, reader string) {
	t.Helper()
	harness.Eventually(t, "the spool is empty", func() bool { return Metric(t, g, reader, "fairlead_spool_entries") == 0 })
}

// Verdict compares the clients' view with the log.
type Verdict struct {
	Complete, Cut, Interrupted int
	Lost, Twice                int
	sum                        int64
}

func (v Verdict) String() string {
	return fmt.Sprintf("%d complete, %d cut (%d interrupted): %d lost, %d twice", v.Complete, v.Cut, v.Interrupted, v.Lost, v.Twice)
}

// CompareLog compares the transcripts with the entries of the log and reports every difference as a test error.
func CompareLog(t *testing.T, seen []Transcript, rows []Row) Verdict {
	t.Helper()
	var v Verdict
	log := newIndex(rows)
	for _, r := range rows {
		if r.Cost != nil {
			v.sum += Nano(t, *r.Cost)
		}
		if r.Outcome == "interrupted" {
			v.Interrupted++
		}
	}
	for _, s := range seen {
		found := log.take(s)
		v.Twice += max(0, len(found)-1)
		if s.Unsent {
			if len(found) > 0 {
				t.Errorf("the log has an entry for %s, which was not sent or was rejected before it was read", s.Session)
			}
			continue
		}
		wanted := s.ID != "" // the gateway might not have read a request that received no response
		if wanted && (len(found) == 0 || s.Complete && found[0].Status != s.Status) {
			v.Lost++
			t.Errorf("the log has %+v for %+v, want an entry with the same status", found, s)
		}
		if s.Complete {
			v.Complete++
			continue
		}
		v.Cut++
		if len(found) > 0 && !slices.Contains([]string{"interrupted", "ok", "cancelled", "partial"}, found[0].Outcome) {
			t.Errorf("the log has %+v for an interrupted request, want the outcome interrupted, ok, cancelled or partial", found[0])
		}
	}
	for _, r := range log.left() {
		t.Errorf("the log has %+v, which no client sent", r)
	}
	if v.Twice > 0 {
		t.Errorf("%d entries are in the log twice", v.Twice)
	}
	return v
}

// index finds the entries of a request by its ID if the client received it, otherwise by the session. A request that
// was rejected before its body was read has no session in the log.
type index struct {
	byID, bySession map[string][]Row
}

func newIndex(rows []Row) index {
	x := index{map[string][]Row{}, map[string][]Row{}}
	for _, r := range rows {
		x.byID[r.ID] = append(x.byID[r.ID], r)
		if r.Session != "" {
			x.bySession[r.Session] = append(x.bySession[r.Session], r)
		}
	}
	return x
}

func (x index) take(s Transcript) []Row {
	found := x.bySession[s.Session]
	if s.ID != "" && len(found) < 2 {
		found = x.byID[s.ID]
	}
	for _, r := range found {
		delete(x.byID, r.ID)
	}
	return found
}

func (x index) left() []Row {
	var rest []Row
	for _, rows := range x.byID {
		rest = append(rest, rows...)
	}
	return rest
}

// CheckSums compares the totals of entries, ledger and roll-ups exactly.
func (v Verdict) CheckSums(t *testing.T, s Spending) {
	t.Helper()
	if ledger, rollup := Nano(t, s.Budget.Spent), Nano(t, s.Rollup); ledger != v.sum || rollup != v.sum || Nano(t, s.Budget.Held) != 0 {
		t.Errorf("entries sum to %d n$, the ledger to %d and the roll-ups to %d, want the same; held %s, want 0",
			v.sum, ledger, rollup, s.Budget.Held)
	}
}
