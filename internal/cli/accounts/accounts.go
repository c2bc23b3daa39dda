// Package accounts implements "fairlead admin": accounts, passwords and workspace members.
package accounts

import (
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

func newAdminCreate(c *cli.Console, o *cli.Options) *cobra.Command {
	var email, name string
	var stdin bool
	cmd := &cobra.Command{
		Use: "create --email EMAIL", Short: "Create an account; the first account owns the first workspace", Args: cli.NoArgs,
		Example: `  fairlead admin create --email you@example.com
  printf '%s' "$PASSWORD" | fairlead admin create --email you@example.com --password-stdin`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cli.RequireFlag(cmd, "email", "--email you@example.com"); err != nil {
				return err
			}
			password, err := c.Password(cmd.Context(), stdin)
			if err != nil {
				return err
			}
			return instance.With(cmd.Context(), c, o, func(i *instance.Instance) error {
				created, err := i.Accounts.CreateAccount(cmd.Context(), email, password, name)
				if err != nil {
					return accountError(err)
				}
				return tellAccount(c, o, created, "Created account %s. Sign in at "+instance.BaseURL(i.Config))
			})
		},
	}
	cmd.Flags().StringVar(&email, "email", "", "email address to sign in with")
	cmd.Flags().StringVar(&name, "name", "", "name of the user (default: the part before the @)")
	passwordFlag(cmd, &stdin)
	return cmd
}

func newAdminReset(c *cli.Console, o *cli.Options) *cobra.Command {
	var email string
	var stdin bool
	cmd := &cobra.Command{
		Use: "reset-password --email EMAIL", Short: "Set a new password and end all sessions of the account", Args: cli.NoArgs,
		Example: `  fairlead admin reset-password --email you@example.com
  printf '%s' "$PASSWORD" | fairlead admin reset-password --email you@example.com --password-stdin`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cli.RequireFlag(cmd, "email", "--email you@example.com"); err != nil {
				return err
			}
			password, err := c.Password(cmd.Context(), stdin)
			if err != nil {
				return err
			}
			return instance.With(cmd.Context(), c, o, func(i *instance.Instance) error {
				if err := i.Accounts.ResetPassword(cmd.Context(), email, password); err != nil {
					return accountError(err)
				}
				return tellAccount(c, o, account.Account{Email: email}, "Changed the password of %s and ended its sessions.")
			})
		},
	}
	cmd.Flags().StringVar(&email, "email", "", "email address of the account")
	passwordFlag(cmd, &stdin)
	return cmd
}

func newAdminUnlock(c *cli.Console, o *cli.Options) *cobra.Command {
	var email string
	cmd := &cobra.Command{
		Use: "unlock --email EMAIL", Short: "Allow sign-ins to an account again after too many wrong passwords", Args: cli.NoArgs,
		Example: `  fairlead admin unlock --email you@example.com`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cli.RequireFlag(cmd, "email", "--email you@example.com"); err != nil {
				return err
			}
			return instance.With(cmd.Context(), c, o, func(i *instance.Instance) error {
				if err := i.Accounts.Unlock(cmd.Context(), email); err != nil {
					return accountError(err)
				}
				return tellAccount(c, o, account.Account{Email: email}, "%s can sign in again.")
			})
		},
	}
	cmd.Flags().StringVar(&email, "email", "", "email address of the account")
	return cmd
}

func newAdminResetFactor(c *cli.Console, o *cli.Options) *cobra.Command {
	var email string
	cmd := &cobra.Command{
		Use: "reset-second-factor --email EMAIL", Short: "Remove the authenticator app, passkeys and recovery codes of an account", Args: cli.NoArgs,
		Example: `  fairlead admin reset-second-factor --email you@example.com`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cli.RequireFlag(cmd, "email", "--email you@example.com"); err != nil {
				return err
			}
			return instance.With(cmd.Context(), c, o, func(i *instance.Instance) error {
				found, err := i.Accounts.AccountByEmail(cmd.Context(), email)
				if err != nil {
					return accountError(err)
				}
				if err := i.Factors.Reset(cmd.Context(), found.ID); err != nil {
					return err
				}
				return tellAccount(c, o, found, "Removed the second factors of %s: authenticator app, passkeys and recovery codes.")
			})
		},
	}
	cmd.Flags().StringVar(&email, "email", "", "email address of the account")
	return cmd
}

// removedView is the JSON form of a removed member.
type removedView struct {
	Email       string                  `json:"email"`
	WorkspaceID string                  `json:"workspace_id"`
	RevokedKeys []workspaces.RevokedKey `json:"revoked_keys"`
}

func newAdminRemove(c *cli.Console, o *cli.Options) *cobra.Command {
	var email, workspace string
	var keepKeys bool
	cmd := &cobra.Command{
		Use: "remove-member --email EMAIL", Short: "Remove a member from a workspace and revoke the API keys they created", Args: cli.NoArgs,
		Example: `  fairlead admin remove-member --email you@example.com
  fairlead admin remove-member --email you@example.com --workspace ws_01J… --keep-keys`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cli.RequireFlag(cmd, "email", "--email you@example.com"); err != nil {
				return err
			}
			return instance.With(cmd.Context(), c, o, func(i *instance.Instance) error {
				w, err := i.Workspace(cmd.Context(), workspace)
				if err != nil {
					return accountError(err)
				}
				revoked, err := i.RemoveMember(cmd.Context(), w.ID, email, keepKeys)
				if err != nil {
					return accountError(err)
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
		},
	}
	cmd.Flags().StringVar(&email, "email", "", "email address of the member")
	cmd.Flags().StringVar(&workspace, "workspace", "", "workspace id (default: the first workspace)")
	cmd.Flags().BoolVar(&keepKeys, "keep-keys", false, "do not revoke the API keys that the member created")
	return cmd
}

// passwordFlag adds the flag --password-stdin. No flag takes the password itself, because command lines are visible to other
// users and stored by shells.
func passwordFlag(cmd *cobra.Command, stdin *bool) {
	cmd.Flags().BoolVar(stdin, "password-stdin", false, "read the password from the first line of standard input")
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
