// Package cli contains the root command and the code that all commands share: console, tables, number formats, errors and exit
// codes.
package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Command creates a command and its subcommands.
type Command func(*Console, *Options) *cobra.Command

// NewRoot returns the root command with the given subcommands.
func NewRoot(c *Console, commands ...Command) *cobra.Command {
	o := &Options{}
	root := &cobra.Command{
		Use:   "fairlead",
		Short: "Route model requests: one endpoint for every provider",
		Example: `  fairlead serve                                  start the gateway on 127.0.0.1:8080
  fairlead keys create --name ci                  create an API key
  fairlead requests list --decision fallback      list requests that used a fallback
  fairlead requests show req_01J…                 show the decision and the cost`,
		SilenceErrors:     true,
		SilenceUsage:      true,
		Version:           c.Version,
		Args:              subcommand,
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.SetOut(c.Out)
	root.SetErr(c.Err)
	root.SetIn(c.In)
	root.SetFlagErrorFunc(flagError)
	root.SetHelpFunc(printHelp)
	root.SetUsageFunc(printUsage)
	root.SetGlobalNormalizationFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		return pflag.NormalizedName(strings.ReplaceAll(name, "_", "-")) // query parameters use underscores
	})
	flags := root.PersistentFlags()
	flags.StringVar(&o.Config, "config", "", "path of the configuration file (default: fairlead.yaml in ., $XDG_CONFIG_HOME/fairlead or /etc/fairlead)")
	flags.StringVar(&o.dataDir, "data-dir", "", "directory for the database, the spool and the master key")
	flags.BoolVar(&o.JSON, "json", false, "print JSON: one object, or one object per line for lists")
	flags.BoolVar(&o.Quiet, "quiet", false, "print results only")
	flags.BoolVar(&o.noColor, "no-color", false, "do not use colours (also: NO_COLOR=1)")
	flags.BoolVar(&o.yes, "yes", false, "answer yes to all questions")
	flags.BoolVar(&o.utc, "utc", false, "show times in UTC instead of the local time zone")
	root.AddCommand(newCompletion(c), newVersion(c, o))
	for _, newCommand := range commands {
		root.AddCommand(newCommand(c, o))
	}
	root.SetHelpCommand(newHelp())
	return root
}

// Run executes a command line and returns its exit code.
func Run(ctx context.Context, c *Console, args []string, commands ...Command) int {
	root := NewRoot(c, commands...)
	root.SetArgs(append([]string{}, args...)) // for nil, cobra would use the arguments of the process
	err := root.ExecuteContext(ctx)
	if err == nil {
		return ExitOK
	}
	if text := ErrorText(ctx, err); text != "" {
		fmt.Fprintln(c.Err, text)
	}
	return ExitCode(ctx, err)
}

// ExitCode returns the exit code for the result of a command.
func ExitCode(ctx context.Context, err error) int {
	if _, ok := errors.AsType[*ProblemsError](err); ok {
		return ExitProblems
	}
	if _, ok := errors.AsType[*UsageError](err); ok {
		return ExitUsage
	}
	if ctx.Err() != nil {
		return ExitInterrupted
	}
	return ExitFailed
}
