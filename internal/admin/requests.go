package admin

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"fairlead/internal/account"
	"fairlead/internal/id"
	"fairlead/internal/requestlog"
)

// countLimit is where counting stops: beyond it a number helps nobody and costs time.
const countLimit = 100_000

// searchTime is how long a search may keep somebody waiting before it shows what it has found.
const searchTime = 600 * time.Millisecond

// Filters are the query parameters that select requests: the same names everywhere, several values joined by commas.
// requestlog.ParseFilter reads them; the fields here are their documentation.
type Filters struct {
	From       string `query:"from" doc:"Start, inclusive: RFC 3339, or relative such as now-24h." example:"now-24h"`
	To         string `query:"to" doc:"End, exclusive: RFC 3339, or relative such as now."`
	ID         string `query:"id" doc:"Request ids."`
	Decision   string `query:"decision" doc:"expected, fallback, policy."`
	Outcome    string `query:"outcome" doc:"ok, client_error, upstream_error, rejected, cancelled, partial, interrupted, gateway_error."`
	Status     string `query:"status" doc:"HTTP statuses."`
	Model      string `query:"model" doc:"Models that served."`
	Requested  string `query:"requested" doc:"Models as callers asked for them."`
	Provider   string `query:"provider" doc:"Providers that served."`
	Policy     string `query:"policy" doc:"Policies that shaped the decision."`
	Key        string `query:"key" doc:"Key ids."`
	Tag        string `query:"tag" doc:"name=value, or name for any value."`
	Session    string `query:"session" doc:"Session ids."`
	User       string `query:"user" doc:"End users as callers named them."`
	Stream     string `query:"stream" doc:"true or false."`
	MinCost    string `query:"min_cost" doc:"Dollars."`
	MaxCost    string `query:"max_cost" doc:"Dollars."`
	MinLatency string `query:"min_latency" doc:"Milliseconds, or a duration such as 2s."`
	MaxLatency string `query:"max_latency" doc:"Milliseconds, or a duration such as 2s."`
	MinSaved   string `query:"min_saved" doc:"Dollars; may be negative."`
	MaxSaved   string `query:"max_saved" doc:"Dollars; may be negative. max_saved=0 finds negative savings."`
	Unpriced   string `query:"unpriced" doc:"true for requests whose cost is unknown."`
	Simulated  string `query:"simulated" doc:"true or false; both when absent."`
	Source     string `query:"source" enum:"key,playground,all" doc:"How requests came in: by an API key, or from the dashboard's playground; all when absent."`
	Preset     string `query:"preset" enum:"errors,fallbacks,policy,expensive,slowest,negative_savings,unpriced" doc:"A filter by name; the other parameters refine it."`
	Q          string `query:"q" doc:"Text searched literally in previews, ids and errors. Needs the permission to read texts."`
}

// RequestPage is one page of requests.
type RequestPage struct {
	Requests []RequestRow `json:"requests"`
	Before   *string      `json:"before" doc:"Pass it as before to get the next page; null when this is the last one."`
	// A search that took too long shows what it has found: going on from before goes on searching.
	Unfinished bool `json:"unfinished" doc:"The search was stopped by time, so the page may have fewer requests than there are, or none; pass before to go on."`
}

// RequestCount is how many requests match.
type RequestCount struct {
	Count int  `json:"count"`
	More  bool `json:"more" doc:"There are more than count; counting stopped there."`
}

// RequestBody holds the texts of a request, or says why they are not there.
type RequestBody struct {
	State    string  `json:"state" enum:"stored,disabled,disabled_for_key,disabled_by_policy,disabled_by_request,expired,too_large,redaction_timeout,none"`
	Reason   *string `json:"reason" doc:"Why the texts are not there, as a sentence; null when they are."`
	Request  *string `json:"request" doc:"The request body as the client sent it."`
	Response *string `json:"response" doc:"The answer as the client got it; for a stream, its events joined by newlines."`
	Streamed bool    `json:"streamed" doc:"response is a list of events."`

	ChatRequest  *string `json:"chat_request" doc:"The request told in the chat format, where it came in another; else null."`
	ChatResponse *string `json:"chat_response" doc:"The answer told in the chat format, where it went out in another; else null."`
}

type requestPath struct {
	ID string `path:"id" maxLength:"64" doc:"Request id."`
}

func (a *API) registerRequests() {
	register(a, account.ReadRequests, huma.Operation{
		OperationID: "list-requests", Method: http.MethodGet, Path: "/requests", Tags: []string{"requests"},
		Summary:     "List requests, newest first",
		Description: "Keyset paging: pass the answer's `before` to go on. No total is counted; see count-requests.",
	}, a.listRequests)
	register(a, account.ReadRequests, huma.Operation{
		OperationID: "count-requests", Method: http.MethodGet, Path: "/requests/count", Tags: []string{"requests"},
		Summary: "Count matching requests",
	}, a.countRequests)
	register(a, account.ReadRequests, huma.Operation{
		OperationID: "get-request", Method: http.MethodGet, Path: "/requests/{id}", Tags: []string{"requests"},
		Summary:     "Get one request with its trace, attempts and bills",
		Description: "A request that was received a moment ago and is on its way to the log is waited for, for two seconds at most.",
	}, a.getRequest)
	register(a, account.ReadBodies, huma.Operation{
		OperationID: "get-request-body", Method: http.MethodGet, Path: "/requests/{id}/body", Tags: []string{"requests"},
		Summary: "Get the stored texts of one request",
	}, a.getRequestBody)
}

type listRequestsInput struct {
	Filters
	Before string `query:"before" maxLength:"64" doc:"Request id: list older ones."`
	Limit  int    `query:"limit" minimum:"1" maximum:"200" default:"50"`
	Sort   string `query:"sort" enum:"time,cost,latency" doc:"cost and latency list the dearest or slowest first, one page only."`
}

func (a *API) listRequests(ctx context.Context, c *call, in *listRequestsInput) (*output[RequestPage], error) {
	f, page, err := a.filter(c)
	if err != nil {
		return nil, err
	}
	page.Before, page.Limit, page.Within = in.Before, in.Limit, searchTime
	if in.Sort != "" {
		page.Sort = in.Sort
	}
	entries, err := a.Requests.Entries(ctx, f, page)
	unfinished, partial := errors.AsType[*requestlog.UnfinishedError](err)
	if err != nil && !partial {
		return nil, err
	}
	answer := RequestPage{Requests: make([]RequestRow, 0, len(entries))}
	for i := range entries {
		answer.Requests = append(answer.Requests, requestRow(&entries[i], c.actor))
	}
	if len(entries) == in.Limit && (page.Sort == "" || page.Sort == "time") {
		answer.Before = new(entries[len(entries)-1].ID)
	}
	if partial {
		answer.Before, answer.Unfinished = &unfinished.Before, true
	}
	return &output[RequestPage]{answer}, nil
}

func (a *API) countRequests(ctx context.Context, c *call, _ *Filters) (*output[RequestCount], error) {
	f, _, err := a.filter(c)
	if err != nil {
		return nil, err
	}
	n, err := a.Requests.Count(ctx, f, countLimit)
	_, partial := errors.AsType[*requestlog.UnfinishedError](err)
	if err != nil && !partial {
		return nil, err
	}
	return &output[RequestCount]{RequestCount{Count: n, More: partial || n >= countLimit}}, nil
}

func (a *API) getRequest(ctx context.Context, c *call, in *requestPath) (*output[RequestDetail], error) {
	entry, err := a.entry(ctx, c.workspaceID, in.ID)
	if err != nil {
		return nil, err
	}
	return &output[RequestDetail]{requestDetail(&entry, c.actor)}, nil
}

const (
	freshEntry = time.Minute     // how old an id may be for its entry to be still on the way to the log
	entryWait  = 2 * time.Second // how long to wait for it
	entryPause = 50 * time.Millisecond
)

// entry reads one entry. That of a request which came in a moment ago is waited for: callers hear of a request before
// the log has it.
func (a *API) entry(ctx context.Context, workspaceID, requestID string) (requestlog.Entry, error) {
	received, ours := id.Time(requestID)
	fresh := ours && strings.HasPrefix(requestID, "req_") && a.Now().Sub(received).Abs() < freshEntry
	for waited := time.Duration(0); ; waited += entryPause {
		entry, err := a.Requests.Entry(ctx, workspaceID, requestID)
		if !errors.Is(err, requestlog.ErrNotFound) || !fresh || waited >= entryWait {
			return entry, err
		}
		if err := pause(ctx, entryPause); err != nil {
			return entry, err
		}
	}
}

func (a *API) getRequestBody(ctx context.Context, c *call, in *requestPath) (*output[RequestBody], error) {
	entry, err := a.entry(ctx, c.workspaceID, in.ID)
	if err != nil {
		return nil, err
	}
	if entry.BodyState != requestlog.BodyStored {
		return absentBody(entry.BodyState), nil
	}
	body, err := a.Requests.EntryBody(ctx, c.workspaceID, in.ID)
	if errors.Is(err, requestlog.ErrNotFound) {
		return absentBody(requestlog.BodyExpired), nil // it was stored, so retention has taken it
	}
	if err != nil {
		return nil, err
	}
	request, response := a.Transcript(entry.Format, body)
	return &output[RequestBody]{RequestBody{
		State: string(requestlog.BodyStored), Request: bodyText(body.Request), Response: bodyText(body.Response), Streamed: body.Streamed,
		ChatRequest: bodyText(request), ChatResponse: bodyText(response),
	}}, nil
}

func absentBody(state requestlog.BodyState) *output[RequestBody] {
	reasons := map[requestlog.BodyState]string{
		requestlog.BodyDisabled:          "Storing texts is off for this workspace. Settings → Data turns it on for later requests.",
		requestlog.BodyDisabledForKey:    "Storing texts is off for the key that sent this request.",
		requestlog.BodyDisabledByPolicy:  "A policy keeps the texts of such requests out of the log.",
		requestlog.BodyDisabledByRequest: "The request asked not to be stored (x-fairlead-log-body: false).",
		requestlog.BodyExpired:           "The texts are older than the retention of texts and are deleted.",
		requestlog.BodyTooLarge:          "The texts were larger than what is stored.",
		requestlog.BodyRedactionTimeout:  "The workspace's redaction rules took too long for these texts, so they were not stored.",
		requestlog.BodyNone:              "The request failed before there was a text to store.",
	}
	if reasons[state] == "" {
		state = requestlog.BodyNone
	}
	return &output[RequestBody]{RequestBody{State: string(state), Reason: new(reasons[state])}}
}

// bodyText makes stored bytes safe to be shown as JSON text.
func bodyText(b []byte) *string {
	if len(b) == 0 {
		return nil
	}
	return new(strings.ToValidUTF8(string(b), "\uFFFD"))
}

// filter reads the query's filters for the caller's workspace. A preset may also name an order.
func (a *API) filter(c *call) (requestlog.Filter, requestlog.Page, error) {
	f, page, err := requestlog.ParseFilter(onlyFilters(c.query), a.Now())
	f.WorkspaceID = c.workspaceID
	if f.Q != "" && !c.actor.May(account.ReadBodies) {
		return f, page, refused(c.actor, account.ReadBodies) // a search would tell what the texts say
	}
	return f, page, err
}

// onlyFilters leaves out the parameters that are not filters, such as paging.
func onlyFilters(query url.Values) url.Values {
	filters := url.Values{}
	for f := range reflect.TypeFor[Filters]().Fields() {
		if name := f.Tag.Get("query"); query.Get(name) != "" {
			filters[name] = query[name]
		}
	}
	return filters
}
