// Package reports serves the report: figures of requests, grouped by one or two dimensions.
package reports

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/admin/adminapi"
	"fairlead.dev/internal/admin/requests"
	"fairlead.dev/internal/report"
)

// Keys lists API keys.
type Keys interface {
	Keys(ctx context.Context, workspaceID string) ([]account.Key, error)
}

// Members lists the members of a workspace.
type Members interface {
	Members(ctx context.Context, workspaceID string) ([]account.Member, error)
}

// Deps are the dependencies of the operations.
type Deps struct {
	Figures report.Reader // roll-ups that the overview uses
	Facts   report.Reader // roll-ups by every dimension
	Keys    Keys
	Members Members
}

type handlers struct {
	Deps
	*adminapi.Server
}

// Mount registers the operations.
func Mount(s *adminapi.Server, d Deps) {
	a := &handlers{Deps: d, Server: s}
	tags := []string{"report"}
	adminapi.Register(s, account.ReadFigures, huma.Operation{
		OperationID: "get-report", Method: http.MethodGet, Path: "/report", Tags: tags,
		Summary: "Get figures by one or two dimensions",
		Description: "Computed from roll-ups. Playground requests are excluded unless source is set. Totals are exact; notes names everything that is " +
			"not: estimated latencies, groups from a sample, values that the roll-ups do not keep, and a rounded range. " +
			"Grouping or filtering by user, session, client or tag requires read_requests.",
	}, func(ctx context.Context, c *adminapi.Call, _ *Parameters) (*adminapi.Output[Report], error) {
		r, err := a.run(ctx, c)
		if err != nil {
			return nil, err
		}
		return adminapi.Respond(*r), nil
	})
	adminapi.Register(s, account.ReadFigures, huma.Operation{
		OperationID: "get-report-series", Method: http.MethodGet, Path: "/report/series", Tags: tags,
		Summary:     "Get figures over time by one dimension",
		Description: "Takes the parameters of get-report; then is ignored. Returns the values with the highest measure in the whole range, up to limit, and the total.",
	}, a.series)
	adminapi.Register(s, account.ReadFigures, huma.Operation{
		OperationID: "export-report", Method: http.MethodGet, Path: "/report/export", Tags: tags,
		Summary:     "Export figures by one or two dimensions as CSV",
		Description: "Takes the parameters of get-report. In CSV, values that a spreadsheet would interpret as a formula are prefixed with an apostrophe.",
		Responses: map[string]*huma.Response{"200": {Description: "The report.", Content: map[string]*huma.MediaType{
			"text/csv": {Schema: &huma.Schema{Type: huma.TypeString}},
		}}},
	}, func(ctx context.Context, c *adminapi.Call, _ *Parameters) (*huma.StreamResponse, error) {
		r, err := a.run(ctx, c)
		if err != nil {
			return nil, err
		}
		return &huma.StreamResponse{Body: func(out huma.Context) {
			out.SetHeader("Content-Type", "text/csv; charset=utf-8")
			out.SetHeader("Content-Disposition", `attachment; filename="report.csv"`)
			out.SetStatus(http.StatusOK)
			if err := r.WriteCSV(out.BodyWriter()); err != nil {
				a.Log.WarnContext(ctx, "export ended early", "request_id", c.RequestID, "error", err)
				panic(http.ErrAbortHandler) // abort the connection, so that the partial export is not mistaken for a complete one
			}
		}}, nil
	})
}

// Parameters are the query parameters of a report.
type Parameters struct {
	From      string `query:"from" default:"now-24h" doc:"Inclusive start: RFC 3339 or relative, such as now-24h."`
	To        string `query:"to" default:"now" doc:"Exclusive end: RFC 3339 or relative, such as now."`
	By        string `query:"by" maxLength:"110" doc:"First level: model, provider, key, policy, member, user, session, client, or tag:NAME for the values of a tag. Without it, the report has the total only." example:"model"`
	Then      string `query:"then" maxLength:"110" doc:"Second level, like by." example:"tag:team"`
	Measure   string `query:"measure" enum:"spend,savings,requests,latency,errors" default:"spend" doc:"Order of the groups, highest first. latency is the 95th percentile."`
	Limit     int    `query:"limit" minimum:"1" maximum:"500" default:"20" doc:"Maximum number of groups on each level. rest contains the other requests."`
	Model     string `query:"model" doc:"Models that served the request, comma-separated."`
	Provider  string `query:"provider" doc:"Providers that served the request."`
	Policy    string `query:"policy" doc:"Policies that determined the decision."`
	Key       string `query:"key" doc:"Key IDs."`
	User      string `query:"user" doc:"End users as reported by the client."`
	Session   string `query:"session" doc:"Session IDs."`
	Client    string `query:"client" doc:"Clients as reported by the User-Agent header."`
	Tag       string `query:"tag" doc:"A tag as name=value, or name for any value."`
	Simulated string `query:"simulated" doc:"true or false. Defaults to both."`
	Source    string `query:"source" enum:"key,playground,all" doc:"Origin of the request: an API key or the dashboard's playground. Defaults to key."`
}

type seriesInput struct {
	Parameters
	requests.ZoneChoice
}

func (a *handlers) series(ctx context.Context, c *adminapi.Call, in *seriesInput) (*adminapi.Output[ReportSeries], error) {
	zone, err := in.Location()
	if err != nil {
		return nil, err
	}
	q, err := a.query(c)
	if err != nil {
		return nil, err
	}
	source, names, err := a.source(ctx, &q)
	if err != nil {
		return nil, err
	}
	result, err := source.Series(ctx, q, zone, a.Now())
	if err != nil {
		return nil, err
	}
	return adminapi.Respond(newSeries(&q, result, names)), nil
}

func (a *handlers) run(ctx context.Context, c *adminapi.Call) (*Report, error) {
	q, err := a.query(c)
	if err != nil {
		return nil, err
	}
	return Run(ctx, a.Deps, q, a.Now())
}

// query parses the parameters of a call and checks the caller's permission.
func (a *handlers) query(c *adminapi.Call) (report.Query, error) {
	values := url.Values{}
	for _, name := range report.Parameters() {
		values[name] = c.Params[name]
	}
	q, err := report.Parse(values, a.Now())
	if err != nil {
		return q, err
	}
	if q.Reveals() && !c.Actor.May(account.ReadRequests) {
		return q, adminapi.Denied(c.Actor, account.ReadRequests)
	}
	q.WorkspaceID = c.WorkspaceID
	return q, nil
}

// Run executes a report query and adds the names of keys and members to the result.
func Run(ctx context.Context, d Deps, q report.Query, now time.Time) (*Report, error) {
	source, names, err := d.source(ctx, &q)
	if err != nil {
		return nil, err
	}
	result, err := source.Run(ctx, q, now)
	if err != nil {
		return nil, err
	}
	return newReport(&q, result, names), nil
}

// source returns the roll-ups and the names that a query needs.
func (d *Deps) source(ctx context.Context, q *report.Query) (*report.Source, *names, error) {
	names := &names{keys: map[string]account.Key{}, members: map[string]account.Member{}}
	if uses(q, report.Key) || uses(q, report.Member) {
		keys, err := d.Keys.Keys(ctx, q.WorkspaceID)
		if err != nil {
			return nil, nil, err
		}
		for i := range keys {
			names.keys[keys[i].ID] = keys[i]
		}
	}
	if uses(q, report.Member) {
		members, err := d.Members.Members(ctx, q.WorkspaceID)
		if err != nil {
			return nil, nil, err
		}
		for _, m := range members {
			names.members[m.AccountID] = m
		}
	}
	return &report.Source{Figures: d.Figures, Facts: d.Facts, Owner: func(key string) string { return names.keys[key].CreatedBy }}, names, nil
}

func uses(q *report.Query, d report.Dimension) bool { return q.By == d || q.Then == d }
