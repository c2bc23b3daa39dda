package providers

import (
	"context"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/admin/adminapi"
	"fairlead.dev/internal/admin/requests"
	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/route/predict"
)

// marketSpan is the period of the figures on model pages.
const marketSpan = 30 * 24 * time.Hour

// CatalogModelView is a catalog model with its price, predicted quality and traffic, for comparison with other models.
type CatalogModelView struct {
	Name       string   `json:"name"`
	Vendor     string   `json:"vendor"`
	Family     string   `json:"family"`
	Kind       string   `json:"kind" doc:"chat, embeddings or moderations."`
	Context    *int64   `json:"context" doc:"Context window in tokens."`
	Abilities  []string `json:"abilities"`
	Deprecated bool     `json:"deprecated"`
	Simulated  bool     `json:"simulated"`
	Connected  bool     `json:"connected" doc:"Whether a connected provider has the model."`
	Providers  []string `json:"providers" doc:"Connected providers that have the model."`
	Connect    []string `json:"connect" doc:"Vendors that have the model and can be connected with connect-provider."`

	Price   *MarketPriceView   `json:"price,omitempty" doc:"Lowest price at a connected provider, otherwise the list price. Absent if unknown."`
	Quality *QualityView       `json:"quality,omitempty" doc:"Absent for models that are not for chat."`
	Tasks   map[string]float64 `json:"tasks" doc:"Predicted quality by task type. Empty for models that are not for chat."`

	Requests     int64        `json:"requests" doc:"This workspace's requests in the last 30 days."`
	Cost         money.Amount `json:"cost_usd"`
	TTFTMS       *int64       `json:"ttft_p50_ms" doc:"Median time to the first token in the last 30 days. null without traffic."`
	ErrorPercent *float64     `json:"error_percent" doc:"Share of failed calls in the last 30 days."`
}

// MarketPriceView holds the prices per million tokens that are used to compare models.
type MarketPriceView struct {
	Input     money.Amount  `json:"input_per_mtok_usd"`
	Output    money.Amount  `json:"output_per_mtok_usd"`
	CacheRead *money.Amount `json:"cache_read_per_mtok_usd" nullable:"true"`
	Typical   money.Amount  `json:"typical_per_mtok_usd" doc:"Price per million tokens of a request with three input tokens for each output token."`
}

// QualityView is the predicted probability of a good answer to a medium task with its 95 % interval, from 0 to 1.
type QualityView struct {
	Mean   float64 `json:"mean"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
	Source string  `json:"source" enum:"table,prior,quality" doc:"What the prediction is based on: the ability table (published benchmark scores and recorded outcomes), the vendor, price and release date of the model, or a quality set for the model."`
}

// CatalogList holds the models of the catalog and the connected providers.
type CatalogList struct {
	Models []CatalogModelView `json:"models" doc:"By name."`
	Tasks  []string           `json:"tasks" doc:"Task types."`
}

// ModelDetail is a model with all known facts.
type ModelDetail struct {
	ModelView
	Connected    bool               `json:"connected"`
	Needs        []string           `json:"needs" doc:"Restrictions of requests: default_sampling (temperature and similar parameters are rejected), max_completion_tokens (max_tokens is rejected), tools_need_responses_api, no_responses_stream."`
	Offers       []OfferView        `json:"offers" doc:"Providers of the catalog that have the model, connected ones first."`
	Rating       *QualityView       `json:"rating,omitempty" doc:"Mean predicted quality over the task types. Absent for models that are not for chat."`
	Tasks        []TaskQualityView  `json:"tasks" doc:"Predicted probability of a good answer to a medium task, by task type."`
	Observed     []ObservedView     `json:"observed" doc:"Speed and errors by provider in the last 30 days."`
	Month        requests.FigureSet `json:"month" doc:"This workspace's traffic in the last 30 days."`
	MonthPercent *float64           `json:"month_share_percent" doc:"Share of this workspace's requests in the last 30 days."`
	Price        *MarketPriceView   `json:"price,omitempty"`
}

// OfferView describes a model at a connected provider or at another provider of the catalog.
type OfferView struct {
	Provider  string     `json:"provider"`
	Connected bool       `json:"connected"`
	Connect   bool       `json:"connect" doc:"Whether connect-provider accepts the provider's name as vendor."`
	Upstream  string     `json:"upstream" doc:"Model name used by the provider."`
	Context   *int64     `json:"context"`
	Needs     *string    `json:"needs" doc:"What the provider requires in addition to a key, such as invitation."`
	Price     *PriceView `json:"price,omitempty"`
}

// TaskQualityView is the predicted quality for one task type.
type TaskQualityView struct {
	Task    string  `json:"task"`
	Mean    float64 `json:"mean"`
	Low     float64 `json:"low" doc:"Lower bound of the 95 % interval."`
	High    float64 `json:"high"`
	Learned bool    `json:"learned" doc:"Whether outcomes of this workspace changed the prediction."`
}

// ObservedView holds the traffic of a model at one provider.
type ObservedView struct {
	Provider string             `json:"provider"`
	Traffic  requests.FigureSet `json:"traffic"`
	TokensPS *float64           `json:"tokens_per_second" doc:"Output speed of recent calls. null if unknown."`
}

// ModelPath is a model name in a path. It is exported because huma requires it for embedded fields.
type ModelPath struct {
	Name string `path:"name" maxLength:"200" doc:"Model name, or another name of the model."`
}

func (a *handlers) registerMarket() {
	tags := []string{"models"}
	adminapi.Register(a.Server, account.ReadModels, huma.Operation{
		OperationID: "list-catalog", Method: http.MethodGet, Path: "/catalog", Tags: tags,
		Summary:     "List all models of the catalog with price, predicted quality and this workspace's traffic",
		Description: "Includes models without a connected provider.",
	}, a.listCatalog)
	adminapi.Register(a.Server, account.ReadModels, huma.Operation{
		OperationID: "get-model", Method: http.MethodGet, Path: "/models/{name}", Tags: tags,
		Summary:     "Get a model with prices, predicted quality by task type, observed speed and errors",
		Description: "The model does not need a connected provider.",
	}, a.getModel)
}

// listing is a model with the data that is needed to compare it with other models.
type listing struct {
	model     *catalog.Model
	targets   []TargetState
	price     *catalog.Price
	rating    *predict.Rating
	simulated bool
}

// listings returns the models of the connected providers and the catalog, sorted by name.
func (a *handlers) listings(workspaceID string) []listing {
	var list []listing
	seen := map[string]bool{}
	for _, m := range a.Fleet.Models() {
		seen[m.Model.Name] = true
		one := listing{model: m.Model, targets: m.Targets, simulated: true}
		for _, t := range m.Targets {
			one.simulated = one.simulated && t.Target.Simulated
			if p := t.Target.Price; p != nil && (one.price == nil || typical(p) < typical(one.price)) {
				one.price = p
			}
		}
		list = append(list, one)
	}
	known := a.Market.Catalog()
	for _, m := range known.Models() {
		if !seen[m.Name] {
			list = append(list, listing{model: m, price: known.ListPrice(m.Name)})
		}
	}
	for i := range list {
		list[i].rating = a.Market.Rating(workspaceID, list[i].model)
	}
	slices.SortFunc(list, func(x, y listing) int { return strings.Compare(x.model.Name, y.model.Name) })
	return list
}

// typical returns the price per million tokens of a request with three input tokens for each output token.
func typical(p *catalog.Price) money.Amount {
	return (3*money.Amount(p.Input) + money.Amount(p.Output)) / 4
}

func marketPrice(p *catalog.Price) *MarketPriceView {
	if p == nil {
		return nil
	}
	return &MarketPriceView{Input: money.Amount(p.Input), Output: money.Amount(p.Output), CacheRead: rate(p.CacheRead), Typical: typical(p)}
}

func qualityView(r *predict.Rating) *QualityView {
	if r == nil {
		return nil
	}
	return &QualityView{Mean: rounded(r.Overall.Mean), Low: rounded(r.Overall.Low), High: rounded(r.Overall.High), Source: r.Source}
}

// rounded rounds x to four decimals. The rounding error is much smaller than the width of a quality interval.
func rounded(x float64) float64 { return math.Round(x*1e4) / 1e4 }

func (a *handlers) listCatalog(ctx context.Context, c *adminapi.Call, _ *struct{}) (*adminapi.Output[CatalogList], error) {
	traffic, _, err := a.traffic(ctx, c.WorkspaceID, "model", marketSpan)
	if err != nil {
		return nil, err
	}
	connect := a.connectable()
	offered := map[string][]string{}
	for _, o := range a.Market.Catalog().AllOffers() {
		if connect[o.Provider] && openOffer(o) {
			offered[o.Model] = append(offered[o.Model], o.Provider)
		}
	}
	list := CatalogList{Models: []CatalogModelView{}}
	for _, f := range predict.Families() {
		list.Tasks = append(list.Tasks, string(f))
	}
	for _, l := range a.listings(c.WorkspaceID) {
		m, t := l.model, traffic[l.model.Name]
		v := CatalogModelView{
			Name: m.Name, Vendor: m.Vendor, Family: m.Family, Kind: string(m.Op), Context: adminapi.Measured(m.Context), Abilities: m.Abilities.Names(),
			Deprecated: m.Deprecated, Simulated: l.simulated, Connected: len(l.targets) > 0, Providers: providersOf(l.targets), Connect: []string{},
			Price: marketPrice(l.price), Quality: qualityView(l.rating), Tasks: map[string]float64{},
			Requests: t.Requests, Cost: t.Cost, TTFTMS: t.TTFTP50MS, ErrorPercent: t.ErrorPercent,
		}
		if names := offered[m.Name]; names != nil {
			slices.SortStableFunc(names, homeFirst(m))
			v.Connect = names
		}
		if l.rating != nil {
			for i, f := range predict.Families() {
				v.Tasks[string(f)] = rounded(l.rating.Families[i].Mean)
			}
		}
		list.Models = append(list.Models, v)
	}
	return adminapi.Respond(list), nil
}

// homeFirst compares providers so that the vendor's own provider comes before the others.
func homeFirst(m *catalog.Model) func(x, y string) int {
	return func(x, y string) int {
		switch m.Home {
		case x:
			return -1
		case y:
			return 1
		}
		return 0
	}
}

func (a *handlers) getModel(ctx context.Context, c *adminapi.Call, in *ModelPath) (*adminapi.Output[ModelDetail], error) {
	all := a.listings(c.WorkspaceID)
	i := slices.IndexFunc(all, func(l listing) bool { return l.model.Name == in.Name })
	if m, ok := a.Market.Catalog().Model(in.Name); i < 0 && ok {
		i = slices.IndexFunc(all, func(l listing) bool { return l.model.Name == m.Name })
	}
	if i < 0 {
		return nil, account.ErrNotFound
	}
	found := &all[i]
	name := found.model.Name
	month, total, err := a.traffic(ctx, c.WorkspaceID, "model", marketSpan)
	if err != nil {
		return nil, err
	}
	day, dayTotal, err := a.traffic(ctx, c.WorkspaceID, "model", trafficSpan)
	if err != nil {
		return nil, err
	}
	observed, err := a.observed(ctx, c.WorkspaceID, found)
	if err != nil {
		return nil, err
	}
	v := ModelDetail{
		ModelView: modelView(&ModelState{Model: found.model, Targets: found.targets}), Connected: len(found.targets) > 0, Needs: needsOf(found.model),
		Offers: a.offers(found), Rating: qualityView(found.rating), Tasks: []TaskQualityView{}, Observed: observed,
		Month: month[name], MonthPercent: adminapi.Share(month[name].Requests, total), Price: marketPrice(found.price),
	}
	v.Traffic, v.SharePercent = day[name], adminapi.Share(day[name].Requests, dayTotal)
	if !c.Actor.Operator {
		hideCalls(v.Targets)
	}
	if found.rating != nil {
		for i, f := range predict.Families() {
			q := &found.rating.Families[i]
			v.Tasks = append(v.Tasks, TaskQualityView{Task: string(f), Mean: rounded(q.Mean), Low: rounded(q.Low), High: rounded(q.High), Learned: found.rating.Learned[i]})
		}
	}
	return adminapi.Respond(v), nil
}
