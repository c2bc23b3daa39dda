package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"fairlead/internal/account"
	"fairlead/internal/admin/providers"
	"fairlead/internal/app"
	"fairlead/internal/spelling"
)

func newProviders(c *console, o *options) *cobra.Command {
	return group("providers", "List and test providers", `  fairlead providers list
  fairlead providers test openai`, newProvidersList(c, o), newProvidersTest(c, o))
}

// providerView is a provider as JSON. Names are those of the admin API.
type providerView struct {
	Name        string           `json:"name"`
	Title       string           `json:"title"`
	Source      string           `json:"source"`
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

func newProvidersList(c *console, o *options) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the providers that requests can be sent to", Args: noArgs,
		Example: `  fairlead providers list
  OPENAI_API_KEY=sk-… fairlead providers list`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withFleet(cmd.Context(), c, o, func(fleet *app.Fleet) error { return listProviders(c, o, fleet.Providers()) })
		},
	}
}

func listProviders(c *console, o *options, providers []providers.ProviderState) error {
	if o.json {
		for i := range providers {
			if err := c.writeJSON(viewProvider(&providers[i])); err != nil {
				return err
			}
		}
		return nil
	}
	if len(providers) == 0 {
		c.say(o, "no providers; set OPENAI_API_KEY, or add one to the configuration")
		return nil
	}
	t := &table{columns: []column{
		{title: "PROVIDER"}, {title: "SOURCE", hide: 2}, {title: "BASE URL", soft: true, hide: 3}, {title: "CREDENTIALS", soft: true, hide: 1}, {title: "MODELS", right: true}, {title: "STATE"},
	}}
	for i := range providers {
		p := &providers[i]
		state := cell{"on", green}
		switch {
		case !p.Enabled:
			state = cell{"off", yellow}
		case p.Simulated:
			state = cell{"SIMULATED", yellow}
		}
		t.add(cell{p.Name, bold}, cell{text: or(p.Source)}, cell{text: or(p.BaseURL)}, cell{text: credentialsText(p.Credentials)},
			cell{text: count(int64(len(p.Targets)))}, state)
	}
	return c.writeTable(o, t)
}

func credentialsText(credentials []providers.CredentialState) string {
	if len(credentials) == 0 {
		return "none"
	}
	texts := make([]string, len(credentials))
	for i, c := range credentials {
		texts[i] = strings.TrimPrefix(c.Source, "env ") + " " + c.Hint
	}
	return strings.Join(texts, ", ")
}

func viewProvider(p *providers.ProviderState) providerView {
	v := providerView{Name: p.Name, Title: p.Title, Source: p.Source, BaseURL: p.BaseURL, Simulated: p.Simulated, Enabled: p.Enabled}
	for _, c := range p.Credentials {
		v.Credentials = append(v.Credentials, credentialView{c.ID, c.Hint, c.Source})
	}
	for _, t := range p.Targets {
		v.Models = append(v.Models, t.Target.Model.Name)
	}
	return v
}

// testView is the result of a test as JSON.
type testView struct {
	Name      string   `json:"name"`
	OK        bool     `json:"ok"`
	Tested    bool     `json:"tested"`
	LatencyMS int64    `json:"latency_ms"`
	Status    int      `json:"status"`
	Models    []string `json:"models"`
	Error     string   `json:"error,omitempty"`
}

func newProvidersTest(c *console, o *options) *cobra.Command {
	return &cobra.Command{
		Use: "test [NAME]", Short: "Make one cheap call to each provider, or to one", Args: maybeArg("a provider's name"),
		Long: "Make one cheap call to each provider, or to one: its latency, the models it says it has, and what is wrong. Exit code 3 when one fails.\n" +
			"One that lists no models, such as Amazon Bedrock, is not tested: every call to it costs something.",
		Example: `  fairlead providers test
  fairlead providers test openai`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return withFleet(cmd.Context(), c, o, func(fleet *app.Fleet) error {
				chosen, err := choose(fleet.Providers(), args)
				if err != nil {
					return err
				}
				return testProviders(cmd.Context(), c, o, fleet, chosen)
			})
		},
	}
}

// choose returns the names of the providers that are on, or the one that was named.
func choose(providers []providers.ProviderState, args []string) ([]string, error) {
	var on, known []string
	for _, p := range providers {
		known = append(known, p.Name)
		if p.Enabled {
			on = append(on, p.Name)
		}
	}
	if len(args) == 0 {
		if len(on) == 0 {
			return nil, withFix(errors.New("there are no providers to test"), "set OPENAI_API_KEY, or add one to the configuration")
		}
		return on, nil
	}
	for i := range providers {
		switch p := &providers[i]; {
		case p.Name == args[0] && p.Enabled:
			return args, nil
		case p.Name == args[0]:
			return nil, withFix(fmt.Errorf("provider %q is switched off", p.Name), "switch it on in the dashboard or in the configuration")
		}
	}
	err := fmt.Errorf("there is no provider %q", clean(args[0]))
	if near := spelling.Closest(args[0], known); near != "" {
		return nil, withFix(err, "did you mean %q? See  fairlead providers list", near)
	}
	return nil, withFix(err, "see  fairlead providers list")
}

type tester interface {
	Test(ctx context.Context, name string) (providers.ProbeResult, error)
}

func testProviders(ctx context.Context, c *console, o *options, fleet tester, names []string) error {
	failed := 0
	t := &table{columns: []column{{title: "PROVIDER"}, {title: "RESULT"}, {title: "LATENCY", right: true, hide: 2}, {title: "MODELS", right: true, hide: 1}, {title: "ERROR", soft: true}}}
	for _, name := range names {
		result, err := fleet.Test(ctx, name)
		if errors.Is(err, account.ErrNotFound) {
			err = fmt.Errorf("provider %q is gone", name)
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
		if o.json {
			view := testView{name, result.OK, !result.Untested, result.Latency.Milliseconds(), result.Status, result.Models, result.Error}
			if err := c.writeJSON(view); err != nil {
				return err
			}
			continue
		}
		addResult(t, name, result)
	}
	if !o.json {
		if err := c.writeTable(o, t); err != nil {
			return err
		}
	}
	if failed > 0 {
		c.say(o, "%d of %s failed", failed, plural(len(names), "provider"))
		return &problemsError{failed}
	}
	return nil
}

func addResult(t *table, name string, r providers.ProbeResult) {
	result, found := cell{"ok", green}, count(int64(len(r.Models)))
	text := r.Error
	switch {
	case r.Untested:
		result, found = cell{"not tested", yellow}, unknown
	case !r.OK:
		result, found = cell{"failed", red}, unknown
		if r.Status > 0 {
			text = fmt.Sprintf("%d: %s", r.Status, text)
		}
	}
	t.add(cell{name, bold}, result, cell{text: lastedOr(r.Latency)}, cell{text: found}, cell{text: text})
}
