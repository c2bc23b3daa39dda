package providers

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/admin/adminapi"
	"fairlead.dev/internal/admin/requests"
	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/requestlog"
)

// trafficSpan is the period of the traffic figures.
const trafficSpan = 24 * time.Hour

// ModelView is a model with its targets and traffic.
type ModelView struct {
	Name         string             `json:"name"`
	Vendor       string             `json:"vendor"`
	Family       string             `json:"family"`
	Kind         string             `json:"kind" doc:"chat or embeddings."`
	Context      *int64             `json:"context" doc:"Context window in tokens."`
	MaxOutput    *int64             `json:"max_output"`
	Abilities    []string           `json:"abilities"`
	Quality      *float64           `json:"quality" doc:"Assumed success probability before any traffic, from 0 to 1."`
	Dimensions   []int64            `json:"dimensions" doc:"Vector sizes of an embedding model, default first."`
	Aliases      []string           `json:"aliases"`
	Released     *string            `json:"released"`
	Deprecated   bool               `json:"deprecated"`
	OpenWeights  bool               `json:"open_weights"`
	Targets      []TargetView       `json:"targets"`
	Traffic      requests.FigureSet `json:"traffic" doc:"This workspace's traffic in the last 24 hours."`
	SharePercent *float64           `json:"share_percent" doc:"Share of this workspace's requests in the last 24 hours."`
}

// TargetView is a model at a provider.
type TargetView struct {
	Target    string           `json:"target" doc:"provider/model."`
	Model     string           `json:"model"`
	Provider  string           `json:"provider"`
	Upstream  string           `json:"upstream" doc:"Model name used by the provider."`
	Simulated bool             `json:"simulated"`
	Collects  bool             `json:"collects" doc:"Whether the provider may store prompts or train on them."`
	Price     *PriceView       `json:"price,omitempty" doc:"Absent if unknown. auto never selects a target without a price."`
	PriceSet  bool             `json:"price_set" doc:"Whether the price was set with set-price. delete-price removes it."`
	Health    TargetHealthView `json:"health"`

	ListedUntil *time.Time `json:"listed_until" doc:"Time of the last model list of the provider that has the model, if the two latest lists lack it. null if the model is listed or the list is unknown."`
}

// PriceView is a price in US dollars.
type PriceView struct {
	Input      money.Amount  `json:"input_per_mtok_usd"`
	Output     money.Amount  `json:"output_per_mtok_usd"`
	CacheRead  *money.Amount `json:"cache_read_per_mtok_usd" nullable:"true" doc:"null if cached tokens cost the same as uncached ones."`
	CacheWrite *money.Amount `json:"cache_write_per_mtok_usd" nullable:"true"`
	PerRequest money.Amount  `json:"per_request_usd"`
	Search     *money.Amount `json:"per_1k_searches_usd" nullable:"true" doc:"US dollars per 1,000 web searches that the provider runs. null if unknown; the fee is then not part of the cost."`
	Tiers      []TierView    `json:"tiers" doc:"Prices for long prompts."`
	Kind       string        `json:"price_source" enum:"list,override,provider-reported,local" doc:"Kind of price. local is the price of a model server on this machine."`
	Source     string        `json:"source" doc:"Source of the price, such as the published lists it was read from."`
	AsOf       string        `json:"as_of"`
}

// TierView is the price of requests with a prompt longer than above_tokens.
type TierView struct {
	Above      int64         `json:"above_tokens"`
	Input      money.Amount  `json:"input_per_mtok_usd"`
	Output     money.Amount  `json:"output_per_mtok_usd"`
	CacheRead  *money.Amount `json:"cache_read_per_mtok_usd" nullable:"true"`
	CacheWrite *money.Amount `json:"cache_write_per_mtok_usd" nullable:"true"`
}

// TargetHealthView describes the health of a target.
type TargetHealthView struct {
	Circuit      string     `json:"circuit" enum:"closed,half_open,open"`
	Reason       *string    `json:"reason" doc:"Failure class that opened the circuit."`
	ReasonText   *string    `json:"reason_text" doc:"Readable description."`
	Summary      *string    `json:"summary" doc:"The state in plain words, such as Paused after 5 failures in a row. null for a closed circuit."`
	Since        *time.Time `json:"since" doc:"When the circuit opened. null for a closed circuit and for a backoff."`
	NextProbe    *time.Time `json:"next_probe" doc:"Time of the next attempt."`
	TTFTMS       *int64     `json:"ttft_ms" doc:"Typical time to the first token."`
	TokensPS     *float64   `json:"tokens_per_second"`
	Calls        int64      `json:"calls" doc:"Recent calls from all workspaces. 0 for callers who are not operators."`
	ErrorPercent *float64   `json:"error_percent" doc:"Share of recent calls that failed. null for callers who are not operators."`
}

// ModelList holds all models.
type ModelList struct {
	Models []ModelView `json:"models"`
}

func (a *handlers) registerModels() {
	adminapi.Register(a.Server, account.ReadModels, huma.Operation{
		OperationID: "list-models", Method: http.MethodGet, Path: "/models", Tags: []string{"models"},
		Summary: "List models with targets, prices, health and share of traffic",
	}, func(ctx context.Context, c *adminapi.Call, _ *struct{}) (*adminapi.Output[ModelList], error) {
		traffic, requests, err := a.traffic(ctx, c.WorkspaceID, "model", trafficSpan)
		if err != nil {
			return nil, err
		}
		models := a.Fleet.Models()
		list := ModelList{Models: make([]ModelView, 0, len(models))}
		for i := range models {
			v := modelView(&models[i])
			if !c.Actor.Operator {
				hideCalls(v.Targets)
			}
			v.Traffic = traffic[v.Name]
			v.SharePercent = adminapi.Share(v.Traffic.Requests, requests)
			list.Models = append(list.Models, v)
		}
		return adminapi.Respond(list), nil
	})
	adminapi.Register(a.Server, account.ReadModels, huma.Operation{
		OperationID: "list-new-models", Method: http.MethodGet, Path: "/new-models", Tags: []string{"models"},
		Summary:     "List the models that a provider lists and neither the catalog nor the configuration has",
		Description: "The price of such a model is unknown, so auto never selects it. Requests that name it need allow_unpriced. Set its price with set-price or in the configuration.",
	}, func(context.Context, *adminapi.Call, *struct{}) (*adminapi.Output[NewModelList], error) {
		list := NewModelList{Models: []NewModelView{}}
		for _, m := range a.Fleet.NewModels() {
			list.Models = append(list.Models, NewModelView{
				Provider: m.Provider, Model: m.Model, Kind: string(m.Op), FirstSeen: m.FirstSeen.UTC(), LastSeen: m.LastSeen.UTC(), Callable: m.Callable,
				Config: m.Config,
			})
		}
		return adminapi.Respond(list), nil
	})
	a.registerPrices()
	a.registerRefresh()
}

// NewModelView is a model that is only in the provider's model list.
type NewModelView struct {
	Provider  string    `json:"provider"`
	Model     string    `json:"model" doc:"Model name used by the provider."`
	Kind      string    `json:"kind" doc:"chat or embeddings, assumed from the name."`
	FirstSeen time.Time `json:"first_seen" doc:"Time of the first list that had the model."`
	LastSeen  time.Time `json:"last_seen"`
	Callable  bool      `json:"callable" doc:"Whether requests that name the model are served for keys that allow unpriced models."`
	Config    string    `json:"config" doc:"Section of the configuration file that sets the price. Replace PRICE."`
}

// NewModelList holds the new models, newest first.
type NewModelList struct {
	Models []NewModelView `json:"models"`
}

// traffic returns the figures of the given time span up to now, grouped by model or provider, and the total number of requests.
func (a *handlers) traffic(ctx context.Context, workspaceID, by string, span time.Duration) (map[string]requests.FigureSet, int64, error) {
	now := a.Now()
	groups, err := a.Figures.Breakdown(ctx, requestlog.BreakdownQuery{
		RollupFilter: requestlog.RollupFilter{WorkspaceID: workspaceID, From: now.Add(-span), To: now}, By: by, Limit: 1000,
	})
	if err != nil {
		return nil, 0, err
	}
	figures, total := map[string]requests.FigureSet{}, int64(0)
	for i := range groups {
		figures[groups[i].Name] = requests.AttemptFigures(&groups[i].Figures)
		total += groups[i].Requests
	}
	return figures, total, nil
}

func modelView(s *ModelState) ModelView {
	m := s.Model
	v := ModelView{
		Name: m.Name, Vendor: m.Vendor, Family: m.Family, Kind: string(m.Op),
		Context: adminapi.Measured(m.Context), MaxOutput: adminapi.Measured(m.MaxOutput), Abilities: m.Abilities.Names(),
		Dimensions: m.Dimensions, Aliases: m.Aliases, Released: adminapi.NonEmpty(m.Released), Deprecated: m.Deprecated,
		OpenWeights: m.OpenWeights, Targets: targetViews(s.Targets),
	}
	if m.Quality > 0 {
		v.Quality = new(m.Quality)
	}
	return v
}

func targetViews(targets []TargetState) []TargetView {
	list := make([]TargetView, 0, len(targets))
	for _, t := range targets {
		h := &t.Health
		health := TargetHealthView{
			Circuit: cmp.Or(h.Circuit, "closed"), Reason: adminapi.NonEmpty(h.Reason), ReasonText: adminapi.NonEmpty(requests.FailureText(h.Reason)),
			Summary: adminapi.NonEmpty(circuitText(h)), Since: adminapi.Time(h.Since), NextProbe: adminapi.Time(h.NextProbe), TTFTMS: adminapi.Millis(h.Latency),
			Calls: h.Calls, ErrorPercent: adminapi.Share(h.Failures, h.Calls),
		}
		if h.TokensPS > 0 {
			health.TokensPS = new(h.TokensPS)
		}
		list = append(list, TargetView{
			Target: t.Target.ID(), Model: t.Target.Model.Name, Provider: t.Target.Provider, Upstream: t.Target.Upstream,
			Simulated: t.Target.Simulated, Collects: t.Target.Collects, Price: priceView(t.Target.Price), PriceSet: t.PriceSet, Health: health,
			ListedUntil: adminapi.Time(t.ListedUntil),
		})
	}
	return list
}

// hideCalls removes figures that include the traffic of other workspaces. Circuits and latencies stay visible because they
// explain decisions.
func hideCalls(targets []TargetView) {
	for i := range targets {
		targets[i].Health.Calls, targets[i].Health.ErrorPercent = 0, nil
	}
}

func priceView(p *catalog.Price) *PriceView {
	if p == nil {
		return nil
	}
	v := &PriceView{
		Input: money.Amount(p.Input), Output: money.Amount(p.Output), CacheRead: rate(p.CacheRead), CacheWrite: rate(p.CacheWrite),
		PerRequest: p.PerRequest, Tiers: make([]TierView, 0, len(p.Tiers)), Kind: requests.PriceSource(p.Source), Source: p.Source, AsOf: p.AsOf,
	}
	if p.Search != nil && p.Search.Rate != nil {
		v.Search = new(catalog.SearchPrice(*p.Search.Rate))
	}
	for _, t := range p.Tiers {
		v.Tiers = append(v.Tiers, TierView{
			Above: t.Above, Input: money.Amount(t.Input), Output: money.Amount(t.Output),
			CacheRead: rate(t.CacheRead), CacheWrite: rate(t.CacheWrite),
		})
	}
	return v
}

// rate converts a price per million tokens to an amount. Both types are in nano-dollars, so the number does not change.
func rate(r *money.Rate) *money.Amount {
	if r == nil {
		return nil
	}
	return new(money.Amount(*r))
}
