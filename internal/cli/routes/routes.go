// Package routes implements "fairlead routes".
package routes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/admin/adminapi"
	adminroutes "fairlead.dev/internal/admin/routes"
	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/cli/instance"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/route"
)

// New returns the routes commands.
func New(c *cli.Console, o *cli.Options) *cobra.Command {
	r := &routeCommands{instance.Commands{Console: c, Options: o}}
	cmd := &cobra.Command{
		Use: "routes", Short: "List and change routes and their pools of models", Args: cli.NoArgs,
		Long: "List the routes. A request asks for a route instead of a model, for example auto or support, and the router chooses a model of its pool.",
		Example: `  fairlead routes
  fairlead routes show auto
  fairlead routes set support --pool gpt-6-luna,claude-haiku-4-7 --tradeoff 0.3
  fairlead routes delete support`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return r.withList(cmd.Context(), func(list adminroutes.RouteList) error { return r.list(list.Routes) })
		},
	}
	cmd.PersistentFlags().StringVar(&r.Workspace, "workspace", "", instance.WorkspaceHelp)
	cmd.AddCommand(r.newShow(), r.newSet(), r.newDelete())
	return cmd
}

// routeCommands holds the state shared by the routes commands.
type routeCommands struct{ instance.Commands }

// withList calls do with the routes of the workspace.
func (r *routeCommands) withList(ctx context.Context, do func(adminroutes.RouteList) error) error {
	return r.WithRouting(ctx, func(from instance.Routed) error {
		changes, err := adminroutes.LatestChanges(ctx, from.Instance.Accounts)
		if err != nil {
			return err
		}
		return do(adminroutes.View(from.Targets(), from.InstanceRoutes(), from.Workspace.Routes, changes))
	})
}

func (r *routeCommands) list(routes []adminroutes.RouteView) error {
	t := &cli.Table{Columns: []cli.Column{{Title: "NAME"}, {Title: "POOL", Soft: true}, {Title: "DIAL", Right: true}, {Title: "SHARES", Soft: true, Hide: 1}, {Title: "DEFINED IN", Hide: 2}}}
	same := func(v *adminroutes.RouteView) adminroutes.RouteView { return *v }
	return cli.PrintList(r.Console, r.Options, routes, "", same, t, func(v *adminroutes.RouteView) {
		var models []string
		for _, m := range v.Pool {
			models = append(models, m.Model)
		}
		t.Row(v.Name, cli.OrDash(strings.Join(models, ", ")), strconv.FormatFloat(v.Tradeoff, 'g', 2, 64), cli.OrDash(strings.Join(shares(v), ", ")), definedIn(v))
	})
}

func shares(v *adminroutes.RouteView) []string {
	var list []string
	for _, share := range v.Shares {
		list = append(list, fmt.Sprintf("%g %% of sessions go to %s", share.Percent, share.Model))
	}
	return list
}

func definedIn(v *adminroutes.RouteView) string {
	return map[string]string{"built_in": "built in", "instance": "the configuration file", "workspace": "the workspace"}[v.Source]
}

func (r *routeCommands) newShow() *cobra.Command {
	return &cobra.Command{
		Use: "show NAME", Short: "Show a route with the reasons for its pool", Args: cli.OneArg("the name of a route"),
		Example: `  fairlead routes show auto
  fairlead routes show support --json | jq -r '.pool[].model'`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return r.withList(cmd.Context(), func(list adminroutes.RouteList) error {
				i := slices.IndexFunc(list.Routes, func(v adminroutes.RouteView) bool { return v.Name == args[0] })
				if i < 0 {
					return unknownRoute(args[0])
				}
				if r.Options.JSON {
					return r.Console.PrintJSON(list.Routes[i])
				}
				return r.show(&list.Routes[i], &list)
			})
		},
	}
}

func unknownRoute(name string) error {
	return cli.WithFix(fmt.Errorf("route %q not found", cli.Clean(name)), "see  fairlead routes")
}

func (r *routeCommands) show(v *adminroutes.RouteView, list *adminroutes.RouteList) error {
	p := &cli.Page{Width: r.Console.PageWidth(60, 120), Coloured: r.Console.Coloured(r.Options)}
	pool := "computed from the connected accounts"
	if v.Pinned {
		pool = "pinned"
	}
	p.WriteString("Route " + v.Name + ", defined in " + definedIn(v) + "\n")
	p.Field("pool", pool)
	p.Field("dial", strconv.FormatFloat(v.Tradeoff, 'g', 2, 64)+" from 0 (cheapest) to 1 (best)")
	if v.Min != "" || v.Max != "" {
		p.Field("effort", "from "+cli.OrDash(v.Min)+" to "+cli.OrDash(v.Max))
	}
	if len(v.Shares) > 0 {
		p.Field("shares", strings.Join(shares(v), "; "))
	}
	if len(v.Missing) > 0 {
		p.Field("missing", strings.Join(v.Missing, ", "))
	}
	p.Section("Models")
	t := &cli.Table{Columns: []cli.Column{{Title: "MODEL", Soft: true}, {Title: "IN", Right: true}, {Title: "OUT", Right: true}, {Title: "QUALITY", Right: true}, {Title: "RELEASED", Hide: 1}, {Title: "WHY", Soft: true}}}
	for _, m := range v.Pool {
		in, out, quality := cli.Dash, cli.Dash, cli.Dash
		if m.Input != nil {
			in, out = cli.Dollars(*m.Input), cli.Dollars(*m.Output)
		}
		if m.Quality != nil {
			quality = fmt.Sprintf("%.0f %%", 100**m.Quality)
		}
		t.Row(m.Model, in, out, quality, cli.OrDash(m.Released), m.Why)
	}
	p.Table(t)
	if !v.Pinned && len(list.Left) > 0 {
		p.Section("Left out")
		left := &cli.Table{Columns: []cli.Column{{Title: "MODEL", Soft: true}, {Title: "WHY", Soft: true}}}
		for _, one := range list.Left {
			left.Row(one.Model, one.Reason)
		}
		p.Table(left)
	}
	if !v.Pinned && len(list.Changes) > 0 {
		p.Section("Recent changes")
		for _, change := range list.Changes {
			p.Paragraph(r.Console.FormatTime(r.Options, change.At, cli.RowTime)+"  "+change.Reason, 2)
		}
	}
	return r.Console.Print(p.String())
}

// setFlags are the settings of a route. Omitted settings get their defaults.
type setFlags struct {
	pool     []string
	tradeoff float64
	min, max string
	shares   []string
}

func (r *routeCommands) newSet() *cobra.Command {
	var f setFlags
	cmd := &cobra.Command{
		Use: "set NAME", Short: "Create or replace a route of the workspace", Args: cli.OneArg("a name for the route"),
		Long: "Create or replace a route of the workspace. Omitted flags get their defaults. The name auto changes auto, for example to pin its pool.",
		Example: `  fairlead routes set support --pool gpt-6-luna,claude-haiku-4-7
  fairlead routes set nightly --tradeoff 0 --max-effort low
  fairlead routes set auto --share gpt-6-luna=5`,
		RunE: func(cmd *cobra.Command, args []string) error {
			t := route.Route{Name: args[0], Pool: f.pool, MinEffort: f.min, MaxEffort: f.max}
			if cmd.Flags().Changed("tradeoff") {
				t.Tradeoff = &f.tradeoff
			}
			for _, text := range f.shares {
				model, percent, found := strings.Cut(text, "=")
				n, err := strconv.ParseFloat(percent, 64)
				if !found || err != nil {
					return cli.Usagef("write  --share MODEL=PERCENT, such as  --share gpt-6-luna=5", "invalid share %q", text)
				}
				t.Shares = append(t.Shares, route.Share{Model: model, Percent: n})
			}
			return r.WithRouting(cmd.Context(), func(from instance.Routed) error {
				if err := adminroutes.Check(&t, from.InstanceRoutes(), from.Known); err != nil {
					return checkError(err)
				}
				if err := from.Instance.Accounts.SetRoute(cmd.Context(), account.CommandLine(from.Workspace.ID), t); err != nil {
					return err
				}
				r.Console.Infof(r.Options, "route %s saved; see  fairlead routes show %[1]s", t.Name)
				return nil
			})
		},
	}
	cmd.Flags().StringSliceVar(&f.pool, "pool", nil, "models that the route chooses among, at most 8 (default: the default pool)")
	cmd.Flags().Float64Var(&f.tradeoff, "tradeoff", 0.5, "place on the dial from 0 (cheapest) to 1 (best)")
	cmd.Flags().StringVar(&f.min, "min-effort", "", "lowest reasoning effort")
	cmd.Flags().StringVar(&f.max, "max-effort", "", "highest reasoning effort")
	cmd.Flags().StringArrayVar(&f.shares, "share", nil, "send a part of the sessions to a model, as MODEL=PERCENT; can be repeated")
	return cmd
}

// checkError returns the problems of a route as a usage error.
func checkError(err error) error {
	if e, ok := errors.AsType[*llm.Error](err); ok {
		if problems, ok := e.Details["problems"].([]adminapi.Problem); ok && len(problems) > 0 && problems[0].Suggestion != "" {
			return cli.Usagef(fmt.Sprintf("did you mean %q?", problems[0].Suggestion), "%s", e.Message)
		}
		return cli.Usagef("see  fairlead routes set --help", "%s", e.Message)
	}
	return err
}

func (r *routeCommands) newDelete() *cobra.Command {
	return &cobra.Command{
		Use: "delete NAME", Short: "Delete a route of the workspace", Args: cli.OneArg("the name of a route"),
		Long:    "Delete a route of the workspace. Requests that name it fail afterwards. auto always exists: deleting it restores the default pool.",
		Example: `  fairlead routes delete support`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return r.With(cmd.Context(), func(i *instance.Instance, w account.Workspace) error {
				err := i.Accounts.DeleteRoute(cmd.Context(), account.CommandLine(w.ID), args[0])
				if errors.Is(err, account.ErrNotFound) {
					return unknownRoute(args[0])
				}
				if err != nil {
					return err
				}
				r.Console.Infof(r.Options, "route %s deleted", args[0])
				return nil
			})
		},
	}
}
