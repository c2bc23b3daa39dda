package main

import (
	"context"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"fairlead/internal/config"
	"fairlead/internal/replay"
	"fairlead/internal/requestlog"
	"fairlead/internal/route"
)

// backtestFlags say which requests are decided anew, and by what.
type backtestFlags struct {
	since, until string
	policies     string
	objective    string
	limit        int64
	all, ready   bool
}

// backtestSpan is how far back a backtest goes when nobody says.
const backtestSpan = "7d"

func newBacktest(c *console, o *options) *cobra.Command {
	r := &routingCommands{console: c, options: o}
	var f backtestFlags
	cmd := &cobra.Command{
		Use: "backtest", Short: "Decide stored traffic anew, under other policies or another objective, and say what changes", Args: noArgs,
		Long: "Decide stored requests for auto anew and compare with what was really chosen: routes, costs for the same tokens, predicted quality.\n" +
			"Without --policies and --objective it tries what is in force today. It covers cost and routing, and says nothing about the answers beyond\n" +
			"what the predictor expects. No provider is called. The filters are those of  fairlead requests list.",
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
				return usage("use a number above 0, or leave it out", "--limit: %d is out of range", f.limit)
			}
			return r.with(cmd.Context(), func(from routed) error {
				draft, err := r.draft(from, f.policies)
				if err != nil {
					return err
				}
				o := from.Backtest(from.workspace.ID, draft, objective)
				o.Filter, o.Limit, o.All, o.Ready = filter, f.limit, f.all, f.ready
				o.Filter.WorkspaceID = from.workspace.ID
				if err := keyIDs(cmd.Context(), from.instance, &o.Filter); err != nil {
					return err
				}
				return r.backtest(cmd.Context(), from, o)
			})
		},
	}
	filterFlags(cmd)
	cmd.Flags().StringVar(&f.since, "since", "", "how far to go back, such as 24h or 7d, or a time (default "+backtestSpan+")")
	cmd.Flags().StringVar(&f.until, "until", "", "end at this time, or so long ago (default now)")
	cmd.Flags().StringVar(&f.policies, "policies", "", "file with policies to try in place of the workspace's; those of the instance stay")
	cmd.Flags().StringVar(&f.objective, "objective", "", "cost, quality, speed, or a number from 0 (cheapest) to 1 (best), in place of the requests' own")
	cmd.Flags().Int64Var(&f.limit, "limit", 0, "most requests to look at, the newest ones (default all)")
	cmd.Flags().BoolVar(&f.all, "all", false, "also requests that named their model, embeddings and moderations")
	cmd.Flags().BoolVar(&f.ready, "ready", false, "as if every provider had been ready, whatever circuits and limits were recorded")
	cmd.Flags().StringVar(&r.workspace, "workspace", "", workspaceDoc)
	return cmd
}

// backtestFilter reads the filters, with --since and --until as other words for --from and --to.
func (r *routingCommands) backtestFilter(cmd *cobra.Command, f backtestFlags) (requestlog.Filter, error) {
	values := url.Values{}
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		if given, ok := flag.Value.(*texts); ok {
			values[strings.ReplaceAll(flag.Name, "-", "_")] = *given
		}
	})
	instead := map[string]string{} // flags that stand for others here
	for _, end := range []struct{ flag, text, name, usual string }{{"since", f.since, "from", backtestSpan}, {"until", f.until, "to", ""}} {
		if end.text != "" && len(values[end.name]) > 0 {
			return requestlog.Filter{}, usage("leave one of the two out", "both --%s and --%s are given", end.flag, end.name)
		}
		if text := end.text; text != "" || len(values[end.name]) == 0 && end.usual != "" {
			if text == "" {
				text = end.usual
			}
			values.Set(end.name, ago(text))
			instead[end.name] = end.flag
		}
	}
	filter, _, err := requestlog.ParseFilter(values, r.console.now())
	if err != nil {
		return filter, ofFlag(err, instead)
	}
	if filter.To.IsZero() {
		filter.To = r.console.now() // what comes in meanwhile is not part of it
	}
	return filter, nil
}

// ago makes a span a moment before now; other texts stay as they are.
func ago(text string) string {
	if d, err := config.ParseDuration(text); err == nil && d > 0 {
		return "now-" + text
	}
	return text
}

// parseObjective reads an objective by its name or as a number; nil for none.
func parseObjective(text string) (*route.Objective, error) {
	if text == "" {
		return nil, nil //nolint:nilnil // requests keep their own
	}
	if named, ok := route.NamedObjective(text); ok {
		return &named, nil
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !(n >= 0 && n <= 1) {
		return nil, usage("use cost, quality, speed, or a number from 0 (cheapest) to 1 (best)", "--objective: %q is not an objective", text)
	}
	return &route.Objective{Name: "number", Tradeoff: n}, nil
}

func (r *routingCommands) backtest(ctx context.Context, from routed, o replay.Options) error {
	requests := &requestCommands{console: r.console, options: r.options}
	bar := requests.newProgress(ctx, from.instance.Store.Log, o.Filter)
	if o.Limit > 0 {
		bar.total = min(bar.total, int(o.Limit))
	}
	began := r.console.now()
	report, err := replay.Run(ctx, from.instance.Store.Log, o, func(p replay.Progress) { bar.add(int(p.Done) - bar.done) })
	bar.end()
	if err != nil {
		r.console.say(r.options, "%s decided before it ended", plural(int(report.Decided), "request"))
		return err
	}
	if took := r.console.now().Sub(began); took > 0 && report.Decided > 0 {
		r.console.say(r.options, "%s decided in %s, %s/s", plural(int(report.Decided), "request"), took.Round(time.Millisecond), count(int64(float64(report.Decided)/took.Seconds())))
	}
	if r.options.json {
		return r.console.writeJSON(report)
	}
	p := &backtestPage{page: page{width: r.pageWidth(), coloured: r.console.coloured(r.options)}, at: func(t time.Time) string {
		return r.console.at(r.options, t, fullTime)
	}}
	p.report(report)
	return r.console.write(p.String())
}
