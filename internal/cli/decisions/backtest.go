package decisions

import (
	"context"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/cli/instance"
	"fairlead.dev/internal/config"
	"fairlead.dev/internal/explain"
	"fairlead.dev/internal/replay"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/route"
)

// backtestFlags selects the requests to re-run and the policies to use.
type backtestFlags struct {
	since, until string
	policies     string
	objective    string
	limit        int64
	all          bool
}

// backtestSpan is the default time range of a backtest.
const backtestSpan = "7d"

// NewBacktest returns the command "backtest".
func NewBacktest(c *cli.Console, o *cli.Options) *cobra.Command {
	r := &decisionCommands{instance.Commands{Console: c, Options: o}}
	var f backtestFlags
	cmd := &cobra.Command{
		Use: "backtest", Short: "Re-run logged requests with other policies or another objective and report the changes", Args: cli.NoArgs,
		Long: "Re-run the routing of logged requests for auto and compare with the logged decisions: routes, cost for the same tokens, predicted quality.\n" +
			"Without --policies and --objective it uses the active policies. Quality is predicted.\n" +
			"No provider is called. The filters are those of  fairlead requests list.",
		Example: `  fairlead backtest --since 7d --policies draft.yaml
  fairlead backtest --since 24h --objective cost --key ci
  fairlead backtest --from 2026-11-01 --to 2026-11-08 --objective 0.7 --json | jq .versus_logged.cost`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			filter, err := r.backtestFilter(cmd, f)
			if err != nil {
				return err
			}
			objective, err := parseObjective(f.objective)
			if err != nil {
				return err
			}
			if f.limit < 0 {
				return cli.Usagef("use a number above 0, or omit it", "--limit: %d is out of range", f.limit)
			}
			return r.WithRouting(cmd.Context(), func(from instance.Routed) error {
				draft, err := r.Draft(from, f.policies)
				if err != nil {
					return err
				}
				o := from.BacktestOptions(from.Workspace.ID, explain.Trial{Policies: draft, Objective: objective})
				o.Filter, o.Limit, o.All = filter, f.limit, f.all
				o.Filter.WorkspaceID = from.Workspace.ID
				if err := instance.ResolveKeys(cmd.Context(), from.Instance, &o.Filter); err != nil {
					return err
				}
				return r.backtest(cmd.Context(), from, o)
			})
		},
	}
	cli.AddFilterFlags(cmd)
	cmd.Flags().StringVar(&f.since, "since", "", "start: a duration such as 24h or 7d, or a time (default "+backtestSpan+")")
	cmd.Flags().StringVar(&f.until, "until", "", "end: a time, or a duration before now (default: now)")
	cmd.Flags().StringVar(&f.policies, "policies", "", "file with policies to use instead of the workspace's; global policies still apply")
	cmd.Flags().StringVar(&f.objective, "objective", "", "cost, quality, speed, or a number from 0 (cheapest) to 1 (best) (default: as requested)")
	cmd.Flags().Int64Var(&f.limit, "limit", 0, "maximum number of requests, newest first (default: all)")
	cmd.Flags().BoolVar(&f.all, "all", false, "include requests for an explicit model, embeddings and moderations")
	cmd.Flags().StringVar(&r.Workspace, "workspace", "", instance.WorkspaceHelp)
	return cmd
}

// backtestFilter parses the filters, with --since and --until as aliases of --from and --to.
func (r *decisionCommands) backtestFilter(cmd *cobra.Command, f backtestFlags) (requestlog.Filter, error) {
	values := cli.FilterValues(cmd)
	instead := map[string]string{} // flag names by the parameter that they set
	for _, end := range []struct{ flag, text, name, usual string }{{"since", f.since, "from", backtestSpan}, {"until", f.until, "to", ""}} {
		if end.text != "" && len(values[end.name]) > 0 {
			return requestlog.Filter{}, cli.Usagef("use only one of them", "both --%s and --%s are given", end.flag, end.name)
		}
		if text := end.text; text != "" || len(values[end.name]) == 0 && end.usual != "" {
			if text == "" {
				text = end.usual
			}
			if d, err := config.ParseDuration(text); err == nil && d > 0 {
				text = "now-" + text
			}
			values.Set(end.name, text)
			instead[end.name] = end.flag
		}
	}
	selection, _, err := requestlog.ParseFilter(values, r.Console.Now())
	if err != nil {
		return selection, cli.FilterFlagError(err, instead)
	}
	if selection.To.IsZero() {
		selection.To = r.Console.Now() // exclude requests that arrive during the backtest
	}
	return selection, nil
}

// parseObjective parses the name or number of an objective. It returns nil for an empty string.
func parseObjective(text string) (*route.Objective, error) {
	if text == "" {
		return nil, nil //nolint:nilnil // requests keep their own objective
	}
	if named, ok := route.NamedObjective(text); ok {
		return &named, nil
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !(n >= 0 && n <= 1) {
		return nil, cli.Usagef("use cost, quality, speed, or a number from 0 (cheapest) to 1 (best)", "--objective: %q is not an objective", text)
	}
	return &route.Objective{Name: "number", Tradeoff: n}, nil
}

func (r *decisionCommands) backtest(ctx context.Context, from instance.Routed, o replay.Options) error {
	bar := cli.NewProgress(ctx, r.Console, r.Options, from.Instance.Store.Log, o.Filter)
	if o.Limit > 0 {
		bar.Total = min(bar.Total, int(o.Limit))
	}
	began := r.Console.Now()
	report, err := replay.Run(ctx, from.Instance.Store.Log, o, func(p replay.Progress) { bar.Add(int(p.Done) - bar.Done) })
	bar.End()
	if err != nil {
		r.Console.Infof(r.Options, "%s re-run before the backtest stopped", cli.Plural(int(report.Decided), "request"))
		return err
	}
	if elapsed := r.Console.Now().Sub(began); elapsed > 0 && report.Decided > 0 {
		r.Console.Infof(r.Options, "%s re-run in %s, %s/s", cli.Plural(int(report.Decided), "request"), elapsed.Round(time.Millisecond), cli.Count(int64(float64(report.Decided)/elapsed.Seconds())))
	}
	if r.Options.JSON {
		return r.Console.PrintJSON(report)
	}
	p := &backtestPage{Page: cli.Page{Width: r.Console.PageWidth(60, 120), Coloured: r.Console.Coloured(r.Options)}, at: func(t time.Time) string {
		return r.Console.FormatTime(r.Options, t, cli.FullTime)
	}}
	p.report(report)
	return r.Console.Print(p.String())
}
