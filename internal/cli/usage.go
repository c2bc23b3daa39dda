package cli

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"fairlead.dev/internal/spelling"
)

// printHelp prints the description of a command and its usage. Cobra's templates call methods by name: with them, the linker
// would keep every exported method of the program.
func printHelp(cmd *cobra.Command, _ []string) {
	if text := strings.TrimSpace(cmp.Or(cmd.Long, cmd.Short)); text != "" {
		fmt.Fprintf(cmd.OutOrStdout(), "%s\n\n", text)
	}
	fmt.Fprint(cmd.OutOrStdout(), cmd.UsageString())
}

// printUsage prints the usage of a command. It starts with examples, because most readers look for them.
func printUsage(cmd *cobra.Command) error {
	var b strings.Builder
	if cmd.HasExample() {
		fmt.Fprintf(&b, "Examples:\n%s\n\n", cmd.Example)
	}
	b.WriteString("Usage:")
	if cmd.Runnable() && cmd.HasParent() {
		fmt.Fprintf(&b, "\n  %s", cmd.UseLine())
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\n  %s [command]\n\nCommands:", cmd.CommandPath())
		for _, sub := range cmd.Commands() {
			if sub.IsAvailableCommand() {
				fmt.Fprintf(&b, "\n  %-*s %s", sub.NamePadding(), sub.Name(), sub.Short)
			}
		}
	}
	if cmd.HasAvailableLocalFlags() {
		fmt.Fprintf(&b, "\n\nFlags:\n%s", strings.TrimRight(cmd.LocalFlags().FlagUsages(), "\n"))
	}
	if cmd.HasAvailableInheritedFlags() {
		fmt.Fprintf(&b, "\n\nGlobal flags:\n%s", strings.TrimRight(cmd.InheritedFlags().FlagUsages(), "\n"))
	}
	_, err := fmt.Fprintln(cmd.OutOrStderr(), b.String())
	return err
}

// Group returns a command that has only subcommands.
func Group(use, short, example string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Example: example, Args: subcommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return Usagef("see  "+cmd.CommandPath()+" --help", "%s requires a command: %s", cmd.CommandPath(), JoinOr(names(cmd)))
		},
	}
	cmd.AddCommand(commands...)
	return cmd
}

// subcommand rejects an unknown command and suggests a similar one.
func subcommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if err := removedCommand(cmd, args); err != nil {
		return err
	}
	fix := "see  " + cmd.CommandPath() + " --help"
	if near := spelling.Closest(args[0], names(cmd)); near != "" {
		return Usagef("run  "+cmd.CommandPath()+" "+near, "unknown command %q; did you mean %q?", args[0], near)
	}
	return Usagef(fix, "unknown command %q", args[0])
}

// NoArgs validates the arguments of commands that take no arguments.
func NoArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if err := removedCommand(cmd, args); err != nil {
		return err
	}
	if args[0] == "true" || args[0] == "false" {
		return Usagef("write the value after an equals sign: --flag="+args[0], "unexpected %q", args[0])
	}
	return Usagef("see  "+cmd.CommandPath()+" --help", "unexpected %q: %s takes no arguments", args[0], cmd.CommandPath())
}

// OneArg validates the arguments of commands that take exactly one argument. what names the argument in error messages.
func OneArg(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) == 0:
			return Usagef("run  "+cmd.UseLine(), "%s is missing", what)
		case len(args) > 1:
			return Usagef("run  "+cmd.UseLine(), "unexpected %q: only %s is accepted", args[1], what)
		}
		return nil
	}
}

// OptionalArg validates the arguments of commands that take at most one argument. what names the argument in error messages.
func OptionalArg(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) <= 1 {
			return nil
		}
		return OneArg(what)(cmd, args)
	}
}

// RequireFlag returns a usage error if a required flag is missing.
func RequireFlag(cmd *cobra.Command, flag, example string) error {
	if value := cmd.Flag(flag); value.Changed && value.Value.String() != "" {
		return nil
	}
	return Usagef("run  "+cmd.CommandPath()+" "+example, "--%s is missing", flag)
}

// flagError converts an error of the flag parser to a usage error with a suggestion. If the command is misspelt, it reports the
// command instead of the flag.
func flagError(cmd *cobra.Command, err error) error {
	if cmd.HasSubCommands() {
		if unknownCommand := subcommand(cmd, cmd.Flags().Args()); unknownCommand != nil {
			return unknownCommand
		}
	}
	missing, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok || missing.GetSpecifiedShortnames() != "" {
		return &UsageError{WithFix(err, "see  %s --help", cmd.CommandPath())}
	}
	var known []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
	name := strings.ReplaceAll(missing.GetSpecifiedName(), "_", "-")
	if near := spelling.Closest(name, known); near != "" {
		return Usagef("use  --"+near, "unknown flag --%s; did you mean --%s?", name, near)
	}
	return Usagef("see  "+cmd.CommandPath()+" --help", "unknown flag --%s", name)
}

// newHelp returns the help command. An example is "fairlead help keys".
func newHelp() *cobra.Command {
	return &cobra.Command{
		Use: "help [command]", Short: "Show help about a command", Hidden: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			target, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return subcommand(target, rest)
			}
			target.InitDefaultHelpFlag()
			target.InitDefaultVersionFlag()
			return target.Help()
		},
	}
}

func names(cmd *cobra.Command) []string {
	var list []string
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			list = append(list, sub.Name())
		}
	}
	return list
}

// JoinOr joins names as in "a, b or c".
func JoinOr(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}
