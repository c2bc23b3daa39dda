// Package accounts implements "fairlead admin": accounts, passwords and workspace members.
package accounts

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/admin/workspaces"
	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/cli/instance"
	"fairlead.dev/internal/llm"
)

// New returns the admin commands.
func New(c *cli.Console, o *cli.Options) *cobra.Command {
	return cli.Group("admin", "Create and unlock accounts, reset passwords and remove members", `  fairlead admin create --email you@example.com
  fairlead admin reset-password --email you@example.com
  fairlead admin unlock --email you@example.com
  fairlead admin reset-second-factor --email you@example.com
  fairlead admin remove-member --email you@example.com`,
		newAdminCreate(c, o), newAdminReset(c, o), newAdminUnlock(c, o), newAdminResetFactor(c, o), newAdminRemove(c, o))
}

// accountView is the JSON form of an account.
type accountView struct {
	ID    string `json:"id,omitempty"`
	Email string `json:"email"`
	Name  string `json:"name,omitempty"`
}

// newEmailCommand returns a command that works on the account with the address in --email. If password is not nil, the command first reads a
// password into it. No flag takes the password itself, because command lines are visible to other users and stored by shells.
func newEmailCommand(c *cli.Console, o *cli.Options, cmd *cobra.Command, password *string, run func(ctx context.Context, i *instance.Instance, email string) error) *cobra.Command {
	var email string
	var stdin bool
	cmd.Args = cli.NoArgs
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := cli.RequireFlag(cmd, "email", "--email you@example.com"); err != nil {
			return err
		}
		if password != nil {
			var err error
			if *password, err = c.Password(cmd.Context(), stdin); err != nil {
				return err
			}
		}
		return instance.With(cmd.Context(), c, o, func(i *instance.Instance) error { return accountError(run(cmd.Context(), i, email)) })
	}
	cmd.Flags().StringVar(&email, "email", "", "email address of the account")
	if password != nil {
		cmd.Flags().BoolVar(&stdin, "password-stdin", false, "read the password from the first line of standard input")
	}
	return cmd
}

func newAdminCreate(c *cli.Console, o *cli.Options) *cobra.Command {
	var name, password string
	cmd := newEmailCommand(c, o, &cobra.Command{
		Use: "create --email EMAIL", Short: "Create an account; the first account owns the first workspace",
		Example: `  fairlead admin create --email you@example.com
  printf '%s' "$PASSWORD" | fairlead admin create --email you@example.com --password-stdin`,
	}, &password, func(ctx context.Context, i *instance.Instance, email string) error {
		created, err := i.Accounts.CreateAccount(ctx, email, password, name)
		if err != nil {
			return err
		}
		return tellAccount(c, o, created, "Created account %s. Sign in at "+instance.BaseURL(i.Config))
	})
	cmd.Flags().StringVar(&name, "name", "", "name of the user (default: the part before the @)")
	return cmd
}

func newAdminReset(c *cli.Console, o *cli.Options) *cobra.Command {
	var password string
	return newEmailCommand(c, o, &cobra.Command{
		Use: "reset-password --email EMAIL", Short: "Set a new password and end all sessions of the account",
		Example: `  fairlead admin reset-password --email you@example.com
  printf '%s' "$PASSWORD" | fairlead admin reset-password --email you@example.com --password-stdin`,
	}, &password, func(ctx context.Context, i *instance.Instance, email string) error {
		if err := i.Accounts.ResetPassword(ctx, email, password); err != nil {
			return err
		}
		return tellAccount(c, o, account.Account{Email: email}, "Changed the password of %s and ended its sessions.")
	})
}

func newAdminUnlock(c *cli.Console, o *cli.Options) *cobra.Command {
	return newEmailCommand(c, o, &cobra.Command{
		Use: "unlock --email EMAIL", Short: "Allow sign-ins to an account again after too many wrong passwords",
		Example: `  fairlead admin unlock --email you@example.com`,
	}, nil, func(ctx context.Context, i *instance.Instance, email string) error {
		if err := i.Accounts.Unlock(ctx, email); err != nil {
			return err
		}
		return tellAccount(c, o, account.Account{Email: email}, "%s can sign in again.")
	})
}

func newAdminResetFactor(c *cli.Console, o *cli.Options) *cobra.Command {
	return newEmailCommand(c, o, &cobra.Command{
		Use: "reset-second-factor --email EMAIL", Short: "Remove the authenticator app, passkeys and recovery codes of an account",
		Example: `  fairlead admin reset-second-factor --email you@example.com`,
	}, nil, func(ctx context.Context, i *instance.Instance, email string) error {
		found, err := i.Accounts.AccountByEmail(ctx, email)
		if err != nil {
			return err
		}
		if err := i.Factors.Reset(ctx, found.ID); err != nil {
			return err
		}
		return tellAccount(c, o, found, "Removed the second factors of %s: authenticator app, passkeys and recovery codes.")
	})
}

// removedView is the JSON form of a removed member.
type removedView struct {
	Email       string                  `json:"email"`
	WorkspaceID string                  `json:"workspace_id"`
	RevokedKeys []workspaces.RevokedKey `json:"revoked_keys"`
}

func newAdminRemove(c *cli.Console, o *cli.Options) *cobra.Command {
	var workspace string
	var keepKeys bool
	cmd := newEmailCommand(c, o, &cobra.Command{
		Use: "remove-member --email EMAIL", Short: "Remove a member from a workspace and revoke the API keys they created",
		Example: `  fairlead admin remove-member --email you@example.com
  fairlead admin remove-member --email you@example.com --workspace ws_01J… --keep-keys`,
	}, nil, func(ctx context.Context, i *instance.Instance, email string) error {
		w, err := i.Workspace(ctx, workspace)
		if err != nil {
			return err
		}
		revoked, err := i.RemoveMember(ctx, w.ID, email, keepKeys)
		if err != nil {
			return err
		}
		if o.JSON {
			return c.PrintJSON(removedView{Email: email, WorkspaceID: w.ID, RevokedKeys: revoked})
		}
		c.Infof(o, "Removed %s from workspace %s and revoked %d API keys.", cli.Clean(email), w.ID, len(revoked))
		for _, key := range revoked {
			c.Infof(o, "  %s  %s", key.ID, cli.Clean(key.Name))
		}
		return nil
	})
	cmd.Flags().StringVar(&workspace, "workspace", "", instance.WorkspaceHelp)
	cmd.Flags().BoolVar(&keepKeys, "keep-keys", false, "do not revoke the API keys that the member created")
	return cmd
}

func tellAccount(c *cli.Console, o *cli.Options, a account.Account, format string) error {
	if o.JSON {
		return c.PrintJSON(accountView{a.ID, a.Email, a.Name})
	}
	c.Infof(o, format, cli.Clean(a.Email))
	return nil
}

func accountError(err error) error {
	e, ok := errors.AsType[*llm.Error](err)
	if !ok {
		return err
	}
	switch e.Kind {
	case llm.Conflict:
		return cli.WithFix(err, "sign in, or run  fairlead admin reset-password")
	case llm.NotFound:
		return cli.WithFix(err, "check the address, or run  fairlead admin create")
	default:
		return cli.AsUsageError(err)
	}
}
