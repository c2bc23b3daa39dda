// Package views serves the saved views of the request list and of the report.
package views

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/admin/adminapi"
	"fairlead.dev/internal/id"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/report"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/savedview"
)

// Store stores views.
type Store interface {
	Views(ctx context.Context, workspaceID string) ([]savedview.View, error)
	AddView(ctx context.Context, v *savedview.View) error
	UpdateView(ctx context.Context, v *savedview.View) error
	DeleteView(ctx context.Context, workspaceID, id string) error
}

// Deps are the dependencies of the operations.
type Deps struct{ Store Store }

// ViewSettings holds the settings of a saved view.
type ViewSettings struct {
	Name    string            `json:"name" minLength:"1" maxLength:"80" doc:"Name, unique in the workspace."`
	Page    string            `json:"page,omitempty" enum:"requests,report" doc:"Page that shows the view; requests if absent. It cannot be changed later."`
	Filters map[string]string `json:"filters,omitempty" maxProperties:"40" doc:"Parameters of list-requests, or of get-report for a view of the report, including from and to."`
	Columns []string          `json:"columns,omitempty" maxItems:"40" doc:"Columns of the dashboard in order. Empty for the default columns."`
	Sort    string            `json:"sort,omitempty" enum:"time,cost,latency,tokens" doc:"Sort order of list-requests."`
}

// SavedView is a saved view.
type SavedView struct {
	ID        string            `json:"id"`
	Name      string            `json:"name"`
	Page      string            `json:"page" enum:"requests,report"`
	Filters   map[string]string `json:"filters"`
	Columns   []string          `json:"columns"`
	Sort      string            `json:"sort" enum:"time,cost,latency,tokens"`
	CreatedBy string            `json:"created_by" doc:"Account ID or key ID."`
	CreatedAt time.Time         `json:"created_at"`
}

// SavedViewList holds the views of a workspace, sorted by name.
type SavedViewList struct {
	Views []SavedView `json:"views"`
}

type handlers struct {
	Deps
	*adminapi.Server
}

// Mount registers the operations.
func Mount(s *adminapi.Server, d Deps) {
	a := &handlers{Deps: d, Server: s}
	tags := []string{"views"}
	adminapi.Register(s, account.ReadRequests, huma.Operation{
		OperationID: "list-views", Method: http.MethodGet, Path: "/views", Tags: tags,
		Summary: "List the saved views of the request list or the report",
	}, func(ctx context.Context, c *adminapi.Call, in *listInput) (*adminapi.Output[SavedViewList], error) {
		all, err := a.Store.Views(ctx, c.WorkspaceID)
		if err != nil {
			return nil, err
		}
		list := SavedViewList{Views: make([]SavedView, 0, len(all))}
		for i := range all {
			if all[i].Page == pageOf(in.Page) {
				list.Views = append(list.Views, viewOf(&all[i], c.Actor))
			}
		}
		return adminapi.Respond(list), nil
	})
	adminapi.Register(s, account.ManageViews, huma.Operation{
		OperationID: "create-view", Method: http.MethodPost, Path: "/views", Tags: tags,
		Summary: "Save a view", DefaultStatus: http.StatusCreated,
	}, a.create)
	adminapi.Register(s, account.ManageViews, huma.Operation{
		OperationID: "replace-view", Method: http.MethodPut, Path: "/views/{id}", Tags: tags,
		Summary: "Replace the settings of a saved view",
	}, a.replace)
	adminapi.Register(s, account.ManageViews, huma.Operation{
		OperationID: "delete-view", Method: http.MethodDelete, Path: "/views/{id}", Tags: tags,
		Summary: "Delete a saved view", DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, c *adminapi.Call, in *viewPath) (*adminapi.NoContent, error) {
		before, err := a.find(ctx, c.WorkspaceID, in.ID)
		if err != nil {
			return nil, err
		}
		if err := a.Store.DeleteView(ctx, c.WorkspaceID, in.ID); err != nil {
			return nil, asError(err)
		}
		return nil, a.Record(ctx, c.Actor, "view.delete", in.ID, noteOf(&before), nil)
	})
}

type listInput struct {
	Page string `query:"page" enum:"requests,report" default:"requests" doc:"Page that shows the views."`
}

type createInput struct{ Body ViewSettings }

func (a *handlers) create(ctx context.Context, c *adminapi.Call, in *createInput) (*adminapi.Output[SavedView], error) {
	v, err := a.parse(&in.Body, pageOf(in.Body.Page))
	if err != nil {
		return nil, err
	}
	v.ID, v.WorkspaceID, v.CreatedAt = id.New("view", a.Now()), c.WorkspaceID, a.Now()
	v.CreatedBy = c.Actor.AccountID
	if c.Actor.KeyID != "" {
		v.CreatedBy = c.Actor.KeyID
	}
	if err := a.Store.AddView(ctx, &v); err != nil {
		return nil, asError(err)
	}
	if err := a.Record(ctx, c.Actor, "view.create", v.ID, nil, noteOf(&v)); err != nil {
		return nil, err
	}
	return adminapi.Respond(viewOf(&v, c.Actor)), nil
}

type viewPath struct {
	ID string `path:"id" maxLength:"64" doc:"View ID."`
}

type replaceInput struct {
	ID   string `path:"id" maxLength:"64" doc:"View ID."`
	Body ViewSettings
}

func (a *handlers) replace(ctx context.Context, c *adminapi.Call, in *replaceInput) (*adminapi.Output[SavedView], error) {
	before, err := a.find(ctx, c.WorkspaceID, in.ID)
	if err != nil {
		return nil, err
	}
	v, err := a.parse(&in.Body, before.Page)
	if err != nil {
		return nil, err
	}
	v.ID, v.WorkspaceID, v.CreatedBy, v.CreatedAt = before.ID, c.WorkspaceID, before.CreatedBy, before.CreatedAt
	if err := a.Store.UpdateView(ctx, &v); err != nil {
		return nil, asError(err)
	}
	if err := a.Record(ctx, c.Actor, "view.update", v.ID, noteOf(&before), noteOf(&v)); err != nil {
		return nil, err
	}
	return adminapi.Respond(viewOf(&v, c.Actor)), nil
}

func (a *handlers) find(ctx context.Context, workspaceID, viewID string) (savedview.View, error) {
	all, err := a.Store.Views(ctx, workspaceID)
	if err != nil {
		return savedview.View{}, err
	}
	i := slices.IndexFunc(all, func(v savedview.View) bool { return v.ID == viewID })
	if i < 0 {
		return savedview.View{}, adminapi.NotFound()
	}
	return all[i], nil
}

// parse validates the settings of a view.
func (a *handlers) parse(s *ViewSettings, page string) (savedview.View, error) {
	v := savedview.View{Name: strings.TrimSpace(s.Name), Page: page, Filters: map[string]string{}, Columns: slices.Clone(s.Columns), Sort: s.Sort}
	if v.Name == "" {
		return v, adminapi.Invalid("body", "name", "is required")
	}
	values := url.Values{}
	known := report.Parameters()
	if page != savedview.Report {
		known = nil
		for _, p := range requestlog.Parameters() {
			known = append(known, p.Name)
		}
	}
	for name, value := range s.Filters {
		if !slices.Contains(known, name) {
			return v, adminapi.Invalid("body", "filters."+name, "is not a filter of this page")
		}
		if len(value) > maxValue {
			return v, adminapi.Invalid("body", "filters."+name, "is too long")
		}
		if value != "" {
			v.Filters[name] = value
			values.Set(name, value)
		}
	}
	var err error
	if page == savedview.Report {
		_, err = report.Parse(values, a.Now())
	} else {
		_, _, err = requestlog.ParseFilter(values, a.Now())
	}
	if err != nil {
		return v, adminapi.Invalid("body", "filters", adminapi.AsError(err).Message)
	}
	for _, column := range v.Columns {
		if column == "" || len(column) > maxColumn {
			return v, adminapi.Invalid("body", "columns", "must contain only column names of 1 to 40 bytes")
		}
	}
	return v, nil
}

// pageOf returns the stored name of a page.
func pageOf(name string) string {
	if name == savedview.Report {
		return savedview.Report
	}
	return savedview.Requests
}

const (
	maxValue  = 2000 // maximum length of a filter value
	maxColumn = 40   // maximum length of a column name
)

// asError converts store errors to errors for the client.
func asError(err error) error {
	switch {
	case errors.Is(err, savedview.ErrNotFound):
		return adminapi.NotFound()
	case errors.Is(err, savedview.ErrNameTaken):
		return &llm.Error{Kind: llm.Conflict, Message: "A view with this name already exists. Choose another name.", Param: "name", Err: err}
	case errors.Is(err, savedview.ErrTooMany):
		return llm.Errorf(llm.Conflict, "A workspace can have at most %d saved views. Delete a view first.", savedview.Max)
	}
	return err
}

// viewOf returns a view for the caller. Search text is hidden from callers that cannot read bodies, as in the request list.
func viewOf(v *savedview.View, by account.Actor) SavedView {
	out := SavedView{
		ID: v.ID, Name: v.Name, Page: cmp.Or(v.Page, "requests"), Filters: make(map[string]string, len(v.Filters)), Columns: slices.Clone(v.Columns), Sort: v.Sort,
		CreatedBy: v.CreatedBy, CreatedAt: v.CreatedAt.UTC(),
	}
	if out.Columns == nil {
		out.Columns = []string{}
	}
	if out.Sort == "" {
		out.Sort = "time"
	}
	for name, value := range v.Filters {
		if name != "q" && name != "text" || by.May(account.ReadBodies) {
			out.Filters[name] = value
		}
	}
	return out
}

// note is the representation of a view in the audit log. It omits filter values, which may quote prompts.
type note struct {
	Name    string   `json:"name"`
	Filters []string `json:"filters,omitempty"`
}

func noteOf(v *savedview.View) note {
	n := note{Name: v.Name}
	for name := range v.Filters {
		n.Filters = append(n.Filters, name)
	}
	slices.Sort(n.Filters)
	return n
}
