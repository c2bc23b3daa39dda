// Package statements implements "fairlead statement".
package statements

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/cli/instance"
	"fairlead.dev/internal/statement"
)

// maxFile is the maximum size of a statement file.
const maxFile = 64 << 20

// statementCommands holds the state shared by the commands.
type statementCommands struct{ instance.Commands }

// flags selects a statement and its format.
type flags struct {
	month     string
	format    string
	output    string
	simulated bool
}

// New returns the command "statement".
func New(c *cli.Console, o *cli.Options) *cobra.Command {
	s := &statementCommands{instance.Commands{Console: c, Options: o}}
	var f flags
	cmd := &cobra.Command{
		Use: "statement", Short: "Write the monthly statement: requests, cost, savings and measured quality", Args: cli.NoArgs,
		Long: "Write the statement of a month as a page for printing or as JSON. Each line has a checksum of its requests, so that\n" +
			"fairlead statement verify  can recompute it from the log. Months are in UTC.",
		Example: `  fairlead statement --month 2026-11 -o november.html
  fairlead statement --month 2026-11 --format json | jq .total
  fairlead statement verify november.html`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if s.Options.JSON && !cmd.Flags().Changed("format") {
				f.format = "json"
			}
			if !slices.Contains([]string{"html", "json"}, f.format) {
				return cli.Usagef("use  --format html  or  --format json", "unknown format %q", cli.Clean(f.format))
			}
			month := statement.PreviousMonth(s.Console.Now())
			if f.month != "" {
				var err error
				if month, err = statement.ParseMonth(f.month); err != nil {
					return cli.Usagef("use a month such as 2026-11", "--month: %w", err)
				}
			}
			return instance.WithWorkspace(cmd.Context(), c, o, s.Workspace, func(i *instance.Instance, w account.Workspace) error {
				return s.write(cmd.Context(), i, w, month, f)
			})
		},
	}
	cmd.PersistentFlags().StringVar(&s.Workspace, "workspace", "", instance.WorkspaceHelp)
	cmd.Flags().StringVar(&f.month, "month", "", "month such as 2026-11 (default: the previous month)")
	cmd.Flags().StringVar(&f.format, "format", "html", "html or json")
	cmd.Flags().StringVarP(&f.output, "output", "o", "", "output file (default: standard output)")
	cmd.Flags().BoolVar(&f.simulated, "simulated", false, "include simulated requests")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{"html", "json"}, cobra.ShellCompDirectiveNoFileComp))
	cmd.AddCommand(s.newVerify())
	return cmd
}

// sourcesOf returns the sources from which the statements of the instance are computed.
func sourcesOf(i *instance.Instance) statement.Sources {
	return statement.Sources{Log: i.Store.Log, Samples: i.Store.Proof, Costs: i.Store.Proof}
}

func (s *statementCommands) write(ctx context.Context, i *instance.Instance, w account.Workspace, month time.Time, f flags) error {
	i.AwaitEntries(ctx)
	made, err := statement.New(ctx, sourcesOf(i), statement.Options{
		WorkspaceID: w.ID, Workspace: w.Name, Month: month, Now: s.Console.Now(), Program: s.Console.Version, Simulated: f.simulated,
	})
	if errors.Is(err, statement.ErrFuture) {
		return cli.Usagef("use a month that has started", "--month: %s has not started", month.Format("2006-01"))
	}
	if err != nil {
		return err
	}
	write := made.HTML
	if f.format == "json" {
		write = func(w io.Writer) error {
			text, err := made.JSON()
			if err != nil {
				return err
			}
			_, err = w.Write(text)
			return err
		}
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

func (s *statementCommands) newVerify() *cobra.Command {
	return &cobra.Command{
		Use: "verify FILE", Short: "Recompute a statement from the log and report the lines that differ", Args: cli.OneArg("a statement file"),
		Long: "Recompute a statement from the log and report the lines that differ. FILE is a statement as HTML or JSON, or - for standard input.\n" +
			"The exit code is 3 if a line differs. Entries that were deleted after their retention period are missing in the log.",
		Example: `  fairlead statement verify november.html
  fairlead statement verify november.json --json | jq -r .line`,
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := s.Read(args[0], maxFile)
			if err != nil {
				return err
			}
			made, err := statement.Parse(text)
			if err != nil {
				return cli.WithFix(err, "use a file that  fairlead statement  wrote")
			}
			return instance.WithWorkspace(cmd.Context(), s.Console, s.Options, made.WorkspaceID, func(i *instance.Instance, _ account.Workspace) error {
				i.AwaitEntries(cmd.Context())
				return s.verify(cmd.Context(), i, made)
			})
		},
	}
}

func (s *statementCommands) verify(ctx context.Context, i *instance.Instance, made *statement.Statement) error {
	found, err := statement.Verify(ctx, sourcesOf(i), made)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		if s.Options.JSON {
			return nil
		}
		return s.Console.Print(fmt.Sprintf("Verified: all lines of %s match the log (%s)\n", made.Month, cli.Plural(int(made.Total.Requests), "request")))
	}
	for _, d := range found {
		if s.Options.JSON {
			err = s.Console.PrintJSON(d)
		} else {
			err = s.Console.Print(cli.Clean(d.String()) + "\n")
		}
		if err != nil {
			return err
		}
	}
	return &cli.ProblemsError{Count: len(found)}
}
