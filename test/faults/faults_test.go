package faults

import (
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"
)

var passed, failed atomic.Int64

// TestMain prints the sum of the catalogue after its lines.
func TestMain(m *testing.M) {
	code := m.Run()
	_, _ = fmt.Fprintf(os.Stdout, "%d passed, %d failed\n", passed.Load(), failed.Load())
	os.Exit(code)
}

// TestCatalogue runs every case in full, or in its fast form with -short, one after the other: they measure.
func TestCatalogue(t *testing.T) { //nolint:paralleltest // the cases share the machine's two cores
	size := Full
	if testing.Short() {
		size = Fast
	}
	for _, c := range Cases() {
		t.Run(c.ID, func(t *testing.T) {
			began, figure := time.Now(), ""
			t.Cleanup(func() {
				word, count := "ok  ", &passed
				if t.Failed() {
					word, count = "FAIL", &failed
				}
				count.Add(1)
				_, _ = fmt.Fprintf(os.Stdout, "%s %s %-42s %s (%s)\n", c.ID, word, c.Name, figure, time.Since(began).Round(100*time.Millisecond))
			})
			figure = c.Run(t, size)
		})
	}
}
