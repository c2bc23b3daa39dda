package admin

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/admin/overview"
	"fairlead.dev/internal/admin/providers"
)

func TestProvidersShowCredentialsOnlyToOperators(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var mine, theirs providers.ProviderList
	s.call("GET", "/providers", "", as("acc_viewer")).want(200).into(&mine)
	p := mine.Providers[0]
	if p.Health != "degraded" || len(p.Credentials) != 2 || p.Credentials[0].Removable || !p.Credentials[1].Removable || *p.Headroom.Requests != 5 {
		t.Errorf("%+v", p)
	}
	s.call("GET", "/providers", "", as(stranger)).want(200).into(&theirs)
	if q := theirs.Providers[0]; q.BaseURL != "" || len(q.Credentials) != 0 || q.Headroom != nil || q.Name != "acme" {
		t.Errorf("%+v", q)
	}
}

func TestCredentialsAreWriteOnly(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	const canary = "sk-canary-0123456789"
	got := s.call("POST", "/providers/acme/credentials", `{"secret":"`+canary+`"}`, as("acc_admin")).want(http.StatusCreated)
	if diff := cmp.Diff([]string{canary}, s.fleet.added); diff != "" {
		t.Error(diff)
	}
	everything := got.Body.String() + s.lines.String() + string(s.fake.events[0].After) +
		s.call("GET", "/providers", "", as("acc_owner")).Body.String() + s.call("GET", "/audit", "", as("acc_owner")).Body.String()
	if strings.Contains(everything, canary) || !strings.Contains(everything, "…6789") {
		t.Errorf("secret shown, or no hint: %s", everything)
	}
	s.call("POST", "/providers/nothing/credentials", `{"secret":"x"}`, as("acc_admin")).rejected(http.StatusNotFound, "NOT_FOUND")
	s.call("DELETE", "/providers/acme/credentials/cred_1", "", as("acc_admin")).want(http.StatusNoContent)
	s.call("DELETE", "/providers/acme/credentials/cred_9", "", as("acc_admin")).rejected(http.StatusNotFound, "NOT_FOUND")
	fixed := s.call("DELETE", "/providers/acme/credentials/acme%231", "", as("acc_admin")).rejected(http.StatusConflict, "CONFLICT")
	if !strings.Contains(fixed.Error, "env ACME_API_KEY") {
		t.Error(fixed.Error)
	}
}

func TestProvidersAreTestedResetAndDisabled(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	admin := as("acc_admin")
	var probe providers.ProviderTest
	s.call("POST", "/providers/acme/test", "", admin).want(200).into(&probe)
	if !probe.OK || *probe.LatencyMS != 80 || probe.Error != nil {
		t.Errorf("%+v", probe)
	}
	s.call("POST", "/providers/nothing/test", "", admin).rejected(http.StatusNotFound, "NOT_FOUND")
	s.call("POST", "/providers/acme/reset", "", admin).want(http.StatusNoContent)
	var off providers.ProviderView
	s.call("PATCH", "/providers/acme", `{"enabled":false}`, admin).want(200).into(&off)
	if off.Enabled {
		t.Error("the provider is still enabled")
	}
	s.call("PATCH", "/providers/nothing", `{"enabled":false}`, admin).rejected(http.StatusNotFound, "NOT_FOUND")
	actions := []string{}
	for _, e := range s.fake.events {
		actions = append(actions, e.Action+" "+e.Object)
	}
	if diff := cmp.Diff([]string{"provider.reset acme", "provider.update acme"}, actions); diff != "" {
		t.Error(diff)
	}
	fixed := newSite(t, func(p *Parts) { p.Providers.Switch, p.Providers.Credentials = nil, nil })
	fixed.call("PATCH", "/providers/acme", `{"enabled":false}`, admin).rejected(http.StatusConflict, "CONFLICT")
	fixed.call("POST", "/providers/acme/credentials", `{"secret":"x"}`, admin).rejected(http.StatusConflict, "CONFLICT")
}

func TestSettingsHidePathsFromNonOperators(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var mine, theirs overview.SettingsView
	s.call("GET", "/settings", "", as("acc_viewer")).want(200).into(&mine)
	if mine.PredictorVersion != "p-1" || mine.Policies != 2 {
		t.Errorf("%+v", mine)
	}
	if mine.ConfigSource != "/etc/fairlead/fairlead.yaml" || *mine.Storage.DatabaseBytes != 1000 || mine.Storage.FreeBytes != nil || *mine.EntryRetentionMS != 86_400_000 {
		t.Errorf("%+v", mine)
	}
	s.call("GET", "/settings", "", as(stranger)).want(200).into(&theirs)
	if theirs.ConfigSource != "" || theirs.Storage.DatabaseBytes != nil || theirs.Version != "1.2.3" {
		t.Errorf("%+v", theirs)
	}
}
