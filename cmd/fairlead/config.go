package main

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"gopkg.in/yaml.v3"

	"fairlead/internal/app"
	"fairlead/internal/config"
)

func newConfig(c *console, o *options) *cobra.Command {
	return group("config", "Check, print and describe the configuration", `  fairlead config check fairlead.yaml
  fairlead config print --origin
  fairlead config schema > fairlead.schema.json`, newConfigCheck(c, o), newConfigPrint(c, o), newConfigSchema(c))
}

func newConfigCheck(c *console, o *options) *cobra.Command {
	return &cobra.Command{
		Use: "check [FILE]", Short: "Look for problems in the configuration; exit code 3 when there are any", Args: maybeArg("the path of a file"),
		Example: `  fairlead config check
  fairlead config check /etc/fairlead/fairlead.yaml`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				o.config = args[0]
			}
			loaded, err := o.load(c, o.flags())
			warning := ""
			if err == nil {
				warning, err = app.Check(cmd.Context(), loaded, c.getenv)
			}
			if problems, ok := errors.AsType[*config.Problems](err); ok {
				return showProblems(c, o, problems)
			}
			if err != nil {
				return err
			}
			if warning != "" {
				c.say(o, "warning: %s", clean(warning))
			}
			return showFine(c, o, loaded)
		},
	}
}

// problemView is a problem as JSON.
type problemView struct {
	Path       string      `json:"path"`
	Source     string      `json:"source"`
	Line       int         `json:"line,omitempty"`
	Column     int         `json:"column,omitempty"`
	Message    string      `json:"message"`
	Suggestion string      `json:"suggestion,omitempty"`
	Fix        string      `json:"fix"`
	Code       config.Code `json:"code"`
}

func showProblems(c *console, o *options, problems *config.Problems) error {
	found := &problemsError{len(problems.List) + problems.Omitted}
	if !o.json {
		return errors.Join(c.write(problems.Pretty()), found)
	}
	for _, p := range problems.List {
		view := problemView{p.Path, p.Source, p.Line, p.Column, p.Message, p.Suggestion, p.Fix, p.Code}
		if err := c.writeJSON(view); err != nil {
			return err
		}
	}
	return found
}

func showFine(c *console, o *options, loaded *config.Loaded) error {
	for _, warning := range loaded.Warnings {
		c.say(o, "warning: %s", clean(warning))
	}
	if o.json {
		return nil // one object per problem, and there are none
	}
	name := loaded.Path
	if name == "" {
		name = "no file, defaults and environment"
	}
	cfg := loaded.Config
	return c.write(fmt.Sprintf("%s: fine – %s, listens on %s, data in %s\n", clean(name), plural(len(cfg.Providers), "provider"), cfg.Listen, cfg.DataDir))
}

func newConfigPrint(c *console, o *options) *cobra.Command {
	var origin bool
	cmd := &cobra.Command{
		Use: "print", Short: "Print every effective value, secrets masked", Args: noArgs,
		Example: `  fairlead config print
  fairlead config print --origin                   … with where each value came from
  fairlead config print --json | jq .timeouts`,
		RunE: func(_ *cobra.Command, _ []string) error {
			loaded, err := o.load(c, o.flags())
			if err != nil {
				return err
			}
			if o.json {
				return printJSON(c, loaded, origin)
			}
			return loaded.Print(c.out, origin)
		},
	}
	cmd.Flags().BoolVar(&origin, "origin", false, "say where each value came from: default, file and line, variable or flag")
	return cmd
}

// printJSON is the printed configuration as one object, or as one line per value with its origin.
func printJSON(c *console, loaded *config.Loaded, origin bool) error {
	var text bytes.Buffer
	if err := loaded.Print(&text, false); err != nil {
		return err
	}
	var values map[string]any
	if err := yaml.Unmarshal(text.Bytes(), &values); err != nil {
		return fmt.Errorf("read the printed configuration: %w", err)
	}
	if !origin {
		return c.writeJSON(values)
	}
	leaves := flatten("", values)
	slices.SortFunc(leaves, func(x, y leaf) int { return strings.Compare(x.Path, y.Path) })
	for _, l := range leaves {
		l.Origin = loaded.Origin(l.Path).String()
		if err := c.writeJSON(l); err != nil {
			return err
		}
	}
	return nil
}

// leaf is one value of the configuration as JSON.
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

func newConfigSchema(c *console) *cobra.Command {
	return &cobra.Command{
		Use: "schema", Short: "Print the JSON Schema of the configuration file", Args: noArgs,
		Example: `  fairlead config schema > fairlead.schema.json`,
		RunE: func(_ *cobra.Command, _ []string) error {
			schema, err := config.Schema()
			if err != nil {
				return err
			}
			return c.write(string(schema))
		},
	}
}
