package soak

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"fairlead.dev/test/harness"
)

// TestSoak runs for FAIRLEAD_SOAK_MINUTES minutes. `make soak` sets the variable.
func TestSoak(t *testing.T) { //nolint:paralleltest // the test measures resource usage
	r := Run(t, Usual(minutes(t)))
	_, _ = fmt.Fprintln(os.Stdout, r)
	r.Judge(t)
}

// TestSoakWithRaceDetector runs for a sixth of the time of TestSoak, at a fifth of the load. The race detector makes the gateway
// several times slower, and finding races does not need a high rate.
func TestSoakWithRaceDetector(t *testing.T) { //nolint:paralleltest // the test measures resource usage
	d := minutes(t) / 6
	binary := filepath.Join(t.TempDir(), "fairlead-race")
	root, err := harness.Root()
	if err != nil {
		t.Fatal(err)
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-race", "-o", binary, "./cmd/fairlead")
	build.Dir, build.Env = root, append(os.Environ(), "CGO_ENABLED=1") // required by the race detector
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build with the race detector: %v\n%s", err, out)
	}
	// Load shedding is disabled, because the slow process would reject requests.
	r := Run(t, Plan{For: d, Rate: 100, Streams: 40, Binary: binary, Setting: "limits: {shed_after: 0s}"})
	_, _ = fmt.Fprintln(os.Stdout, "with the race detector:", r)
	// The detector's own memory grows with all memory that was ever accessed, and such a slow process never settles, so
	// only races and failures are checked.
	r.Memory, r.Goroutines, r.Files = Course{}, Course{}, Course{}
	r.Judge(t)
}

func minutes(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv("FAIRLEAD_SOAK_MINUTES")
	if text == "" {
		t.Skip("FAIRLEAD_SOAK_MINUTES is not set; make soak sets it")
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || n <= 0 {
		t.Fatalf("FAIRLEAD_SOAK_MINUTES=%q, want a positive number", text)
	}
	return time.Duration(n * float64(time.Minute))
}
