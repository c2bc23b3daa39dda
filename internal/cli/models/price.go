package models

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/cli/instance"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/providerset"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/simulator"
	"fairlead.dev/internal/spelling"
)

// priceFlags holds a price in dollars per million tokens.
type priceFlags struct {
	input, output           string
	cacheRead, cacheWrite   string
	cacheWriteLong          string
	audioInput, audioOutput string
	perRequest, perSearches string
	from                    string
	remove                  bool
}

func newModelsPrice(c *cli.Console, o *cli.Options) *cobra.Command {
	var f priceFlags
	cmd := &cobra.Command{
		Use: "price PROVIDER/MODEL --input N --output N", Short: "Set or remove the price of a model at a provider",
		Args: cli.OneArg("the target, such as openai/gpt-4.1"),
		Long: `Set the price of a model at a provider, in dollars per million tokens, or remove it. The data directory keeps the previous
prices, so that the costs of older requests can be explained. A running server uses the new price immediately.
Prices in the configuration file take precedence.`,
		Example: `  fairlead models price openai/gpt-4.1 --input 1.8 --output 7.2 --cache-read 0.45
  fairlead models price openai/gpt-4.1 --input 2 --output 8 --from 2027-01-01
  fairlead models price openai/gpt-4.1 --remove`,
		RunE: func(cmd *cobra.Command, args []string) error {
			provider, model, found := strings.Cut(args[0], "/")
			if !found || provider == "" || model == "" {
				return cli.Usagef("write it as in  fairlead models price openai/gpt-4.1", "%q does not have the form PROVIDER/MODEL", cli.Clean(args[0]))
			}
			if f.remove && (f.input != "" || f.output != "") {
				return cli.Usagef("omit --remove, or omit the prices", "--remove cannot be combined with a price")
			}
			at := c.Now().UTC().Truncate(time.Second)
			if f.from != "" {
				var err error
				if at, err = requestlog.ParseTime(f.from, c.Now()); err != nil {
					return cli.Usagef("write a day such as 2027-01-01", "invalid time --from %q", cli.Clean(f.from))
				}
			}
			return instance.With(cmd.Context(), c, o, func(i *instance.Instance) error {
				if f.remove {
					return removePrice(cmd.Context(), c, o, i, provider, model, at)
				}
				return f.set(cmd.Context(), c, o, i, provider, model, at)
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.input, "input", "", "dollars per million input tokens")
	flags.StringVar(&f.output, "output", "", "dollars per million output tokens")
	flags.StringVar(&f.cacheRead, "cache-read", "", "dollars per million input tokens read from a cache (default: same as --input)")
	flags.StringVar(&f.cacheWrite, "cache-write", "", "dollars per million input tokens written to a cache (default: same as --input)")
	flags.StringVar(&f.cacheWriteLong, "cache-write-1h", "", "dollars per million input tokens written to a cache for an hour (default: same as --cache-write)")
	flags.StringVar(&f.audioInput, "audio-input", "", "dollars per million audio input tokens (default: same as --input)")
	flags.StringVar(&f.audioOutput, "audio-output", "", "dollars per million audio output tokens (default: same as --output)")
	flags.StringVar(&f.perRequest, "per-request", "", "dollars per request (default: none)")
	flags.StringVar(&f.perSearches, "per-1k-searches", "", "dollars per 1,000 web searches that the provider runs (default: the published fee)")
	flags.StringVar(&f.from, "from", "", "day from which the price applies, such as 2027-01-01, in the past or future (default: now)")
	flags.BoolVar(&f.remove, "remove", false, "remove the override and use the built-in price")
	return cmd
}

func (f *priceFlags) set(ctx context.Context, c *cli.Console, o *cli.Options, i *instance.Instance, provider, model string, at time.Time) error {
	if err := knownProvider(i, provider); err != nil {
		return err
	}
	prices, err := i.Prices()
	if err != nil {
		return err
	}
	if m, ok := prices.Model(model); ok {
		if _, exact := prices.Offer(provider, model); !exact {
			model = m.Name
		}
	}
	price, err := f.price(prices, provider, model)
	if err != nil {
		return err
	}
	if err := i.SetPrice(ctx, catalog.Listing{Provider: provider, Model: model, Price: price}, at); err != nil {
		return err
	}
	return priceSet(c, o, i, provider, model, at)
}

// knownProvider returns an error for an unknown provider name, because its price would never apply.
func knownProvider(i *instance.Instance, name string) error {
	names := append(providerset.VendorNames(), simulator.Provider)
	for _, p := range i.Config.Providers {
		names = append(names, p.Name)
	}
	if slices.Contains(names, name) {
		return nil
	}
	fix := "see  fairlead providers list"
	if near := spelling.Closest(name, names); near != "" {
		fix = fmt.Sprintf("did you mean %q?", near)
	}
	return cli.Usagef(fix, "provider %q not found", cli.Clean(name))
}

// price parses the rates. Omitted rates keep their current value. If the target has no price yet, input and output are required.
func (f *priceFlags) price(prices *catalog.Catalog, provider, model string) (*catalog.Price, error) {
	p := &catalog.Price{}
	offer, known := prices.Offer(provider, model)
	m, _ := prices.Model(model)
	embeds := m != nil && m.Op == llm.Embed
	if known && offer.Price != nil {
		p.Input, p.Output, p.PerRequest, p.Search = offer.Price.Input, offer.Price.Output, offer.Price.PerRequest, offer.Price.Search
	} else if f.input == "" || (f.output == "" && !embeds) {
		return nil, cli.Usagef("add  --input 0.4 --output 1.6", "%s at %s has no price yet, so both --input and --output are required", cli.Clean(model), cli.Clean(provider))
	}
	if f.input == "" && f.output == "" {
		return nil, cli.Usagef("add  --input 0.4 --output 1.6,  or  --remove", "a price requires --input or --output")
	}
	p.Source = catalog.OverrideSource
	for _, one := range []struct {
		flag, text string
		to         *money.Rate
	}{{"input", f.input, &p.Input}, {"output", f.output, &p.Output}} {
		if r, err := parseRate(one.flag, one.text); err != nil {
			return nil, err
		} else if r != nil {
			*one.to = *r
		}
	}
	for _, one := range []struct {
		flag, text string
		to         **money.Rate
	}{
		{"cache-read", f.cacheRead, &p.CacheRead},
		{"cache-write", f.cacheWrite, &p.CacheWrite},
		{"cache-write-1h", f.cacheWriteLong, &p.CacheWriteLong},
		{"audio-input", f.audioInput, &p.AudioInput},
		{"audio-output", f.audioOutput, &p.AudioOutput},
	} {
		r, err := parseRate(one.flag, one.text)
		if err != nil {
			return nil, err
		}
		*one.to = r
	}
	fee, err := parseRate("per-request", f.perRequest)
	if fee != nil {
		p.PerRequest = money.Amount(*fee) // both types are in nano-dollars
	}
	if err != nil {
		return nil, err
	}
	if fee, err = parseRate("per-1k-searches", f.perSearches); fee != nil {
		p.Search = &catalog.SearchFee{Rate: new(catalog.SearchRate(money.Amount(*fee)))}
	}
	return p, err
}

func parseRate(flag, text string) (*money.Rate, error) {
	if text == "" {
		return nil, nil //nolint:nilnil // a flag that was not given is not an error
	}
	a, err := money.Parse(strings.TrimPrefix(text, "$"))
	if err != nil || a < 0 || a > 1_000_000*money.Dollar {
		return nil, cli.Usagef("write dollars such as 0.4", "invalid price --%s %q", flag, cli.Clean(text))
	}
	return new(money.Rate(a)), nil
}

func removePrice(ctx context.Context, c *cli.Console, o *cli.Options, i *instance.Instance, provider, model string, at time.Time) error {
	err := i.RemovePrice(ctx, provider, model, at)
	if errors.Is(err, instance.ErrNoPrice) {
		return cli.WithFix(fmt.Errorf("no price was imported or set by hand for %s/%s", cli.Clean(provider), cli.Clean(model)), "see  fairlead models show %s", cli.Clean(model))
	}
	if err != nil {
		return err
	}
	return priceSet(c, o, i, provider, model, at)
}

// priceSet prints the price that applies after a change.
func priceSet(c *cli.Console, o *cli.Options, i *instance.Instance, provider, model string, at time.Time) error {
	prices, err := i.Prices()
	if err != nil {
		return err
	}
	offer, _ := prices.Offer(provider, model)
	view := struct {
		Provider string     `json:"provider"`
		Model    string     `json:"model"`
		From     time.Time  `json:"from"`
		Price    *priceView `json:"price"`
	}{provider, model, at, nil}
	if offer.Price != nil {
		view.Price = viewPrice(offer.Price, laterOf(c.Now(), at))
	}
	if o.JSON {
		return c.PrintJSON(view)
	}
	if offer.Price == nil {
		return c.Print(provider + "/" + model + " has no price any more\n")
	}
	card := offer.Price.During(laterOf(c.Now(), at))
	text := fmt.Sprintf("%s/%s costs %s in, %s out per million tokens (%s)", cli.Clean(provider), cli.Clean(model), cli.InSentence(cli.Rate(&card.Input)), cli.InSentence(cli.Rate(&card.Output)), card.Source)
	if at.After(c.Now()) {
		text += " from " + dayOr(at)
	}
	return c.Print(text + "\n")
}

func laterOf(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
