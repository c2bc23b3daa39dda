package admin

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/admin/providers"
)

const houseKey = "sk-canary-0123456789"

func TestConnectedProviderIsListedWithTheResultOfTheTest(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	body := `{"vendor":"custom","name":"house","base_url":" https://house.example/v1 ","key":"` + houseKey + `","test":true}`
	response := s.call("POST", "/providers", body, as("acc_admin")).want(http.StatusCreated)
	var got providers.ConnectionView
	response.into(&got)
	if got.Provider.Name != "house" || got.Provider.ManagedBy != "dashboard" || !got.Provider.Enabled || !got.Test.OK || !got.Provider.Credentials[0].Removable {
		t.Errorf("%+v", got)
	}
	if len(got.Found) != 2 || got.Found[0].Price.Input.String() != "2.5" || got.Found[1].Price != nil {
		t.Errorf("models %+v", got.Found)
	}
	want := &providers.Connection{Vendor: "custom", Name: "house", BaseURL: "https://house.example/v1", Key: houseKey, Test: true}
	if diff := cmp.Diff(want, s.fleet.connected); diff != "" || s.fleet.connectedBy != "acc_admin" {
		t.Errorf("by %s: %s", s.fleet.connectedBy, diff)
	}
	everything := response.Body.String() + s.lines.String() + s.call("GET", "/providers", "", as("acc_owner")).Body.String() +
		s.call("GET", "/audit", "", as("acc_owner")).Body.String()
	if strings.Contains(everything, houseKey) || !strings.Contains(everything, "…6789") {
		t.Errorf("the key is shown, or no mask: %s", everything)
	}
}

func TestOnlyAnOwnerAllowsALoopbackAddress(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	const body = `{"vendor":"custom","name":"house","base_url":"http://127.0.0.1:11434/v1","key":"` + houseKey + `","allow_loopback":true}`
	s.call("POST", "/providers", body, as("acc_admin")).rejected(http.StatusForbidden, "PERMISSION_DENIED")
	s.call("POST", "/providers", body, key("fl_manage")).rejected(http.StatusForbidden, "SCOPE_DENIED")
	s.call("POST", "/providers", body, as("acc_owner")).want(http.StatusCreated)
	if audit := s.call("GET", "/audit", "", as("acc_owner")).Body.String(); !s.fleet.connected.AllowLoopback || !strings.Contains(audit, "…6789 true}") {
		t.Errorf("connected %+v, audit log %s", s.fleet.connected, audit)
	}
}

func TestConnectionsAreChangedRotatedAndDeleted(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	admin := as("acc_admin")
	s.call("POST", "/providers", `{"vendor":"custom","name":"house","base_url":"https://house.example/v1","key":"`+houseKey+`"}`, admin).want(http.StatusCreated)
	var changed providers.ProviderView
	s.call("PATCH", "/providers/house", `{"base_url":"https://other.example/v1","enabled":false}`, admin).want(200).into(&changed)
	if changed.BaseURL != "https://other.example/v1" || changed.Enabled {
		t.Errorf("%+v", changed)
	}
	var rotated providers.CredentialView
	s.call("POST", "/providers/acme/credentials/cred_1/rotate", `{"secret":"sk-next-0123456789wxyz"}`, admin).want(200).into(&rotated)
	if rotated.ID != "cred_1" || rotated.Hint != "…wxyz" {
		t.Errorf("%+v", rotated)
	}
	s.call("DELETE", "/providers/house", "", admin).want(http.StatusNoContent)
	s.call("DELETE", "/providers/house", "", admin).rejected(http.StatusNotFound, "NOT_FOUND")
	actions := []string{}
	for _, e := range s.fake.events {
		actions = append(actions, e.Action+" "+e.Object)
	}
	want := []string{"provider.create house", "provider.update house", "provider.update house", "credential.rotate acme/cred_1", "provider.delete house"}
	if diff := cmp.Diff(want, actions); diff != "" {
		t.Error(diff)
	}
}

func TestProvidersOfTheConfigurationAreReadOnly(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	admin := as("acc_admin")
	for _, call := range [][3]string{
		{"POST", "/providers", `{"vendor":"acme","name":"acme","key":"` + houseKey + `"}`},
		{"PATCH", "/providers/acme", `{"base_url":"https://other.example/v1"}`},
		{"DELETE", "/providers/acme", ""},
	} {
		got := s.call(call[0], call[1], call[2], admin).rejected(http.StatusConflict, "CONFLICT")
		if !strings.Contains(got.Error, "managed in the configuration file") {
			t.Errorf("%s %s: %s", call[0], call[1], got.Error)
		}
	}
	fixed := s.call("POST", "/providers/acme/credentials/acme%231/rotate", `{"secret":"`+houseKey+`"}`, admin).rejected(http.StatusConflict, "CONFLICT")
	if !strings.Contains(fixed.Error, "env ACME_API_KEY") {
		t.Error(fixed.Error)
	}
	s.call("POST", "/providers/acme/credentials/cred_9/rotate", `{"secret":"`+houseKey+`"}`, admin).rejected(http.StatusNotFound, "NOT_FOUND")
	failed := s.call("POST", "/providers", `{"vendor":"custom","name":"house","key":"wrong","test":true}`, admin).rejected(http.StatusBadRequest, "INVALID_REQUEST")
	if failed.Error != "House rejected the key (status 401)." {
		t.Error(failed.Error)
	}
	if len(s.fake.events) != 0 {
		t.Errorf("rejected changes are in the audit log: %+v", s.fake.events)
	}
	none := newSite(t, func(p *Parts) { p.Providers.Connector = nil })
	none.call("POST", "/providers", `{"vendor":"acme","key":"`+houseKey+`"}`, admin).rejected(http.StatusConflict, "CONFLICT")
	none.call("DELETE", "/providers/acme", "", admin).rejected(http.StatusConflict, "CONFLICT")
}
