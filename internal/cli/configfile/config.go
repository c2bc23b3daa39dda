// Package configfile implements "fairlead config" and "fairlead init".
package configfile

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"gopkg.in/yaml.v3"

	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/cli/instance"
	"fairlead.dev/internal/config"
	"fairlead.dev/internal/providerset"
)

// NewConfig returns the config commands.
func NewConfig(c *cli.Console, o *cli.Options) *cobra.Command {
	return cli.Group("config", "Check, print and describe the configuration", `  fairlead config check fairlead.yaml
  fairlead config print --origin
  fairlead config schema > fairlead.schema.json`, newConfigCheck(c, o), newConfigPrint(c, o), newConfigSchema(c))
}

func newConfigCheck(c *cli.Console, o *cli.Options) *cobra.Command {
	return &cobra.Command{
		Use: "check [FILE]", Short: "Check the configuration; the exit code is 3 when it has problems", Args: cli.OptionalArg("the path of a file"),
		Example: `  fairlead config check
  fairlead config check /etc/fairlead/fairlead.yaml`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				o.Config = args[0]
			}
			loaded, err := instance.LoadConfig(c, o, o.Flags())
			warning := ""
			if err == nil {
				warning, err = providerset.Check(cmd.Context(), loaded, c.Getenv)
			}
			if problems, ok := errors.AsType[*config.Problems](err); ok {
				return showProblems(c, o, problems)
			}
			if err != nil {
				return err
			}
			if warning != "" {
				c.Infof(o, "warning: %s", cli.Clean(warning))
			}
			for _, warning := range loaded.Warnings {
				c.Infof(o, "warning: %s", cli.Clean(warning))
			}
			if o.JSON {
				return nil // with --json, print nothing if there are no problems
			}
			name, cfg := cmp.Or(loaded.Path, "no file, using defaults and environment"), loaded.Config
			return c.Print(fmt.Sprintf("%s: ok – %s, listen %s, data directory %s\n", cli.Clean(name), cli.Plural(len(cfg.Providers), "provider"), cfg.Listen, cfg.DataDir))
		},
	}
}

func showProblems(c *cli.Console, o *cli.Options, problems *config.Problems) error {
	found := &cli.ProblemsError{Count: len(problems.List) + problems.Omitted}
	if !o.JSON {
		return errors.Join(c.Print(problems.Pretty()), found)
	}
	for _, p := range problems.List {
		if err := c.PrintJSON(p); err != nil {
			return err
		}
	}
	return found
}

func newConfigPrint(c *cli.Console, o *cli.Options) *cobra.Command {
	var origin bool
	cmd := &cobra.Command{
		Use: "print", Short: "Print every effective value, secrets masked", Args: cli.NoArgs,
		Example: `  fairlead config print
  fairlead config print --origin                   with the origin of each value
  fairlead config print --json | jq .timeouts`,
		RunE: func(_ *cobra.Command, _ []string) error {
			loaded, err := instance.LoadConfig(c, o, o.Flags())
			if err != nil {
				return err
			}
			if o.JSON {
				return printJSON(c, loaded, origin)
			}
			return loaded.Print(c.Out, origin)
		},
	}
	cmd.Flags().BoolVar(&origin, "origin", false, "also print the origin of each value: default, file and line, variable or flag")
	return cmd
}

// printJSON prints the configuration as one object or, if origin is set, as one line per value with its origin.
func printJSON(c *cli.Console, loaded *config.Loaded, origin bool) error {
	var text bytes.Buffer
	if err := loaded.Print(&text, false); err != nil {
		return err
	}
	var values map[string]any
	if err := yaml.Unmarshal(text.Bytes(), &values); err != nil {
		return fmt.Errorf("parse the printed configuration: %w", err)
	}
	if !origin {
		return c.PrintJSON(values)
	}
	leaves := flatten("", values)
	slices.SortFunc(leaves, func(x, y leaf) int { return strings.Compare(x.Path, y.Path) })
	for _, l := range leaves {
		l.Origin = loaded.Origin(l.Path).String()
		if err := c.PrintJSON(l); err != nil {
			return err
		}
	}
	return nil
}

// leaf is the JSON form of one value of the configuration.
type leaf struct {
	Path   string `json:"path"`
	Value  any    `json:"value"`
	Origin string `json:"origin"`
}

func flatten(path string, value any) []leaf {
	var leaves []leaf
	switch v := value.(type) {
	case map[string]any:
		for name, member := range v {
			leaves = append(leaves, flatten(strings.TrimPrefix(path+"."+name, "."), member)...)
		}
		return leaves
	case []any:
		for i, member := range v {
			leaves = append(leaves, flatten(fmt.Sprintf("%s[%d]", path, i), member)...)
		}
		if len(v) > 0 {
			return leaves
		}
	}
	return []leaf{{Path: path, Value: value}}
}

func newConfigSchema(c *cli.Console) *cobra.Command {
	return &cobra.Command{
		Use: "schema", Short: "Print the JSON Schema of the configuration file", Args: cli.NoArgs,
		Example: `  fairlead config schema > fairlead.schema.json`,
		RunE: func(_ *cobra.Command, _ []string) error {
			schema, err := config.Schema()
			if err != nil {
				return err
			}
			return c.Print(string(schema))
		},
	}
}
