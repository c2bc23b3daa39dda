package soak

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"fairlead.dev/test/harness"
)

// watch reads the values of the process once per second.
type watch struct {
	t        testing.TB
	gateway  *harness.Gateway
	reader   string
	settling time.Duration

	memory, goroutines, files samples
}

func newWatch(t testing.TB, g *harness.Gateway, settling time.Duration) *watch {
	t.Helper()
	return &watch{t: t, gateway: g, reader: g.Key(t, "--scopes", "read"), settling: settling}
}

func (w *watch) until(ctx context.Context) {
	w.t.Helper()
	began, tick := time.Now(), time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		at := time.Since(began)
		if at < w.settling {
			continue
		}
		w.memory.add(at, w.resident())
		goroutines, files := w.scrape() //nolint:contextcheck // the harness ends its calls with the test
		w.goroutines.add(at, goroutines)
		w.files.add(at, files)
	}
}

// resident returns the resident memory of the process in bytes.
func (w *watch) resident() float64 {
	w.t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", w.gateway.PID(w.t)))
	if err != nil {
		w.t.Fatalf("read the memory of the gateway: %v", err)
	}
	for line := range bytes.Lines(data) {
		if fields := bytes.Fields(line); len(fields) > 1 && string(fields[0]) == "VmRSS:" {
			return w.number("VmRSS", string(fields[1])) * 1024
		}
	}
	w.t.Fatal("the status of the process has no VmRSS")
	return 0
}

// scrape reads the gateway's metrics.
func (w *watch) scrape() (goroutines, files float64) {
	w.t.Helper()
	answer := w.gateway.Call(w.t, harness.Request{Method: http.MethodGet, Path: "/metrics", Key: w.reader})
	for line := range strings.Lines(string(answer.Body)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch name {
		case "go_goroutines":
			goroutines = w.number(name, value)
		case "process_open_fds":
			files = w.number(name, value)
		}
	}
	if goroutines == 0 || files == 0 {
		w.t.Fatalf("the metrics lack go_goroutines or process_open_fds (status %d)", answer.Status)
	}
	return goroutines, files
}

func (w *watch) number(name, text string) float64 {
	w.t.Helper()
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		w.t.Fatalf("parse %s: %v", name, err)
	}
	return n
}
