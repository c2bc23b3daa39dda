package scenario

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fairlead.dev/internal/simulator"
	"fairlead.dev/test/harness"
)

// Chat returns a request body. more holds further members.
func Chat(model string, more ...string) string {
	members := append([]string{`"model":"` + model + `"`, `"messages":[{"role":"user","content":"Hello"}]`}, more...)
	return "{" + strings.Join(members, ",") + "}"
}

// Streaming is the member of a request body that requests a stream.
const Streaming = `"stream":true`

// Client returns a client with its own connections.
func Client(t testing.TB) *http.Client {
	t.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: 1000, DisableCompression: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// Post builds a request to the model API.
func Post(ctx context.Context, g *harness.Gateway, key, body string, header ...string) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, g.BaseURL()+"/chat/completions", strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+key)
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	return req, nil
}

// Failure is the error object.
type Failure struct {
	Error   string         `json:"error"`
	Code    string         `json:"code"`
	Details map[string]any `json:"details"`
}

// WantError checks the status and code of a response and returns the error.
func WantError(t testing.TB, what string, a harness.Answer, status int, code string) Failure {
	t.Helper()
	var f Failure
	if err := json.Unmarshal(a.Body, &f); err != nil || a.Status != status || f.Code != code || f.Error == "" || f.Details["request_id"] == nil {
		t.Errorf("%s: got status %d %s, want %d %s with a message and a request ID", what, a.Status, Clip(a.Body), status, code)
	}
	return f
}

// Clip truncates a body for a test message.
func Clip(data []byte) string {
	const most = 600
	if len(data) > most {
		return string(data[:most]) + "…"
	}
	return string(data)
}

// Events holds the data of an event stream and the number of its comments.
type Events struct {
	Data     []string
	Comments int
}

// ReadEvents reads an event stream to its end.
func ReadEvents(r io.Reader) Events {
	var e Events
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), ":") {
			e.Comments++
		}
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			e.Data = append(e.Data, data)
		}
	}
	return e
}

// Done reports whether the stream ended with [DONE].
func (e Events) Done() bool { return len(e.Data) > 0 && e.Data[len(e.Data)-1] == "[DONE]" }

// Failed returns the code of the error event that ended the stream, or "" if there was none.
func (e Events) Failed() string {
	if len(e.Data) == 0 || !strings.HasPrefix(e.Data[len(e.Data)-1], `{"error":`) {
		return ""
	}
	var f Failure
	if json.Unmarshal([]byte(e.Data[len(e.Data)-1]), &f) != nil {
		return ""
	}
	return f.Code
}

// Text joins the content of the events.
func (e Events) Text() string {
	var b strings.Builder
	for _, data := range e.Data {
		var chunk struct {
			Choices []struct{ Delta struct{ Content string } }
		}
		if json.Unmarshal([]byte(data), &chunk) == nil {
			for _, c := range chunk.Choices {
				b.WriteString(c.Delta.Content)
			}
		}
	}
	return b.String()
}

// Warm sends successful requests. They raise the number of retries that the retry budget allows.
func Warm(t testing.TB, g *harness.Gateway, key, model string, n int) {
	t.Helper()
	Together(8, n, func(int) {
		if a := g.Call(t, harness.Request{Key: key, Body: Chat(model)}); a.Status != http.StatusOK {
			t.Errorf("warm-up request: status %d, want 200: %s", a.Status, Clip(a.Body))
		}
	})
}

// Together calls do with every number from 0 to n-1. The parameter parallel limits the number of concurrent calls.
func Together(parallel, n int, do func(i int)) {
	var wait sync.WaitGroup
	var next atomic.Int64
	for range min(parallel, n) {
		wait.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				do(int(i))
			}
		})
	}
	wait.Wait()
}

// Awaited waits until holds returns true, at most for the given time, and returns how long it took.
func Awaited(t testing.TB, most time.Duration, what string, holds func() bool) time.Duration {
	t.Helper()
	began := time.Now()
	for !holds() {
		if time.Since(began) > most {
			t.Fatalf("timed out after %s waiting until %s", most, what)
		}
		time.Sleep(50 * time.Millisecond) // another process cannot be watched with a fake clock
	}
	return time.Since(began)
}

// Metric returns the value of one of the gateway's metrics.
func Metric(t testing.TB, g *harness.Gateway, key, name string) float64 {
	t.Helper()
	a := g.Call(t, harness.Request{Method: http.MethodGet, Path: "/metrics", Key: key})
	for line := range strings.Lines(string(a.Body)) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err != nil {
				t.Fatalf("metric %s: %v", name, err)
			}
			return n
		}
	}
	t.Fatalf("the metrics lack %s (status %d)", name, a.Status)
	return 0
}

// Resident returns the resident memory of the process in bytes.
func Resident(t testing.TB, g *harness.Gateway) int64 {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", g.PID(t)))
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(data) {
		if fields := bytes.Fields(line); len(fields) > 1 && string(fields[0]) == "VmRSS:" {
			kib, err := strconv.ParseInt(string(fields[1]), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return kib << 10
		}
	}
	t.Fatal("the status of the process has no VmRSS")
	return 0
}

// WatchMemory samples the memory of the process. stop ends sampling and returns the maximum.
func WatchMemory(t testing.TB, g *harness.Gateway) (stop func() int64) {
	t.Helper()
	done, most := make(chan struct{}), make(chan int64)
	go func() {
		peak := Resident(t, g)
		for {
			select {
			case <-done:
				most <- max(peak, Resident(t, g))
				return
			case <-time.After(20 * time.Millisecond): // another process cannot be watched with a fake clock
				peak = max(peak, Resident(t, g))
			}
		}
	}()
	return func() int64 { close(done); return <-most }
}

// Mib formats a number of bytes in mebibytes.
func Mib(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }

// Spending holds the spent and held amounts of a key with a budget, in dollars as text.
type Spending struct {
	Rollup string `json:"spend_30d_usd"`
	Budget struct {
		Spent string `json:"spent_usd"`
		Held  string `json:"held_usd"`
	} `json:"budget_use"`
}

// SpendingOf reads the spending of a key from the admin API.
func SpendingOf(t testing.TB, g *harness.Gateway, reader, id string) Spending {
	t.Helper()
	a := g.Call(t, harness.Request{Method: http.MethodGet, Path: "/api/v1/keys/" + id, Key: reader})
	if a.Status != http.StatusOK {
		t.Fatalf("read key %s: status %d: %s", id, a.Status, a.Body)
	}
	var s Spending
	harness.Decode(t, a.Body, &s)
	return s
}

// Nano parses dollars as whole nano-dollars.
func Nano(t testing.TB, dollars string) int64 {
	t.Helper()
	digits, negative := strings.CutPrefix(dollars, "-")
	whole, frac, _ := strings.Cut(digits, ".")
	n, err := strconv.ParseInt(whole+frac+strings.Repeat("0", max(0, 9-len(frac))), 10, 64)
	if err != nil || len(frac) > 9 {
		t.Fatalf("%q is not an amount", dollars)
	}
	if negative {
		return -n
	}
	return n
}

// Quantile returns the quantile of durations for the given share.
func Quantile(all []time.Duration, share float64) time.Duration {
	if len(all) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(all))
	return sorted[min(len(sorted)-1, int(share*float64(len(sorted))))]
}

// ReadAll returns the body of a request to a provider.
func ReadAll(r *http.Request) string {
	data, err := io.ReadAll(r.Body)
	if err != nil {
		return ""
	}
	return string(data)
}

// HoldDatabase takes SQLite's write lock, so that the gateway cannot write until release is called.
func HoldDatabase(t testing.TB, g *harness.Gateway) (release func()) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(g.DataDir, "fairlead.db")+"?_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.ExecContext(t.Context(), "begin immediate"); err != nil {
		t.Fatalf("lock the database: %v", err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return func() {
		if _, err := conn.ExecContext(t.Context(), "rollback"); err != nil {
			t.Errorf("unlock the database: %v", err)
		}
		_ = conn.Close()
	}
}

// Single starts a gateway with one scripted provider that offers the model m.
func Single(t *testing.T, more ...string) (*harness.Gateway, *simulator.Mock) {
	t.Helper()
	mock, url := harness.Upstream(t)
	return harness.Start(t, harness.Options{Config: harness.Config(t, []harness.Provider{{
		Name: "alpha", BaseURL: url, APIKeys: []string{"sk-alpha-0123456789"}, Models: []harness.Model{harness.Chat("m", 0.4, 1.6, 0.5)},
	}}, more...)}), mock
}
