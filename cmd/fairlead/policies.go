package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"fairlead/internal/policy"
)

func newPolicies(c *console, o *options) *cobra.Command {
	cmd := group("policies", "List, check, compare, apply and roll back policies", `  fairlead policies list
  fairlead policies validate policies.yaml
  fairlead policies diff policies.yaml             what applying the file would change
  fairlead policies apply policies.yaml --note "no code to outside"
  fairlead policies rollback 3`)
	p := &policyCommands{routingCommands{console: c, options: o}}
	cmd.PersistentFlags().StringVar(&p.workspace, "workspace", "", workspaceDoc)
	cmd.AddCommand(p.newList(), p.newShow(), p.newValidate(), p.newDiff(), p.newApply(), p.newHistory(), p.newRollback())
	return cmd
}

// policyCommands is what the commands on policies share.
type policyCommands struct{ routingCommands }

// policyView is a policy in force as JSON.
type policyView struct {
	Source string `json:"source"` // instance or workspace
	policy.Policy
	Active bool `json:"active"`
}

func (p *policyCommands) newList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the policies in force, in the order in which they are evaluated", Args: noArgs,
		Example: `  fairlead policies list
  fairlead policies list --json | jq -r 'select(.deny) | .name'`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.with(cmd.Context(), func(from routed) error { return p.list(from) })
		},
	}
}

func (p *policyCommands) list(from routed) error {
	var all []policyView
	for _, part := range []struct {
		source string
		set    *policy.Set
	}{{"instance", from.Rules.Instance()}, {"workspace", from.Rules.Own(from.workspace.ID)}} {
		for _, one := range part.set.Policies() {
			all = append(all, policyView{part.source, one, one.Active()})
		}
	}
	for _, problem := range from.Rules.Problems(from.workspace.ID) {
		p.console.say(p.options, "warning: not wholly in force: %s", clean(problem.String()))
	}
	if p.options.json {
		for i := range all {
			if err := p.console.writeJSON(all[i]); err != nil {
				return err
			}
		}
		return nil
	}
	if len(all) == 0 {
		p.console.say(p.options, "no policies; write some and run  fairlead policies apply FILE")
		return nil
	}
	t := &table{columns: []column{
		{title: "#", right: true}, {title: "POLICY"}, {title: "FROM", hide: 1}, {title: "STATE"}, {title: "EFFECT", soft: true}, {title: "WHEN", soft: true, hide: 2},
	}}
	for i := range all {
		one := &all[i]
		state := cell{"on", green}
		if !one.Active {
			state = cell{"off", faint}
		}
		when := one.When
		if when == "" {
			when = "always"
		}
		t.add(cell{text: fmt.Sprint(i + 1)}, cell{text: one.Name}, cell{text: one.Source}, state, cell{text: effects(&one.Policy)}, cell{text: strings.Join(strings.Fields(when), " ")})
	}
	return p.console.writeTable(p.options, t)
}

// effects says in words what a policy does.
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
	add(p.MaxCost > 0, "at most %s", dollars(p.MaxCost))
	add(p.MaxOutput > 0, "at most %s output tokens", count(p.MaxOutput))
	add(p.Baseline != "", "baseline %s", p.Baseline)
	add(p.LogBodies != nil, "no bodies in the log")
	return strings.Join(parts, "; ")
}

func (p *policyCommands) newShow() *cobra.Command {
	return &cobra.Command{
		Use: "show [VERSION]", Short: "Print the workspace's policies as YAML, the newest version or an earlier one", Args: maybeArg("the number of a version"),
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
			return p.with(cmd.Context(), func(from routed) error { return p.show(cmd.Context(), from, number) })
		},
	}
}

func (p *policyCommands) show(ctx context.Context, from routed, number int64) error {
	v, err := p.version(ctx, from, number)
	if err != nil {
		return err
	}
	if p.options.json {
		return p.console.writeJSON(savedOf(&v))
	}
	if v.Number == 0 {
		p.console.say(p.options, "the workspace has no policies of its own yet")
		return nil
	}
	return p.console.write(strings.TrimRight(cleanLines(v.Source), "\n") + "\n")
}

func (p *policyCommands) newValidate() *cobra.Command {
	return &cobra.Command{
		Use: "validate FILE", Short: "Look for problems in a file of policies; exit code 3 when there are any", Args: oneArg("the path of a file"),
		Example: `  fairlead policies validate policies.yaml
  fairlead policies validate policies.yaml --json | jq -r .message`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.with(cmd.Context(), func(from routed) error { return p.validate(from, args[0]) })
		},
	}
}

func (p *policyCommands) validate(from routed, path string) error {
	source, err := p.read(path, policy.MaxBytes)
	if err != nil {
		return err
	}
	set, problems := policy.Parse("workspace", source, from.Rules.World())
	if len(problems) > 0 {
		return p.showPolicyProblems(p.console.out, path, source, problems)
	}
	if p.options.json {
		return nil // one object per problem, and there are none
	}
	return p.console.write(fmt.Sprintf("%s: fine – %s\n", clean(path), policies(len(set.Policies()))))
}
