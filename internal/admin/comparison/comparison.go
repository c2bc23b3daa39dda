// Package comparison serves the operations that compare routed responses with a baseline model.
package comparison

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/admin/adminapi"
	"fairlead.dev/internal/admin/spending"
	"fairlead.dev/internal/judge"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/proof"
	"fairlead.dev/internal/requestlog"
)

// Deps are the dependencies of the operations.
type Deps struct {
	Workspaces Workspaces
	Comparer   Comparer
	Store      Store
	Models     Models
}

// Workspaces reads and changes the settings of workspaces.
type Workspaces interface {
	Workspace(ctx context.Context, workspaceID string) (account.Workspace, error)
	UpdateWorkspace(ctx context.Context, by account.Actor, workspaceID string, c account.WorkspaceChange) (account.Workspace, error)
}

// Comparer makes the comparisons.
type Comparer interface {
	// MeasureJudge measures the bias of the judge. The cost of the calls is charged to the comparison budget.
	MeasureJudge(ctx context.Context, w *account.Workspace, s *account.Comparison) (judge.Bias, error)
	// CheckJudge returns an error if the judge is from the same vendor as the model.
	CheckJudge(judging, model string) error
	// ComparisonUse returns the use of the comparison budget.
	ComparisonUse(ctx context.Context, workspaceID string, s *account.Comparison) (spending.BudgetUse, error)
	// DroppedComparisons returns the number of requests that this replica did not compare because its queue was full or the budget was
	// spent.
	DroppedComparisons() int64
}

// Store reads comparisons.
type Store interface {
	Tally(ctx context.Context, workspace string, from time.Time) (proof.Tally, error)
	Records(ctx context.Context, workspace string, from, to time.Time, limit int) ([]proof.Record, error)
	Record(ctx context.Context, workspace, request string) (r proof.Record, ok bool, err error)
	Bias(ctx context.Context, workspace, model, prompt string) (b judge.Bias, at time.Time, ok bool, err error)
}

// Models looks up model names.
type Models interface {
	// Known reports whether a configured provider or the catalog has a model with the name. If not, near lists similar names.
	Known(name string) (known bool, near []string)
}

type handlers struct {
	Deps
	*adminapi.Server
}

// ComparisonSettings holds the settings of a comparison.
type ComparisonSettings struct { //nolint:revive // the type name is the name of the schema in the API description
	Share    float64      `json:"share" minimum:"0" maximum:"1" doc:"Share of routed requests that are also sent to the baseline model, above 0."`
	Holdout  float64      `json:"holdout,omitempty" minimum:"0" maximum:"0.5" doc:"Share of routed requests that the baseline model serves while the routed model runs in the shadow."`
	Baseline string       `json:"baseline" minLength:"1" maxLength:"200" doc:"Baseline model."`
	Budget   money.Amount `json:"budget_usd" doc:"Budget per month for all calls of the comparison."`
	Judge    string       `json:"judge,omitempty" maxLength:"200" doc:"Model that judges responses. Without it, only checks and the hook decide."`
	Hook     string       `json:"hook,omitempty" maxLength:"2000" doc:"URL that receives both responses and returns a score from -1 to 1."`
}

// ComparisonState holds the comparison settings of a workspace, the budget use, and the results of the last 30 days.
type ComparisonState struct { //nolint:revive // the type name is the name of the schema in the API description
	Settings   *ComparisonSettings     `json:"settings,omitempty" doc:"Absent when responses are not compared."`
	Use        *spending.BudgetUseView `json:"budget_use,omitempty" doc:"Absent when responses are not compared."`
	Judge      *JudgeView              `json:"judge,omitempty" doc:"Absent without a judge, and before its bias is measured."`
	Compared   int64                   `json:"compared" doc:"Comparisons with a verdict in the last 30 days."`
	Unjudged   int64                   `json:"unjudged" doc:"Comparisons without a verdict in the last 30 days."`
	Failed     int64                   `json:"failed" doc:"Shadow calls without a response in the last 30 days."`
	Cost       money.Amount            `json:"cost_usd" doc:"Cost of the comparisons of the last 30 days."`
	Dropped    int64                   `json:"dropped" doc:"Requests since the start of this replica that were not compared because its queue was full or the budget was spent."`
	PromptName string                  `json:"judge_prompt" doc:"Version of the judge's prompt and rubrics."`
}

// JudgeView holds the measured bias of a judge.
type JudgeView struct {
	judge.Bias
	Model      string    `json:"model"`
	Prompt     string    `json:"prompt" doc:"Version of the prompt."`
	MeasuredAt time.Time `json:"measured_at"`
}

// ComparisonRecord is a request that was chosen for comparison.
type ComparisonRecord struct { //nolint:revive // the type name is the name of the schema in the API description
	Kind       string          `json:"kind" enum:"shadow" doc:"Always shadow: the entry does not appear in the lists and figures of the request log."`
	RequestID  string          `json:"request_id" doc:"Request that the client made."`
	ShadowID   string          `json:"shadow_id" doc:"Shadow call."`
	At         time.Time       `json:"at"`
	KeyID      string          `json:"key_id"`
	Task       string          `json:"task"`
	Model      string          `json:"model" doc:"Routed model."`
	Baseline   string          `json:"baseline"`
	Holdout    bool            `json:"holdout" doc:"Whether the baseline served the client."`
	State      string          `json:"state" enum:"compared,unjudged,failed"`
	Difference *float64        `json:"difference" doc:"Quality of the routed response minus that of the baseline response, from -1 to 1. null without a verdict."`
	Propensity float64         `json:"propensity"`
	Method     string          `json:"method,omitempty"`
	Reason     string          `json:"reason,omitempty"`
	Cost       money.Amount    `json:"cost_usd"`
	Versions   string          `json:"judge_prompt,omitempty"`
	Entry      json.RawMessage `json:"entry" doc:"Log entry of the shadow call."`
	Response   json.RawMessage `json:"response,omitempty" doc:"Response of the shadow call in the chat format. Requires the permission to read bodies, and is absent if the text of the request is not stored."`
}

// ComparisonList holds records, newest first.
type ComparisonList struct { //nolint:revive // the type name is the name of the schema in the API description
	Records []ComparisonRecord `json:"records"`
}

// Mount registers the operations.
func Mount(s *adminapi.Server, d Deps) {
	a := &handlers{Deps: d, Server: s}
	tags := []string{"comparison"}
	adminapi.Register(a.Server, account.ReadWorkspace, huma.Operation{
		OperationID: "get-comparison", Method: http.MethodGet, Path: "/workspace/comparison", Tags: tags,
		Summary: "Get the comparison with a baseline model",
	}, func(ctx context.Context, c *adminapi.Call, _ *struct{}) (*adminapi.Output[ComparisonState], error) {
		w, err := a.Workspaces.Workspace(ctx, c.WorkspaceID)
		if err != nil {
			return nil, err
		}
		return a.state(ctx, &w)
	})
	adminapi.Register(a.Server, account.ManageWorkspace, huma.Operation{
		OperationID: "set-comparison", Method: http.MethodPut, Path: "/workspace/comparison", Tags: tags,
		Summary:     "Start, change or end the comparison with a baseline model",
		Description: "A judge whose measured bias exceeds the bounds is rejected.",
	}, a.set)
	adminapi.Register(a.Server, account.ManageWorkspace, huma.Operation{
		OperationID: "measure-judge", Method: http.MethodPost, Path: "/workspace/comparison/judge", Tags: tags,
		Summary: "Measure the bias of the configured judge", Description: "Judges the built-in pairs in both orders. The calls are charged to the comparison budget.",
	}, func(ctx context.Context, c *adminapi.Call, _ *struct{}) (*adminapi.Output[JudgeView], error) {
		w, err := a.Workspaces.Workspace(ctx, c.WorkspaceID)
		if err != nil {
			return nil, err
		}
		if w.Comparison == nil || w.Comparison.Judge == "" {
			return nil, adminapi.Invalid("body", "judge", "is not configured; set a judge first")
		}
		bias, err := a.Comparer.MeasureJudge(ctx, &w, w.Comparison)
		if err != nil {
			return nil, adminapi.Invalid("body", "judge", "the bias of the judge could not be measured: "+err.Error())
		}
		return adminapi.Respond(JudgeView{Bias: bias, Model: w.Comparison.Judge, Prompt: judge.PromptVersion, MeasuredAt: a.Now().UTC()}), nil
	})
	adminapi.Register(a.Server, account.ReadRequests, huma.Operation{
		OperationID: "list-comparisons", Method: http.MethodGet, Path: "/workspace/comparison/records", Tags: tags,
		Summary: "List compared requests, newest first",
	}, a.list)
}

// recent is the period that the counts in ComparisonState cover.
const recent = 30 * 24 * time.Hour

func (a *handlers) state(ctx context.Context, w *account.Workspace) (*adminapi.Output[ComparisonState], error) {
	tally, err := a.Store.Tally(ctx, w.ID, a.Now().Add(-recent))
	if err != nil {
		return nil, err
	}
	s := ComparisonState{
		Compared: tally.Compared, Unjudged: tally.Unjudged, Failed: tally.Failed, Cost: tally.Cost, Dropped: a.Comparer.DroppedComparisons(),
		PromptName: judge.PromptVersion,
	}
	settings := w.Comparison
	if settings == nil {
		return adminapi.Respond(s), nil
	}
	s.Settings = new(ComparisonSettings(*settings))
	use, err := a.Comparer.ComparisonUse(ctx, w.ID, settings)
	if err != nil {
		return nil, err
	}
	s.Use = &spending.BudgetUseView{Spent: use.Spent, Held: use.Held, Percent: adminapi.Percent(use.Spent, settings.Budget), ResetsAt: adminapi.Time(use.ResetsAt)}
	if settings.Judge != "" {
		bias, at, ok, err := a.Store.Bias(ctx, w.ID, settings.Judge, judge.PromptVersion)
		if err != nil {
			return nil, err
		}
		if ok {
			s.Judge = &JudgeView{Bias: bias, Model: settings.Judge, Prompt: judge.PromptVersion, MeasuredAt: at.UTC()}
		}
	}
	return adminapi.Respond(s), nil
}

type setInput struct {
	Body struct {
		Settings adminapi.Field[ComparisonSettings] `json:"settings,omitzero" doc:"Required. null ends the comparison."`
	}
}

func (a *handlers) set(ctx context.Context, c *adminapi.Call, in *setInput) (*adminapi.Output[ComparisonState], error) {
	if !in.Body.Settings.Given {
		return nil, adminapi.Invalid("body", "settings", "is required; use null to end the comparison")
	}
	var settings *account.Comparison
	if v := in.Body.Settings.Value; v != nil {
		settings = new(account.Comparison(*v))
		if err := a.validate(ctx, c.WorkspaceID, settings); err != nil {
			return nil, err
		}
	}
	w, err := a.Workspaces.UpdateWorkspace(ctx, c.Actor, c.WorkspaceID, account.WorkspaceChange{Comparison: &settings})
	if err != nil {
		return nil, err
	}
	return a.state(ctx, &w)
}

// validate rejects unknown models, a judge from the same vendor as the baseline model, and a judge whose measured bias is too large.
func (a *handlers) validate(ctx context.Context, workspaceID string, s *account.Comparison) error {
	for _, f := range []struct{ param, name string }{{"settings.baseline", s.Baseline}, {"settings.judge", s.Judge}} {
		if f.name == "" {
			continue
		}
		known, near := a.Models.Known(f.name)
		if known {
			continue
		}
		p := adminapi.Problem{In: "body", Param: f.param, Message: fmt.Sprintf("unknown model %q", f.name)}
		if len(near) > 0 {
			p.Suggestion = near[0]
		}
		return adminapi.InvalidAll([]adminapi.Problem{p}).With("suggestions", near)
	}
	if s.Judge == "" {
		return nil
	}
	if err := a.Comparer.CheckJudge(s.Judge, s.Baseline); err != nil {
		return adminapi.Invalid("body", "settings.judge", "must be from a different vendor than the baseline model: "+err.Error())
	}
	bias, _, ok, err := a.Store.Bias(ctx, workspaceID, s.Judge, judge.PromptVersion)
	if err != nil {
		return err
	}
	if ok && bias.Refused != "" {
		return adminapi.Invalid("body", "settings.judge", "cannot be used as a judge because it failed the bias measurement. "+bias.Refused).With("bias", bias)
	}
	return nil
}

type listInput struct {
	From  time.Time `query:"from" doc:"Start of the range. Defaults to 30 days ago."`
	To    time.Time `query:"to" doc:"End of the range, exclusive. Defaults to now."`
	Limit int       `query:"limit" minimum:"1" maximum:"200" default:"50"`
	// Request is a query parameter, not a path parameter, so that the response for a request without a record is an empty list
	// instead of NOT_FOUND.
	Request string `query:"request_id" maxLength:"100" doc:"Returns only the record of this request, regardless of the time range."`
}

func (a *handlers) list(ctx context.Context, c *adminapi.Call, in *listInput) (*adminapi.Output[ComparisonList], error) {
	from, to := in.From, in.To
	if from.IsZero() {
		from = a.Now().Add(-recent)
	}
	if to.IsZero() {
		to = a.Now()
	}
	records, err := a.records(ctx, c.WorkspaceID, from, to, in)
	if err != nil {
		return nil, err
	}
	list := ComparisonList{Records: make([]ComparisonRecord, 0, len(records))}
	bodies := c.Actor.May(account.ReadBodies)
	for i := range records {
		record := RecordOf(&records[i], bodies)
		record.Entry = visibleEntry(records[i].Entry, c.Actor)
		list.Records = append(list.Records, record)
	}
	return adminapi.Respond(list), nil
}

// visibleEntry returns the log entry of a shadow call without the messages and operator data that the actor may not read.
func visibleEntry(text string, by account.Actor) json.RawMessage {
	bodies, operator := by.May(account.ReadBodies), by.May(account.ManageProviders)
	if bodies && operator {
		return json.RawMessage(text)
	}
	var e struct {
		Kind    string `json:"kind,omitempty"`
		Request string `json:"request_id,omitempty"`
		*requestlog.Entry
	}
	if err := json.Unmarshal([]byte(text), &e); err != nil || e.Entry == nil {
		return json.RawMessage("{}")
	}
	if !bodies {
		e.Preview = ""
		if e.Error != nil { // messages of providers can quote the request
			e.Error.Message = ""
		}
	}
	for i := range e.Attempts {
		a := &e.Attempts[i]
		if !bodies {
			a.Message = ""
		}
		if !operator {
			a.Credential, a.Cost, a.CacheSaved = "", nil, nil
		}
	}
	visible, err := json.Marshal(e)
	if err != nil {
		return json.RawMessage("{}")
	}
	return visible
}

func (a *handlers) records(ctx context.Context, workspace string, from, to time.Time, in *listInput) ([]proof.Record, error) {
	if in.Request == "" {
		return a.Store.Records(ctx, workspace, from, to, in.Limit)
	}
	r, ok, err := a.Store.Record(ctx, workspace, in.Request)
	if err != nil || !ok {
		return nil, err
	}
	return []proof.Record{r}, nil
}

// RecordOf returns the API representation of a record. Unless bodies is set, it omits the response and the reason, which may
// quote responses.
func RecordOf(r *proof.Record, bodies bool) ComparisonRecord {
	v := ComparisonRecord{
		Kind: "shadow", RequestID: r.Request, ShadowID: r.Shadow, At: r.At.UTC(), KeyID: r.Key, Task: r.Task, Model: r.Model, Baseline: r.Baseline,
		Holdout: r.Holdout, State: string(r.State), Propensity: r.Propensity, Method: r.Method, Cost: r.Cost, Versions: r.Versions, Entry: json.RawMessage(r.Entry),
	}
	if r.State == proof.Compared {
		v.Difference = &r.Difference
	}
	if bodies {
		v.Reason = r.Reason
		if r.Response != "" {
			v.Response = json.RawMessage(r.Response)
		}
	}
	return v
}
