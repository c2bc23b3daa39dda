package requests

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"fairlead.dev/internal/account"
	adminrequests "fairlead.dev/internal/admin/requests"
	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/cli/decisions"
	"fairlead.dev/internal/cli/instance"
	"fairlead.dev/internal/requestlog"
)

// detail is the JSON form of a request, with its bodies if requested.
type detail struct {
	adminrequests.RequestDetail
	Body *adminrequests.RequestBody `json:"body,omitempty"`
}

func (r *requestCommands) newShow() *cobra.Command {
	var withBody bool
	cmd := &cobra.Command{
		Use: "show ID", Short: "Show a request with its decision, attempts and cost", Args: cli.OneArg("the request's id"),
		Example: `  fairlead requests show req_01J…
  fairlead requests show req_01J… --body
  fairlead requests show req_01J… --json | jq .trace.candidates`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return r.With(cmd.Context(), func(i *instance.Instance, w account.Workspace) error {
				return r.show(cmd.Context(), i.Store.Log, w.ID, args[0], withBody)
			})
		},
	}
	cmd.Flags().BoolVar(&withBody, "body", false, "also show the stored prompt and response")
	return cmd
}

func (r *requestCommands) show(ctx context.Context, store requestlog.Reader, workspaceID, id string, withBody bool) error {
	e, err := instance.AwaitEntry(ctx, store, workspaceID, id)
	if errors.Is(err, requestlog.ErrNotFound) {
		return cli.WithFix(fmt.Errorf("request %q not found in workspace %s", cli.Clean(id), workspaceID),
			"see  fairlead requests list,  or use another --workspace or --data-dir")
	}
	if err != nil {
		return err
	}
	var body *adminrequests.RequestBody
	if withBody {
		text, err := readBody(ctx, store, &e)
		if err != nil {
			return err
		}
		body = &text
	}
	if r.Options.JSON {
		return r.Console.PrintJSON(detail{adminrequests.DetailOf(&e), body})
	}
	p := &entryPage{decisions.Page{Page: cli.Page{Width: r.Console.PageWidth(40, 120), Coloured: r.Console.Coloured(r.Options)}}}
	p.entry(&e, r.Console.FormatTime(r.Options, e.Time, cli.FullTime))
	if body != nil {
		p.body(body)
	}
	return r.Console.Print(p.String())
}

func readBody(ctx context.Context, store requestlog.Reader, e *requestlog.Entry) (adminrequests.RequestBody, error) {
	if e.BodyState != requestlog.BodyStored {
		return adminrequests.BodyOf(e.BodyState, requestlog.Body{}), nil
	}
	body, err := store.EntryBody(ctx, e.WorkspaceID, e.ID)
	if errors.Is(err, requestlog.ErrNotFound) {
		return adminrequests.BodyOf(requestlog.BodyExpired, body), nil // the body was stored and later deleted by retention
	}
	return adminrequests.BodyOf(e.BodyState, body), err
}
