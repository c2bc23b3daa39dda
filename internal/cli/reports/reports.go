// Package reports implements "fairlead report".
package reports

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"fairlead.dev/internal/account"
	adminreports "fairlead.dev/internal/admin/reports"
	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/cli/instance"
	"fairlead.dev/internal/report"
	"fairlead.dev/internal/requestlog"
)

// New returns the command that prints a report.
func New(c *cli.Console, o *cli.Options) *cobra.Command {
	s := instance.Commands{Console: c, Options: o}
	var asCSV bool
	cmd := &cobra.Command{
		Use: "report", Short: "Sum spend, savings, requests, latency and errors by one or two dimensions", Args: cli.NoArgs,
		Long: "Sum spend, savings, requests, latency and errors by one or two dimensions. Dimensions are model, provider, key, policy, member, user,\n" +
			"session, client, and tag:NAME for the values of a tag. Playground requests are excluded unless --source is given.",
		Example: `  fairlead report --by model
  fairlead report --by tag:team --then model --from now-30d
  fairlead report --by user --measure errors --key ci --csv > errors.csv
  fairlead report --by session --json | jq -r '.groups[] | [.value, .cost_usd] | @tsv'`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			q, err := report.Parse(cli.FilterValues(cmd), c.Now())
			if err != nil {
				return cli.FilterFlagError(err, nil)
			}
			return s.With(cmd.Context(), func(i *instance.Instance, w account.Workspace) error {
				f := requestlog.Filter{WorkspaceID: w.ID, Lists: requestlog.Lists{Key: q.Key}}
				if err := instance.ResolveKeys(cmd.Context(), i, &f); err != nil {
					return err
				}
				q.WorkspaceID, q.Key = w.ID, f.Key
				i.AwaitEntries(cmd.Context())
				deps := adminreports.Deps{Figures: i.Store.Figures, Facts: i.Store.Report, Keys: i.Accounts, Members: i.Accounts}
				r, err := adminreports.Run(cmd.Context(), deps, q, c.Now())
				switch {
				case err != nil:
					return cli.FilterFlagError(err, nil)
				case asCSV:
					return r.WriteCSV(c.Out)
				case o.JSON:
					return c.PrintJSON(r)
				}
				return printReport(c, o, r)
			})
		},
	}
	cmd.Flags().StringVar(&s.Workspace, "workspace", "", instance.WorkspaceHelp)
	cmd.Flags().BoolVar(&asCSV, "csv", false, "print CSV")
	var measures []string
	for _, m := range report.Measures() {
		measures = append(measures, string(m))
	}
	cli.AddSomeFilterFlags(cmd, report.Filters(),
		requestlog.Parameter{Name: "by", Help: "First level, such as model or tag:team (default: the total only)"},
		requestlog.Parameter{Name: "then", Help: "Second level"},
		requestlog.Parameter{Name: "measure", Help: "Order of the groups: spend, savings, requests, latency or errors (default spend)", Values: measures},
		requestlog.Parameter{Name: "limit", Help: "Maximum number of groups on each level, up to 500 (default 20)"})
	return cmd
}

// printReport prints a report as a table. Groups of the second level are indented.
func printReport(c *cli.Console, o *cli.Options, r *adminreports.Report) error {
	t := &cli.Table{Columns: []cli.Column{
		{Title: strings.ToUpper(cli.OrDash(cli.Clean(r.By))), Soft: true},
		{Title: "REQUESTS", Right: true},
		{Title: "SPEND", Right: true},
		{Title: "SAVED", Right: true, Hide: 2},
		{Title: "ERRORS", Right: true, Hide: 1},
		{Title: "P50", Right: true, Hide: 4},
		{Title: "P95", Right: true, Hide: 3},
	}}
	add := func(name string, f *adminreports.ReportFigures) {
		if f == nil {
			return
		}
		cost, saved := cli.Dash, cli.Dash
		if f.Priced > 0 {
			cost = cli.Amount(&f.Cost)
		}
		if f.Compared > 0 {
			saved = cli.Amount(&f.Saved)
		}
		t.Add(cli.Cell{Text: name}, cli.Cell{Text: cli.Count(f.Requests)}, cli.Cell{Text: cost}, cli.Cell{Text: saved}, cli.Cell{Text: cli.Count(f.Errors)},
			cli.Cell{Text: millis(f.LatencyP50MS)}, cli.Cell{Text: millis(f.LatencyP95MS)})
	}
	for i := range r.Groups {
		g := &r.Groups[i]
		add(named(&g.ReportValue), &g.ReportFigures)
		for k := range g.Groups {
			add("  "+named(&g.Groups[k]), &g.Groups[k].ReportFigures)
		}
		add("  (rest)", g.Rest)
	}
	add("(rest)", r.Rest)
	add("(not grouped)", r.Uncovered)
	add("total", &r.Total)
	if err := c.PrintTable(o, t); err != nil {
		return err
	}
	for _, note := range r.Notes {
		c.Infof(o, "%s", note.Message)
	}
	return nil
}

func named(v *adminreports.ReportValue) string {
	if v.Label == "" {
		return "(none)"
	}
	return cli.Clean(v.Label)
}

func millis(n *int64) string {
	if n == nil {
		return cli.Dash
	}
	return fmt.Sprintf("%d ms", *n)
}
