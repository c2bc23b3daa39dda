// Package budgets implements "fairlead budgets".
package budgets

import (
	"context"
	"fmt"

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
	cmd := cli.Group("budgets", "List budgets, their use and when they will be used up", `  fairlead budgets list`)
	b := &budgetCommands{instance.Commands{Console: c, Options: o}}
	cmd.PersistentFlags().StringVar(&b.Workspace, "workspace", "", instance.WorkspaceHelp)
	cmd.AddCommand(b.newList())
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
