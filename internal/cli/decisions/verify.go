package decisions

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/cli/instance"
	"fairlead.dev/internal/replay"
	"fairlead.dev/internal/requestlog"
)

// verified is the JSON form of a verification.
type verified struct {
	RequestID string `json:"request_id"`
	replay.Verification
}

// NewVerify returns the command "verify".
func NewVerify(c *cli.Console, o *cli.Options) *cobra.Command {
	r := &decisionCommands{instance.Commands{Console: c, Options: o}}
	cmd := &cobra.Command{
		Use: "verify ID", Short: "Recompute a logged routing decision and report differences", Args: cli.OneArg("the request's id"),
		Long: "Recompute a logged routing decision with the targets, prices, policies and ratings that were active at the time, and report differences.\n" +
			"The exit code is 3 when the result differs, or when required data has been deleted.",
		Example: `  fairlead verify req_01J…
  fairlead verify req_01J… --json | jq .differences`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return r.WithRouting(cmd.Context(), func(from instance.Routed) error { return r.verify(cmd.Context(), from, args[0]) })
		},
	}
	cmd.Flags().StringVar(&r.Workspace, "workspace", "", instance.WorkspaceHelp)
	return cmd
}

func (r *decisionCommands) verify(ctx context.Context, from instance.Routed, id string) error {
	e, err := instance.AwaitEntry(ctx, from.Instance.Store.Log, from.Workspace.ID, id)
	if errors.Is(err, requestlog.ErrNotFound) {
		return instance.RequestNotFound(id, from.Workspace.ID)
	}
	if err != nil {
		return err
	}
	var body requestlog.Body
	if e.BodyState == requestlog.BodyStored {
		body, err = from.Instance.Store.Log.EntryBody(ctx, e.WorkspaceID, e.ID)
		if err != nil && !errors.Is(err, requestlog.ErrNotFound) {
			return err
		}
	}
	v := from.VerifyBody(ctx, &e, body)
	if err := r.showVerified(&e, v); err != nil || v.Same {
		return err
	}
	return &cli.ProblemsError{Count: max(1, len(v.Differences)+len(v.Missing))}
}

func (r *decisionCommands) showVerified(e *requestlog.Entry, v replay.Verification) error {
	if r.Options.JSON {
		return r.Console.PrintJSON(verified{e.ID, v})
	}
	p := &cli.Page{Width: r.Console.PageWidth(60, 120), Coloured: r.Console.Coloured(r.Options)}
	switch {
	case v.Same:
		d := e.Decision
		text := fmt.Sprintf("Verified: the decision of %s was reproduced (%s, %s, %s", cli.Clean(e.ID), d.Kind, cli.Plural(len(d.Candidates), "candidate"), cli.PluralPolicies(len(d.Policies)))
		if v.FeaturesVerified {
			text += ", features computed from the stored prompt"
		}
		p.Paragraph(text+").", 0)
	case len(v.Differences) == 0:
		p.Paragraph(cli.Clean(e.ID)+": the decision cannot be recomputed.", 0)
	default:
		p.Paragraph(fmt.Sprintf("Mismatch: recomputing the decision of %s gave %s.", cli.Clean(e.ID), cli.Plural(len(v.Differences), "difference")), 0)
	}
	for _, missing := range v.Missing {
		p.Field("missing", missing)
	}
	if len(v.Differences) > 0 {
		p.Section("Differences")
		t := &cli.Table{Columns: []cli.Column{{Title: "WHAT"}, {Title: "LOGGED", Soft: true}, {Title: "RECOMPUTED", Soft: true}}}
		for _, d := range v.Differences {
			t.Row(d.What, cli.OrDash(d.Logged), cli.OrDash(d.Recomputed))
		}
		p.Table(t)
	}
	return r.Console.Print(p.String())
}
