package soak

import (
	"fmt"
	"math"
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

func TestSlopeIsFoundInNoise(t *testing.T) {
	t.Parallel()
	for _, want := range []float64{0, 2, -3} {
		var s samples
		for i := range 600 {
			at := time.Duration(i) * time.Second
			sawtooth := float64(i % 7)
			s.add(at, 100+want*at.Minutes()+sawtooth)
		}
		if got := s.course(); math.Abs(got.Slope-want) > got.Doubt+0.05 || got.Doubt > 0.5 {
			t.Errorf("slope is %.3f ± %.3f, want %v within the error, and an error of at most 0.5", got.Slope, got.Doubt, want)
		}
	}
}

func TestJudgeDetectsGrowth(t *testing.T) {
	t.Parallel()
	flat := Course{Early: 100, Late: 100, Most: 101}
	fine := Report{Plan: Usual(30 * time.Minute), Traffic: Traffic{Requests: 10}, Memory: flat, Goroutines: flat, Files: flat}
	for name, change := range map[string]func(*Report){
		"memory":         func(r *Report) { r.Memory.Slope, r.Memory.Doubt = 1<<20, 1<<19 },
		"goroutines":     func(r *Report) { r.Goroutines.Late = 120 },
		"files":          func(r *Report) { r.Files.Late = 120 },
		"failed request": func(r *Report) { r.Failed = 1 },
		"no request":     func(r *Report) { r.Requests = 0 },
		"race":           func(r *Report) { r.Log = "WARNING: DATA RACE" },
		"peak":           func(r *Report) { r.Plan.For, r.Memory.Most = time.Minute, 600<<20 },
	} {
		r := fine
		change(&r)
		verdict := &verdict{TB: t}
		if r.Judge(verdict); !verdict.failed {
			t.Errorf("Judge did not fail for the case %q", name)
		}
	}
	verdict := &verdict{TB: t}
	fine.Memory.Slope = 1<<20 - 1
	if fine.Judge(verdict); verdict.failed {
		t.Error("Judge failed for a report within the limits")
	}
}

// verdict records a failure instead of failing the test.
type verdict struct {
	testing.TB
	failed bool
}

func (v *verdict) Errorf(string, ...any) { v.failed = true }
