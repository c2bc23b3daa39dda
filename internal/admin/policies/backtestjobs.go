package policies

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"fairlead.dev/internal/admin/adminapi"
	"fairlead.dev/internal/admin/requests"
	"fairlead.dev/internal/id"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/replay"
)

const (
	backtestsRunning = 2         // maximum number of concurrent backtests per workspace
	backtestsKept    = 20        // maximum number of results kept per workspace
	backtestKept     = time.Hour // time for which a result is kept
)

// backtests manages the backtests of this process. close waits for their goroutines.
type backtests struct {
	running sync.WaitGroup

	mu     sync.Mutex
	closed bool
	jobs   map[string][]*backtest // jobs by workspace, oldest first
}

// backtest is a running or finished backtest.
type backtest struct {
	id          string
	workspaceID string
	query       BacktestQuery
	filter      string
	objective   string
	started     time.Time
	cancel      context.CancelFunc
	ended       chan struct{} // channel that is closed when the job has ended

	mu       sync.Mutex
	at       replay.Progress
	report   *replay.Report
	err      error
	finished time.Time
}

// runner runs a backtest and reports its progress.
type runner func(context.Context, BacktestQuery, func(replay.Progress)) (*replay.Report, error)

// start runs the job in the background until it ends or close is called.
func (b *backtests) start(ctx context.Context, job *backtest, run runner, now func() time.Time) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return llm.Errorf(llm.ServerShutdown, "The gateway is shutting down. Try again in a few seconds.")
	}
	b.forget(now())
	running := 0
	for _, other := range b.jobs[job.workspaceID] {
		if other.running() {
			running++
		}
	}
	if running >= backtestsRunning {
		return llm.Errorf(llm.Conflict, "%d backtests are already running in this workspace. Wait for one to finish, or cancel it.", running)
	}
	job.id, job.ended = id.New("bt", job.started), make(chan struct{})
	ctx, job.cancel = context.WithCancel(ctx)
	b.jobs[job.workspaceID] = append(b.jobs[job.workspaceID], job)
	b.running.Go(func() { job.run(ctx, run, now) })
	return nil
}

func (b *backtests) close() {
	b.mu.Lock()
	b.closed = true
	for _, jobs := range b.jobs {
		for _, job := range jobs {
			job.cancel()
		}
	}
	b.mu.Unlock()
	b.running.Wait()
}

// forget removes old results. The caller holds the lock.
func (b *backtests) forget(now time.Time) {
	for workspaceID, jobs := range b.jobs {
		jobs = slices.DeleteFunc(jobs, func(job *backtest) bool { return job.over(now) })
		for len(jobs) > backtestsKept && !jobs[0].running() {
			jobs = jobs[1:]
		}
		if b.jobs[workspaceID] = jobs; len(jobs) == 0 {
			delete(b.jobs, workspaceID)
		}
	}
}

// of lists the jobs of a workspace, newest first.
func (b *backtests) of(workspaceID string, now time.Time) []*backtest {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.forget(now)
	list := slices.Clone(b.jobs[workspaceID])
	slices.Reverse(list)
	return list
}

// find returns the job, or nil if it is unknown or belongs to another workspace.
func (b *backtests) find(workspaceID, jobID string, now time.Time) *backtest {
	for _, job := range b.of(workspaceID, now) {
		if job.id == jobID {
			return job
		}
	}
	return nil
}

func (j *backtest) run(ctx context.Context, run runner, now func() time.Time) {
	defer close(j.ended)
	defer j.cancel()
	report, err := run(ctx, j.query, j.onProgress)
	if ctx.Err() != nil && err != nil {
		err = context.Canceled
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.report, j.err, j.finished = report, err, now()
}

// onProgress records the progress. The total never decreases, because a report may have none.
func (j *backtest) onProgress(p replay.Progress) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.at = replay.Progress{Done: p.Done, Total: max(p.Total, j.at.Total)}
}

func (j *backtest) running() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.finished.IsZero()
}

func (j *backtest) over(now time.Time) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return !j.finished.IsZero() && now.Sub(j.finished) >= backtestKept
}

// detail returns the job with its report.
func (j *backtest) detail(now time.Time) Backtest {
	j.mu.Lock()
	defer j.mu.Unlock()
	v := j.summaryLocked(now)
	v.Report = j.report
	return v
}

// summary returns the job without its report.
func (j *backtest) summary(now time.Time) Backtest {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.summaryLocked(now)
}

func (j *backtest) summaryLocked(now time.Time) Backtest {
	v := Backtest{
		ID: j.id, State: j.state(), StartedAt: j.started.UTC(), EndedAt: adminapi.Time(j.finished),
		From: j.query.Filter.From.UTC(), To: j.query.Filter.To.UTC(), Filter: j.filter, Draft: j.query.Draft != nil,
		Objective: adminapi.NonEmpty(j.objective), Limit: j.query.Limit, Progress: j.progress(now),
	}
	if v.State == "failed" {
		e := adminapi.AsError(j.err)
		v.Error = &requests.Failure{Code: e.Kind.Code(), Message: e.Message, Origin: string(e.Kind.Origin())}
	}
	return v
}

func (j *backtest) state() string {
	switch {
	case j.finished.IsZero():
		return "running"
	case errors.Is(j.err, context.Canceled):
		return "cancelled"
	case j.err != nil:
		return "failed"
	}
	return "done"
}

func (j *backtest) progress(now time.Time) BacktestProgress {
	v := BacktestProgress{Done: j.at.Done}
	if j.at.Total > 0 {
		v.Total = new(max(j.at.Total, j.at.Done))
	}
	end := now
	if !j.finished.IsZero() {
		end = j.finished
	}
	took := end.Sub(j.started).Seconds()
	if took <= 0 || j.at.Done == 0 {
		return v
	}
	v.Rate = new(float64(j.at.Done) / took)
	if v.Total != nil && j.finished.IsZero() {
		v.SecondsLeft = new(float64(*v.Total-j.at.Done) / *v.Rate)
	}
	return v
}
