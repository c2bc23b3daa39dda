package providers

import (
	"context"
	"slices"

	"fairlead.dev/internal/admin/adminapi"
	"fairlead.dev/internal/admin/requests"
	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/requestlog"
)

// connectable returns the vendors that can be connected without a custom endpoint.
func (a *handlers) connectable() map[string]bool {
	names := map[string]bool{}
	if a.Connector != nil {
		for _, v := range a.Connector.Vendors() {
			names[v.Name] = true
		}
	}
	return names
}

// openOffer reports whether an API key is sufficient to use an offer.
func openOffer(o catalog.Offer) bool { return o.Needs == "" || o.Needs == catalog.NeedsResponses }

func providersOf(targets []TargetState) []string {
	names := []string{}
	for _, t := range targets {
		if !slices.Contains(names, t.Target.Provider) {
			names = append(names, t.Target.Provider)
		}
	}
	return names
}

// offers lists the connected targets of the model, with their effective prices, and then the other catalog providers that offer it.
func (a *handlers) offers(l *listing) []OfferView {
	list, connect := []OfferView{}, a.connectable()
	for _, t := range l.targets {
		list = append(list, OfferView{
			Provider: t.Target.Provider, Connected: true, Upstream: t.Target.Upstream, Context: adminapi.Measured(t.Target.Model.Context), Price: priceView(t.Target.Price),
		})
	}
	known, first := a.Market.Catalog(), len(list)
	for _, o := range known.AllOffers() {
		if o.Model != l.model.Name || slices.ContainsFunc(l.targets, func(t TargetState) bool { return t.Target.Provider == o.Provider }) {
			continue
		}
		v := OfferView{Provider: o.Provider, Connect: connect[o.Provider] && openOffer(o), Upstream: o.Upstream, Price: priceView(o.Price)}
		if !openOffer(o) {
			v.Needs = &o.Needs
		}
		if m := known.At(o); m != nil {
			v.Context = adminapi.Measured(m.Context)
		}
		list = append(list, v)
	}
	home := homeFirst(l.model)
	slices.SortStableFunc(list[first:], func(x, y OfferView) int { return home(x.Provider, y.Provider) })
	return list
}

// observed returns the traffic of a model by provider. A provider that was disconnected keeps its figures.
func (a *handlers) observed(ctx context.Context, workspaceID string, l *listing) ([]ObservedView, error) {
	now := a.Now()
	groups, err := a.Figures.Breakdown(ctx, requestlog.BreakdownQuery{
		RollupFilter: requestlog.RollupFilter{WorkspaceID: workspaceID, Model: []string{l.model.Name}, From: now.Add(-marketSpan), To: now}, By: "provider", Limit: 100,
	})
	if err != nil {
		return nil, err
	}
	list := []ObservedView{}
	for i := range groups {
		v := ObservedView{Provider: groups[i].Name, Traffic: requests.AttemptFigures(&groups[i].Figures)}
		for _, t := range l.targets {
			if speed := t.Health.TokensPS; t.Target.Provider == v.Provider && speed > 0 {
				v.TokensPS = &speed
			}
		}
		list = append(list, v)
	}
	return list, nil
}

// needsOf lists the restrictions that a model places on requests.
func needsOf(m *catalog.Model) []string {
	needs := []string{}
	for _, one := range []struct {
		name string
		has  bool
	}{
		{"default_sampling", m.FixedSampling},
		{"max_completion_tokens", m.CompletionTokens},
		{"tools_need_responses_api", m.ToolsNeedResponses},
		{"no_responses_stream", m.NoStream},
	} {
		if one.has {
			needs = append(needs, one.name)
		}
	}
	return needs
}
