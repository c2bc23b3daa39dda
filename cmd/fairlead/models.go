package main

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"fairlead/internal/app"
	"fairlead/internal/catalog"
	"fairlead/internal/llm"
	"fairlead/internal/money"
)

// modelFlags choose models.
type modelFlags struct {
	all      bool
	provider string
	kind     string
}

func newModels(c *console, o *options) *cobra.Command {
	return group("models", "List models with prices and abilities", `  fairlead models list
  fairlead models list --all --kind embedding`, newModelsList(c, o))
}

func newModelsList(c *console, o *options) *cobra.Command {
	var f modelFlags
	cmd := &cobra.Command{
		Use: "list", Short: "List the models on offer here, with prices per million tokens", Args: noArgs,
		Example: `  fairlead models list
  fairlead models list --provider openai
  fairlead models list --all --json | jq -r 'select(.abilities | index("vision")) | .name'`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !slices.Contains([]string{"", "chat", "embedding"}, f.kind) {
				return usage("use  --kind chat  or  --kind embedding", "unknown kind %q", f.kind)
			}
			return withFleet(cmd.Context(), c, o, func(fleet *app.Fleet) error {
				return listModels(c, o, f, gather(fleet, f))
			})
		},
	}
	cmd.Flags().BoolVar(&f.all, "all", false, "also models of the catalog that no provider here offers")
	cmd.Flags().StringVar(&f.provider, "provider", "", "only models of this provider")
	cmd.Flags().StringVar(&f.kind, "kind", "", "only chat or embedding models")
	_ = cmd.RegisterFlagCompletionFunc("kind", cobra.FixedCompletions([]string{"chat", "embedding"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// withFleet opens the instance and assembles its providers for as long as do runs.
func withFleet(ctx context.Context, c *console, o *options, do func(*app.Fleet) error) (err error) {
	instance, err := o.open(ctx, c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, instance.Close()) }()
	log := slog.New(slog.NewTextHandler(c.err, nil))
	if o.quiet {
		log = slog.New(slog.DiscardHandler)
	}
	fleet, err := instance.Fleet(ctx, c.getenv, version, log)
	if err != nil {
		return err
	}
	defer fleet.Close()
	return do(fleet)
}

// offered is a model with those who offer it.
type offered struct {
	model   *catalog.Model
	targets []modelTarget
}

type modelTarget struct {
	provider string
	price    *catalog.Price
	here     bool // a configured provider offers it
}

// gather collects the models by name.
func gather(fleet *app.Fleet, f modelFlags) []offered {
	byName := map[string]*offered{}
	add := func(m *catalog.Model, t modelTarget) {
		if (f.provider != "" && t.provider != f.provider) || !ofKind(m, f.kind) {
			return
		}
		o := byName[m.Name]
		if o == nil {
			o = &offered{model: m}
			byName[m.Name] = o
		}
		if !slices.ContainsFunc(o.targets, func(x modelTarget) bool { return x.provider == t.provider }) {
			o.targets = append(o.targets, t)
		}
	}
	for _, t := range fleet.Targets() {
		add(t.Model, modelTarget{t.Provider, t.Price, true})
	}
	if f.all {
		addCatalog(fleet.Catalog(), add)
	}
	var list []offered
	for _, o := range byName {
		list = append(list, *o)
	}
	slices.SortFunc(list, func(x, y offered) int { return cmp.Compare(x.model.Name, y.model.Name) })
	return list
}

func addCatalog(known *catalog.Catalog, add func(*catalog.Model, modelTarget)) {
	for _, name := range known.Providers() {
		for _, offer := range known.Offers(name) {
			if m := known.At(offer); m != nil {
				add(m, modelTarget{provider: name, price: offer.Price})
			}
		}
	}
}

func ofKind(m *catalog.Model, kind string) bool {
	switch kind {
	case "chat":
		return m.Op == llm.Chat
	case "embedding":
		return m.Op == llm.Embed
	}
	return true
}

func listModels(c *console, o *options, f modelFlags, models []offered) error {
	if o.json {
		for i := range models {
			if err := c.writeJSON(viewModel(&models[i])); err != nil {
				return err
			}
		}
		return nil
	}
	if len(models) == 0 {
		c.say(o, "no models match%s", map[bool]string{false: "; --all lists those of the catalog too"}[f.all])
		return nil
	}
	t := &table{columns: []column{
		{title: "MODEL"},
		{title: "PROVIDERS", soft: true},
		{title: "CONTEXT", right: true},
		{title: "IN", right: true},
		{title: "OUT", right: true},
		{title: "CACHED", right: true},
		{title: "QUALITY", right: true},
		{title: "ABILITIES", soft: true},
	}}
	for i := range models {
		m := &models[i]
		p := m.cheapest()
		t.row(m.model.Name, m.providersText(), tokensShort(m.model.Context), priceIn(p), priceOut(p, m.model.Op), priceCached(p),
			qualityText(m.model.Quality), or(strings.Join(m.model.Abilities.Names(), ",")))
	}
	return c.writeTable(o, t)
}

// cheapest is the card that the list shows: the cheapest of the providers here, else of all; nil when none is known.
func (m *offered) cheapest() *catalog.Price {
	var best *catalog.Price
	here := false
	usual := llm.Usage{Input: 1_000_000, Output: 250_000}
	for _, t := range m.targets {
		if t.price == nil || (here && !t.here) {
			continue
		}
		if best == nil || (t.here && !here) || t.price.Cost(usual) < best.Cost(usual) {
			best, here = t.price, t.here
		}
	}
	return best
}

func (m *offered) providersText() string {
	var here, others []string
	for _, t := range m.targets {
		if t.here {
			here = append(here, t.provider)
		} else {
			others = append(others, t.provider)
		}
	}
	if len(others) == 0 {
		return strings.Join(here, ",")
	}
	return strings.TrimSpace(strings.Join(here, ",") + " (" + strings.Join(others, ",") + ")")
}

func priceIn(p *catalog.Price) string {
	if p == nil {
		return unknown
	}
	return rate(&p.Input)
}

func priceOut(p *catalog.Price, op llm.Op) string {
	if p == nil || op == llm.Embed {
		return unknown
	}
	return rate(&p.Output)
}

func priceCached(p *catalog.Price) string {
	if p == nil {
		return unknown
	}
	return rate(p.CacheRead)
}

func qualityText(q float64) string {
	if q <= 0 {
		return unknown
	}
	return strconv.FormatFloat(q, 'f', 2, 64)
}

// modelView is a model as JSON. Names are those of the admin API.
type modelView struct {
	Name       string       `json:"name"`
	Vendor     string       `json:"vendor"`
	Kind       llm.Op       `json:"kind"`
	Context    *int64       `json:"context"`
	MaxOutput  *int64       `json:"max_output"`
	Abilities  []string     `json:"abilities"`
	Quality    *float64     `json:"quality"`
	Dimensions []int64      `json:"dimensions"`
	Aliases    []string     `json:"aliases"`
	Deprecated bool         `json:"deprecated"`
	Targets    []targetView `json:"targets"`
}

type targetView struct {
	Provider   string     `json:"provider"`
	Configured bool       `json:"configured"`
	Price      *priceView `json:"price"`
}

type priceView struct {
	Input      money.Amount  `json:"input_per_mtok_usd"`
	Output     money.Amount  `json:"output_per_mtok_usd"`
	CacheRead  *money.Amount `json:"cache_read_per_mtok_usd"`
	CacheWrite *money.Amount `json:"cache_write_per_mtok_usd"`
	PerRequest money.Amount  `json:"per_request_usd"`
	Source     string        `json:"source"`
	AsOf       string        `json:"as_of"`
}

func viewModel(m *offered) modelView {
	v := modelView{
		Name: m.model.Name, Vendor: m.model.Vendor, Kind: m.model.Op, Context: known(m.model.Context), MaxOutput: known(m.model.MaxOutput),
		Abilities: m.model.Abilities.Names(), Quality: known(m.model.Quality), Dimensions: m.model.Dimensions, Aliases: m.model.Aliases,
		Deprecated: m.model.Deprecated,
	}
	for _, t := range m.targets {
		v.Targets = append(v.Targets, targetView{t.provider, t.here, viewPrice(t.price)})
	}
	return v
}

func viewPrice(p *catalog.Price) *priceView {
	if p == nil {
		return nil
	}
	return &priceView{
		Input: money.Amount(p.Input), Output: money.Amount(p.Output), CacheRead: rateAmount(p.CacheRead), CacheWrite: rateAmount(p.CacheWrite),
		PerRequest: p.PerRequest, Source: p.Source, AsOf: p.AsOf,
	}
}

// rateAmount is a rate in dollars per million tokens; both count nano-dollars.
func rateAmount(r *money.Rate) *money.Amount {
	if r == nil {
		return nil
	}
	return new(money.Amount(*r))
}

// known is nil for what is not known.
func known[T int64 | float64](n T) *T {
	if n <= 0 {
		return nil
	}
	return &n
}
