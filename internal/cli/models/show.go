package models

import (
	"cmp"
	"fmt"
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

func newModelsShow(c *cli.Console, o *cli.Options) *cobra.Command {
	return &cobra.Command{
		Use: "show NAME", Short: "Show a model with its capabilities, prices and price history",
		Args: cli.OneArg("the model's name"),
		Example: `  fairlead models show gpt-5.6-sol
  fairlead models show deepseek-v4-pro --json | jq '.targets[].price'`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return instance.WithProviders(cmd.Context(), c, o, func(set *instance.ProviderSet) error { return showModel(c, o, set, args[0]) })
		},
	}
}

func showModel(c *cli.Console, o *cli.Options, set *instance.ProviderSet, name string) error {
	m := findModel(set, name)
	if m == nil {
		fix := "see  fairlead models list --all"
		if near := set.Catalog().Suggest(name, 3); len(near) > 0 {
			fix = "did you mean " + strings.Join(near, ", ") + "?"
		}
		return cli.WithFix(fmt.Errorf("model %q not found", cli.Clean(name)), "%s", fix)
	}
	one := offered{model: m, targets: targetsOf(set, m.Name)}
	if o.JSON {
		return c.PrintJSON(viewModel(&one, c.Now()))
	}
	const wide = 200 // table width if the output is not a terminal
	p := &modelPage{Page: cli.Page{Width: max(cmp.Or(c.Columns(), wide), 60), Coloured: c.Coloured(o)}, now: c.Now()}
	p.show(&one)
	return c.Print(p.String())
}

// findModel returns a catalog model or a model from a provider's configuration, or nil if it is unknown.
func findModel(set *instance.ProviderSet, name string) *catalog.Model {
	if m, ok := set.Catalog().Model(name); ok {
		return m
	}
	for _, t := range set.Targets() {
		if t.Model.Name == name {
			return t.Model
		}
	}
	return nil
}

// targetsOf lists the targets of a model, beginning with those of this instance. The catalog targets follow.
func targetsOf(set *instance.ProviderSet, model string) []modelTarget {
	var list []modelTarget
	add := func(t modelTarget) {
		if !slices.ContainsFunc(list, func(x modelTarget) bool { return x.provider == t.provider }) {
			list = append(list, t)
		}
	}
	for _, t := range set.Targets() {
		if t.Model.Name == model {
			add(modelTarget{provider: t.Provider, upstream: t.Upstream, price: t.Price, here: true})
		}
	}
	for _, offer := range set.Catalog().AllOffers() {
		if offer.Model == model {
			add(modelTarget{provider: offer.Provider, upstream: offer.Upstream, price: offer.Price, needs: offer.Needs, unpriced: offer.Unpriced})
		}
	}
	return list
}

// modelPage formats a model as text.
type modelPage struct {
	cli.Page
	now time.Time
}

func (p *modelPage) show(o *offered) {
	m := o.model
	p.WriteString(cli.Painted(cli.Clean(m.Name), cli.Bold, p.Coloured) + "  " + cli.Clean(cli.OrDash(m.Vendor)) + ", " + string(m.Op) + "\n\n")
	p.Field("context", tokensText(m.Context)+", output at most "+tokensText(m.MaxOutput))
	p.Field("capabilities", cli.OrDash(strings.Join(m.Abilities.Names(), ", ")))
	if m.Op == llm.Chat {
		p.Field("quality", strings.TrimSuffix(qualityText(m.Quality)+" ("+m.QualitySource+")", " ()"))
	}
	if len(m.Dimensions) > 0 {
		p.Field("dimensions", strings.Trim(fmt.Sprint(m.Dimensions), "[]"))
	}
	if len(m.Aliases) > 0 {
		p.Field("aliases", strings.Join(m.Aliases, ", "))
	}
	if m.Deprecated {
		p.Field("state", "deprecated by its vendor")
	}
	p.Section("Current prices per million tokens")
	p.Table(p.prices(o))
	if notes := p.notes(o); len(notes.Rows) > 0 {
		p.Section("Price variations")
		p.Table(notes)
	}
	if history := p.history(o); len(history.Rows) > 0 {
		p.Section("History")
		p.Table(history)
	}
}

func tokensText(n int64) string {
	if n <= 0 {
		return "unknown"
	}
	return cli.Count(n) + " tokens"
}

func (p *modelPage) prices(o *offered) *cli.Table {
	t := &cli.Table{Columns: []cli.Column{
		{Title: "PROVIDER"},
		{Title: "IN", Right: true},
		{Title: "OUT", Right: true},
		{Title: "CACHED", Right: true},
		{Title: "CACHE WRITE", Right: true},
		{Title: "1 H", Right: true},
		{Title: "CARD"},
		{Title: "SOURCE", Soft: true},
		{Title: "AS OF"},
		{Title: "HERE"},
	}}
	for _, one := range o.targets {
		here := ""
		switch {
		case one.here:
			here = "yes"
		case one.needs != "":
			here = "needs " + one.needs
		}
		if one.price == nil {
			t.Row(one.provider, cli.Dash, cli.Dash, cli.Dash, cli.Dash, cli.Dash, cli.Dash, cli.OrDash(one.unpriced), cli.Dash, here)
			continue
		}
		card := one.price.At(p.now)
		t.Row(one.provider, priceIn(card), priceOut(card, o.model.Op), cli.Rate(card.CacheRead), cli.Rate(card.CacheWrite), cli.Rate(card.CacheWriteLong),
			card.Bill(llm.Usage{}).Card, card.Source, cli.OrDash(card.AsOf), here)
	}
	return t
}

// notes returns a table of the price variations: long prompts, audio, service tiers, times of the week and fees per request.
func (p *modelPage) notes(o *offered) *cli.Table {
	t := &cli.Table{Columns: []cli.Column{{Title: "PROVIDER"}, {Title: "WHEN"}, {Title: "IN", Right: true}, {Title: "OUT", Right: true}}}
	for _, one := range o.targets {
		if one.price == nil {
			continue
		}
		card := one.price.During(p.now)
		for _, tier := range card.Tiers {
			t.Row(one.provider, "prompts above "+cli.Count(tier.Above)+" tokens", cli.Rate(&tier.Input), cli.Rate(&tier.Output))
		}
		if card.AudioInput != nil || card.AudioOutput != nil {
			t.Row(one.provider, "audio", cli.Rate(card.AudioInput), cli.Rate(card.AudioOutput))
		}
		for _, s := range card.Services {
			t.Row(one.provider, "service tier "+s.Name, times(s.Factor), times(s.Factor))
		}
		for _, h := range card.Hours {
			t.Row(one.provider, h.Name+" "+windows(h.Windows), times(h.Factor), times(h.Factor))
		}
		if card.PerRequest > 0 {
			t.Row(one.provider, "each request "+cli.Dollars(card.PerRequest))
		}
		if fee := card.Search; fee != nil && fee.Rate != nil && *fee.Rate > 0 {
			unit := " web searches "
			if fee.Once {
				unit = " requests with a web search "
			}
			t.Row(one.provider, cli.Count(catalog.SearchesPerRate)+unit+cli.Dollars(catalog.SearchPrice(*fee.Rate)))
		}
	}
	return t
}

func times(factor int64) string {
	return "×" + strconv.FormatFloat(float64(factor)/1000, 'f', -1, 64)
}

// windows formats weekly time windows in UTC.
func windows(list []catalog.Window) string {
	var texts []string
	day := ""
	for _, w := range list {
		days := w.First.String()[:3] + "–" + w.Last.String()[:3]
		text := fmt.Sprintf("%02d:%02d–%02d:%02d", w.Start/60, w.Start%60, w.End/60, w.End%60)
		if days != day {
			text = days + " " + text
		}
		day = days
		texts = append(texts, text)
	}
	return strings.Join(texts, ", ") + " UTC"
}

func (p *modelPage) history(o *offered) *cli.Table {
	t := &cli.Table{Columns: []cli.Column{
		{Title: "PROVIDER"},
		{Title: "FROM"},
		{Title: "UNTIL"},
		{Title: "IN", Right: true},
		{Title: "OUT", Right: true},
		{Title: "CACHED", Right: true},
		{Title: "WHAT"},
		{Title: "SOURCE", Soft: true},
	}}
	for _, one := range o.targets {
		if one.price == nil || len(one.price.Periods) == 0 {
			continue
		}
		for _, period := range one.price.History() {
			card, label := period.Price, "list price"
			switch {
			case period.Name != "":
				label = period.Name
			case !period.Until.IsZero() && !period.Until.After(p.now):
				label = "former price"
			case period.From.After(p.now):
				label = "planned price"
			}
			t.Row(one.provider, dayOr(period.From), dayOr(period.Until), priceIn(&card), priceOut(&card, o.model.Op), cli.Rate(card.CacheRead),
				label, strings.TrimSuffix(card.Source+", "+card.AsOf, ", "))
		}
	}
	return t
}

// dayOr formats the start or the exclusive end of a period, with the time if it is not midnight in UTC. It returns a dash for the
// zero time.
func dayOr(t time.Time) string {
	if t.IsZero() {
		return cli.Dash
	}
	if t = t.UTC(); t.Equal(t.Truncate(24 * time.Hour)) {
		return t.Format(time.DateOnly)
	}
	return t.Format("2006-01-02 15:04 UTC")
}
