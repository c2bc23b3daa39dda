package requests

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/admin/adminapi"
	"fairlead.dev/internal/budget"
	"fairlead.dev/internal/id"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/requestlog"
)

// SessionSummary is a session with the sums of its requests.
type SessionSummary struct {
	ID           string        `json:"id" doc:"Session ID."`
	Source       string        `json:"source" enum:"given,derived" doc:"Whether the client named the session, or it was derived from the beginning of the conversation."`
	Start        time.Time     `json:"start" doc:"Time of the first request."`
	Last         time.Time     `json:"last" doc:"Time of the latest request."`
	FirstRequest string        `json:"first_request" doc:"ID of the first request."`
	LastRequest  string        `json:"last_request" doc:"ID of the latest request."`
	Preview      string        `json:"preview" doc:"Start of the first prompt. Empty if bodies are not stored or the caller lacks read_bodies."`
	Client       string        `json:"client"`
	KeyID        *string       `json:"key_id"`
	EndUser      *string       `json:"end_user"`
	Simulated    bool          `json:"simulated"`
	Turns        int64         `json:"turns" doc:"Number of requests."`
	Errors       int64         `json:"errors"`
	Rejected     int64         `json:"rejected"`
	Unpriced     int64         `json:"unpriced" doc:"Served requests without a known cost."`
	Models       []string      `json:"models" doc:"Models that served a request."`
	LastModel    *string       `json:"last_model" doc:"Model that served the latest request."`
	Cost         money.Amount  `json:"cost_usd"`
	BaselineCost *money.Amount `json:"baseline_cost_usd" nullable:"true" doc:"Baseline cost of the requests that have one. null if no request has one."`
	Saved        *money.Amount `json:"saved_usd" nullable:"true"`
	SavedPercent *float64      `json:"saved_percent"`
	InputTokens  int64         `json:"input_tokens" doc:"Prompt tokens, including cached ones."`
	CachedTokens int64         `json:"cached_tokens"`
	OutputTokens int64         `json:"output_tokens"`
	LatencyMS    int64         `json:"latency_ms" doc:"Sum of the latencies."`
	OverheadUS   int64         `json:"overhead_us" doc:"Latency added by the gateway, in microseconds."`
}

// SessionPage is one page of sessions.
type SessionPage struct {
	Sessions []SessionSummary `json:"sessions"`
	Before   *string          `json:"before" doc:"Cursor of the next page. null on the last page."`
}

// SessionDetail is a session with the budgets that apply to it.
type SessionDetail struct {
	SessionSummary
	Budgets []SessionBudget `json:"budgets" doc:"Budgets of the session and of its end user."`
}

// SessionBudget is the budget use of a session or an end user.
type SessionBudget struct {
	Of          string       `json:"of" enum:"session,user"`
	Amount      money.Amount `json:"amount_usd"`
	Spent       money.Amount `json:"spent_usd"`
	Held        money.Amount `json:"held_usd" doc:"Reserved for requests in progress."`
	Percent     *float64     `json:"percent"`
	WarnPercent int          `json:"warn_percent"`
	Downgrade   bool         `json:"downgrade" doc:"Whether requests are served by auto:cost once warn_percent is spent."`
	ByPolicy    bool         `json:"by_policy" doc:"Whether a policy sets the budget, instead of the API key."`
	ResetsAt    *time.Time   `json:"resets_at"`
}

// SessionBudgets reads the budgets of a session with their use.
type SessionBudgets interface {
	ForSession(ctx context.Context, s *requestlog.Session) ([]budget.Item, error)
}

type listSessionsInput struct {
	From      string `query:"from" doc:"Sessions with a request since this time: RFC 3339, or relative such as now-24h."`
	To        string `query:"to" doc:"Sessions whose latest request is before this time."`
	Session   string `query:"session" doc:"Session IDs, separated by commas."`
	Key       string `query:"key" doc:"Key IDs."`
	User      string `query:"user" doc:"End users as reported by the client."`
	Model     string `query:"model" doc:"Models that served a request of the session."`
	Source    string `query:"source" enum:"given,derived"`
	Simulated string `query:"simulated" enum:"true,false"`
	MinTurns  int64  `query:"min_turns" minimum:"0" doc:"Minimum number of requests."`
	Before    string `query:"before" maxLength:"64" doc:"Cursor of the previous page."`
	Limit     int    `query:"limit" minimum:"1" maximum:"200" default:"50"`
}

func (a *handlers) registerSessions() {
	tags := []string{"sessions"}
	adminapi.Register(a.Server, account.ReadRequests, huma.Operation{
		OperationID: "list-request-sessions", Method: http.MethodGet, Path: "/sessions", Tags: tags,
		Summary:     "List sessions, the one with the latest request first",
		Description: "A session is the conversation or agent run that requests belong to. Pass before from the response to get the next page.",
	}, a.listSessions)
	adminapi.Register(a.Server, account.ReadOwnSessions, huma.Operation{
		OperationID: "get-request-session", Method: http.MethodGet, Path: "/sessions/{id}", Tags: tags,
		Summary:     "Get a session with its sums and budgets",
		Description: "A key with only the scope inference can read the sessions that it began.",
	}, a.getSession)
	adminapi.Register(a.Server, account.ReadRequests, huma.Operation{
		OperationID: "list-session-turns", Method: http.MethodGet, Path: "/sessions/{id}/turns", Tags: tags,
		Summary: "List the requests of a session, oldest first",
	}, func(ctx context.Context, c *adminapi.Call, in *listTurnsInput) (*adminapi.Output[TurnPage], error) {
		if _, err := a.Sessions.Session(ctx, c.WorkspaceID, in.ID); err != nil {
			return nil, err
		}
		turns, err := Turns(ctx, a.Requests, a.Sessions, c.Actor, c.WorkspaceID, in.ID, in.After, in.Limit)
		if err != nil {
			return nil, err
		}
		page := TurnPage{Turns: turns}
		if in.After == "" && len(turns) > 0 {
			page.Gone = turns[0].Number - 1
		}
		if len(turns) == in.Limit {
			page.After = &turns[len(turns)-1].ID
		}
		return adminapi.Respond(page), nil
	})
	adminapi.Register(a.Server, account.ReadBodies, huma.Operation{
		OperationID: "get-session-turn-messages", Method: http.MethodGet, Path: "/sessions/{id}/turns/{request}/messages", Tags: tags,
		Summary: "Get the messages that are new in a turn, and its response",
	}, a.getTurnMessages)
}

func (a *handlers) listSessions(ctx context.Context, c *adminapi.Call, in *listSessionsInput) (*adminapi.Output[SessionPage], error) {
	values := OnlyFilters(c.Params)
	for name := range values {
		switch name {
		case "from", "to", "session", "key", "user", "model", "simulated":
		default:
			values.Del(name)
		}
	}
	f, _, err := requestlog.ParseFilter(values, a.Now())
	if err != nil {
		return nil, err
	}
	found, err := a.Sessions.Sessions(ctx, requestlog.SessionFilter{
		WorkspaceID: c.WorkspaceID, From: f.From, To: f.To, ID: f.Session, Key: f.Key, User: f.User, Model: f.Model,
		Source: in.Source, MinTurns: in.MinTurns, Simulated: f.Simulated,
	}, requestlog.SessionPage{Before: in.Before, Limit: in.Limit})
	if err != nil {
		return nil, err
	}
	page := SessionPage{Sessions: make([]SessionSummary, 0, len(found))}
	for i := range found {
		page.Sessions = append(page.Sessions, sessionView(&found[i], c.Actor))
	}
	if len(found) == in.Limit {
		page.Before = &found[len(found)-1].LastID
	}
	return adminapi.Respond(page), nil
}

// SessionPath is a session ID in a path. It is exported because huma requires it for embedded fields.
type SessionPath struct {
	ID string `path:"id" maxLength:"512" doc:"Session ID."`
}

func (a *handlers) getSession(ctx context.Context, c *adminapi.Call, in *SessionPath) (*adminapi.Output[SessionDetail], error) {
	s, err := a.Sessions.Session(ctx, c.WorkspaceID, in.ID)
	if err != nil {
		return nil, err
	}
	if !c.Actor.May(account.ReadRequests) && s.KeyID != c.Actor.KeyID {
		return nil, requestlog.ErrNotFound
	}
	items, err := a.Budgets.ForSession(ctx, &s)
	if err != nil {
		return nil, err
	}
	detail := SessionDetail{SessionSummary: sessionView(&s, c.Actor), Budgets: make([]SessionBudget, 0, len(items))}
	for i := range items {
		item := &items[i]
		detail.Budgets = append(detail.Budgets, SessionBudget{
			Of: string(item.Kind), Amount: item.Budget.Amount, Spent: item.Status.Spent, Held: item.Status.Held,
			Percent: adminapi.Percent(item.Status.Spent, item.Budget.Amount), WarnPercent: item.Budget.WarnPercent,
			Downgrade: item.Downgrade, ByPolicy: item.ByPolicy, ResetsAt: adminapi.Time(item.Status.End),
		})
	}
	return adminapi.Respond(detail), nil
}

// SessionOf returns the view of a session for the command line.
func SessionOf(s *requestlog.Session) SessionSummary {
	return sessionView(s, account.CommandLine(s.WorkspaceID))
}

func sessionView(s *requestlog.Session, by account.Actor) SessionSummary {
	v := SessionSummary{
		ID: s.ID, Source: s.Source, FirstRequest: s.FirstID, LastRequest: s.LastID, Preview: s.Preview, Client: s.Client,
		KeyID: adminapi.NonEmpty(s.KeyID), EndUser: adminapi.NonEmpty(s.EndUser), Simulated: s.Simulated,
		Turns: s.Turns, Errors: s.Errors, Rejected: s.Rejected, Unpriced: s.Unpriced, Models: s.Models, LastModel: adminapi.NonEmpty(s.LastModel), Cost: s.Cost,
		InputTokens: s.InputTokens, CachedTokens: s.CachedTokens, OutputTokens: s.OutputTokens,
		LatencyMS: s.Latency.Milliseconds(), OverheadUS: s.Overhead.Microseconds(),
	}
	v.Start, _ = id.Time(s.FirstID)
	v.Last, _ = id.Time(s.LastID)
	v.Start, v.Last = v.Start.UTC(), v.Last.UTC()
	if v.Models == nil {
		v.Models = []string{}
	}
	if s.BaselineCost > 0 {
		v.BaselineCost, v.Saved = new(s.BaselineCost), new(s.BaselineCost.Sub(s.ComparedCost))
		v.SavedPercent = money.SavedPercent(*v.Saved, s.BaselineCost)
	}
	if !by.May(account.ReadBodies) {
		v.Preview = ""
	}
	return v
}
