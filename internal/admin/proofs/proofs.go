// Package proofs serves the savings and the measured quality of a workspace: figures for a period and monthly statements.
package proofs

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/admin/adminapi"
	"fairlead.dev/internal/admin/requests"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/proof"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/route"
)

// Deps are the dependencies of the operations.
type Deps struct {
	Figures    requestlog.FigureReader
	Keys       Keys
	Workspaces Workspaces
	Log        BaselineLog
	Samples    proof.Source // nil if comparison is off
	Costs      Costs        // nil if comparison is off
	Models     Models
	Prices     Prices
}

// Models looks up model names.
type Models interface {
	// Known reports whether a configured provider or the catalog has a model with the name. If not, near lists similar names.
	Known(name string) (known bool, near []string)
}

// Prices reads the prices of past requests.
type Prices interface {
	// PastSnapshots returns a function for one report. The function returns the targets and prices used by a past decision. If they
	// are not stored, it returns the current ones, and false.
	PastSnapshots() func(ctx context.Context, v route.Versions) (snap *route.Snapshot, stored bool)
}

// Costs reads the cost of comparisons.
type Costs interface {
	// ComparisonCost returns the cost of the comparisons of requests that were served in the interval [from, to).
	ComparisonCost(ctx context.Context, workspace string, from, to time.Time) (money.Amount, error)
}

// Keys lists API keys.
type Keys interface {
	Keys(ctx context.Context, workspaceID string) ([]account.Key, error)
}

// Workspaces reads workspaces.
type Workspaces interface {
	Workspace(ctx context.Context, workspaceID string) (account.Workspace, error)
}

type handlers struct {
	Deps
	*adminapi.Server
	turn chan struct{} // holds one value while the savings against another model are computed
}

// Mount registers the operations.
func Mount(s *adminapi.Server, d Deps) {
	a := &handlers{Deps: d, Server: s, turn: make(chan struct{}, 1)}
	tags := []string{"proof"}
	adminapi.Register(s, account.ReadFigures, huma.Operation{
		OperationID: "get-proof", Method: http.MethodGet, Path: "/proof", Tags: tags,
		Summary: "Get the savings of a period and the measured quality difference to the baseline models",
		Description: "Savings are computed from roll-ups, without playground requests. With baseline, they are computed from the log: the recorded tokens of at most the newest 100,000 requests, priced at the prices that applied at the time of the request. " +
			"Only one such report is computed at a time. The quality is measured on compared requests, with intervals that are valid at any time. " +
			"Examples are included only with the permission read_requests.",
	}, a.getProof)
	adminapi.Register(s, account.ReadFigures, huma.Operation{
		OperationID: "get-statement", Method: http.MethodGet, Path: "/statement", Tags: tags,
		Summary:     "Download the statement of a month as HTML or CSV",
		Description: "Requests, tokens, cost and savings by model, key and day.",
		Responses: map[string]*huma.Response{"200": {Description: "The statement.", Content: map[string]*huma.MediaType{
			"text/html": {Schema: &huma.Schema{Type: huma.TypeString}},
			"text/csv":  {Schema: &huma.Schema{Type: huma.TypeString}},
		}}},
	}, a.getStatement)
}

// maxSpan is the longest period of a report.
const maxSpan = 366 * 24 * time.Hour

type proofInput struct {
	From      string `query:"from" default:"now-30d" doc:"Inclusive start: RFC 3339 or relative, such as now-30d."`
	To        string `query:"to" default:"now" doc:"Exclusive end: RFC 3339 or relative, such as now."`
	Simulated string `query:"simulated" doc:"Whether the savings cover simulated requests: true or false. Defaults to both."`
	Baseline  string `query:"baseline" maxLength:"200" doc:"Model to compute the savings against. Defaults to the baseline that each request recorded."`
}

// Proof holds the savings and the measured quality of a period.
type Proof struct {
	From           time.Time            `json:"from"`
	To             time.Time            `json:"to"`
	Savings        requests.FigureSet   `json:"savings"`
	Against        *Coverage            `json:"against,omitempty" doc:"The chosen baseline model, and how its costs were determined. Absent without the parameter baseline."`
	Requests       int64                `json:"requests" doc:"Requests of the period by the roll-ups. The log may have fewer, because of its retention."`
	Models         []Saving             `json:"models" doc:"Savings by model, most requests first."`
	Keys           []Saving             `json:"keys" doc:"Savings by key."`
	Quality        *proof.QualityReport `json:"quality,omitempty" doc:"Measured quality. Absent if comparison is off."`
	ComparisonCost *money.Amount        `json:"comparison_cost_usd" doc:"Cost of the comparison calls, which is not part of the savings. null if unknown." nullable:"true"`
	KeyNames       map[string]string    `json:"key_names" doc:"Names of keys by ID."`
}

// Saving holds the savings of one model or key.
type Saving struct {
	Name     string       `json:"name" doc:"Model or ID of the key."`
	Label    string       `json:"label" doc:"Display name."`
	Requests int64        `json:"requests"`
	Compared int64        `json:"compared" doc:"Requests with a known cost and baseline cost."`
	Cost     money.Amount `json:"cost_usd"`
	Baseline money.Amount `json:"baseline_cost_usd"`
	Saved    money.Amount `json:"saved_usd"`
}

func (a *handlers) getProof(ctx context.Context, c *adminapi.Call, in *proofInput) (*adminapi.Output[Proof], error) {
	rollup, err := requests.ParseRollup(c, &requests.FigureFilters{From: in.From, To: in.To}, a.Now())
	if err != nil {
		return nil, err
	}
	if rollup.To.Sub(rollup.From) > maxSpan {
		return nil, adminapi.Invalid("query", "from", "must be at most 366 days before \"to\"")
	}
	rollup.Source = requestlog.SourceKey
	keys, err := a.Keys.Keys(ctx, c.WorkspaceID)
	if err != nil {
		return nil, err
	}
	p := Proof{From: rollup.From.UTC(), To: rollup.To.UTC(), KeyNames: map[string]string{}}
	for i := range keys {
		p.KeyNames[keys[i].ID] = keys[i].Name
	}
	total, err := a.Figures.Breakdown(ctx, requestlog.BreakdownQuery{RollupFilter: rollup, Limit: 1})
	if err != nil {
		return nil, err
	}
	if len(total) > 0 {
		p.Requests = total[0].Requests
		p.Savings = requests.FiguresOf(&total[0].Figures)
	}
	if in.Baseline != "" {
		err = a.against(ctx, &p, rollup, in.Baseline)
	} else {
		err = a.recorded(ctx, &p, rollup)
	}
	if err != nil {
		return nil, err
	}
	if a.Samples == nil {
		return adminapi.Respond(p), nil
	}
	samples, err := a.Samples.Samples(ctx, c.WorkspaceID, rollup.From, rollup.To)
	if err != nil {
		return nil, err
	}
	if len(samples) == 0 {
		workspace, err := a.Workspaces.Workspace(ctx, c.WorkspaceID)
		if err != nil {
			return nil, err
		}
		if workspace.Comparison == nil {
			return adminapi.Respond(p), nil
		}
	}
	report := proof.Summarize(samples, 0)
	if !c.Actor.May(account.ReadRequests) {
		report.Best, report.Worst = []proof.ComparisonExample{}, []proof.ComparisonExample{}
	}
	p.Quality = &report
	if a.Costs != nil {
		cost, err := a.Costs.ComparisonCost(ctx, c.WorkspaceID, rollup.From, rollup.To)
		if err != nil {
			return nil, err
		}
		p.ComparisonCost = &cost
	}
	return adminapi.Respond(p), nil
}

// recorded computes the savings by model and by key compared with the baselines in the request log, and stores them in p.
func (a *handlers) recorded(ctx context.Context, p *Proof, rollup requestlog.RollupFilter) (err error) {
	if p.Models, err = a.savings(ctx, rollup, "model", nil); err != nil {
		return err
	}
	p.Keys, err = a.savings(ctx, rollup, "key", p.KeyNames)
	return err
}

// maxRows is the maximum number of models and of keys in a report.
const maxRows = 100

// savings returns the savings by model or key.
func (a *handlers) savings(ctx context.Context, f requestlog.RollupFilter, by string, names map[string]string) ([]Saving, error) {
	groups, err := a.Figures.Breakdown(ctx, requestlog.BreakdownQuery{RollupFilter: f, By: by, Limit: maxRows})
	if err != nil {
		return nil, err
	}
	list := []Saving{}
	for i := range groups {
		g := &groups[i]
		if g.Requests == 0 {
			continue // the group has attempts but no requests
		}
		list = append(list, saving(g.Name, cmp.Or(names[g.Name], g.Label, g.Name), &g.Figures))
	}
	return list, nil
}

func saving(name, label string, f *requestlog.Figures) Saving {
	return Saving{
		Name: name, Label: label, Requests: f.Requests, Compared: f.Compared, Cost: f.Cost, Baseline: f.BaselineCost, Saved: f.BaselineCost.Sub(f.ComparedCost),
	}
}

type statementInput struct {
	Month     string `query:"month" maxLength:"7" doc:"Month in UTC. Defaults to the previous month." example:"2026-11"`
	Format    string `query:"format" enum:"html,csv" default:"html"`
	Simulated bool   `query:"simulated" doc:"Whether to include simulated requests."`
}

func (a *handlers) getStatement(ctx context.Context, c *adminapi.Call, in *statementInput) (*huma.StreamResponse, error) {
	month := PreviousMonth(a.Now())
	if in.Month != "" {
		var err error
		if month, err = ParseMonth(in.Month); err != nil {
			return nil, adminapi.Invalid("query", "month", "must be a month such as 2026-11")
		}
	}
	workspace, err := a.Workspaces.Workspace(ctx, c.WorkspaceID)
	if err != nil {
		return nil, err
	}
	made, err := NewStatement(ctx, a.Figures, a.Keys, StatementOptions{
		WorkspaceID: c.WorkspaceID, Workspace: workspace.Name, Month: month, Now: a.Now(), Simulated: in.Simulated,
	})
	if errors.Is(err, ErrFuture) {
		return nil, adminapi.Invalid("query", "month", "must be a month that has started")
	}
	if err != nil {
		return nil, err
	}
	var body bytes.Buffer
	kind, write := "text/html; charset=utf-8", made.WriteHTML
	if in.Format == "csv" {
		kind, write = "text/csv; charset=utf-8", made.WriteCSV
	}
	if err := write(&body); err != nil {
		return nil, err
	}
	return &huma.StreamResponse{Body: func(out huma.Context) {
		out.SetHeader("Content-Type", kind)
		out.SetHeader("Content-Disposition", `attachment; filename="statement-`+made.Month+`.`+in.Format+`"`)
		out.SetStatus(http.StatusOK)
		_, _ = out.BodyWriter().Write(body.Bytes()) // the error is ignored: the client may have disconnected
	}}, nil
}
