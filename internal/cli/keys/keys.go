// Package keys implements "fairlead keys".
package keys

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/cli/instance"
	"fairlead.dev/internal/config"
)

// New returns the keys commands.
func New(c *cli.Console, o *cli.Options) *cobra.Command {
	cmd := cli.Group("keys", "Create, list, rotate and revoke API keys", `  fairlead keys create --name ci
  fairlead keys list
  fairlead keys rotate ci --grace 24h
  fairlead keys revoke ci`)
	k := &keyCommands{instance.Commands{Console: c, Options: o}}
	cmd.PersistentFlags().StringVar(&k.Workspace, "workspace", "", instance.WorkspaceHelp)
	cmd.AddCommand(k.newCreate(), k.newList(), k.newRotate(), k.newRevoke())
	return cmd
}

// keyCommands holds the state shared by the keys commands.
type keyCommands struct{ instance.Commands }

func (k *keyCommands) newList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the API keys, newest first", Args: cli.NoArgs,
		Example: `  fairlead keys list
  fairlead keys list --json | jq -r 'select(.state == "active") | .name'`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return k.With(cmd.Context(), func(i *instance.Instance, w account.Workspace) error {
				keys, err := i.Accounts.Keys(cmd.Context(), w.ID)
				if err != nil {
					return err
				}
				return k.list(keys)
			})
		},
	}
}

func (k *keyCommands) newRotate() *cobra.Command {
	var grace, afterUse string
	cmd := &cobra.Command{
		Use: "rotate NAME|ID", Short: "Replace the secret of a key, with an optional grace period for the old one", Args: cli.OneArg("the key's name or id"),
		Example: `  fairlead keys rotate ci
  fairlead keys rotate ci --grace 24h              the old secret works for another day
  fairlead keys rotate ci --grace-after-use 1h     until one hour after the first use of the new one`,
		RunE: func(cmd *cobra.Command, args []string) error {
			var g account.Grace
			var err error
			if g.For, err = parseSpan("grace", grace); err != nil {
				return err
			}
			if g.AfterUse, err = parseSpan("grace-after-use", afterUse); err != nil {
				return err
			}
			return k.With(cmd.Context(), func(i *instance.Instance, w account.Workspace) error {
				return k.rotate(cmd.Context(), i, w, args[0], g)
			})
		},
	}
	cmd.Flags().StringVar(&grace, "grace", "", "how long the old secret stays valid, for example 24h or 7d (default 0)")
	cmd.Flags().StringVar(&afterUse, "grace-after-use", "", "how long the old secret stays valid after the first use of the new one (default 0)")
	return cmd
}

// parseSpan parses the value of a flag as a duration such as 90d. It returns 0 for an empty string.
func parseSpan(flag, text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	d, err := config.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, cli.Usagef("write it as 1h, 24h or 7d", "--%s: %q is not a duration", flag, text)
	}
	return d, nil
}

func (k *keyCommands) rotate(ctx context.Context, i *instance.Instance, w account.Workspace, name string, g account.Grace) error {
	key, err := instance.FindKey(ctx, i, w, name)
	if err != nil {
		return err
	}
	key, text, err := i.Accounts.RotateKey(ctx, account.CommandLine(w.ID), key.ID, g)
	if err != nil {
		return cli.AsUsageError(err)
	}
	if k.Options.JSON {
		return k.Console.PrintJSON(newKeyView(&key, text, k.Console.Now()))
	}
	k.Console.Infof(k.Options, "New secret of key %q (%s). It is shown only once:\n", cli.Clean(key.Name), key.ID)
	if err := k.Console.Print(text + "\n"); err != nil {
		return err
	}
	var ends []string
	if g.For > 0 {
		ends = append(ends, config.FormatDuration(g.For)+" from now")
	}
	if g.AfterUse > 0 {
		ends = append(ends, config.FormatDuration(g.AfterUse)+" after the first use of the new one")
	}
	if len(ends) == 0 {
		k.Console.Infof(k.Options, "\nThe old secret has been revoked.")
		return nil
	}
	k.Console.Infof(k.Options, "\nThe old secret is valid until %s.", strings.Join(ends, ", or "))
	return nil
}

func (k *keyCommands) newRevoke() *cobra.Command {
	return &cobra.Command{
		Use: "revoke NAME|ID", Short: "Revoke a key permanently", Args: cli.OneArg("the key's name or id"),
		Example: `  fairlead keys revoke ci
  fairlead keys revoke key_01J… --yes`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return k.With(cmd.Context(), func(i *instance.Instance, w account.Workspace) error {
				return k.revoke(cmd.Context(), i, w, args[0])
			})
		},
	}
}

func (k *keyCommands) revoke(ctx context.Context, i *instance.Instance, w account.Workspace, name string) error {
	key, err := instance.FindKey(ctx, i, w, name)
	if err != nil {
		return err
	}
	used := "never used"
	if !key.LastUsedAt.IsZero() {
		used = "last used " + k.Console.FormatTime(k.Options, key.LastUsedAt, cli.FullTime)
	}
	sure, err := k.Console.Confirm(ctx, k.Options, fmt.Sprintf("Permanently revoke key %s (%s, %s)?", cli.Clean(key.Name), key.ID, used))
	if err != nil {
		return err
	}
	if !sure {
		return errors.New("no key was revoked")
	}
	if key, err = i.Accounts.RevokeKey(ctx, account.CommandLine(w.ID), key.ID); err != nil {
		return err
	}
	if k.Options.JSON {
		return k.Console.PrintJSON(viewKey(&key, k.Console.Now()))
	}
	k.Console.Infof(k.Options, "Revoked key %q (%s). Running servers reject it within a few seconds.", cli.Clean(key.Name), key.ID)
	return nil
}
