// Package routes serves the routes: their pools, their settings and the changes of the default pool.
package routes

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/admin/adminapi"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/route"
)

// Deps are the dependencies of the operations.
type Deps struct {
	Router     Router
	Workspaces Workspaces
}

// Router describes the routing of the instance.
type Router interface {
	Targets() *route.Snapshot
	InstanceRoutes() []route.Route
	// PoolChanges returns the latest changes of the default pool, newest first.
	PoolChanges(ctx context.Context) ([]PoolChange, error)
	// Known reports whether a configured provider or the catalog has a model with the name. If not, near lists similar names.
	Known(name string) (known bool, near []string)
}

// Workspaces reads and changes the routes of workspaces.
type Workspaces interface {
	Workspace(ctx context.Context, workspaceID string) (account.Workspace, error)
	SetRoute(ctx context.Context, by account.Actor, t route.Route) error
	DeleteRoute(ctx context.Context, by account.Actor, name string) error
}

type handlers struct {
	Deps
	*adminapi.Server
}

// RouteList holds the routes of a workspace.
type RouteList struct {
	Routes   []RouteView  `json:"routes" doc:"auto first, then the others by name."`
	Left     []LeftModel  `json:"left" doc:"Models that are not in the default pool, with the reason. Models without a price come first."`
	Changes  []PoolChange `json:"changes" doc:"The latest 20 changes of the default pool, newest first."`
	Editable bool         `json:"editable" doc:"Whether the caller can change the routes of the workspace."`
}

// RouteView is a route with its pool.
type RouteView struct {
	Name     string            `json:"name"`
	Source   string            `json:"source" enum:"built_in,instance,workspace" doc:"Who defines the route. instance routes are in the configuration file and cannot be changed here."`
	Pinned   bool              `json:"pinned" doc:"Whether the pool is a fixed list. The default pool is recomputed when accounts, prices or models change."`
	Pool     []route.PoolEntry `json:"pool" doc:"Models that the route chooses among, cheapest first."`
	Missing  []string          `json:"missing" doc:"Models of the default pool that the pinned pool does not have."`
	Tradeoff float64           `json:"tradeoff" doc:"Place on the dial from 0 (cheapest) to 1 (best)."`
	Min      string            `json:"min_effort" doc:"Lowest reasoning effort. Empty for no limit."`
	Max      string            `json:"max_effort" doc:"Highest reasoning effort. Empty for no limit."`
	Shares   []RouteShare      `json:"shares"`
}

// RouteShare sends a fixed part of the sessions of a route to a model.
type RouteShare struct {
	Model   string  `json:"model" minLength:"1" maxLength:"200"`
	Percent float64 `json:"percent" doc:"Part of the sessions in percent, above 0 and at most 100."`
}

// LeftModel is a model that is not in the default pool.
type LeftModel struct {
	Model    string `json:"model"`
	Reason   string `json:"reason"`
	Unpriced bool   `json:"unpriced" doc:"Whether the model would be considered if it had a price."`
}

// Mount registers the operations.
func Mount(s *adminapi.Server, d Deps) {
	a := &handlers{Deps: d, Server: s}
	tags := []string{"routes"}
	adminapi.Register(s, account.ReadModels, huma.Operation{
		OperationID: "list-routes", Method: http.MethodGet, Path: "/routes", Tags: tags, Summary: "List routes with their pools, and the models that are left out",
	}, a.list)
	adminapi.Register(s, account.ManagePolicies, huma.Operation{
		OperationID: "set-route", Method: http.MethodPut, Path: "/routes/{name}", Tags: tags, Summary: "Create or replace a route of the workspace",
		Description: "The name auto changes auto for the workspace, unless the configuration file does. A route cannot have the name of a model or of a route in the configuration file.",
	}, a.set)
	adminapi.Register(s, account.ManagePolicies, huma.Operation{
		OperationID: "delete-route", Method: http.MethodDelete, Path: "/routes/{name}", Tags: tags, Summary: "Delete a route of the workspace",
		Description: "Requests that name the route fail afterwards. auto always exists: deleting it restores the default pool.",
	}, a.remove)
}

func (a *handlers) list(ctx context.Context, c *adminapi.Call, _ *struct{}) (*adminapi.Output[RouteList], error) {
	w, err := a.Workspaces.Workspace(ctx, c.WorkspaceID)
	if err != nil {
		return nil, err
	}
	changes, err := a.Router.PoolChanges(ctx)
	if err != nil {
		return nil, err
	}
	list := View(a.Router.Targets(), a.Router.InstanceRoutes(), w.Routes, changes)
	list.Editable = c.Actor.May(account.ManagePolicies)
	return adminapi.Respond(list), nil
}

// View returns the API representation of the routes that a workspace can use.
func View(snap *route.Snapshot, instance, workspace []route.Route, changes []PoolChange) RouteList {
	list := RouteList{Routes: []RouteView{}, Left: []LeftModel{}, Changes: append([]PoolChange{}, changes...)}
	add := func(source string, t route.Route) {
		if slices.ContainsFunc(list.Routes, func(v RouteView) bool { return v.Name == t.Name }) {
			return // an instance route takes precedence
		}
		v := RouteView{
			Name: t.Name, Source: source, Pinned: len(t.Pool) > 0, Pool: snap.DescribePool(t.Pool), Missing: snap.Missing(t.Pool), Tradeoff: 0.5,
			Min: t.MinEffort, Max: t.MaxEffort, Shares: []RouteShare{},
		}
		if t.Tradeoff != nil {
			v.Tradeoff = *t.Tradeoff
		}
		for _, share := range t.Shares {
			v.Shares = append(v.Shares, RouteShare(share))
		}
		list.Routes = append(list.Routes, v)
	}
	for i := range instance {
		add("instance", instance[i])
	}
	for i := range workspace {
		add("workspace", workspace[i])
	}
	add("built_in", route.Route{Name: route.Auto})
	slices.SortFunc(list.Routes, func(x, y RouteView) int {
		switch {
		case x.Name == route.Auto:
			return -1
		case y.Name == route.Auto:
			return 1
		}
		return strings.Compare(x.Name, y.Name)
	})
	for _, l := range snap.Pool().Left {
		list.Left = append(list.Left, LeftModel{Model: l.Model, Reason: l.Reason, Unpriced: l.Reason == route.Unpriced})
	}
	slices.SortStableFunc(list.Left, func(x, y LeftModel) int {
		switch {
		case x.Unpriced == y.Unpriced:
			return 0
		case x.Unpriced:
			return -1
		}
		return 1
	})
	return list
}

type namedInput struct {
	Name string `path:"name" maxLength:"64"`
}

type setInput struct {
	Name string `path:"name" maxLength:"64"`
	Body RouteSettings
}

// RouteSettings holds the settings of a route.
type RouteSettings struct {
	Pool     []string     `json:"pool,omitempty" nullable:"false" doc:"At most 8 models. Empty for the default pool."`
	Tradeoff *float64     `json:"tradeoff,omitempty" doc:"Place on the dial from 0 (cheapest) to 1 (best). Defaults to 0.5."`
	Min      string       `json:"min_effort,omitempty" doc:"Lowest reasoning effort: none, minimal, low, medium, high, xhigh or max."`
	Max      string       `json:"max_effort,omitempty" doc:"Highest reasoning effort."`
	Shares   []RouteShare `json:"shares,omitempty" nullable:"false"`
}

func (a *handlers) set(ctx context.Context, c *adminapi.Call, in *setInput) (*adminapi.Output[RouteList], error) {
	b := in.Body
	t := route.Route{Name: in.Name, Pool: b.Pool, Tradeoff: b.Tradeoff, MinEffort: b.Min, MaxEffort: b.Max}
	for _, share := range b.Shares {
		t.Shares = append(t.Shares, route.Share(share))
	}
	if err := Check(&t, a.Router.InstanceRoutes(), a.Router.Known); err != nil {
		return nil, err
	}
	if err := a.Workspaces.SetRoute(ctx, c.Actor, t); err != nil {
		return nil, err
	}
	return a.list(ctx, c, nil)
}

// Check returns an error for an invalid route of a workspace.
func Check(t *route.Route, instance []route.Route, known func(string) (bool, []string)) error {
	if route.FindRoute(t.Name, instance) != nil {
		return inFile(t.Name)
	}
	var problems []adminapi.Problem
	for _, p := range t.Check(known) {
		one := adminapi.Problem{In: "body", Param: p.Path, Message: p.Message, Suggestion: p.Suggestion}
		if p.Path == "name" {
			one.In = "path"
		}
		problems = append(problems, one)
	}
	if len(problems) > 0 {
		return adminapi.InvalidAll(problems)
	}
	return nil
}

func inFile(name string) error {
	return llm.Errorf(llm.Conflict, "The route %s is defined in the configuration file. Change it there, or choose another name.", name)
}

func (a *handlers) remove(ctx context.Context, c *adminapi.Call, in *namedInput) (*adminapi.NoContent, error) {
	if route.FindRoute(in.Name, a.Router.InstanceRoutes()) != nil {
		return nil, inFile(in.Name)
	}
	return nil, a.Workspaces.DeleteRoute(ctx, c.Actor, in.Name)
}
