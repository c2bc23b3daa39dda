// Package requests implements "fairlead requests".
package requests

import (
	"context"

	"github.com/spf13/cobra"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/cli/instance"
	"fairlead.dev/internal/requestlog"
)

// New returns the requests commands.
func New(c *cli.Console, o *cli.Options) *cobra.Command {
	cmd := cli.Group("requests", "List, show, follow and export requests", `  fairlead requests list --preset errors --from now-24h
  fairlead requests show req_01J…
  fairlead requests tail --key ci
  fairlead requests export --format csv --from now-7d --output requests.csv`)
	r := &requestCommands{console: c, options: o}
	cmd.PersistentFlags().StringVar(&r.workspace, "workspace", "", instance.WorkspaceHelp)
	cmd.AddCommand(r.newList(), r.newShow(), r.newTail(), r.newExport())
	return cmd
}

// requestCommands holds the state shared by the requests commands.
type requestCommands struct {
	console   *cli.Console
	options   *cli.Options
	workspace string
}

func (r *requestCommands) with(ctx context.Context, do func(*instance.Instance, account.Workspace) error) error {
	return instance.WithWorkspace(ctx, r.console, r.options, r.workspace, do)
}

// selected is a store with the filter given by the flags.
type selected struct {
	store  requestlog.Reader
	filter requestlog.Filter
	page   requestlog.Page
}

// selecting parses the filter flags, opens the instance, calls do and closes the instance.
func (r *requestCommands) selecting(cmd *cobra.Command, do func(selected) error) error {
	f, page, err := cli.ParseFilter(cmd, r.console.Now())
	if err != nil {
		return err
	}
	return r.with(cmd.Context(), func(i *instance.Instance, w account.Workspace) error {
		f.WorkspaceID = w.ID
		if err := instance.ResolveKeys(cmd.Context(), i, &f); err != nil {
			return err
		}
		i.AwaitEntries(cmd.Context())
		return do(selected{i.Store.Log, f, page})
	})
}
