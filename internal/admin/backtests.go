package admin

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"fairlead/internal/account"
	"fairlead/internal/policy"
	"fairlead/internal/replay"
	"fairlead/internal/requestlog"
	"fairlead/internal/route"
)

// Replayer computes decisions of stored requests again. It calls no provider and changes nothing.
type Replayer interface {
	// Backtest decides stored requests anew, tells how far it is, and reports what changes. It ends early with ctx.
	Backtest(ctx context.Context, q BacktestQuery, told func(replay.Progress)) (*replay.Report, error)
	// Verify computes one logged decision again and compares.
	Verify(ctx context.Context, e *requestlog.Entry) (replay.Verification, error)
}

// BacktestQuery says which requests are decided anew, and by what.
type BacktestQuery struct {
	Filter    requestlog.Filter
	Limit     int64            // most requests to look at, the newest ones
	Draft     *policy.Set      // in place of the policies in force, those of the instance included; nil for those in force
	Objective *route.Objective // in place of what requests for auto ask for; nil leaves it to them
	Total     int64            // how many requests there are; 0 when not known
}

// backtestSpan is how far back a backtest goes when nobody says.
const backtestSpan = 7 * 24 * time.Hour

// Backtest is a job that decides stored requests anew.
type Backtest struct {
	ID        string           `json:"id"`
	State     string           `json:"state" enum:"running,done,failed,cancelled"`
	StartedAt time.Time        `json:"started_at"`
	EndedAt   *time.Time       `json:"ended_at"`
	From      time.Time        `json:"from"`
	To        time.Time        `json:"to"`
	Filter    string           `json:"filter" doc:"The filters as they stand in an address."`
	Draft     bool             `json:"draft" doc:"A draft of policies is tried."`
	Objective *string          `json:"objective" doc:"In place of what requests ask for; null when that is left to them."`
	Limit     int64            `json:"limit"`
	Progress  BacktestProgress `json:"progress"`
	Report    *replay.Report   `json:"report,omitempty" doc:"What it found; of a cancelled one as far as it came. It covers cost and routing, and says nothing about the answers beyond what the predictor expects."`
	Error     *Failure         `json:"error,omitempty" doc:"Why it failed."`
}

// BacktestProgress says how far a backtest is.
type BacktestProgress struct {
	Done        int64    `json:"done" doc:"Requests looked at."`
	Total       *int64   `json:"total" doc:"Null when not known, or not yet."`
	Rate        *float64 `json:"rate" doc:"Requests a second."`
	SecondsLeft *float64 `json:"seconds_left" doc:"About; null when not known."`
}

// BacktestList holds the backtests that are remembered.
type BacktestList struct {
	Backtests []Backtest `json:"backtests" doc:"Newest first, without their reports."`
}

func (a *API) registerBacktests() {
	tags := []string{"routing"}
	register(a, account.ReadPolicies, huma.Operation{
		OperationID: "start-backtest", Method: http.MethodPost, Path: "/backtests", Tags: tags, DefaultStatus: http.StatusAccepted,
		Summary: "Decide the traffic of the past anew, under a draft or another objective",
		Description: "Selects requests by the same parameters as list-requests, of the last seven days when from is absent. It only reads the log, and calls no provider. " +
			"At most two run at a time in a workspace. Results stay with the process that ran them for an hour, the newest twenty of them.",
	}, a.startBacktest)
	register(a, account.ReadPolicies, huma.Operation{
		OperationID: "list-backtests", Method: http.MethodGet, Path: "/backtests", Tags: tags,
		Summary: "List the workspace's backtests, newest first",
	}, a.listBacktests)
	register(a, account.ReadPolicies, huma.Operation{
		OperationID: "get-backtest", Method: http.MethodGet, Path: "/backtests/{id}", Tags: tags,
		Summary: "Get how far a backtest is, or what it found",
	}, a.getBacktest)
	register(a, account.ReadPolicies, huma.Operation{
		OperationID: "cancel-backtest", Method: http.MethodDelete, Path: "/backtests/{id}", Tags: tags, DefaultStatus: http.StatusOK,
		Summary: "Cancel a backtest that runs; one that has ended is left as it is",
	}, a.cancelBacktest)
}

type startBacktestInput struct {
	Filters
	Body struct {
		Source    *string `json:"source,omitempty" maxLength:"65536" doc:"Draft of the workspace's policies as YAML; those in force when absent."`
		Objective string  `json:"objective,omitempty" maxLength:"20" doc:"cost, quality, speed, or a number from 0 (cheapest) to 1 (best), for all requests for auto; their own when absent."`
		Limit     int64   `json:"limit,omitempty" minimum:"1" maximum:"1000000" default:"50000" doc:"Most requests to look at, the newest ones."`
	}
}

func (a *API) startBacktest(ctx context.Context, c *call, in *startBacktestInput) (*output[Backtest], error) {
	q, err := a.backtestQuery(c, in)
	if err != nil {
		return nil, err
	}
	job := &backtest{
		query: q, workspaceID: c.workspaceID, filter: onlyFilters(c.query).Encode(), objective: in.Body.Objective, started: a.Now(),
	}
	if err := a.backtests.start(context.WithoutCancel(ctx), job, a.runBacktest, a.Now); err != nil {
		return nil, err
	}
	return &output[Backtest]{job.view(a.Now(), true)}, nil
}

func (a *API) backtestQuery(c *call, in *startBacktestInput) (BacktestQuery, error) {
	q := BacktestQuery{Limit: in.Body.Limit}
	var err error
	if q.Filter, _, err = a.filter(c); err != nil {
		return q, err
	}
	now := a.Now()
	if q.Filter.To.IsZero() || q.Filter.To.After(now) {
		q.Filter.To = now // what comes in while it runs is not part of it
	}
	if q.Filter.From.IsZero() {
		q.Filter.From = q.Filter.To.Add(-backtestSpan)
	}
	if !q.Filter.From.Before(q.Filter.To) {
		return q, invalid("query", "from", "must be before to")
	}
	if q.Objective, err = objectiveOf(in.Body.Objective); err != nil {
		return q, err
	}
	if in.Body.Source != nil {
		q.Draft, err = a.draft("source", *in.Body.Source)
	}
	return q, err
}

// objectiveOf reads an objective by name or number; nil for none.
func objectiveOf(given string) (*route.Objective, error) {
	if given == "" {
		return nil, nil
	}
	if named, ok := route.NamedObjective(given); ok {
		return &named, nil
	}
	number, err := strconv.ParseFloat(given, 64)
	if err != nil || !(number >= 0 && number <= 1) {
		return nil, invalid("body", "objective", "must be cost, quality, speed, or a number from 0 (cheapest) to 1 (best)")
	}
	return &route.Objective{Name: "number", Tradeoff: number}, nil
}

// runBacktest counts the requests first, so that progress has an end. What goes wrong is logged here: nobody may ask.
func (a *API) runBacktest(ctx context.Context, q BacktestQuery, told func(replay.Progress)) (*replay.Report, error) {
	n, err := a.Requests.Count(ctx, q.Filter, int(q.Limit))
	if err == nil { // without a number it goes on without an end in sight
		q.Total = int64(n)
		told(replay.Progress{Total: q.Total})
	}
	report, err := a.Replayer.Backtest(ctx, q, told)
	if err != nil && ctx.Err() == nil {
		a.Log.ErrorContext(ctx, "backtest failed", "workspace", q.Filter.WorkspaceID, "error", err)
	}
	return report, err
}

func (a *API) listBacktests(_ context.Context, c *call, _ *struct{}) (*output[BacktestList], error) {
	now := a.Now()
	list := BacktestList{Backtests: []Backtest{}}
	for _, job := range a.backtests.of(c.workspaceID, now) {
		list.Backtests = append(list.Backtests, job.view(now, false))
	}
	return &output[BacktestList]{list}, nil
}

type backtestPath struct {
	ID string `path:"id" maxLength:"64" doc:"Backtest id."`
}

func (a *API) getBacktest(_ context.Context, c *call, in *backtestPath) (*output[Backtest], error) {
	job := a.backtests.find(c.workspaceID, in.ID, a.Now())
	if job == nil {
		return nil, notFound()
	}
	return &output[Backtest]{job.view(a.Now(), true)}, nil
}

func (a *API) cancelBacktest(ctx context.Context, c *call, in *backtestPath) (*output[Backtest], error) {
	job := a.backtests.find(c.workspaceID, in.ID, a.Now())
	if job == nil {
		return nil, notFound()
	}
	job.cancel()
	select {
	case <-job.ended:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return &output[Backtest]{job.view(a.Now(), true)}, nil
}
