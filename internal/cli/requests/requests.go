// Package requests implements "fairlead requests".
package requests

import (
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
	r := &requestCommands{instance.Commands{Console: c, Options: o}}
	cmd.PersistentFlags().StringVar(&r.Workspace, "workspace", "", instance.WorkspaceHelp)
	cmd.AddCommand(r.newList(), r.newShow(), r.newTail(), r.newExport())
	return cmd
}

// requestCommands holds the state shared by the requests commands.
type requestCommands struct{ instance.Commands }

// selected is a store with the filter given by the flags.
type selected struct {
	store  requestlog.Reader
	filter requestlog.Filter
	page   requestlog.Page
}

// selecting parses the filter flags, opens the instance, calls do and closes the instance.
func (r *requestCommands) selecting(cmd *cobra.Command, do func(selected) error) error {
	f, page, err := cli.ParseFilter(cmd, r.Console.Now())
	if err != nil {
		return err
	}
	return r.With(cmd.Context(), func(i *instance.Instance, w account.Workspace) error {
		f.WorkspaceID = w.ID
		if err := instance.ResolveKeys(cmd.Context(), i, &f); err != nil {
			return err
		}
		i.AwaitEntries(cmd.Context())
		return do(selected{i.Store.Log, f, page})
	})
}
