package admin

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/admin/keys"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/requestlog"
)

func TestKeysAreListedWithSpendingInOneCall(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.log.groups["key"] = []requestlog.Group{{Name: "key_read", Figures: requestlog.Figures{Spending: requestlog.Spending{Cost: 12 * money.Dollar}}}}
	s.fake.keys[home][1].Budget = &account.Budget{Amount: 10 * money.Dollar, Period: account.Monthly}
	s.fake.keys[home][0].RevokedAt = noon
	s.fake.keys[home][2].ExpiresAt = noon
	var got keys.KeyList
	s.call("GET", "/keys", "", as("acc_viewer")).want(200).into(&got)
	states := []string{}
	for _, k := range got.Keys {
		states = append(states, k.ID+" "+k.State)
	}
	if diff := cmp.Diff([]string{"key_inference revoked", "key_read active", "key_manage expired"}, states); diff != "" {
		t.Error(diff)
	}
	k := got.Keys[1]
	if k.Spend30d != 12*money.Dollar || k.BudgetUse.Spent != 9*money.Dollar || *k.BudgetUse.Percent != 90 || !k.BudgetUse.ResetsAt.Equal(noon.Add(time.Hour)) {
		t.Errorf("%+v %+v", k, k.BudgetUse)
	}
	if len(s.log.queries) != 1 {
		t.Errorf("one list took %d log queries, want 1", len(s.log.queries))
	}
}

func TestNewKeyIsShownOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var made keys.NewKey
	body := `{"name":"ci","scopes":["inference","read"],"allowed_models":["gpt*"],"limits":{"requests_per_minute":60},
		"budget":{"amount_usd":"50","period":"month","warn_percent":80},"tags":{"team":"a"},"expires_at":"2027-01-01T00:00:00Z","log_bodies":false}`
	s.call("POST", "/keys", body, as("acc_developer")).want(http.StatusCreated).into(&made)
	if made.Secret == "" {
		t.Fatal("the response has no secret")
	}
	want := account.KeySettings{
		Name: "ci", Scopes: []account.Scope{account.Inference, account.Read}, AllowedModels: []string{"gpt*"},
		Limits: account.Limits{RequestsPerMinute: 60}, Budget: &account.Budget{Amount: 50 * money.Dollar, Period: account.Monthly, WarnPercent: 80},
		Tags: map[string]string{"team": "a"}, ExpiresAt: time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC), LogBodies: new(bool),
	}
	if diff := cmp.Diff(want, s.fake.keyDraft); diff != "" {
		t.Error(diff)
	}
	for _, path := range []string{"/keys", "/keys/" + made.ID} {
		if got := s.call("GET", path, "", as("acc_owner")).want(200); strings.Contains(got.Body.String(), made.Secret) {
			t.Errorf("%s shows the secret again", path)
		}
	}
}

// In package account, the zero time means that a key never expires. If a client sends the zero time, it is a time in the past.
func TestZeroExpiryIsRejected(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for method, path := range map[string]string{"POST": "/keys", "PATCH": "/keys/key_read"} {
		got := s.call(method, path, `{"name":"x","expires_at":"0001-01-01T00:00:00Z"}`, as("acc_owner"))
		if e := got.rejected(http.StatusBadRequest, "INVALID_REQUEST"); e.Details.Param != "expires_at" {
			t.Errorf("%s: got %+v, want an error for expires_at", method, e.Details)
		}
	}
}

func TestKeyUpdateDistinguishesNullFromAbsent(t *testing.T) {
	t.Parallel()
	var none *account.Budget
	var inherit *bool
	cases := map[string]account.KeyChange{
		`{}`:                      {},
		`{"name":"x"}`:            {Name: new("x")},
		`{"budget":null}`:         {Budget: &none},
		`{"log_bodies":null}`:     {LogBodies: &inherit},
		`{"log_bodies":true}`:     {LogBodies: new(new(true))},
		`{"expires_at":null}`:     {ExpiresAt: &time.Time{}},
		`{"baseline_model":null}`: {Baseline: new("")},
		`{"allowed_models":[]}`:   {AllowedModels: &[]string{}},
		`{"scopes":["manage"]}`:   {Scopes: &[]account.Scope{account.Manage}},
		`{"budget":{"amount_usd":"0.5","period":"day"}}`: {Budget: new(&account.Budget{Amount: money.Dollar / 2, Period: account.Daily})},
		`{"limits":{"concurrent":3}}`:                    {Limits: &account.Limits{Concurrent: 3}},
	}
	s := newSite(t)
	for body, want := range cases {
		s.call("PATCH", "/keys/key_read", body, as("acc_owner")).want(200)
		if diff := cmp.Diff(want, s.fake.keyChange); diff != "" {
			t.Errorf("%s: %s", body, diff)
		}
	}
	bad := s.call("PATCH", "/keys/key_read", `{"budget":{"amount_usd":"1","period":"year","spent_usd":"0"}}`, as("acc_owner"))
	if got := bad.rejected(http.StatusBadRequest, "INVALID_REQUEST"); len(got.Details.Problems) != 2 {
		t.Errorf("%+v", got.Details.Problems)
	}
}

func TestExpiredSecretsAreNotListed(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	k := &s.fake.keys[home][1]
	k.Secrets = []account.Secret{
		{Start: "fl_over", ExpiresAt: noon}, {Start: "fl_last", ExpiresAt: noon.Add(time.Hour), AfterUse: time.Minute}, {Start: "fl_now"},
	}
	var got keys.KeyView
	s.call("GET", "/keys/key_read", "", as("acc_owner")).want(200).into(&got)
	if len(got.Secrets) != 2 || got.Secrets[0].Start != "fl_last" || *got.Secrets[0].GraceAfterUseMS != 60_000 {
		t.Errorf("%+v", got.Secrets)
	}
}
