package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"fairlead/internal/replay"
	"fairlead/internal/requestlog"
)

// verified is a verification as JSON.
type verified struct {
	RequestID string `json:"request_id"`
	replay.Verification
}

func newVerify(c *console, o *options) *cobra.Command {
	r := &routingCommands{console: c, options: o}
	cmd := &cobra.Command{
		Use: "verify ID", Short: "Compute the decision of a logged request again and compare; exit code 3 when it differs", Args: oneArg("the request's id"),
		Long: "Compute the decision of a logged request again from its record, with the targets, prices, abilities, policies and ratings of that time,\n" +
			"and compare. Exit code 3 when anything comes out otherwise, or when something that it takes is no longer kept.",
		Example: `  fairlead verify req_01J…
  fairlead verify req_01J… --json | jq .differences`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return r.with(cmd.Context(), func(from routed) error { return r.verify(cmd.Context(), from, args[0]) })
		},
	}
	cmd.Flags().StringVar(&r.workspace, "workspace", "", workspaceDoc)
	return cmd
}

func (r *routingCommands) verify(ctx context.Context, from routed, id string) error {
	requests := &requestCommands{console: r.console, options: r.options}
	e, err := requests.await(ctx, from.instance.Store.Log, from.workspace.ID, id)
	if errors.Is(err, requestlog.ErrNotFound) {
		return noSuchRequest(id, from.workspace.ID)
	}
	if err != nil {
		return err
	}
	var body requestlog.Body
	if e.BodyState == requestlog.BodyStored {
		body, err = from.instance.Store.Log.EntryBody(ctx, e.WorkspaceID, e.ID)
		if err != nil && !errors.Is(err, requestlog.ErrNotFound) {
			return err
		}
	}
	v := from.Verify(ctx, &e, body)
	if err := r.showVerified(&e, v); err != nil || v.Same {
		return err
	}
	return &problemsError{max(1, len(v.Differences)+len(v.Missing))}
}

func noSuchRequest(id, workspaceID string) error {
	return withFix(fmt.Errorf("there is no request %q in workspace %s", clean(id), workspaceID),
		"see  fairlead requests list,  or name another --workspace or --data-dir")
}

func (r *routingCommands) showVerified(e *requestlog.Entry, v replay.Verification) error {
	if r.options.json {
		return r.console.writeJSON(verified{e.ID, v})
	}
	p := &page{width: r.pageWidth(), coloured: r.console.coloured(r.options)}
	switch {
	case v.Same:
		d := e.Decision
		text := fmt.Sprintf("%s: the decision comes out the same – %s, %s, %s", clean(e.ID), d.Kind, plural(len(d.Candidates), "candidate"), policies(len(d.Policies)))
		if v.Sketched {
			text += ", with what the prompt asks for read from the stored text"
		}
		p.paragraph(text+".", 0)
	case len(v.Differences) == 0:
		p.paragraph(clean(e.ID)+": the decision cannot be computed again.", 0)
	default:
		p.paragraph(fmt.Sprintf("%s: the decision comes out otherwise – %s.", clean(e.ID), plural(len(v.Differences), "difference")), 0)
	}
	for _, missing := range v.Missing {
		p.fact("missing", missing)
	}
	if len(v.Differences) > 0 {
		p.section("Differences")
		p.table(differences(v.Differences))
	}
	return r.console.write(p.String())
}

// policies counts policies.
func policies(n int) string {
	if n == 1 {
		return "1 policy"
	}
	return count(int64(n)) + " policies"
}

func differences(list []replay.Difference) *table {
	t := &table{columns: []column{{title: "WHAT"}, {title: "LOGGED", soft: true}, {title: "RECOMPUTED", soft: true}}}
	for _, d := range list {
		t.row(d.What, or(d.Logged), or(d.Recomputed))
	}
	return t
}
