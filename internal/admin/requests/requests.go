package requests

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/admin/adminapi"
	"fairlead.dev/internal/id"
	"fairlead.dev/internal/requestlog"
)

// countLimit is the maximum number of matching requests to count.
const countLimit = 100_000

// searchTime is the time limit for a search. A search that reaches it returns a partial page.
const searchTime = 600 * time.Millisecond

// Filters is embedded in the input of operations that select requests. It adds the query parameters of requestlog.Parameters,
// which requestlog.ParseFilter decodes.
type Filters struct{}

// QueryParameters implements adminapi.Parameterized.
func (Filters) QueryParameters() []*huma.Param {
	var params []*huma.Param
	for _, p := range requestlog.Parameters() {
		param := &huma.Param{Name: p.Name, In: "query", Description: p.Help, Schema: &huma.Schema{Type: huma.TypeString}}
		switch {
		case p.List && p.Values != nil:
			param.Description += " One or more of " + strings.Join(p.Values, ", ") + "."
		case p.Values != nil:
			for _, v := range p.Values {
				param.Schema.Enum = append(param.Schema.Enum, v)
			}
		case p.Switch:
			param.Description += " Use true or false."
		}
		params = append(params, param)
	}
	return params
}

// RequestPage is one page of requests.
type RequestPage struct {
	Requests []RequestRow `json:"requests"`
	Before   *string      `json:"before" doc:"Cursor of the next page. null on the last page."`
	// Unfinished reports whether the search reached its time limit. The next page continues the search.
	Unfinished bool `json:"unfinished" doc:"Whether the search stopped at the time limit. The page may be incomplete or empty. Pass before to continue."`
	// SearchedTo is the time of the oldest request that an unfinished search reached.
	SearchedTo *time.Time `json:"searched_to" doc:"Time back to which an unfinished search has read requests. null if the search is complete."`
}

// RequestCount holds the number of matching requests.
type RequestCount struct {
	Count int  `json:"count"`
	More  bool `json:"more" doc:"Whether there are more requests than count."`
}

// RequestBody holds the bodies of a request, or why they are not available.
type RequestBody struct {
	State    string  `json:"state" enum:"stored,disabled,disabled_for_key,disabled_by_policy,disabled_by_request,expired,too_large,redaction_timeout,none"`
	Reason   *string `json:"reason" doc:"Why the bodies are not available or not complete. null if they are."`
	Missing  int     `json:"missing_parts" doc:"Parts of the request that were deleted with other requests that shared them. Placeholder text in the request marks the place of each."`
	Request  *string `json:"request" doc:"Request body as sent by the client."`
	Response *string `json:"response" doc:"Response body as sent to the client. For a stream, its events separated by newlines."`
	Streamed bool    `json:"streamed" doc:"Whether response is a list of events."`

	ChatRequest  *string `json:"chat_request" doc:"Request translated to the chat format. null if it already was in the chat format."`
	ChatResponse *string `json:"chat_response" doc:"Response translated to the chat format. null if it already was in the chat format."`
}

type requestPath struct {
	ID string `path:"id" maxLength:"64" doc:"Request ID."`
}

func (a *handlers) registerRequests() {
	adminapi.Register(a.Server, account.ReadRequests, huma.Operation{
		OperationID: "list-requests", Method: http.MethodGet, Path: "/requests", Tags: []string{"requests"},
		Summary:     "List requests, newest first",
		Description: "Pass before from the response to get the next page. Use count-requests to get the total.",
	}, a.listRequests)
	adminapi.Register(a.Server, account.ReadRequests, huma.Operation{
		OperationID: "count-requests", Method: http.MethodGet, Path: "/requests/count", Tags: []string{"requests"},
		Summary: "Count matching requests",
	}, func(ctx context.Context, c *adminapi.Call, _ *Filters) (*adminapi.Output[RequestCount], error) {
		f, _, err := ParseFilter(c, a.Now())
		if err != nil {
			return nil, err
		}
		n, err := a.Requests.Count(ctx, f, countLimit)
		_, partial := errors.AsType[*requestlog.UnfinishedError](err)
		if err != nil && !partial {
			return nil, err
		}
		return adminapi.Respond(RequestCount{Count: n, More: partial || n >= countLimit}), nil
	})
	adminapi.Register(a.Server, account.ReadRequests, huma.Operation{
		OperationID: "get-request", Method: http.MethodGet, Path: "/requests/{id}", Tags: []string{"requests"},
		Summary:     "Get a request with its trace, attempts and cost breakdown",
		Description: "Waits up to two seconds for a recent request that is not yet in the log.",
	}, func(ctx context.Context, c *adminapi.Call, in *requestPath) (*adminapi.Output[RequestDetail], error) {
		entry, err := a.entry(ctx, c.WorkspaceID, in.ID)
		if err != nil {
			return nil, err
		}
		return adminapi.Respond(requestDetail(&entry, c.Actor)), nil
	})
	adminapi.Register(a.Server, account.ReadBodies, huma.Operation{
		OperationID: "get-request-body", Method: http.MethodGet, Path: "/requests/{id}/body", Tags: []string{"requests"},
		Summary: "Get the stored bodies of a request",
	}, a.getRequestBody)
}

type listRequestsInput struct {
	Filters
	Before string `query:"before" maxLength:"64" doc:"Request ID. Lists older requests."`
	Limit  int    `query:"limit" minimum:"1" maximum:"200" default:"50"`
	Sort   string `query:"sort" enum:"time,cost,latency,tokens" doc:"Sort order. cost and latency list the most expensive or slowest requests first, tokens those with the most tokens among the newest 10,000 matching requests. They return one page only."`
}

func (a *handlers) listRequests(ctx context.Context, c *adminapi.Call, in *listRequestsInput) (*adminapi.Output[RequestPage], error) {
	f, page, err := ParseFilter(c, a.Now())
	if err != nil {
		return nil, err
	}
	page.Before, page.Limit, page.Within = in.Before, in.Limit, searchTime
	if f.Text != "" {
		page.Within = 0 // the search in stored text has its own limits
	}
	if in.Sort != "" {
		page.Sort = in.Sort
	}
	entries, err := a.Requests.Entries(ctx, f, page)
	unfinished, partial := errors.AsType[*requestlog.UnfinishedError](err)
	if err != nil && !partial {
		return nil, err
	}
	result := RequestPage{Requests: make([]RequestRow, 0, len(entries))}
	for i := range entries {
		result.Requests = append(result.Requests, requestRow(&entries[i], c.Actor))
	}
	if len(entries) == in.Limit && (page.Sort == "" || page.Sort == "time") {
		result.Before = new(entries[len(entries)-1].ID)
	}
	if partial {
		result.Before, result.Unfinished = &unfinished.Before, true
		result.SearchedTo = new(unfinished.SearchedTo())
	}
	return adminapi.Respond(result), nil
}

const (
	freshEntry = time.Minute     // maximum age of an ID whose entry might not be in the log yet
	entryWait  = 2 * time.Second // maximum time to wait for the entry
	entryPause = 50 * time.Millisecond
)

// entry loads an entry. It waits for the entry of a recent request, because clients receive the request ID before the entry is in
// the log.
func (a *handlers) entry(ctx context.Context, workspaceID, requestID string) (requestlog.Entry, error) {
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

func (a *handlers) getRequestBody(ctx context.Context, c *adminapi.Call, in *requestPath) (*adminapi.Output[RequestBody], error) {
	entry, err := a.entry(ctx, c.WorkspaceID, in.ID)
	if err != nil {
		return nil, err
	}
	if entry.BodyState != requestlog.BodyStored {
		return absentBody(entry.BodyState), nil
	}
	body, err := a.Requests.EntryBody(ctx, c.WorkspaceID, in.ID)
	if errors.Is(err, requestlog.ErrNotFound) {
		return absentBody(requestlog.BodyExpired), nil // the body was stored and later deleted by retention
	}
	if err != nil {
		return nil, err
	}
	request, response := a.Transcript(entry.Format, body)
	v := storedBody(body)
	v.ChatRequest, v.ChatResponse = bodyText(request), bodyText(response)
	return adminapi.Respond(v), nil
}

// storedBody returns the stored bodies. Parts of the request may be missing if a deleted request shared them.
func storedBody(body requestlog.Body) RequestBody {
	v := RequestBody{
		State: string(requestlog.BodyStored), Request: bodyText(body.Request), Response: bodyText(body.Response), Streamed: body.Streamed, Missing: body.Gone,
	}
	if body.Gone > 0 {
		v.Reason = new(fmt.Sprintf("%d parts of this request were deleted together with other requests that shared them.", body.Gone))
	}
	return v
}

func absentBody(state requestlog.BodyState) *adminapi.Output[RequestBody] {
	reasons := map[requestlog.BodyState]string{
		requestlog.BodyDisabled:          "Storing bodies is disabled for this workspace. Enable it for later requests on the Data page.",
		requestlog.BodyDisabledForKey:    "Storing bodies is disabled for the key of this request.",
		requestlog.BodyDisabledByPolicy:  "A policy disables storing the bodies of this request.",
		requestlog.BodyDisabledByRequest: "The client disabled storing the bodies (x-fairlead-log-body: false).",
		requestlog.BodyExpired:           "The bodies were deleted because they are older than the body retention.",
		requestlog.BodyTooLarge:          "The bodies exceed the maximum stored size.",
		requestlog.BodyRedactionTimeout:  "The bodies were not stored because the redaction rules of the workspace took too long.",
		requestlog.BodyMedia:             "The bodies of audio, image, rerank, realtime, file and batch requests are not stored.",
		requestlog.BodyNone:              "The request failed before there was a body to store.",
	}
	if reasons[state] == "" {
		state = requestlog.BodyNone
	}
	return adminapi.Respond(RequestBody{State: string(state), Reason: new(reasons[state])})
}

// bodyText converts a stored body to valid UTF-8.
func bodyText(b []byte) *string {
	if len(b) == 0 {
		return nil
	}
	return new(strings.ToValidUTF8(string(b), "\uFFFD"))
}

// ParseFilter parses the filters for the caller's workspace. The preset parameter can set the sort order.
func ParseFilter(c *adminapi.Call, now time.Time) (requestlog.Filter, requestlog.Page, error) {
	f, page, err := requestlog.ParseFilter(OnlyFilters(c.Params), now)
	f.WorkspaceID = c.WorkspaceID
	if (f.Q != "" || f.Text != "") && !c.Actor.May(account.ReadBodies) {
		return f, page, adminapi.Denied(c.Actor, account.ReadBodies) // a search would reveal the bodies
	}
	return f, page, err
}

// OnlyFilters returns the filter parameters of query. It omits other parameters, such as paging.
func OnlyFilters(query url.Values) url.Values {
	filters := url.Values{}
	for _, p := range requestlog.Parameters() {
		if query.Get(p.Name) != "" {
			filters[p.Name] = query[p.Name]
		}
	}
	return filters
}

// Eraser deletes entries and their bodies.
type Eraser interface {
	// DeleteEntries deletes matching entries and returns their number. A dry run only counts them.
	DeleteEntries(ctx context.Context, f requestlog.Filter, dryRun bool) (int64, error)
}
