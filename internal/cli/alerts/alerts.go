// Package alerts implements "fairlead alerts".
package alerts

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"fairlead.dev/internal/account"
	adminalerts "fairlead.dev/internal/admin/alerts"
	"fairlead.dev/internal/alert"
	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/cli/instance"
)

// New returns the alerts commands.
func New(c *cli.Console, o *cli.Options) *cobra.Command {
	cmd := cli.Group("alerts", "List alert rules, their values and their history", `  fairlead alerts list
  fairlead alerts history`)
	a := &alertCommands{instance.Commands{Console: c, Options: o}}
	cmd.PersistentFlags().StringVar(&a.Workspace, "workspace", "", instance.WorkspaceHelp)
	cmd.AddCommand(a.newList(), a.newHistory())
	return cmd
}

// alertCommands holds the state shared by the alerts commands.
type alertCommands struct{ instance.Commands }

// findRule returns the rule of a workspace with the given ID or name.
func findRule(ctx context.Context, i *instance.Instance, workspaceID, given string) (alert.Rule, error) {
	rules, err := i.Store.Alerts.Rules(ctx, workspaceID)
	if err != nil {
		return alert.Rule{}, err
	}
	var found []alert.Rule
	for _, r := range rules {
		if r.ID == given || r.Name == given {
			found = append(found, r)
		}
	}
	switch len(found) {
	case 0:
		return alert.Rule{}, cli.WithFix(fmt.Errorf("alert rule %q not found", cli.Clean(given)), "see  fairlead alerts list")
	case 1:
		return found[0], nil
	}
	return alert.Rule{}, cli.WithFix(fmt.Errorf("%d alert rules are named %q", len(found), cli.Clean(given)), "use the id of the rule, see  fairlead alerts list")
}

func (a *alertCommands) newList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List alert rules and their state", Args: cli.NoArgs,
		Example: `  fairlead alerts list
  fairlead alerts list --json | jq -r 'select(.state == "firing") | .name'`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.With(cmd.Context(), func(i *instance.Instance, w account.Workspace) error {
				rules, err := i.Store.Alerts.Rules(cmd.Context(), w.ID)
				if err != nil {
					return err
				}
				states, err := i.Store.Alerts.WorkspaceStates(cmd.Context(), w.ID)
				if err != nil {
					return err
				}
				return a.list(rules, states)
			})
		},
	}
}

func (a *alertCommands) list(rules []alert.Rule, states []alert.State) error {
	view := func(r *alert.Rule) adminalerts.AlertRule { return adminalerts.RuleView(r, states, a.Console.Now()) }
	t := &cli.Table{Columns: []cli.Column{
		{Title: "RULE", Soft: true}, {Title: "STATE"}, {Title: "KIND", Hide: 2}, {Title: "BOUND", Right: true}, {Title: "WINDOW", Hide: 3}, {Title: "VALUE", Right: true, Hide: 1}, {Title: "ID", Hide: 4},
	}}
	const none = "no alert rules yet. Add one in the dashboard under Alerts"
	return cli.PrintList(a.Console, a.Options, rules, none, view, t, func(r *alert.Rule) {
		v := view(r)
		state := v.State
		if v.MutedUntil != nil {
			state += " (muted)"
		}
		value := "" // value of the first firing subject, else of the first subject
		if at := slices.IndexFunc(v.Values, func(one adminalerts.AlertValue) bool { return one.Firing }); at >= 0 {
			value = v.Values[at].Text
		} else if len(v.Values) > 0 {
			value = v.Values[0].Text
		}
		t.Row(cli.Clean(v.Name), state, v.Kind, boundText(r), cli.OrDash(string(r.Window)), cli.OrDash(value), v.ID)
	})
}

func boundText(r *alert.Rule) string {
	info, _ := alert.Info(r.Kind)
	sign := "≥ "
	if info.Below {
		sign = "< "
	}
	return sign + alert.Format(info.Unit, r.Threshold)
}

func (a *alertCommands) newHistory() *cobra.Command {
	var limit int
	var before, rule string
	cmd := &cobra.Command{
		Use: "history", Short: "List crossings and tests with their deliveries, newest first", Args: cli.NoArgs,
		Example: `  fairlead alerts history
  fairlead alerts history --rule "Error rate" --json | jq -r '.deliveries[] | select(.state == "failed") | .error'`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 1 || limit > 200 {
				return cli.Usagef("use a number from 1 to 200", "--limit: %d is out of range", limit)
			}
			return a.With(cmd.Context(), func(i *instance.Instance, w account.Workspace) error {
				if rule != "" {
					r, err := findRule(cmd.Context(), i, w.ID, rule)
					if err != nil {
						return err
					}
					rule = r.ID
				}
				events, err := i.Store.Alerts.Events(cmd.Context(), w.ID, rule, before, limit)
				if err != nil {
					return err
				}
				return a.events(events)
			})
		},
	}
	cmd.Flags().IntVar(&limit, "limit", 50, "maximum number of events, up to 200")
	cmd.Flags().StringVar(&before, "before", "", "list events older than this event id")
	cmd.Flags().StringVar(&rule, "rule", "", "name or id of a rule (default: all)")
	return cmd
}

func (a *alertCommands) events(events []alert.Event) error {
	t := &cli.Table{Columns: []cli.Column{{Title: "TIME"}, {Title: "EVENT"}, {Title: "RULE", Soft: true}, {Title: "DELIVERIES", Soft: true, Hide: 2}, {Title: "DESCRIPTION", Soft: true, Hide: 1}}}
	return cli.PrintList(a.Console, a.Options, events, "no events yet", adminalerts.EventView, t, func(e *alert.Event) {
		v := adminalerts.EventView(e)
		var sent []string
		for _, d := range v.Deliveries {
			sent = append(sent, d.Channel+" "+d.State)
		}
		if v.Muted {
			sent = []string{"not sent"}
		}
		t.Row(a.Console.FormatTime(a.Options, v.At, cli.RowTime), v.Type, cli.Clean(v.RuleName), cli.OrDash(cli.Clean(strings.Join(sent, ", "))), cli.Clean(v.Text))
	})
}
