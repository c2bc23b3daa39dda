// Package budgets implements "fairlead budgets".
package budgets

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"fairlead.dev/internal/account"
	adminbudgets "fairlead.dev/internal/admin/budgets"
	"fairlead.dev/internal/budget"
	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/cli/instance"
	"fairlead.dev/internal/ledger"
)

// New returns the budgets commands.
func New(c *cli.Console, o *cli.Options) *cobra.Command {
	cmd := cli.Group("budgets", "List budgets, their use and when they will be used up", `  fairlead budgets list
  fairlead budgets show ci`)
	b := &budgetCommands{instance.Commands{Console: c, Options: o}}
	cmd.PersistentFlags().StringVar(&b.Workspace, "workspace", "", instance.WorkspaceHelp)
	cmd.AddCommand(b.newList(), b.newShow())
	return cmd
}

// budgetCommands holds the state shared by the budgets commands.
type budgetCommands struct{ instance.Commands }

// with opens the instance and calls do with the budget service of the workspace. The budgets do not include reserved amounts, which
// exist only in a running server.
func (b *budgetCommands) with(ctx context.Context, do func(*budget.Service, account.Actor) error) error {
	return b.With(ctx, func(i *instance.Instance, w account.Workspace) error {
		i.AwaitEntries(ctx)
		return do(i.Budgets(b.Console.Now), account.CommandLine(w.ID))
	})
}

func all(ctx context.Context, s *budget.Service, workspaceID string) ([]budget.Item, error) {
	items, err := s.Owned(ctx, workspaceID)
	if err != nil {
		return nil, err
	}
	shared, _, err := s.Shared(ctx, workspaceID)
	return append(items, shared...), err
}

func (b *budgetCommands) newList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the budgets of the workspace, its keys, sessions and end users", Args: cli.NoArgs,
		Long: "List the budgets of the workspace, its keys, and the sessions and end users of the last 30 days.\nAmounts held for requests in progress are shown only in the dashboard and by the API.",
		Example: `  fairlead budgets list
  fairlead budgets list --json | jq -r 'select(.forecast.outlook == "runs_out") | .name'`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return b.with(cmd.Context(), func(s *budget.Service, by account.Actor) error {
				items, err := all(cmd.Context(), s, by.WorkspaceID)
				if err != nil {
					return err
				}
				return b.list(items, by)
			})
		},
	}
}

func (b *budgetCommands) list(items []budget.Item, by account.Actor) error {
	view := func(i *budget.Item) adminbudgets.Budget { return adminbudgets.View(i, by) }
	t := &cli.Table{Columns: []cli.Column{
		{Title: "NAME", Soft: true},
		{Title: "OF"},
		{Title: "SPENT", Right: true},
		{Title: "BUDGET", Right: true},
		{Title: "USED", Right: true},
		{Title: "PERIOD", Hide: 3},
		{Title: "FORECAST", Hide: 1},
		{Title: "ID", Hide: 4},
	}}
	const none = "no budgets yet. Create a key with one:  fairlead keys create --name ci --budget 50"
	return cli.PrintList(b.Console, b.Options, items, none, view, t, func(one *budget.Item) {
		paint := cli.Plain
		switch one.Forecast.Outlook {
		case budget.UsedUp:
			paint = cli.Red
		case budget.RunsOut:
			paint = cli.Yellow
		case budget.Unknown, budget.Idle, budget.Lasts:
		}
		t.Add(
			cli.Cell{Text: one.Budget.Name}, cli.Cell{Text: owner(one)}, cli.Cell{Text: cli.Dollars(one.Status.Spent)}, cli.Cell{Text: cli.Dollars(one.Budget.Amount)},
			cli.Cell{Text: fmt.Sprintf("%.0f %%", one.Status.Percent)}, cli.Cell{Text: string(one.Budget.Period)}, cli.Cell{Text: b.outlook(one), Paint: paint}, cli.Cell{Text: one.ID},
		)
	})
}

// owner describes the owner of a budget.
func owner(i *budget.Item) string {
	switch i.Kind {
	case budget.OfSession:
		return "session of " + i.KeyName
	case budget.OfUser:
		return "end user of " + i.KeyName
	case budget.OfWorkspace, budget.OfKey:
	}
	return string(i.Kind)
}

// outlook describes the forecast, for example "runs out around 24 November; resets 1 December".
func (b *budgetCommands) outlook(i *budget.Item) string {
	layout := "2 January"
	if i.Budget.Period == ledger.Daily {
		layout = "2 January 15:04"
	}
	resets := ""
	if !i.Status.End.IsZero() {
		resets = "; resets " + b.Console.FormatTime(b.Options, i.Status.End, layout)
	}
	switch f := &i.Forecast; f.Outlook {
	case budget.UsedUp:
		return "used up" + resets
	case budget.RunsOut:
		return "runs out around " + b.Console.FormatTime(b.Options, f.UsedUp, layout) + resets
	case budget.Idle:
		return "no recent spending" + resets
	case budget.Lasts:
		if resets == "" {
			return "lasts more than a year"
		}
		return "lasts" + resets
	case budget.Unknown:
	}
	return "not enough data" + resets
}

func (b *budgetCommands) newShow() *cobra.Command {
	return &cobra.Command{
		Use: "show NAME|ID", Short: "Show a budget with its forecast, spenders and rejected requests", Args: cli.OneArg("the name of a key, session or end user, or an id"),
		Example: `  fairlead budgets show ci
  fairlead budgets show key_01J… --json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return b.with(cmd.Context(), func(s *budget.Service, by account.Actor) error {
				id, err := find(cmd.Context(), s, by.WorkspaceID, args[0])
				if err != nil {
					return err
				}
				d, err := s.Describe(cmd.Context(), by.WorkspaceID, id)
				if err != nil {
					return err
				}
				if b.Options.JSON {
					return b.Console.PrintJSON(adminbudgets.DetailView(&d, by))
				}
				return b.show(&d)
			})
		},
	}
}

// find returns the ID of the budget with the given ID or name.
func find(ctx context.Context, s *budget.Service, workspaceID, given string) (string, error) {
	items, err := all(ctx, s, workspaceID)
	if err != nil {
		return "", err
	}
	var found []string
	for i := range items {
		if items[i].ID == given {
			return given, nil
		}
		if items[i].Budget.Name == given {
			found = append(found, items[i].ID)
		}
	}
	switch len(found) {
	case 0:
		return "", cli.WithFix(fmt.Errorf("budget %q not found", cli.Clean(given)), "see  fairlead budgets list")
	case 1:
		return found[0], nil
	}
	return "", cli.WithFix(fmt.Errorf("%d budgets are named %q", len(found), cli.Clean(given)), "use the id of the budget, see  fairlead budgets list")
}

func (b *budgetCommands) show(d *budget.Detail) error {
	f, period := &d.Forecast, "per "+string(d.Budget.Period)
	if d.Budget.Period == ledger.Total {
		period = "never resets"
	}
	lines := []string{
		fmt.Sprintf("%s (%s)", cli.Clean(d.Budget.Name), owner(&d.Item)),
		fmt.Sprintf("  spent     %s of %s (%.0f %%), %s", cli.Dollars(d.Status.Spent), cli.Dollars(d.Budget.Amount), d.Status.Percent, period),
		"  forecast  " + b.outlook(&d.Item),
	}
	if f.Outlook != budget.Unknown {
		lines = append(lines, "  per day   "+cli.Dollars(f.PerDay))
		if !d.Status.End.IsZero() {
			lines = append(lines, fmt.Sprintf("  at reset  %s, 80 %% interval %s to %s", cli.Dollars(f.Expected), cli.Dollars(f.Low), cli.Dollars(f.High)))
		}
	}
	if f.Outlook == budget.RunsOut {
		latest := "after the reset"
		if !f.Latest.IsZero() {
			latest = b.Console.FormatTime(b.Options, f.Latest, cli.RowTime)
		}
		lines = append(lines, fmt.Sprintf("  runs out  80 %% interval from %s to %s", b.Console.FormatTime(b.Options, f.Earliest, cli.RowTime), latest))
	}
	if err := b.Console.Print(strings.Join(lines, "\n") + "\n"); err != nil {
		return err
	}
	if len(d.Spenders) > 0 {
		t := &cli.Table{Columns: []cli.Column{{Title: "BY"}, {Title: "SPENDER", Soft: true}, {Title: "REQUESTS", Right: true, Hide: 1}, {Title: "COST", Right: true}}}
		for _, s := range d.Spenders {
			name := s.Label
			if s.By == "request" {
				name = s.Name
			}
			t.Row(s.By, name, cli.Count(s.Requests), cli.Dollars(s.Cost))
		}
		if err := b.section(t); err != nil {
			return err
		}
	}
	if len(d.Rejected) == 0 {
		return nil
	}
	t := &cli.Table{Columns: []cli.Column{{Title: "REJECTED"}, {Title: "REQUEST"}, {Title: "KEY", Soft: true, Hide: 1}}}
	for i := range d.Rejected {
		e := &d.Rejected[i]
		t.Row(b.Console.FormatTime(b.Options, e.Time, cli.RowTime), e.ID, e.KeyName)
	}
	return b.section(t)
}

func (b *budgetCommands) section(t *cli.Table) error {
	if err := b.Console.Print("\n"); err != nil {
		return err
	}
	return b.Console.PrintTable(b.Options, t)
}
