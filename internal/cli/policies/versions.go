package policies

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/cli/instance"
	"fairlead.dev/internal/policy"
	"fairlead.dev/internal/policystore"
)

// savedView is the JSON form of a policy version.
type savedView struct {
	Version int64     `json:"version"`
	Hash    string    `json:"hash"`
	SavedAt time.Time `json:"saved_at,omitzero"`
	SavedBy string    `json:"saved_by"`
	Note    string    `json:"note"`
	Source  string    `json:"source,omitempty"`
}

func savedOf(v *policystore.Version) savedView {
	return savedView{Version: v.Number, Hash: v.Hash, SavedAt: v.CreatedAt, SavedBy: v.CreatedBy, Note: v.Note, Source: v.Source}
}

func parseVersion(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 {
		return 0, cli.Usagef("see  fairlead policies history", "%q is not a version number", text)
	}
	return n, nil
}

// version returns a version of the workspace's policies. For number 0 it returns the newest version, or a version with number 0 if
// none exists.
func (p *policyCommands) version(ctx context.Context, from instance.Routed, number int64) (policystore.Version, error) {
	if number == 0 {
		return from.Newest(ctx, from.Workspace.ID)
	}
	v, err := from.Rules.Version(ctx, from.Workspace.ID, number)
	if errors.Is(err, policystore.ErrNotFound) {
		return v, cli.WithFix(fmt.Errorf("version %d of the policies of workspace %s not found", number, from.Workspace.ID), "see  fairlead policies history")
	}
	return v, err
}

func (p *policyCommands) newHistory() *cobra.Command {
	return &cobra.Command{
		Use: "history", Short: "List the versions of the workspace's policies, newest first", Args: cli.NoArgs,
		Example: `  fairlead policies history
  fairlead policies history --json | jq -r .note`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.WithRouting(cmd.Context(), func(from instance.Routed) error {
				versions, err := from.Rules.Versions(cmd.Context(), from.Workspace.ID)
				if err != nil {
					return err
				}
				return p.history(versions)
			})
		},
	}
}

func (p *policyCommands) history(versions []policystore.Version) error {
	t := &cli.Table{Columns: []cli.Column{{Title: "VERSION", Right: true}, {Title: "SAVED"}, {Title: "BY", Soft: true, Hide: 1}, {Title: "HASH", Hide: 2}, {Title: "NOTE", Soft: true}}}
	return cli.PrintList(p.Console, p.Options, versions, "the workspace has no policies", savedOf, t, func(v *policystore.Version) {
		number := cli.Cell{Text: strconv.FormatInt(v.Number, 10)}
		if len(t.Rows) == 0 {
			number.Paint = cli.Green // active version
		}
		t.Add(number, cli.Cell{Text: p.Console.FormatTime(p.Options, v.CreatedAt, cli.FullTime)}, cli.Cell{Text: cli.OrDash(v.CreatedBy)}, cli.Cell{Text: cli.OrDash(v.Hash)}, cli.Cell{Text: cli.OrDash(v.Note)})
	})
}

func (p *policyCommands) newDiff() *cobra.Command {
	return &cobra.Command{
		Use: "diff [FROM] [TO]", Short: "Compare two versions of the workspace's policies, or a version with a file",
		Long: "Compare versions of the workspace's policies and files, line by line. FROM and TO are numbers of versions or paths of files. Without TO the\n" +
			"newest version is compared with FROM; without both, the newest with the one before.",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) <= 2 {
				return nil
			}
			return cli.Usagef("run  "+cmd.UseLine(), "unexpected %q: at most two arguments", args[2])
		},
		Example: `  fairlead policies diff                           show the last change
  fairlead policies diff policies.yaml             show what applying the file would change
  fairlead policies diff 2 5`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.WithRouting(cmd.Context(), func(from instance.Routed) error { return p.diff(cmd.Context(), from, args) })
		},
	}
}

func (p *policyCommands) diff(ctx context.Context, from instance.Routed, args []string) error {
	newest, err := p.version(ctx, from, 0)
	if err != nil {
		return err
	}
	before, after := []byte(nil), []byte(newest.Source)
	switch len(args) {
	case 0:
		if newest.Number > 1 {
			var previous policystore.Version
			previous, err = p.version(ctx, from, newest.Number-1)
			before = []byte(previous.Source)
		}
	case 1:
		before, err = p.text(ctx, from, args[0])
		if _, number := strconv.ParseInt(args[0], 10, 64); number != nil {
			before, after = after, before // for a file, show the changes from the newest version to the file
		}
	case 2:
		if before, err = p.text(ctx, from, args[0]); err == nil {
			after, err = p.text(ctx, from, args[1])
		}
	}
	if err != nil {
		return err
	}
	text := policy.Diff(before, after)
	if p.Options.JSON {
		return p.Console.PrintJSON(map[string]any{"same": text == "", "diff": text})
	}
	if text == "" {
		p.Console.Infof(p.Options, "no differences")
		return nil
	}
	return p.Console.Print(cli.CleanLines(text))
}

// text returns the source of a version, given its number, or the content of a file.
func (p *policyCommands) text(ctx context.Context, from instance.Routed, name string) ([]byte, error) {
	number, err := strconv.ParseInt(name, 10, 64)
	if err != nil {
		return p.Console.ReadFile(name, policy.MaxBytes)
	}
	if number < 1 {
		return nil, cli.Usagef("see  fairlead policies history", "%q is not a version number", name)
	}
	v, err := p.version(ctx, from, number)
	return []byte(v.Source), err
}

func (p *policyCommands) newApply() *cobra.Command {
	var note string
	var basedOn int64
	cmd := &cobra.Command{
		Use: "apply FILE", Short: "Save a file as the newest version of the workspace's policies", Args: cli.OneArg("the path of a file"),
		Long: "Save a file as the newest version of the workspace's policies. The exit code is 3 when the file has problems. Running servers use the new\n" +
			"version within a few seconds. With --based-on, the command fails when another version was saved since.",
		Example: `  fairlead policies apply policies.yaml --note "keep code in house"
  fairlead policies show | sed s/small-a/small-b/ | fairlead policies apply - --based-on 4`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.WithRouting(cmd.Context(), func(from instance.Routed) error {
				if !cmd.Flags().Changed("based-on") {
					newest, err := p.version(cmd.Context(), from, 0)
					if err != nil {
						return err
					}
					basedOn = newest.Number
				}
				return p.apply(cmd.Context(), from, args[0], basedOn, note)
			})
		},
	}
	cmd.Flags().StringVar(&note, "note", "", "note about the change")
	cmd.Flags().Int64Var(&basedOn, "based-on", 0, "version that was edited, 0 for none (default: the newest)")
	return cmd
}

func (p *policyCommands) apply(ctx context.Context, from instance.Routed, path string, basedOn int64, note string) error {
	source, err := p.Console.ReadFile(path, policy.MaxBytes)
	if err != nil {
		return err
	}
	before, err := p.version(ctx, from, 0)
	if err != nil {
		return err
	}
	if err := p.confirmEmptying(ctx, from, source); err != nil {
		return err
	}
	saved, problems, err := from.Apply(ctx, from.Workspace.ID, string(source), basedOn, note)
	if len(problems) > 0 {
		return p.ShowPolicyProblems(p.Console.Err, path, source, problems)
	}
	return p.saved(before, saved, err)
}

// confirmEmptying asks for confirmation before a document without policies replaces existing policies. It returns an error unless
// the answer is yes. It accepts an invalid document, which is rejected later.
func (p *policyCommands) confirmEmptying(ctx context.Context, from instance.Routed, source []byte) error {
	current := from.Rules.Own(from.Workspace.ID).Policies()
	set, problems := policy.Parse("workspace", source, from.Rules.Inventory())
	if len(current) == 0 || len(problems) > 0 || len(set.Policies()) > 0 {
		return nil
	}
	names := make([]string, len(current))
	for i := range current {
		names[i] = cli.Clean(current[i].Name)
	}
	sure, err := p.Console.Confirm(ctx, p.Options, fmt.Sprintf("The document has no policies. Remove %s of workspace %s (%s)?", cli.PluralPolicies(len(current)), from.Workspace.ID, strings.Join(names, ", ")))
	if err == nil && !sure {
		err = errors.New("no changes were made")
	}
	return err
}

// saved prints which version is active after a change.
func (p *policyCommands) saved(before, saved policystore.Version, err error) error {
	if errors.Is(err, policystore.ErrConflict) {
		return cli.WithFix(fmt.Errorf("the policies have changed: the newest version is %d", before.Number),
			"compare with  fairlead policies diff,  then apply again with --based-on %d", before.Number)
	}
	if err != nil {
		return err
	}
	if p.Options.JSON {
		return p.Console.PrintJSON(savedOf(&saved))
	}
	if saved.Number == before.Number {
		p.Console.Infof(p.Options, "Version %d is identical. No changes were made.", saved.Number)
		return nil
	}
	p.Console.Infof(p.Options, "Version %d is active. Running servers use it within a few seconds.", saved.Number)
	if before.Number > 0 {
		p.Console.Infof(p.Options, "To undo:  fairlead policies rollback %d", before.Number)
	}
	return nil
}

func (p *policyCommands) newRollback() *cobra.Command {
	return &cobra.Command{
		Use: "rollback VERSION", Short: "Save an earlier version of the workspace's policies as the newest", Args: cli.OneArg("a version number"),
		Example: `  fairlead policies history
  fairlead policies rollback 3`,
		RunE: func(cmd *cobra.Command, args []string) error {
			number, err := parseVersion(args[0])
			if err != nil {
				return err
			}
			return p.WithRouting(cmd.Context(), func(from instance.Routed) error {
				old, err := p.version(cmd.Context(), from, number)
				if err != nil {
					return err
				}
				before, err := p.version(cmd.Context(), from, 0)
				if err != nil {
					return err
				}
				saved, problems, err := from.RollBack(cmd.Context(), from.Workspace.ID, number)
				if len(problems) > 0 {
					return p.ShowPolicyProblems(p.Console.Err, fmt.Sprintf("version-%d.yaml", number), []byte(old.Source), problems)
				}
				return p.saved(before, saved, err)
			})
		},
	}
}
