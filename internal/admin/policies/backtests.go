package policies

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/admin/adminapi"
	"fairlead.dev/internal/admin/requests"
	"fairlead.dev/internal/policy"
	"fairlead.dev/internal/replay"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/route"
)

// BacktestQuery selects the requests and the rules of a backtest.
type BacktestQuery struct {
	Filter    requestlog.Filter
	Limit     int64            // maximum number of requests, newest first
	Draft     *policy.Set      // policies to use, including the instance's policies; nil for the active policies
	Objective *route.Objective // objective to use for auto requests; nil to keep the objective of each request
	Total     int64            // expected number of requests; 0 if unknown
}

// backtestSpan is the default period of a backtest.
const backtestSpan = 7 * 24 * time.Hour

// Backtest is a job that recomputes the routing decisions of logged requests.
type Backtest struct {
	ID        string            `json:"id"`
	State     string            `json:"state" enum:"running,done,failed,cancelled"`
	StartedAt time.Time         `json:"started_at"`
	EndedAt   *time.Time        `json:"ended_at"`
	From      time.Time         `json:"from"`
	To        time.Time         `json:"to"`
	Filter    string            `json:"filter" doc:"Filter as a URL query string."`
	Draft     bool              `json:"draft" doc:"Whether a policy draft is tested."`
	Objective *string           `json:"objective" doc:"Objective that replaces the objective of the requests. null if not replaced."`
	Limit     int64             `json:"limit"`
	Progress  BacktestProgress  `json:"progress"`
	Report    *replay.Report    `json:"report,omitempty" doc:"Result, partial if the backtest was cancelled. Covers cost and routing. Quality is the prediction of the router."`
	Error     *requests.Failure `json:"error,omitempty" doc:"Reason of the failure."`
}

// BacktestProgress is the progress of a backtest.
type BacktestProgress struct {
	Done        int64    `json:"done" doc:"Processed requests."`
	Total       *int64   `json:"total" doc:"null if not yet known."`
	Rate        *float64 `json:"rate" doc:"Requests per second."`
	SecondsLeft *float64 `json:"seconds_left" doc:"Estimated remaining seconds. null if unknown."`
}

// BacktestList holds the backtests of a workspace.
type BacktestList struct {
	Backtests []Backtest `json:"backtests" doc:"Newest first, without reports."`
}

func (a *handlers) registerBacktests() {
	tags := []string{"routing"}
	adminapi.Register(a.Server, account.ReadPolicies, huma.Operation{
		OperationID: "start-backtest", Method: http.MethodPost, Path: "/backtests", Tags: tags, DefaultStatus: http.StatusAccepted,
		Summary: "Start a backtest of a policy draft or an objective on past requests",
		Description: "Selects requests with the same parameters as list-requests. from defaults to seven days ago. Only reads the log and calls no provider. " +
			"At most two backtests run at a time in a workspace. The newest twenty results are kept for an hour in the process that ran them.",
	}, func(ctx context.Context, c *adminapi.Call, in *startBacktestInput) (*adminapi.Output[Backtest], error) {
		q, err := a.backtestQuery(c, in)
		if err != nil {
			return nil, err
		}
		job := &backtest{
			query: q, workspaceID: c.WorkspaceID, filter: requests.OnlyFilters(c.Params).Encode(), objective: in.Body.Objective, started: a.Now(),
		}
		if err := a.backtests.start(context.WithoutCancel(ctx), job, a.runBacktest, a.Now); err != nil {
			return nil, err
		}
		return adminapi.Respond(job.detail(a.Now())), nil
	})
	adminapi.Register(a.Server, account.ReadPolicies, huma.Operation{
		OperationID: "list-backtests", Method: http.MethodGet, Path: "/backtests", Tags: tags,
		Summary: "List backtests, newest first",
	}, func(_ context.Context, c *adminapi.Call, _ *struct{}) (*adminapi.Output[BacktestList], error) {
		now := a.Now()
		list := BacktestList{Backtests: []Backtest{}}
		for _, job := range a.backtests.of(c.WorkspaceID, now) {
			list.Backtests = append(list.Backtests, job.summary(now))
		}
		return adminapi.Respond(list), nil
	})
	adminapi.Register(a.Server, account.ReadPolicies, huma.Operation{
		OperationID: "get-backtest", Method: http.MethodGet, Path: "/backtests/{id}", Tags: tags,
		Summary: "Get the progress and result of a backtest",
	}, func(_ context.Context, c *adminapi.Call, in *backtestPath) (*adminapi.Output[Backtest], error) {
		job := a.backtests.find(c.WorkspaceID, in.ID, a.Now())
		if job == nil {
			return nil, adminapi.NotFound()
		}
		return adminapi.Respond(job.detail(a.Now())), nil
	})
	adminapi.Register(a.Server, account.ReadPolicies, huma.Operation{
		OperationID: "cancel-backtest", Method: http.MethodDelete, Path: "/backtests/{id}", Tags: tags, DefaultStatus: http.StatusOK,
		Summary: "Cancel a backtest",
	}, func(ctx context.Context, c *adminapi.Call, in *backtestPath) (*adminapi.Output[Backtest], error) {
		job := a.backtests.find(c.WorkspaceID, in.ID, a.Now())
		if job == nil {
			return nil, adminapi.NotFound()
		}
		job.cancel()
		select {
		case <-job.ended:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		return adminapi.Respond(job.detail(a.Now())), nil
	})
}

type startBacktestInput struct {
	requests.Filters
	Body struct {
		Source    *string `json:"source,omitempty" maxLength:"65536" doc:"Policy draft as YAML. Defaults to the active policies."`
		Objective string  `json:"objective,omitempty" maxLength:"20" doc:"cost, quality, speed, or a number from 0 (cheapest) to 1 (best), applied to all auto requests. Defaults to the objective of each request."`
		Limit     int64   `json:"limit,omitempty" minimum:"1" maximum:"1000000" default:"50000" doc:"Maximum number of requests to process, newest first."`
	}
}

func (a *handlers) backtestQuery(c *adminapi.Call, in *startBacktestInput) (BacktestQuery, error) {
	q := BacktestQuery{Limit: in.Body.Limit}
	var err error
	if q.Filter, _, err = requests.ParseFilter(c, a.Now()); err != nil {
		return q, err
	}
	now := a.Now()
	if q.Filter.To.IsZero() || q.Filter.To.After(now) {
		q.Filter.To = now // exclude requests that arrive during the backtest
	}
	if q.Filter.From.IsZero() {
		q.Filter.From = q.Filter.To.Add(-backtestSpan)
	}
	if !q.Filter.From.Before(q.Filter.To) {
		return q, adminapi.Invalid("query", "from", "must be earlier than \"to\"")
	}
	if q.Objective, err = objectiveOf(in.Body.Objective); err != nil {
		return q, err
	}
	if in.Body.Source != nil {
		if q.Draft, err = a.draft("source", *in.Body.Source); err != nil {
			return q, err
		}
	}
	return q, err
}

// objectiveOf parses an objective, given by name or number. It returns nil for an empty string.
func objectiveOf(given string) (*route.Objective, error) {
	if given == "" {
		return nil, nil
	}
	if named, ok := route.NamedObjective(given); ok {
		return &named, nil
	}
	number, err := strconv.ParseFloat(given, 64)
	if err != nil || !(number >= 0 && number <= 1) {
		return nil, adminapi.Invalid("body", "objective", "must be cost, quality, speed, or a number from 0 (cheapest) to 1 (best)")
	}
	return &route.Objective{Name: "number", Tradeoff: number}, nil
}

// runBacktest runs a backtest. It counts the requests first, so that progress can be reported as a share of the total. It logs
// errors, because a client may never fetch the result.
func (a *handlers) runBacktest(ctx context.Context, q BacktestQuery, onProgress func(replay.Progress)) (*replay.Report, error) {
	n, err := a.Requests.Count(ctx, q.Filter, int(q.Limit))
	if err == nil { // if counting fails, the total stays unknown
		q.Total = int64(n)
		onProgress(replay.Progress{Total: q.Total})
	}
	report, err := a.Backtester.Backtest(ctx, q, onProgress)
	if err != nil && ctx.Err() == nil {
		a.Log.ErrorContext(ctx, "backtest failed", "workspace", q.Filter.WorkspaceID, "error", err)
	}
	return report, err
}

type backtestPath struct {
	ID string `path:"id" maxLength:"64" doc:"Backtest ID."`
}
