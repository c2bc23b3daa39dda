// Package load sends chat requests to a server and measures latency, CPU time and memory. It does little work per request,
// because it shares the machine with the measured server.
package load

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Target is a server to send requests to.
type Target struct {
	Address string // address as host:port
	Path    string // path of chat completions
	Model   string
	Key     string
	PID     int
	TLS     bool // whether to use TLS, without verifying the certificate
}

// Spec describes the traffic of a run.
type Spec struct {
	Callers   int  // concurrent connections; each sends its next request after the previous response
	Prompt    int  // prompt length in bytes
	Unrelated bool // whether all messages of a prompt are new, not only the last one
	Stream    bool
	Preface   string        // beginning of the prompt
	Spread    time.Duration // time during which the callers start, one after the other
	Warmup    time.Duration // time before the measurement; includes the spread
	Duration  time.Duration
	Hold      bool // whether responses never end; connections are closed at the end of the run
}

// Result holds the measurements between the warm-up and the end of a run.
type Result struct {
	Took          time.Duration // duration of the measurement
	Requests      int           // requests with a complete response
	Answers       float64       // responses received; a response only partly within the measurement counts as a fraction
	P50, P99      time.Duration
	FirstP99      time.Duration // 99th percentile of the time to the first byte
	CPU, Own      time.Duration // CPU time of the target and of this process
	Before, After int64         // memory of the target before the first request, and at the end
	Open          int           // responses in progress at the end
	Failures      map[string]int
}

// Rate returns the number of completed requests per second.
func (r Result) Rate() float64 { return float64(r.Requests) / r.Took.Seconds() }

// Each returns a duration divided by the number of responses, such as the CPU time per response.
func (r Result) Each(of time.Duration) time.Duration {
	return time.Duration(float64(of) / max(r.Answers, 1))
}

// run is the state that the callers of a run share.
type run struct {
	Spec
	Target
	sent, open      atomic.Int64
	measuring, over atomic.Bool
}

// grace is the time that callers wait for their last responses.
const grace = 15 * time.Second

// Run sends requests for the time in the spec. The result includes the number of connection failures. Run returns an error if the
// measurement could not start or finish, or if any response, even during the warm-up, was incomplete or had a status other than 200. Such
// responses use less CPU time than complete ones, so they would make the server look faster.
func Run(ctx context.Context, t Target, s Spec) (Result, error) {
	r := &run{Spec: s, Target: t}
	r.sent.Store(time.Now().UnixMicro()) // use different serial numbers than the previous run
	idle, err := UsageOf(t.PID)
	if err != nil {
		return Result{}, err
	}
	calling, hangUp := context.WithTimeout(ctx, s.Warmup+s.Duration+grace)
	defer hangUp()
	callers := make([]*caller, s.Callers)
	var running sync.WaitGroup
	for i := range callers {
		callers[i] = newCaller(r)
		running.Go(func() { callers[i].work(calling, i) })
	}
	res, err := r.watch(ctx)
	r.over.Store(true)
	if s.Hold {
		hangUp()
	}
	running.Wait()
	res.Before = idle.Memory
	res.sum(callers)
	if err == nil {
		err = wrongResponses(callers)
	}
	if err == nil && !s.Hold && res.Answers == 0 {
		err = fmt.Errorf("no request succeeded: %v", res.Failures)
	}
	return res, err
}

// wrongResponses returns an error if callers received incomplete responses or statuses other than 200.
func wrongResponses(callers []*caller) error {
	count, all := 0, map[string]int{}
	for _, c := range callers {
		for what, n := range c.wrong {
			all[what] += n
			count += n
		}
	}
	if count == 0 {
		return nil
	}
	return fmt.Errorf("%d responses were incomplete or had a status other than 200: %v", count, all)
}

// watch measures the target and this process after the warm-up.
func (r *run) watch(ctx context.Context) (Result, error) {
	sleep(ctx, r.Warmup)
	before, own, err := r.usage()
	if err != nil {
		return Result{}, err
	}
	began := time.Now()
	r.measuring.Store(true)
	sleep(ctx, r.Duration)
	r.measuring.Store(false)
	took := time.Since(began)
	after, ownAfter, err := r.usage()
	if err != nil {
		return Result{}, err
	}
	return Result{
		Took: took, CPU: after.CPU - before.CPU, Own: ownAfter.CPU - own.CPU, After: after.Memory, Open: int(r.open.Load()),
	}, ctx.Err()
}

func (r *run) usage() (target, own Usage, err error) {
	if target, err = UsageOf(r.PID); err != nil {
		return target, own, err
	}
	own, err = process(os.Getpid()) // child processes are not counted, because the target may be one of them
	return target, own, err
}

// sum combines the results of the callers.
func (r *Result) sum(callers []*caller) {
	var took, first []time.Duration
	var size, bytes int
	r.Failures = map[string]int{}
	for _, c := range callers {
		took, first = append(took, c.took...), append(first, c.first...)
		size, bytes = max(size, c.size), bytes+c.bytes
		for what, n := range c.failures {
			r.Failures[what] += n
		}
	}
	slices.Sort(took)
	slices.Sort(first)
	r.Requests = len(took)
	if size > 0 {
		r.Answers = float64(bytes) / float64(size)
	}
	r.P50, r.P99, r.FirstP99 = quantile(took, 50), quantile(took, 99), quantile(first, 99)
}

// quantile returns the given percentile of sorted durations; 0 if there are none.
func quantile(sorted []time.Duration, percent int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[(len(sorted)*percent+99)/100-1]
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
