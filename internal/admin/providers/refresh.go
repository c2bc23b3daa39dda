package providers

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/admin/adminapi"
	"fairlead.dev/internal/llm"
)

// RefreshView describes how the prices of the catalog are kept current.
type RefreshView struct {
	Refresh   string             `json:"refresh" doc:"daily, off or the path of a file. Empty until an owner has decided: then nothing is read."`
	ManagedBy string             `json:"managed_by" enum:"file,dashboard"`
	Checked   *time.Time         `json:"checked_at" doc:"Time of the last refresh."`
	Pending   []PendingPriceView `json:"pending" doc:"Listed prices that change by a factor of five or more. They apply only after an owner accepts them."`
}

// PendingPriceView is a price change that waits for a decision.
type PendingPriceView struct {
	Provider string     `json:"provider"`
	Model    string     `json:"model"`
	Old      *PriceView `json:"old,omitempty" doc:"Price so far. Absent if there was none."`
	New      *PriceView `json:"new"`
	Factor   float64    `json:"factor" doc:"Largest factor by which a rate changes."`
	FoundAt  time.Time  `json:"found_at"`
}

type setRefreshInput struct {
	Body struct {
		Refresh string `json:"refresh" enum:"daily,off"`
	}
}

type decidePriceInput struct {
	Body struct {
		Provider string `json:"provider" maxLength:"100"`
		Model    string `json:"model" maxLength:"200"`
		Accept   bool   `json:"accept" doc:"Whether the listed price applies from now on. A declined price is not offered again until the list changes it."`
	}
}

func (a *handlers) registerRefresh() {
	tags := []string{"models"}
	adminapi.Register(a.Server, account.ReadWorkspace, huma.Operation{
		OperationID: "get-price-refresh", Method: http.MethodGet, Path: "/prices/refresh", Tags: tags,
		Summary: "Get how prices are kept current, and the price changes that wait for a decision",
	}, func(ctx context.Context, _ *adminapi.Call, _ *struct{}) (*adminapi.Output[RefreshView], error) {
		return a.refreshView(ctx)
	})
	adminapi.Register(a.Server, account.ManageModels, huma.Operation{
		OperationID: "set-price-refresh", Method: http.MethodPut, Path: "/prices/refresh", Tags: tags,
		Summary:     "Refresh prices daily or not at all",
		Description: "daily reads models.dev and OpenRouter's list once a day.",
	}, func(ctx context.Context, c *adminapi.Call, in *setRefreshInput) (*adminapi.Output[RefreshView], error) {
		before, err := a.refreshState(ctx)
		if err != nil {
			return nil, err
		}
		if before.InFile {
			return nil, llm.Errorf(llm.Conflict, "catalog.refresh is set in the configuration file. Change it there.")
		}
		if err := a.Prices.SetRefresh(ctx, in.Body.Refresh == "daily"); err != nil {
			return nil, err
		}
		if err := a.Record(ctx, c.Actor, "price.refresh", "catalog", before.Refresh, in.Body.Refresh); err != nil {
			return nil, err
		}
		return a.refreshView(ctx)
	})
	adminapi.Register(a.Server, account.ManageModels, huma.Operation{
		OperationID: "decide-price", Method: http.MethodPost, Path: "/prices/decide", Tags: tags,
		Summary: "Accept or decline a listed price that changes by a large factor",
	}, func(ctx context.Context, c *adminapi.Call, in *decidePriceInput) (*adminapi.Output[RefreshView], error) {
		if _, err := a.refreshState(ctx); err != nil {
			return nil, err
		}
		b := in.Body
		if err := a.Prices.DecidePrice(ctx, b.Provider, b.Model, b.Accept); err != nil {
			return nil, err
		}
		if err := a.Record(ctx, c.Actor, "price.decide", b.Provider+"/"+b.Model, nil, map[string]bool{"accept": b.Accept}); err != nil {
			return nil, err
		}
		return a.refreshView(ctx)
	})
}

func (a *handlers) refreshState(ctx context.Context) (RefreshState, error) {
	if a.Prices == nil {
		return RefreshState{}, llm.Errorf(llm.Conflict, "On this instance, prices can be set only in the configuration.")
	}
	return a.Prices.Refresh(ctx)
}

func (a *handlers) refreshView(ctx context.Context) (*adminapi.Output[RefreshView], error) {
	s, err := a.refreshState(ctx)
	if err != nil {
		return nil, err
	}
	v := RefreshView{Refresh: s.Refresh, ManagedBy: "dashboard", Checked: adminapi.Time(s.Checked), Pending: []PendingPriceView{}}
	if s.InFile {
		v.ManagedBy = "file"
	}
	for _, p := range s.Pending {
		one := PendingPriceView{Provider: p.Provider, Model: p.Model, New: priceView(p.Price), Factor: p.Factor, FoundAt: p.Found.UTC()}
		if p.Old != nil {
			one.Old = priceView(p.Old)
		}
		v.Pending = append(v.Pending, one)
	}
	return adminapi.Respond(v), nil
}
