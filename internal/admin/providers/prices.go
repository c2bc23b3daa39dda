package providers

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/admin/adminapi"
	"fairlead.dev/internal/admin/requests"
	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
)

// PricePath identifies a target in a path. It is exported because huma requires it for embedded fields.
type PricePath struct {
	Name     string `path:"name" maxLength:"200" doc:"Model name. Encode a slash as %2F."`
	Provider string `path:"provider" maxLength:"100" doc:"Provider name."`
}

// PriceInput is a price override. Cached tokens cost the same as uncached tokens if their price is omitted.
type PriceInput struct {
	Input      money.Amount  `json:"input_per_mtok_usd" doc:"US dollars per million uncached input tokens. 0 for free models."`
	Output     money.Amount  `json:"output_per_mtok_usd" doc:"US dollars per million output tokens. 0 for free models."`
	CacheRead  *money.Amount `json:"cache_read_per_mtok_usd,omitempty"`
	CacheWrite *money.Amount `json:"cache_write_per_mtok_usd,omitempty"`
	PerRequest *money.Amount `json:"per_request_usd,omitempty"`
	Search     *money.Amount `json:"per_1k_searches_usd,omitempty" doc:"US dollars per 1,000 web searches that the provider runs. Defaults to the published fee."`
}

func (a *handlers) registerPrices() {
	tags := []string{"models"}
	adminapi.Register(a.Server, account.ManageModels, huma.Operation{
		OperationID: "set-price", Method: http.MethodPut, Path: "/models/{name}/prices/{provider}", Tags: tags,
		Summary:     "Override the price of a model at a provider",
		Description: "Applies to the next request and survives restarts. Takes precedence over the catalog and the configuration. Costs of earlier requests do not change.",
	}, func(ctx context.Context, c *adminapi.Call, in *setPriceInput) (*adminapi.Output[TargetView], error) {
		price, err := in.Body.price(a.Now())
		if err != nil {
			return nil, err
		}
		changed, err := a.changePrice(ctx, c, in.PricePath, "price.set", price)
		if err != nil {
			return nil, err
		}
		return adminapi.Respond(targetViews([]TargetState{*changed})[0]), nil
	})
	adminapi.Register(a.Server, account.ManageModels, huma.Operation{
		OperationID: "delete-price", Method: http.MethodDelete, Path: "/models/{name}/prices/{provider}", Tags: tags,
		Summary: "Remove a price override", DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, c *adminapi.Call, in *PricePath) (*adminapi.NoContent, error) {
		_, err := a.changePrice(ctx, c, *in, "price.delete", nil)
		return nil, err
	})
}

type setPriceInput struct {
	PricePath
	Body PriceInput
}

// changePrice sets or removes a price, writes an audit event and returns the changed target.
func (a *handlers) changePrice(ctx context.Context, c *adminapi.Call, at PricePath, action string, price *catalog.Price) (*TargetState, error) {
	if a.Prices == nil {
		return nil, llm.Errorf(llm.Conflict, "On this instance, prices can be set only in the configuration.")
	}
	before := a.target(at)
	if err := a.Prices.SetPrice(ctx, at.Provider, at.Name, price); err != nil {
		return nil, err
	}
	after := a.target(at)
	if after == nil && price != nil {
		return nil, account.ErrNotFound
	}
	return after, a.Record(ctx, c.Actor, action, at.Provider+"/"+at.Name, noted(before), noted(after))
}

// noted returns the price for the audit log, or nil if it is unknown.
func noted(t *TargetState) any {
	if t == nil || t.Target.Price == nil {
		return nil
	}
	return priceView(t.Target.Price)
}

// target looks up a target. It returns nil for a new model before its price is set and after its price is removed.
func (a *handlers) target(at PricePath) *TargetState {
	for _, m := range a.Fleet.Models() {
		for _, t := range m.Targets {
			if t.Target.Model.Name == at.Name && t.Target.Provider == at.Provider {
				return &t
			}
		}
	}
	return nil
}

// price validates the input and converts it to a catalog price.
func (in *PriceInput) price(now time.Time) (*catalog.Price, error) {
	problems := []adminapi.Problem{}
	rate := func(param string, amount *money.Amount) *money.Rate {
		if amount == nil {
			return nil
		}
		if *amount < 0 {
			problems = append(problems, adminapi.Problem{In: "body", Param: param, Message: "must not be negative"})
		}
		return new(money.Rate(*amount)) // both types are in nano-dollars
	}
	p := &catalog.Price{
		Input: *rate("input_per_mtok_usd", &in.Input), Output: *rate("output_per_mtok_usd", &in.Output),
		CacheRead: rate("cache_read_per_mtok_usd", in.CacheRead), CacheWrite: rate("cache_write_per_mtok_usd", in.CacheWrite),
		Source: requests.PriceOverride, AsOf: now.UTC().Format(time.DateOnly),
	}
	if fee := rate("per_request_usd", in.PerRequest); fee != nil {
		p.PerRequest = money.Amount(*fee)
	}
	if fee := rate("per_1k_searches_usd", in.Search); fee != nil {
		p.Search = &catalog.SearchFee{Rate: new(catalog.SearchRate(money.Amount(*fee)))}
	}
	if len(problems) > 0 {
		return nil, adminapi.InvalidAll(problems)
	}
	return p, nil
}
