// Package providers implements "fairlead providers".
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
	"fairlead.dev/internal/spelling"
)

// New returns the providers commands.
func New(c *cli.Console, o *cli.Options) *cobra.Command {
	return cli.Group("providers", "List, test, add and remove providers", `  fairlead providers list
  fairlead providers add openai < key.txt
  fairlead providers test openai`, newProvidersList(c, o), newProvidersTest(c, o), newProvidersAdd(c, o), newProvidersSetKey(c, o), newProvidersBaseline(c, o), newProvidersRemove(c, o))
}

// providerView is the JSON form of a provider. Its JSON fields have the same names as in the admin API.
type providerView struct {
	Name        string           `json:"name"`
	Title       string           `json:"title"`
	Source      string           `json:"source"`
	ManagedBy   string           `json:"managed_by"`
	BaseURL     string           `json:"base_url"`
	Simulated   bool             `json:"simulated"`
	Enabled     bool             `json:"enabled"`
	Credentials []credentialView `json:"credentials"`
	Models      []string         `json:"models"`
}

type credentialView struct {
	ID     string `json:"id"`
	Hint   string `json:"hint"`
	Source string `json:"source"`
}

func newProvidersList(c *cli.Console, o *cli.Options) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the providers that requests can be sent to", Args: cli.NoArgs,
		Example: `  fairlead providers list
  OPENAI_API_KEY=sk-… fairlead providers list`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return instance.WithProviders(cmd.Context(), c, o, func(set *instance.ProviderSet) error { return listProviders(c, o, set.Providers()) })
		},
	}
}

func listProviders(c *cli.Console, o *cli.Options, providers []adminproviders.ProviderState) error {
	t := &cli.Table{Columns: []cli.Column{
		{Title: "PROVIDER"}, {Title: "SOURCE", Hide: 2}, {Title: "BASE URL", Soft: true, Hide: 3}, {Title: "CREDENTIALS", Soft: true, Hide: 1}, {Title: "MODELS", Right: true}, {Title: "STATE"},
	}}
	return cli.PrintList(c, o, providers, "no providers. Run  fairlead providers add openai", viewProvider, t, func(p *adminproviders.ProviderState) {
		state := cli.Cell{Text: "on", Paint: cli.Green}
		switch {
		case !p.Enabled:
			state = cli.Cell{Text: "off", Paint: cli.Yellow}
		case p.Simulated:
			state = cli.Cell{Text: "SIMULATED", Paint: cli.Yellow}
		}
		t.Add(cli.Cell{Text: p.Name, Paint: cli.Bold}, cli.Cell{Text: cli.OrDash(p.Source)}, cli.Cell{Text: cli.OrDash(p.BaseURL)}, cli.Cell{Text: Credentials(p.Credentials)},
			cli.Cell{Text: cli.Count(int64(len(p.Targets)))}, state)
	})
}

func viewProvider(p *adminproviders.ProviderState) providerView {
	v := providerView{Name: p.Name, Title: p.Title, Source: p.Source, ManagedBy: p.ManagedBy, BaseURL: p.BaseURL, Simulated: p.Simulated, Enabled: p.Enabled}
	for _, key := range p.Credentials {
		v.Credentials = append(v.Credentials, credentialView{key.ID, key.Hint, key.Source})
	}
	for _, t := range p.Targets {
		v.Models = append(v.Models, t.Target.Model.Name)
	}
	return v
}

// Credentials describes the credentials of a provider.
func Credentials(credentials []adminproviders.CredentialState) string {
	if len(credentials) == 0 {
		return "none"
	}
	texts := make([]string, len(credentials))
	for i, c := range credentials {
		texts[i] = strings.TrimPrefix(c.Source, "env ") + " " + c.Hint
	}
	return strings.Join(texts, ", ")
}

// testView is the JSON form of a test result.
type testView struct {
	Name      string   `json:"name"`
	OK        bool     `json:"ok"`
	Tested    bool     `json:"tested"`
	LatencyMS int64    `json:"latency_ms"`
	Status    int      `json:"status"`
	Models    []string `json:"models"`
	Error     string   `json:"error,omitempty"`
}

func newProvidersTest(c *cli.Console, o *cli.Options) *cobra.Command {
	return &cobra.Command{
		Use: "test [NAME]", Short: "Send a test request to all providers or to one", Args: cli.OptionalArg("a provider's name"),
		Long: "Request the model list of each provider, or of one, and show the latency, the models and the error. The exit code is 3 when a test fails.\n" +
			"A provider without a model list, such as Amazon Bedrock, is not tested: every request to it costs money.",
		Example: `  fairlead providers test
  fairlead providers test openai`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return instance.WithProviders(cmd.Context(), c, o, func(set *instance.ProviderSet) error {
				chosen, err := choose(set.Providers(), args)
				if err != nil {
					return err
				}
				return testProviders(cmd.Context(), c, o, set, chosen)
			})
		},
	}
}

// choose returns the names of all enabled providers, or the provider given in args.
func choose(providers []adminproviders.ProviderState, args []string) ([]string, error) {
	var on, known []string
	for _, p := range providers {
		known = append(known, p.Name)
		if p.Enabled {
			on = append(on, p.Name)
		}
	}
	if len(args) == 0 {
		if len(on) == 0 {
			return nil, cli.WithFix(errors.New("no providers to test"), "set OPENAI_API_KEY, or run  fairlead providers add openai")
		}
		return on, nil
	}
	for i := range providers {
		switch p := &providers[i]; {
		case p.Name == args[0] && p.Enabled:
			return args, nil
		case p.Name == args[0]:
			return nil, cli.WithFix(fmt.Errorf("provider %q is disabled", p.Name), "enable it in the dashboard or in the configuration")
		}
	}
	err := fmt.Errorf("provider %q not found", cli.Clean(args[0]))
	if near := spelling.Closest(args[0], known); near != "" {
		return nil, cli.WithFix(err, "did you mean %q? See  fairlead providers list", near)
	}
	return nil, cli.WithFix(err, "see  fairlead providers list")
}

type tester interface {
	Test(ctx context.Context, name string) (adminproviders.ProbeResult, error)
}

func testProviders(ctx context.Context, c *cli.Console, o *cli.Options, set tester, names []string) error {
	failed := 0
	t := &cli.Table{Columns: []cli.Column{{Title: "PROVIDER"}, {Title: "RESULT"}, {Title: "LATENCY", Right: true, Hide: 2}, {Title: "MODELS", Right: true, Hide: 1}, {Title: "ERROR", Soft: true}}}
	for _, name := range names {
		result, err := set.Test(ctx, name)
		if errors.Is(err, account.ErrNotFound) {
			err = fmt.Errorf("provider %q no longer exists", name)
		}
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !result.OK && !result.Untested {
			failed++
		}
		if o.JSON {
			view := testView{name, result.OK, !result.Untested, result.Latency.Milliseconds(), result.Status, result.Models, result.Error}
			if err := c.PrintJSON(view); err != nil {
				return err
			}
			continue
		}
		shown, models, text := cli.Cell{Text: "ok", Paint: cli.Green}, cli.Count(int64(len(result.Models))), result.Error
		switch {
		case result.Untested:
			shown, models = cli.Cell{Text: "not tested", Paint: cli.Yellow}, cli.Dash
		case !result.OK:
			shown, models = cli.Cell{Text: "failed", Paint: cli.Red}, cli.Dash
			if result.Status > 0 {
				text = fmt.Sprintf("%d: %s", result.Status, text)
			}
		}
		t.Add(cli.Cell{Text: name, Paint: cli.Bold}, shown, cli.Cell{Text: cli.DurationOrDash(result.Latency)}, cli.Cell{Text: models}, cli.Cell{Text: text})
	}
	if !o.JSON {
		if err := c.PrintTable(o, t); err != nil {
			return err
		}
	}
	if failed > 0 {
		c.Infof(o, "%d of %s failed", failed, cli.Plural(len(names), "provider"))
		return &cli.ProblemsError{Count: failed}
	}
	return nil
}
