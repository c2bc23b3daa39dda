package soak

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"fairlead.dev/test/harness"
)

// Course summarises how a value changes after the warm-up of the gateway.
type Course struct{ Early, Late, Most float64 } // medians of the first and of the last quarter, and the maximum

func course(values []float64) Course {
	n := len(values)
	if n == 0 {
		return Course{}
	}
	quarter := max(1, n/4)
	return Course{Early: median(values[:quarter]), Late: median(values[n-quarter:]), Most: slices.Max(values)}
}

func median(list []float64) float64 {
	sorted := slices.Sorted(slices.Values(list))
	return sorted[len(sorted)/2]
}

// watch reads the values of the process once per second.
type watch struct {
	t        testing.TB
	gateway  *harness.Gateway
	reader   string
	settling time.Duration

	memory, goroutines, files []float64
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
		if time.Since(began) < w.settling {
			continue
		}
		w.scrape() //nolint:contextcheck // the harness ends its calls with the test
	}
}

// scrape reads the gateway's metrics.
func (w *watch) scrape() {
	w.t.Helper()
	answer := w.gateway.Call(w.t, harness.Request{Method: http.MethodGet, Path: "/metrics", Key: w.reader})
	for name, values := range map[string]*[]float64{
		"process_resident_memory_bytes": &w.memory, "go_goroutines": &w.goroutines, "process_open_fds": &w.files,
	} {
		_, rest, _ := strings.Cut(string(answer.Body), "\n"+name+" ")
		text, _, _ := strings.Cut(rest, "\n")
		n, err := strconv.ParseFloat(text, 64)
		if err != nil {
			w.t.Fatalf("read the metric %s (status %d): %v", name, answer.Status, err)
		}
		*values = append(*values, n)
	}
}
