package admin

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/admin/providers"
	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/money"
)

func TestPricesAreSetAndRemoved(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	admin, path := as("acc_admin"), "/models/odd/prices/acme"
	var got providers.TargetView
	s.call("PUT", path, `{"input_per_mtok_usd":"0.4","output_per_mtok_usd":"1.6","cache_read_per_mtok_usd":"0.1","per_request_usd":"0.001"}`, admin).want(200).into(&got)

	cached := money.PerMillion(0.1)
	want := &catalog.Price{
		Input: money.PerMillion(0.4), Output: money.PerMillion(1.6), CacheRead: &cached, PerRequest: money.Dollar / 1000, Source: "override", AsOf: "2026-11-15",
	}
	if diff := cmp.Diff(want, s.fleet.set); diff != "" {
		t.Error(diff)
	}
	if !got.PriceSet || got.Price.Kind != "override" || got.Price.Input.String() != "0.4" || got.Target != "acme/odd" {
		t.Errorf("%+v", got)
	}
	s.call("DELETE", path, "", admin).want(http.StatusNoContent)
	if s.fleet.set != nil {
		t.Error("the price is still set")
	}
	s.call("DELETE", path, "", admin).rejected(http.StatusNotFound, "NOT_FOUND")
	actions := []string{}
	for _, e := range s.fake.events {
		actions = append(actions, e.Action+" "+e.Object)
	}
	if diff := cmp.Diff([]string{"price.set acme/odd", "price.delete acme/odd"}, actions); diff != "" {
		t.Error(diff)
	}
}

func TestInvalidPricesAreRejected(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	admin := as("acc_admin")
	e := s.call("PUT", "/models/odd/prices/acme", `{"input_per_mtok_usd":"-1","output_per_mtok_usd":"1","cache_write_per_mtok_usd":"-1"}`, admin).rejected(http.StatusBadRequest, "INVALID_REQUEST")
	params := []string{}
	for _, p := range e.Details.Problems {
		params = append(params, p.Param)
	}
	if diff := cmp.Diff([]string{"cache_write_per_mtok_usd", "input_per_mtok_usd"}, params); diff != "" {
		t.Error(diff)
	}
	s.call("PUT", "/models/odd/prices/acme", `{"input_per_mtok_usd":"1"}`, admin).rejected(http.StatusBadRequest, "INVALID_REQUEST")
	const card = `{"input_per_mtok_usd":"1","output_per_mtok_usd":"1"}`
	for _, path := range []string{"/models/none/prices/acme", "/models/odd/prices/none", "/models/org%2Fmodel/prices/acme"} {
		s.call("PUT", path, card, admin).rejected(http.StatusNotFound, "NOT_FOUND")
	}
	s.call("PUT", "/models/odd/prices/acme", card, as("acc_developer")).rejected(http.StatusForbidden, "PERMISSION_DENIED")
	s.call("PUT", "/models/odd/prices/acme", card, as(stranger)).rejected(http.StatusForbidden, "PERMISSION_DENIED")
	fixed := newSite(t, func(p *Parts) { p.Providers.Prices = nil })
	rejected := fixed.call("PUT", "/models/odd/prices/acme", card, admin).rejected(http.StatusConflict, "CONFLICT")
	if !strings.Contains(rejected.Error, "configuration") || s.fleet.set != nil {
		t.Errorf("%s, %+v", rejected.Error, s.fleet.set)
	}
}

// Setting the price of a model that only the provider lists makes it a regular model. Removing the price makes it a new model
// again.
func TestNewModelsArePriced(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	list := func(who string) (names []string) {
		var got providers.NewModelList
		s.call("GET", "/new-models", "", as(who)).want(200).into(&got)
		for _, m := range got.Models {
			names = append(names, m.Provider+"/"+m.Model+" "+m.Kind+" "+m.Config)
		}
		return names
	}
	if diff := cmp.Diff([]string{"acme/fresh chat providers: …"}, list("acc_developer")); diff != "" {
		t.Error(diff)
	}
	var got providers.TargetView
	s.call("PUT", "/models/fresh/prices/acme", `{"input_per_mtok_usd":"1","output_per_mtok_usd":"2"}`, as("acc_admin")).want(200).into(&got)
	if got.Target != "acme/fresh" || got.Price == nil || got.Price.Output.String() != "2" || len(list("acc_admin")) != 0 {
		t.Errorf("%+v", got)
	}
	s.call("DELETE", "/models/fresh/prices/acme", "", as("acc_admin")).want(http.StatusNoContent)
	if len(list("acc_admin")) != 1 || len(s.fake.events) != 2 {
		t.Errorf("new: %v, events: %+v", list("acc_admin"), s.fake.events)
	}
}

func TestPriceRefreshIsChosenAndLargeChangesAreDecided(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	admin := as("acc_admin")
	s.fleet.refresh.Pending = []catalog.PendingPrice{{Listing: catalog.Listing{Provider: "acme", Model: "odd", Price: &catalog.Price{Input: money.PerMillion(9)}}, Factor: 9}}
	var v providers.RefreshView
	s.call("GET", "/prices/refresh", "", admin).want(200).into(&v)
	if v.Refresh != "" || len(v.Pending) != 1 || v.Pending[0].Old != nil || v.Pending[0].New.Input.String() != "9" {
		t.Errorf("%+v", v)
	}
	s.call("PUT", "/prices/refresh", `{"refresh":"weekly"}`, admin).rejected(http.StatusBadRequest, "INVALID_REQUEST")
	s.call("PUT", "/prices/refresh", `{"refresh":"daily"}`, admin).want(200).into(&v)
	if v.Refresh != "daily" {
		t.Errorf("%+v", v)
	}
	s.call("POST", "/prices/decide", `{"provider":"acme","model":"none","accept":true}`, admin).rejected(http.StatusNotFound, "NOT_FOUND")
	s.call("POST", "/prices/decide", `{"provider":"acme","model":"odd","accept":false}`, admin).want(200).into(&v)
	if len(v.Pending) != 0 {
		t.Errorf("%+v", v)
	}
	s.fleet.refresh.InFile = true
	s.call("PUT", "/prices/refresh", `{"refresh":"off"}`, admin).rejected(http.StatusConflict, "CONFLICT")
}
