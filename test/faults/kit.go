package faults

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fairlead/test/harness"
)

// chat is a request body; more are further members.
func chat(model string, more ...string) string {
	members := append([]string{`"model":"` + model + `"`, `"messages":[{"role":"user","content":"Hello"}]`}, more...)
	return "{" + strings.Join(members, ",") + "}"
}

const streaming = `"stream":true`

// client returns a client with its own connections.
func client(t testing.TB) *http.Client {
	t.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: 1000, DisableCompression: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// post makes a request to the model API.
func post(ctx context.Context, g *harness.Gateway, key, body string, header ...string) (*http.Request, error) {
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

// failure is the error object.
type failure struct {
	Error   string         `json:"error"`
	Code    string         `json:"code"`
	Details map[string]any `json:"details"`
}

// wantError checks status and code of an answer, and returns the error.
func wantError(t testing.TB, what string, a harness.Answer, status int, code string) failure {
	t.Helper()
	var f failure
	if err := json.Unmarshal(a.Body, &f); err != nil || a.Status != status || f.Code != code || f.Error == "" || f.Details["request_id"] == nil {
		t.Errorf("%s: got %d %s, want %d %s", what, a.Status, clip(a.Body), status, code)
	}
	return f
}

func clip(data []byte) string {
	const most = 600
	if len(data) > most {
		return string(data[:most]) + "…"
	}
	return string(data)
}

// events are the data of an event stream; comments counts its comments.
type events struct {
	data     []string
	comments int
}

func readEvents(r io.Reader) events {
	var e events
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), ":") {
			e.comments++
		}
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			e.data = append(e.data, data)
		}
	}
	return e
}

func (e events) done() bool { return len(e.data) > 0 && e.data[len(e.data)-1] == "[DONE]" }

// failed is the code of the error event that ended the stream; empty when there was none.
func (e events) failed() string {
	if len(e.data) == 0 || !strings.HasPrefix(e.data[len(e.data)-1], `{"error":`) {
		return ""
	}
	var f failure
	if json.Unmarshal([]byte(e.data[len(e.data)-1]), &f) != nil {
		return ""
	}
	return f.Code
}

// text joins the content of the events.
func (e events) text() string {
	var b strings.Builder
	for _, data := range e.data {
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

// warm makes traffic, so that the share that may be retries leaves room for what a case needs.
func warm(t testing.TB, g *harness.Gateway, key, model string, n int) {
	t.Helper()
	together(8, n, func(int) {
		if a := g.Call(t, harness.Request{Key: key, Body: chat(model)}); a.Status != http.StatusOK {
			t.Errorf("warming up: %d %s", a.Status, clip(a.Body))
		}
	})
}

// together does n things, some at a time.
func together(atOnce, n int, do func(i int)) {
	var wait sync.WaitGroup
	var next atomic.Int64
	for range min(atOnce, n) {
		wait.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				do(int(i))
			}
		})
	}
	wait.Wait()
}

// awaited waits until something holds, at most so long, and returns how long it took.
func awaited(t testing.TB, most time.Duration, what string, holds func() bool) time.Duration {
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

// metric reads one figure of the process from its metrics.
func metric(t testing.TB, g *harness.Gateway, key, name string) float64 {
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
	t.Fatalf("there is no metric %s: %d", name, a.Status)
	return 0
}

// resident is the memory of the process in bytes.
func resident(t testing.TB, g *harness.Gateway) int64 {
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
	t.Fatal("the process has no VmRSS")
	return 0
}

// watchMemory samples the memory of the process until stop, which returns the most that was seen.
func watchMemory(t testing.TB, g *harness.Gateway) (stop func() int64) {
	t.Helper()
	done, most := make(chan struct{}), make(chan int64)
	go func() {
		peak := resident(t, g)
		for {
			select {
			case <-done:
				most <- max(peak, resident(t, g))
				return
			case <-time.After(20 * time.Millisecond): // another process cannot be watched with a fake clock
				peak = max(peak, resident(t, g))
			}
		}
	}()
	return func() int64 { close(done); return <-most }
}

func mib(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }

// key is an API key as printed by the command line.
type key struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Text string `json:"key"`
}

var keyNumber atomic.Int64

func newKey(t testing.TB, g *harness.Gateway, flags ...string) key {
	t.Helper()
	name := fmt.Sprintf("fault-%d", keyNumber.Add(1))
	stdout, stderr, code := g.CLI(t, append([]string{"keys", "create", "--name", name, "--json"}, flags...)...)
	if code != 0 {
		t.Fatalf("make a key: %d\n%s", code, stderr)
	}
	var k key
	harness.Decode(t, []byte(stdout), &k)
	return k
}

// spending is what a key with a budget has spent and holds, in dollars as text.
type spending struct {
	Rollup string `json:"spend_30d_usd"`
	Budget struct {
		Spent string `json:"spent_usd"`
		Held  string `json:"held_usd"`
	} `json:"budget_use"`
}

func spendingOf(t testing.TB, g *harness.Gateway, reader, id string) spending {
	t.Helper()
	a := g.Call(t, harness.Request{Method: http.MethodGet, Path: "/api/v1/keys/" + id, Key: reader})
	if a.Status != http.StatusOK {
		t.Fatalf("read key %s: %d %s", id, a.Status, a.Body)
	}
	var s spending
	harness.Decode(t, a.Body, &s)
	return s
}

// nano reads dollars as whole nano-dollars.
func nano(t testing.TB, dollars string) int64 {
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

// quantile is the value below which the share of all lies.
func quantile(all []time.Duration, share float64) time.Duration {
	if len(all) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(all))
	return sorted[min(len(sorted)-1, int(share*float64(len(sorted))))]
}

// readAll is the body of a request to a provider.
func readAll(r *http.Request) string {
	data, err := io.ReadAll(r.Body)
	if err != nil {
		return ""
	}
	return string(data)
}
