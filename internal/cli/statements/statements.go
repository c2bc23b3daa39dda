// Package statements implements "fairlead statement".
package statements

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/admin/proofs"
	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/cli/instance"
)

// statementCommands holds the state shared by the commands.
type statementCommands struct{ instance.Commands }

// flags selects a statement and how it is written.
type flags struct {
	month     string
	csv       bool
	output    string
	simulated bool
}

// New returns the command "statement".
func New(c *cli.Console, o *cli.Options) *cobra.Command {
	s := &statementCommands{instance.Commands{Console: c, Options: o}}
	var f flags
	cmd := &cobra.Command{
		Use: "statement", Short: "Write the monthly statement: requests, cost and savings", Args: cli.NoArgs,
		Long: "Write the statement of a month as a page for printing or as CSV. Months are in UTC.",
		Example: `  fairlead statement --month 2026-11 -o november.html
  fairlead statement --month 2026-11 --csv > november.csv`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			month := proofs.PreviousMonth(s.Console.Now())
			if f.month != "" {
				var err error
				if month, err = proofs.ParseMonth(f.month); err != nil {
					return cli.Usagef("use a month such as 2026-11", "--month: %w", err)
				}
			}
			return s.With(cmd.Context(), func(i *instance.Instance, w account.Workspace) error {
				return s.write(cmd.Context(), i, w, month, f)
			})
		},
	}
	cmd.Flags().StringVar(&s.Workspace, "workspace", "", instance.WorkspaceHelp)
	cmd.Flags().StringVar(&f.month, "month", "", "month such as 2026-11 (default: the previous month)")
	cmd.Flags().BoolVar(&f.csv, "csv", false, "write CSV instead of HTML")
	cmd.Flags().StringVarP(&f.output, "output", "o", "", "output file (default: standard output)")
	cmd.Flags().BoolVar(&f.simulated, "simulated", false, "include simulated requests")
	return cmd
}

func (s *statementCommands) write(ctx context.Context, i *instance.Instance, w account.Workspace, month time.Time, f flags) error {
	i.AwaitEntries(ctx)
	made, err := proofs.NewStatement(ctx, i.Store.Figures, i.Accounts, proofs.StatementOptions{
		WorkspaceID: w.ID, Workspace: w.Name, Month: month, Now: s.Console.Now(), Simulated: f.simulated,
	})
	if errors.Is(err, proofs.ErrFuture) {
		return cli.Usagef("use a month that has started", "--month: %s has not started", month.Format("2006-01"))
	}
	if err != nil {
		return err
	}
	write := made.WriteHTML
	if f.csv {
		write = made.WriteCSV
	}
	if f.output == "" || f.output == "-" {
		return write(s.Console.Out)
	}
	file, err := os.OpenFile(f.output, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("create the file: %w", err)
	}
	if err := errors.Join(write(file), file.Close()); err != nil {
		return err
	}
	s.Console.Infof(s.Options, "statement of %s with %s written to %s", made.Month, cli.Plural(int(made.Total.Requests), "request"), cli.Clean(f.output))
	return nil
}
