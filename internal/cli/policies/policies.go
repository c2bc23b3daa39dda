// Package policies implements "fairlead policies".
package policies

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/cli/instance"
	"fairlead.dev/internal/policy"
)

// New returns the policies commands.
func New(c *cli.Console, o *cli.Options) *cobra.Command {
	cmd := cli.Group("policies", "List, check, compare, apply and roll back policies", `  fairlead policies list
  fairlead policies validate policies.yaml
  fairlead policies diff policies.yaml             show what applying the file would change
  fairlead policies apply policies.yaml --note "keep code in house"
  fairlead policies rollback 3`)
	p := &policyCommands{instance.Commands{Console: c, Options: o}}
	cmd.PersistentFlags().StringVar(&p.Workspace, "workspace", "", instance.WorkspaceHelp)
	cmd.AddCommand(p.newList(), p.newShow(), p.newValidate(), p.newDiff(), p.newApply(), p.newHistory(), p.newRollback())
	return cmd
}

// policyCommands holds the state shared by the policy commands.
type policyCommands struct{ instance.Commands }

// policyView is the JSON form of an active policy.
type policyView struct {
	Source string `json:"source"` // "instance" or "workspace"
	policy.Policy
	Active bool `json:"active"`
}

func (p *policyCommands) newList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the active policies in evaluation order", Args: cli.NoArgs,
		Example: `  fairlead policies list
  fairlead policies list --json | jq -r 'select(.deny) | .name'`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.WithRouting(cmd.Context(), func(from instance.Routed) error { return p.list(from) })
		},
	}
}

func (p *policyCommands) list(from instance.Routed) error {
	var all []policyView
	for _, part := range []struct {
		source string
		set    *policy.Set
	}{{"instance", from.Rules.Instance()}, {"workspace", from.Rules.Own(from.Workspace.ID)}} {
		for _, one := range part.set.Policies() {
			all = append(all, policyView{part.source, one, one.Active()})
		}
	}
	for _, problem := range from.Rules.Problems(from.Workspace.ID) {
		p.Console.Infof(p.Options, "warning: partly inactive: %s", cli.Clean(problem.String()))
	}
	t := &cli.Table{Columns: []cli.Column{
		{Title: "#", Right: true}, {Title: "POLICY"}, {Title: "FROM", Hide: 1}, {Title: "STATE"}, {Title: "EFFECT", Soft: true}, {Title: "WHEN", Soft: true, Hide: 2},
	}}
	view := func(v *policyView) *policyView { return v }
	return cli.PrintList(p.Console, p.Options, all, "no policies. Apply a file:  fairlead policies apply FILE", view, t, func(one *policyView) {
		state := cli.Cell{Text: "on", Paint: cli.Green}
		if !one.Active {
			state = cli.Cell{Text: "off", Paint: cli.Faint}
		}
		when := one.When
		if when == "" {
			when = "always"
		}
		t.Add(cli.Cell{Text: fmt.Sprint(len(t.Rows) + 1)}, cli.Cell{Text: one.Name}, cli.Cell{Text: one.Source}, state, cli.Cell{Text: effects(&one.Policy)}, cli.Cell{Text: strings.Join(strings.Fields(when), " ")})
	})
}

// effects describes the effects of a policy.
func effects(p *policy.Policy) string {
	var parts []string
	add := func(applies bool, format string, args ...any) {
		if applies {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	add(p.Deny != "", "deny: %s", p.Deny)
	add(p.Pin != "", "pin %s", p.Pin)
	add(p.Allow != nil, "allow %s", p.Allow)
	add(p.Exclude != nil, "exclude %s", p.Exclude)
	add(len(p.Prefer) > 0, "prefer %s", strings.Join(p.Prefer, ", "))
	add(p.Objective != "", "objective %s", p.Objective)
	add(p.MaxCost > 0, "at most %s", cli.Dollars(p.MaxCost))
	add(p.MaxOutput > 0, "at most %s output tokens", cli.Count(p.MaxOutput))
	add(p.Baseline != "", "baseline %s", p.Baseline)
	add(p.LogBodies != nil, "do not store bodies")
	return strings.Join(parts, "; ")
}

func (p *policyCommands) newShow() *cobra.Command {
	return &cobra.Command{
		Use: "show [VERSION]", Short: "Print the workspace's policies as YAML, the newest version or an earlier one", Args: cli.OptionalArg("a version number"),
		Example: `  fairlead policies show > policies.yaml
  fairlead policies show 3`,
		RunE: func(cmd *cobra.Command, args []string) error {
			number := int64(0)
			if len(args) == 1 {
				var err error
				if number, err = parseVersion(args[0]); err != nil {
					return err
				}
			}
			return p.WithRouting(cmd.Context(), func(from instance.Routed) error {
				v, err := p.version(cmd.Context(), from, number)
				if err != nil {
					return err
				}
				if p.Options.JSON {
					return p.Console.PrintJSON(savedOf(&v))
				}
				if v.Number == 0 {
					p.Console.Infof(p.Options, "the workspace has no policies")
					return nil
				}
				return p.Console.Print(strings.TrimRight(cli.CleanLines(v.Source), "\n") + "\n")
			})
		},
	}
}

func (p *policyCommands) newValidate() *cobra.Command {
	return &cobra.Command{
		Use: "validate FILE", Short: "Check a policy file; the exit code is 3 when it has problems", Args: cli.OneArg("the path of a file"),
		Example: `  fairlead policies validate policies.yaml
  fairlead policies validate policies.yaml --json | jq -r .message`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.WithRouting(cmd.Context(), func(from instance.Routed) error {
				source, err := p.Console.ReadFile(args[0], policy.MaxBytes)
				if err != nil {
					return err
				}
				set, problems := policy.Parse("workspace", source, from.Rules.Inventory())
				if len(problems) > 0 {
					return p.ShowPolicyProblems(p.Console.Out, args[0], source, problems)
				}
				if p.Options.JSON {
					return nil // with --json, print nothing if there are no problems
				}
				return p.Console.Print(fmt.Sprintf("%s: ok – %s\n", cli.Clean(args[0]), cli.PluralPolicies(len(set.Policies()))))
			})
		},
	}
}
