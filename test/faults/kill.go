package faults

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fairlead/test/harness"
)

// transcript is what the client saw of one request.
type transcript struct {
	session  string // identifies the request even without a response
	id       string // as the answer's header gave it; empty when none came
	status   int
	code     string // of the error, where it was one
	complete bool   // the answer came to its proper end
	unsent   bool   // the connection failed, or keys were not loaded yet

	began, ended time.Time
}

// load is traffic that goes on whatever happens to the gateway.
type load struct {
	gateway *harness.Gateway
	client  *http.Client
	key     string
	number  atomic.Int64
	running sync.WaitGroup

	mu   sync.Mutex
	seen []transcript
}

// start sends plain requests at a rate and keeps streams open, until the context ends. Those under way then go on.
func (l *load) start(ctx context.Context, rate, streams int) {
	l.running.Go(func() {
		tick := time.NewTicker(time.Second / time.Duration(rate))
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				l.running.Go(func() { l.send(context.WithoutCancel(ctx), chat("plain")) })
			}
		}
	})
	for range streams {
		l.running.Go(func() {
			for ctx.Err() == nil {
				if l.send(context.WithoutCancel(ctx), chat("plain", streaming)).unsent {
					time.Sleep(50 * time.Millisecond) // wait in real time until the gateway is up
				}
			}
		})
	}
}

func (l *load) send(ctx context.Context, body string) transcript {
	t := transcript{session: fmt.Sprintf("load-%d", l.number.Add(1))}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	t.began = time.Now()
	l.exchange(ctx, &t, body)
	t.ended = time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen = append(l.seen, t)
	return t
}

func (l *load) exchange(ctx context.Context, t *transcript, body string) {
	req, err := post(ctx, l.gateway, l.key, body, "X-Fairlead-Session", t.session)
	if err != nil {
		return
	}
	resp, err := l.client.Do(req)
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		t.unsent = true
	}
	if err != nil {
		return
	}
	defer resp.Body.Close()
	t.id, t.status, t.code = resp.Header.Get("X-Request-Id"), resp.StatusCode, resp.Header.Get("X-Fairlead-Error-Code")
	data, err := io.ReadAll(resp.Body)
	streamed := resp.Header.Get("Content-Type") != "application/json"
	t.complete = err == nil && (!streamed || bytes.HasSuffix(data, []byte("data: [DONE]\n\n")))
	if resp.Header.Get("X-Fairlead-Error-Code") == "LEDGER_UNAVAILABLE" {
		t.unsent, t.complete = true, false // the gateway is starting: keys are not known yet
	}
}

// paced answers whole requests after 50 ms and streams with 20 events a second.
func paced(words int) http.Handler {
	const usage = `"usage":{"prompt_tokens":11,"completion_tokens":7,"total_tokens":18}`
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked struct{ Stream bool }
		if json.NewDecoder(r.Body).Decode(&asked) != nil {
			return
		}
		if !asked.Stream {
			if wait(r.Context(), 50*time.Millisecond) {
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
			if !wait(r.Context(), 50*time.Millisecond) {
				return
			}
		}
		_, _ = io.WriteString(w, `data: {"id":"x","object":"chat.completion.chunk","model":"plain","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\n"+
			`data: {"id":"x","object":"chat.completion.chunk","model":"plain","choices":[],`+usage+`}`+"\n\ndata: [DONE]\n\n")
	})
}

func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// row is an entry of the export.
type row struct {
	ID      string  `json:"id"`
	Outcome string  `json:"outcome"`
	Status  int     `json:"status"`
	Session string  `json:"session"`
	Cost    *string `json:"cost_usd"`
}

func export(t testing.TB, g *harness.Gateway, reader string) []row {
	t.Helper()
	resp := g.Open(t, harness.Request{
		Method: http.MethodGet, Key: reader, Path: "/api/v1/requests/export?format=jsonl&columns=id,outcome,status,session,cost_usd",
	})
	defer resp.Body.Close()
	var rows []row
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		var r row
		harness.Decode(t, lines.Bytes(), &r)
		rows = append(rows, r)
	}
	if err := lines.Err(); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("export: %d %v", resp.StatusCode, err)
	}
	return rows
}

// killUnderLoad is F01: a killed process loses and repeats no record.
func killUnderLoad(t *testing.T, size Size) string {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	draw := rand.New(rand.NewPCG(seed, 1))
	url := harness.Serve(t, paced(size.of(10, 40)))
	g := harness.Start(t, harness.Options{Config: harness.Config(t, []harness.Provider{{
		Name: "alpha", BaseURL: url + "/v1", Models: []harness.Model{harness.Chat("plain", 0.4, 1.6, 0.5)},
	}})})
	reader := g.Key(t, "--scopes", "read")
	k := newKey(t, g, "--budget", "100000", "--period", "total")
	l := &load{gateway: g, client: client(t), key: k.Text}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	l.start(ctx, size.of(150, 500), size.of(20, 200))

	var slowest time.Duration
	for range size.of(3, 20) {
		least, most := size.of(300, 800), size.of(900, 3000)
		time.Sleep(time.Duration(least+draw.IntN(most-least)) * time.Millisecond) // the instant of the kill is the point
		g.Kill(t)
		began := time.Now()
		g.Restart(t)
		slowest = max(slowest, time.Since(began))
	}
	stop()
	l.running.Wait()
	if slowest > 5*time.Second {
		t.Errorf("ready %s after a kill, want at most 5 s", slowest)
	}
	settled(t, g, reader)
	g.Restart(t) // everything now comes from disk
	verdict := judge(t, l.seen, export(t, g, reader))
	verdict.checkSums(t, spendingOf(t, g, reader, k.ID))
	return fmt.Sprintf("%s; ready ≤ %s; seed %d", verdict, slowest.Round(10*time.Millisecond), seed)
}

// settled waits until every entry has reached the database.
func settled(t testing.TB, g *harness.Gateway, reader string) {
	t.Helper()
	harness.Eventually(t, "the spool is empty", func() bool { return metric(t, g, reader, "fairlead_spool_entries") == 0 })
}

// verdict compares what clients saw with what the log says.
type verdict struct {
	complete, cut, interrupted int
	lost, twice                int
	sum                        int64
}

func (v verdict) String() string {
	return fmt.Sprintf("%d complete, %d cut (%d interrupted): %d lost, %d twice", v.complete, v.cut, v.interrupted, v.lost, v.twice)
}

func judge(t *testing.T, seen []transcript, rows []row) verdict {
	t.Helper()
	var v verdict
	log := newIndex(rows)
	for _, r := range rows {
		if r.Cost != nil {
			v.sum += nano(t, *r.Cost)
		}
		if r.Outcome == "interrupted" {
			v.interrupted++
		}
	}
	for _, s := range seen {
		found := log.take(s)
		v.twice += max(0, len(found)-1)
		if s.unsent {
			if len(found) > 0 {
				t.Errorf("%s was refused unread and is in the log", s.session)
			}
			continue
		}
		wanted := s.id != "" // who got no answer at all may have got no further than the socket
		if wanted && (len(found) == 0 || s.complete && found[0].Status != s.status) {
			v.lost++
			t.Errorf("%+v is in the log as %+v", s, found)
		}
		if s.complete {
			v.complete++
			continue
		}
		v.cut++
		if len(found) > 0 && !slices.Contains([]string{"interrupted", "ok", "cancelled", "partial"}, found[0].Outcome) {
			t.Errorf("a cut request is in the log as %+v", found[0])
		}
	}
	for _, r := range log.left() {
		t.Errorf("the log has %+v, which was never sent", r)
	}
	if v.twice > 0 {
		t.Errorf("%d entries are in the log twice", v.twice)
	}
	return v
}

// index finds the entries of a request: by its id where the client knows it, else by the session it sent. An entry that
// was refused before its body was read has no session.
type index struct {
	byID, bySession map[string][]row
}

func newIndex(rows []row) index {
	x := index{map[string][]row{}, map[string][]row{}}
	for _, r := range rows {
		x.byID[r.ID] = append(x.byID[r.ID], r)
		if r.Session != "" {
			x.bySession[r.Session] = append(x.bySession[r.Session], r)
		}
	}
	return x
}

func (x index) take(s transcript) []row {
	found := x.bySession[s.session]
	if s.id != "" && len(found) < 2 {
		found = x.byID[s.id]
	}
	for _, r := range found {
		delete(x.byID, r.ID)
	}
	return found
}

func (x index) left() []row {
	var rest []row
	for _, rows := range x.byID {
		rest = append(rest, rows...)
	}
	return rest
}

// checkSums compares entries, ledger and roll-ups to the last nano-dollar.
func (v verdict) checkSums(t *testing.T, s spending) {
	t.Helper()
	if ledger, rollup := nano(t, s.Budget.Spent), nano(t, s.Rollup); ledger != v.sum || rollup != v.sum || nano(t, s.Budget.Held) != 0 {
		t.Errorf("entries sum to %d n$, the ledger to %d, roll-ups to %d; held %s", v.sum, ledger, rollup, s.Budget.Held)
	}
}
