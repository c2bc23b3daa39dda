// Package models implements "fairlead models".
package models

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/cli/instance"
	"fairlead.dev/internal/llm"
)

// modelFlags selects models.
type modelFlags struct {
	all      bool
	provider string
	kind     string
}

// New returns the models commands.
func New(c *cli.Console, o *cli.Options) *cobra.Command {
	return cli.Group("models", "List models and show their prices", `  fairlead models list
  fairlead models list --all --kind embedding
  fairlead models show gpt-4.1`, newModelsList(c, o), newModelsShow(c, o))
}

func newModelsList(c *cli.Console, o *cli.Options) *cobra.Command {
	var f modelFlags
	cmd := &cobra.Command{
		Use: "list", Short: "List available models with prices per million tokens", Args: cli.NoArgs,
		Example: `  fairlead models list
  fairlead models list --provider openai
  fairlead models list --all --json | jq -r 'select(.abilities | index("vision")) | .name'`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !slices.Contains([]string{"", "chat", "embedding"}, f.kind) {
				return cli.Usagef("use  --kind chat  or  --kind embedding", "unknown kind %q", f.kind)
			}
			return instance.WithProviders(cmd.Context(), c, o, func(set *instance.ProviderSet) error {
				return listModels(c, o, f, gather(set, f, c.Now()))
			})
		},
	}
	cmd.Flags().BoolVar(&f.all, "all", false, "include catalog models that no configured provider offers")
	cmd.Flags().StringVar(&f.provider, "provider", "", "only models of this provider")
	cmd.Flags().StringVar(&f.kind, "kind", "", "only chat or embedding models")
	_ = cmd.RegisterFlagCompletionFunc("kind", cobra.FixedCompletions([]string{"chat", "embedding"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// offered is a model with its targets.
type offered struct {
	model   *catalog.Model
	targets []modelTarget
}

type modelTarget struct {
	provider string
	upstream string
	price    *catalog.Price
	here     bool   // whether a configured provider offers the model
	needs    string // requirements in addition to an API key
	unpriced string // reason why the price is unknown; set only for targets of the catalog
}

// gather returns the selected models sorted by name, with the prices that apply at the given time.
func gather(set *instance.ProviderSet, f modelFlags, now time.Time) []offered {
	byName := map[string]*offered{}
	add := func(m *catalog.Model, t modelTarget) {
		if (f.provider != "" && t.provider != f.provider) || (f.kind == "chat" && m.Op != llm.Chat) || (f.kind == "embedding" && m.Op != llm.Embed) {
			return
		}
		o := byName[m.Name]
		if o == nil {
			o = &offered{model: m}
			byName[m.Name] = o
		}
		if t.price != nil {
			t.price = t.price.At(now)
		}
		if !slices.ContainsFunc(o.targets, func(x modelTarget) bool { return x.provider == t.provider }) {
			o.targets = append(o.targets, t)
		}
	}
	for _, t := range set.Targets() {
		add(t.Model, modelTarget{provider: t.Provider, upstream: t.Upstream, price: t.Price, here: true})
	}
	if f.all {
		known := set.Catalog()
		for _, name := range known.Providers() {
			for _, offer := range known.Offers(name) {
				if m := known.At(offer); m != nil {
					add(m, modelTarget{provider: name, upstream: offer.Upstream, price: offer.Price})
				}
			}
		}
	}
	var list []offered
	for _, o := range byName {
		list = append(list, *o)
	}
	slices.SortFunc(list, func(x, y offered) int { return cmp.Compare(x.model.Name, y.model.Name) })
	return list
}

func listModels(c *cli.Console, o *cli.Options, f modelFlags, models []offered) error {
	none := "no models match. Use --all to include the catalog"
	if f.all {
		none = "no models match"
	}
	t := &cli.Table{Columns: []cli.Column{
		{Title: "MODEL"},
		{Title: "PROVIDERS", Soft: true, Hide: 2},
		{Title: "CONTEXT", Right: true, Hide: 1},
		{Title: "IN", Right: true},
		{Title: "OUT", Right: true},
		{Title: "CACHED", Right: true, Hide: 4},
		{Title: "QUALITY", Right: true, Hide: 3},
		{Title: "CAPABILITIES", Soft: true, Hide: 5},
	}}
	view := func(m *offered) modelView { return viewModel(m, c.Now()) }
	return cli.PrintList(c, o, models, none, view, t, func(m *offered) {
		p, cached := m.cheapest(), cli.Dash
		if p != nil {
			cached = cli.Rate(p.CacheRead)
		}
		t.Row(m.model.Name, m.providersText(), cli.Tokens(m.model.Context), priceIn(p), priceOut(p, m.model.Op), cached,
			qualityText(m.model.Quality), cli.OrDash(strings.Join(m.model.Abilities.Names(), ",")))
	})
}

// cheapest returns the price shown in the list: the cheapest price among configured providers, or among all providers if no
// configured provider has a price. It returns nil if no price is known.
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
		return cli.Dash
	}
	return cli.Rate(&p.Input)
}

func priceOut(p *catalog.Price, op llm.Op) string {
	if p == nil || op == llm.Embed {
		return cli.Dash
	}
	return cli.Rate(&p.Output)
}

func qualityText(q float64) string {
	if q <= 0 {
		return cli.Dash
	}
	return strconv.FormatFloat(q, 'f', 2, 64)
}
