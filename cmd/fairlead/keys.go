package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fairlead/internal/account"
	"fairlead/internal/app"
	"fairlead/internal/config"
	"fairlead/internal/spelling"
)

// workspaceDoc is the help of the flag that chooses a workspace.
const workspaceDoc = "id of the workspace (default: the instance's first one)"

func newKeys(c *console, o *options) *cobra.Command {
	cmd := group("keys", "Create, list, rotate and revoke API keys", `  fairlead keys create --name ci
  fairlead keys list
  fairlead keys rotate ci --grace 24h
  fairlead keys revoke ci`)
	k := &keyCommands{console: c, options: o}
	cmd.PersistentFlags().StringVar(&k.workspace, "workspace", "", workspaceDoc)
	cmd.AddCommand(k.newCreate(), k.newList(), k.newRotate(), k.newRevoke())
	return cmd
}

// keyCommands is what the commands on keys share.
type keyCommands struct {
	console   *console
	options   *options
	workspace string
}

// with opens the instance and hands it over together with the workspace.
func (k *keyCommands) with(ctx context.Context, do func(*app.Instance, account.Workspace) error) error {
	return withWorkspace(ctx, k.console, k.options, k.workspace, do)
}

// withWorkspace opens the instance for as long as do runs.
func withWorkspace(ctx context.Context, c *console, o *options, id string, do func(*app.Instance, account.Workspace) error) (err error) {
	instance, err := o.open(ctx, c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, instance.Close()) }()
	workspace, err := instance.Workspace(ctx, id)
	if err != nil {
		return err
	}
	return do(instance, workspace)
}

func (k *keyCommands) newList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the API keys, newest first", Args: noArgs,
		Example: `  fairlead keys list
  fairlead keys list --json | jq -r 'select(.state == "active") | .name'`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return k.with(cmd.Context(), func(i *app.Instance, w account.Workspace) error {
				keys, err := i.Accounts.Keys(cmd.Context(), w.ID)
				if err != nil {
					return err
				}
				return k.list(keys)
			})
		},
	}
}

func (k *keyCommands) list(keys []account.Key) error {
	now := k.console.now()
	if k.options.json {
		for i := range keys {
			if err := k.console.writeJSON(viewKey(&keys[i], now)); err != nil {
				return err
			}
		}
		return nil
	}
	if len(keys) == 0 {
		k.console.say(k.options, "no keys yet; make one with  fairlead keys create --name ci")
		return nil
	}
	return k.console.writeTable(k.options, k.table(keys, now))
}

func (k *keyCommands) newRotate() *cobra.Command {
	var grace, afterUse string
	cmd := &cobra.Command{
		Use: "rotate NAME|ID", Short: "Give a key a new secret; the old one ends at once, or after a grace", Args: oneArg("the key's name or id"),
		Example: `  fairlead keys rotate ci
  fairlead keys rotate ci --grace 24h              the old secret works for another day
  fairlead keys rotate ci --grace-after-use 1h     … until an hour after the new one is first used`,
		RunE: func(cmd *cobra.Command, args []string) error {
			g, err := parseGrace(grace, afterUse)
			if err != nil {
				return err
			}
			return k.with(cmd.Context(), func(i *app.Instance, w account.Workspace) error {
				return k.rotate(cmd.Context(), i, w, args[0], g)
			})
		},
	}
	cmd.Flags().StringVar(&grace, "grace", "", "how long the old secret stays valid, such as 24h or 7d")
	cmd.Flags().StringVar(&afterUse, "grace-after-use", "", "how long the old secret stays valid once the new one was used")
	return cmd
}

func parseGrace(grace, afterUse string) (g account.Grace, err error) {
	if g.For, err = parseSpan("grace", grace); err != nil {
		return g, err
	}
	g.AfterUse, err = parseSpan("grace-after-use", afterUse)
	return g, err
}

// parseSpan reads a duration such as 90d; empty is none.
func parseSpan(flag, text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	d, err := config.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, usage("write it as 1h, 24h or 7d", "--%s: %q is not a duration", flag, text)
	}
	return d, nil
}

func (k *keyCommands) rotate(ctx context.Context, i *app.Instance, w account.Workspace, name string, g account.Grace) error {
	key, err := findKey(ctx, i, w, name)
	if err != nil {
		return err
	}
	key, text, err := i.Accounts.RotateKey(ctx, account.CommandLine(w.ID), key.ID, g)
	if err != nil {
		return asUsage(err)
	}
	if k.options.json {
		return k.console.writeJSON(newKeyView(&key, text, k.console.now()))
	}
	k.console.say(k.options, "New secret of key %q (%s), shown this once:\n", clean(key.Name), key.ID)
	if err := k.console.write(text + "\n"); err != nil {
		return err
	}
	k.console.say(k.options, "\n%s", graceText(g))
	return nil
}

func graceText(g account.Grace) string {
	var ends []string
	if g.For > 0 {
		ends = append(ends, "in "+config.FormatDuration(g.For))
	}
	if g.AfterUse > 0 {
		ends = append(ends, config.FormatDuration(g.AfterUse)+" after the new one is first used")
	}
	if len(ends) == 0 {
		return "The old secret is no longer valid."
	}
	return "The old secret ends " + strings.Join(ends, ", or ") + "."
}

func (k *keyCommands) newRevoke() *cobra.Command {
	return &cobra.Command{
		Use: "revoke NAME|ID", Short: "End a key for good", Args: oneArg("the key's name or id"),
		Example: `  fairlead keys revoke ci
  fairlead keys revoke key_01J… --yes`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return k.with(cmd.Context(), func(i *app.Instance, w account.Workspace) error {
				return k.revoke(cmd.Context(), i, w, args[0])
			})
		},
	}
}

func (k *keyCommands) revoke(ctx context.Context, i *app.Instance, w account.Workspace, name string) error {
	key, err := findKey(ctx, i, w, name)
	if err != nil {
		return err
	}
	used := "never used"
	if !key.LastUsedAt.IsZero() {
		used = "last used " + k.console.at(k.options, key.LastUsedAt, fullTime)
	}
	sure, err := k.console.confirm(ctx, k.options, fmt.Sprintf("Revoke key %s (%s, %s) for good?", clean(key.Name), key.ID, used))
	if err != nil {
		return err
	}
	if !sure {
		return errors.New("nothing was revoked")
	}
	if key, err = i.Accounts.RevokeKey(ctx, account.CommandLine(w.ID), key.ID); err != nil {
		return err
	}
	if k.options.json {
		return k.console.writeJSON(viewKey(&key, k.console.now()))
	}
	k.console.say(k.options, "Key %q (%s) is revoked. A running server refuses it within a few seconds.", clean(key.Name), key.ID)
	return nil
}

// findKey finds a key by its id or its name. Of several keys with one name the one that is still valid is meant.
func findKey(ctx context.Context, i *app.Instance, w account.Workspace, text string) (account.Key, error) {
	keys, err := i.Accounts.Keys(ctx, w.ID)
	if err != nil {
		return account.Key{}, err
	}
	var valid, over []account.Key
	var names []string
	for _, key := range keys {
		names = append(names, key.Name)
		switch {
		case key.ID == text:
			return key, nil
		case key.Name == text && key.RevokedAt.IsZero():
			valid = append(valid, key)
		case key.Name == text:
			over = append(over, key)
		}
	}
	if len(valid) == 0 {
		valid = over
	}
	switch len(valid) {
	case 0:
		return account.Key{}, noSuchKey(text, names)
	case 1:
		return valid[0], nil
	}
	var ids []string
	for _, key := range valid {
		ids = append(ids, key.ID)
	}
	return account.Key{}, withFix(fmt.Errorf("%d keys are called %q", len(valid), clean(text)), "name one by its id: %s", list(ids))
}

func noSuchKey(text string, names []string) error {
	err := fmt.Errorf("there is no key %q", clean(text))
	if near := spelling.Closest(text, names); near != "" {
		return withFix(err, "did you mean %q? See  fairlead keys list", clean(near))
	}
	return withFix(err, "see  fairlead keys list")
}
