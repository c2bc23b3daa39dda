package providers

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"fairlead.dev/internal/account"
	adminproviders "fairlead.dev/internal/admin/providers"
	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/cli/instance"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/spelling"
)

// keyHelp explains where the key comes from.
const keyHelp = "The key is read from standard input, or asked for without echo. It is never an argument, because other users of the machine can read arguments.\n" +
	"It is stored encrypted. Running servers use it after a few seconds."

// connectionView is the JSON form of a connected provider.
type connectionView struct {
	Name   string      `json:"name"`
	Tested bool        `json:"tested"`
	Found  []foundView `json:"found"`
}

type foundView struct {
	Model  string  `json:"model"`
	Input  *string `json:"input_per_mtok_usd"`
	Output *string `json:"output_per_mtok_usd"`
}

func newProvidersAdd(c *cli.Console, o *cli.Options) *cobra.Command {
	var in adminproviders.Connection
	var options []string
	var untested bool
	cmd := &cobra.Command{
		Use: "add VENDOR", Short: "Connect a provider and store its key", Args: cli.OneArg("a vendor, such as openai, or custom"),
		Long: "Connect a provider without a change of the configuration. A test call checks the key first; nothing is stored if it fails.\n" + keyHelp,
		Example: `  fairlead providers add openai < key.txt
  fairlead providers add mistral --name mistral-eu
  fairlead providers add bedrock --option region=eu-central-1 < key.txt
  fairlead providers add custom --name house --base-url https://models.example.com/v1 --free < /dev/null
  fairlead providers add ollama --base-url http://127.0.0.1:11434/v1 --allow-loopback < /dev/null`,
		RunE: func(cmd *cobra.Command, args []string) error {
			in.Vendor, in.Test = args[0], !untested
			in.Options = map[string]string{}
			for _, text := range options {
				name, value, found := strings.Cut(text, "=")
				if !found {
					return cli.Usagef("write --option region=eu-central-1", "--option %q has no value", cli.Clean(text))
				}
				in.Options[name] = value
			}
			err := instance.WithProviders(cmd.Context(), c, o, func(set *instance.ProviderSet) error { return add(cmd.Context(), c, o, set, in) })
			if err != nil || o.JSON {
				return err
			}
			return askForBaseline(cmd.Context(), c, o, false)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&in.Name, "name", "", "name of the provider (default: the vendor's name)")
	flags.StringVar(&in.BaseURL, "base-url", "", "base URL including /v1 (default: the vendor's)")
	flags.StringVar(&in.Format, "format", "", "wire format of a custom endpoint: chat, responses, messages or gemini (default: chat)")
	flags.StringArrayVar(&options, "option", nil, "option of the vendor as name=value, such as region=eu-central-1; can be repeated")
	flags.BoolVar(&in.AllowLoopback, "allow-loopback", false, "allow this provider to call --base-url on this machine")
	flags.BoolVar(&in.Free, "free", false, "the models of a custom endpoint cost nothing")
	flags.BoolVar(&untested, "no-test", false, "store the provider without a test call")
	return cmd
}

func add(ctx context.Context, c *cli.Console, o *cli.Options, set *instance.ProviderSet, in adminproviders.Connection) error {
	key, err := c.Key(ctx)
	if err != nil {
		return err
	}
	in.Key = key
	result, err := set.Connect(ctx, in)
	if err != nil {
		return explain(err, in.Vendor, set.VendorNames())
	}
	if o.JSON {
		view := connectionView{Name: result.Name, Tested: result.Probe != nil && !result.Probe.Untested, Found: []foundView{}}
		for _, m := range result.Found {
			one := foundView{Model: m.Name}
			if m.Price != nil {
				one.Input, one.Output = new(money.Amount(m.Price.Input).String()), new(money.Amount(m.Price.Output).String()) // both types count nano-dollars
			}
			view.Found = append(view.Found, one)
		}
		return c.PrintJSON(view)
	}
	priced := 0
	for _, m := range result.Found {
		if m.Price != nil {
			priced++
		}
	}
	switch {
	case result.Probe == nil:
		c.Infof(o, "connected %s without a test", result.Name)
	case result.Probe.Untested:
		c.Infof(o, "connected %s. %s", result.Name, result.Probe.Error)
	default:
		c.Infof(o, "connected %s: %s found, %d with a price", result.Name, cli.Plural(len(result.Found), "model"), priced)
	}
	return nil
}

func newProvidersSetKey(c *cli.Console, o *cli.Options) *cobra.Command {
	var more bool
	cmd := &cobra.Command{
		Use: "set-key NAME", Short: "Replace the stored keys of a provider", Args: cli.OneArg("a provider's name"),
		Long: "Store a key for a provider and remove the keys that were stored before. Keys of the configuration file and the environment stay.\n" + keyHelp,
		Example: `  fairlead providers set-key openai < key.txt
  fairlead providers set-key openai --add < second-key.txt`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return instance.WithProviders(cmd.Context(), c, o, func(set *instance.ProviderSet) error {
				key, err := c.Key(cmd.Context())
				if err != nil {
					return err
				}
				hint, err := set.SetKey(cmd.Context(), args[0], key, more)
				if err != nil {
					return explain(err, args[0], namesOf(set))
				}
				if o.JSON {
					return c.PrintJSON(map[string]string{"name": args[0], "hint": hint})
				}
				c.Infof(o, "stored the key …%s of %s", hint, args[0])
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&more, "add", false, "keep the stored keys; requests are distributed over all keys")
	return cmd
}

func newProvidersRemove(c *cli.Console, o *cli.Options) *cobra.Command {
	return &cobra.Command{
		Use: "remove NAME", Short: "Remove a provider that was added here or in the dashboard", Args: cli.OneArg("a provider's name"),
		Long:    "Delete a stored provider with its keys. A provider of the configuration file or the environment is removed there.",
		Example: `  fairlead providers remove openai --yes`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return instance.WithProviders(cmd.Context(), c, o, func(set *instance.ProviderSet) error {
				yes, err := c.Confirm(cmd.Context(), o, fmt.Sprintf("Delete provider %q and its keys?", cli.Clean(args[0])))
				if err != nil || !yes {
					return err
				}
				if err := set.Disconnect(cmd.Context(), args[0]); err != nil {
					return explain(err, args[0], namesOf(set))
				}
				c.Infof(o, "removed %s", args[0])
				return nil
			})
		},
	}
}

func namesOf(set *instance.ProviderSet) []string {
	var names []string
	for _, p := range set.Providers() {
		names = append(names, p.Name)
	}
	return names
}

// explain adds a suggested fix to an error, such as the flag to check or a similar provider name.
func explain(err error, given string, known []string) error {
	if errors.Is(err, account.ErrNotFound) {
		err = fmt.Errorf("provider %q not found", cli.Clean(given))
		if near := spelling.Closest(given, known); near != "" {
			return cli.WithFix(err, "did you mean %q? See  fairlead providers list", near)
		}
		return cli.WithFix(err, "see  fairlead providers list")
	}
	e, ok := errors.AsType[*llm.Error](err)
	if !ok {
		return err
	}
	fixes := map[string]string{
		"base_url": "check --base-url, or add --allow-loopback for a server on this machine", "name": "add --name NAME", "key": "check the key", "vendor": "use one of: " + strings.Join(known, ", "),
	}
	if fix, ok := fixes[e.Param]; ok {
		return cli.WithFix(errors.New(e.Message), "%s", fix)
	}
	return errors.New(e.Message)
}
