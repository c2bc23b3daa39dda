package providers

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/cli/instance"
)

func newProvidersBaseline(c *cli.Console, o *cli.Options) *cobra.Command {
	return &cobra.Command{
		Use: "baseline [MODEL]", Short: "Show or set the model that you use today", Args: cli.OptionalArg("a model"),
		Long:    "Set the model that savings are measured against. Without a baseline, costs are shown without savings.\nWithout a model, suggest three models of the connected providers: the best, one of the middle and the cheapest.",
		Example: "  fairlead providers baseline\n  fairlead providers baseline gpt-6-sol",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return askForBaseline(cmd.Context(), c, o, true)
			}
			return instance.With(cmd.Context(), c, o, func(i *instance.Instance) error {
				w, err := i.Workspace(cmd.Context(), "")
				if err != nil {
					return err
				}
				_, err = i.Accounts.UpdateWorkspace(cmd.Context(), account.CommandLine(w.ID), w.ID, account.WorkspaceChange{DefaultModel: &args[0]})
				if err == nil {
					c.Infof(o, "savings are measured against %s", cli.Clean(args[0]))
				}
				return err
			})
		},
	}
}

// askForBaseline asks for the model in use today if the workspace has no baseline. If always is true, it also shows the baseline.
func askForBaseline(ctx context.Context, c *cli.Console, o *cli.Options, always bool) error {
	baseline := ""
	err := instance.With(ctx, c, o, func(i *instance.Instance) error {
		w, err := i.Workspace(ctx, "")
		if baseline = w.DefaultModel; baseline == "" {
			baseline = i.Config.DefaultModel
		}
		return err
	})
	if err != nil || baseline != "" && !always {
		return err
	}
	return instance.WithProviders(ctx, c, o, func(set *instance.ProviderSet) error {
		usual := set.UsualModels()
		if baseline != "" {
			c.Infof(o, "Savings are measured against %s.", baseline)
		} else if len(usual) > 0 {
			c.Infof(o, "Which model do you use today? Usual ones are %s.", strings.Join(usual, ", "))
		}
		if len(usual) > 0 {
			c.Infof(o, "Set it with  fairlead providers baseline %s  or later in the dashboard. Without it, costs are shown without savings.", usual[0])
		}
		return nil
	})
}
