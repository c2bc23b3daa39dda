package admin

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead.dev/internal/admin/alerts"
	"fairlead.dev/internal/admin/overview"
	"fairlead.dev/internal/alert"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/vault"
)

// fakeAlerts stores alerts in memory. It does not encrypt channels. It counts messages in the field sent instead of sending them.
type fakeAlerts struct {
	rules    []alert.Rule
	channels []alert.Channel
	states   []alert.State
	events   []alert.Event
	sent     int
}

func (s *fakeAlerts) service(w *fake) *alert.Service {
	return &alert.Service{
		Rules: s, Channels: s, History: s, Keys: w, Now: func() time.Time { return w.now },
		Sender: &alert.Sender{HTTP: s, Sealer: s, Mail: func() alert.Mail { return alert.Mail{} }, Dashboard: func() string { return "" }},
		CheckURL: func(_ context.Context, address string) error {
			if strings.Contains(address, "10.0.0.1") {
				return &llm.Error{Kind: llm.InvalidRequest, Param: "base_url", Message: "10.0.0.1 cannot be used: it is private."}
			}
			return nil
		},
	}
}

func (s *fakeAlerts) Do(*http.Request) (*http.Response, error) {
	s.sent++
	return &http.Response{StatusCode: http.StatusNoContent, Body: http.NoBody}, nil
}

func (s *fakeAlerts) Seal(_, _, text string) []byte { return []byte(text) }

func (s *fakeAlerts) Open(c vault.Credential) (string, error) { return string(c.Sealed), nil }

func ofWorkspace[T any](all []T, workspace func(T) string, id string) []T {
	return slices.DeleteFunc(slices.Clone(all), func(one T) bool { return workspace(one) != id })
}

func (s *fakeAlerts) Rules(_ context.Context, workspaceID string) ([]alert.Rule, error) {
	return ofWorkspace(s.rules, func(r alert.Rule) string { return r.WorkspaceID }, workspaceID), nil
}

func (s *fakeAlerts) AddRule(_ context.Context, r alert.Rule, _ int) error {
	s.rules = append(s.rules, r)
	return nil
}

func (s *fakeAlerts) ChangeRule(_ context.Context, r alert.Rule, _ bool) error {
	s.rules[slices.IndexFunc(s.rules, func(x alert.Rule) bool { return x.ID == r.ID })] = r
	return nil
}

func (s *fakeAlerts) DeleteRule(_ context.Context, _, ruleID string) error {
	s.rules = slices.DeleteFunc(s.rules, func(r alert.Rule) bool { return r.ID == ruleID })
	return nil
}

func (s *fakeAlerts) Channels(_ context.Context, workspaceID string) ([]alert.Channel, error) {
	return ofWorkspace(s.channels, func(c alert.Channel) string { return c.WorkspaceID }, workspaceID), nil
}

func (s *fakeAlerts) AddChannel(_ context.Context, c alert.Channel, _ int) error {
	s.channels = append(s.channels, c)
	return nil
}

func (s *fakeAlerts) ChangeChannel(_ context.Context, c alert.Channel) error {
	s.channels[slices.IndexFunc(s.channels, func(x alert.Channel) bool { return x.ID == c.ID })] = c
	return nil
}

func (s *fakeAlerts) DeleteChannel(context.Context, string, string) error { return alert.ErrUsed }

func (s *fakeAlerts) Events(context.Context, string, string, string, int) ([]alert.Event, error) {
	return s.events, nil
}

func (s *fakeAlerts) WorkspaceStates(context.Context, string) ([]alert.State, error) {
	return s.states, nil
}

func (s *fakeAlerts) AddEvent(_ context.Context, e *alert.Event) error {
	s.events = append(s.events, *e)
	return nil
}

func TestAlertsAreManaged(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var channel alerts.NewAlertChannel
	s.call("POST", "/alerts/channels", `{"name":"ops","type":"webhook","url":"https://example.com/hooks/canary"}`, as("acc_admin")).want(http.StatusCreated).into(&channel)
	if channel.SigningKey == nil || channel.Target != "https://example.com/hooks/canary" {
		t.Errorf("%+v", channel)
	}
	var rule alerts.AlertRule
	s.call("POST", "/alerts/rules", `{"kind":"error_rate","threshold":2.5,"window":"1h","channels":["`+channel.ID+`"]}`, as("acc_admin")).want(http.StatusCreated).into(&rule)
	if rule.Name != "Error rate" || rule.Unit != "percent" || rule.State != "unknown" || !rule.Enabled {
		t.Errorf("%+v", rule)
	}
	s.alerts.states = []alert.State{{RuleID: rule.ID, Firing: true, Value: 12.5, Since: noon, SeenAt: noon}}
	s.call("GET", "/alerts/rules/"+rule.ID, "", as("acc_viewer")).want(200).into(&rule)
	if rule.State != "firing" || rule.Values[0].Text != "12.5 %" {
		t.Errorf("%+v", rule)
	}
	var all overview.Overview
	s.call("GET", "/overview", "", as("acc_viewer")).want(200).into(&all)
	if all.Attention[0].Kind != "alert_firing" || all.Attention[0].Message != "Error rate: 12.5 %, at or above the threshold of 2.5 % (last 1h)." {
		t.Errorf("the overview begins with %+v", all.Attention[0])
	}
	s.call("PATCH", "/alerts/rules/"+rule.ID, `{"muted_until":"2026-11-15T14:00:00Z"}`, as("acc_admin")).want(200).into(&rule)
	s.call("GET", "/overview", "", as("acc_viewer")).want(200).into(&all)
	if rule.MutedUntil == nil || len(all.Attention) > 0 && all.Attention[0].Kind == "alert_firing" {
		t.Errorf("muted: %+v, %+v", rule, all.Attention)
	}
	var sent alerts.AlertDelivery
	s.call("POST", "/alerts/channels/"+channel.ID+"/test", "", as("acc_admin")).want(200).into(&sent)
	var history alerts.AlertHistory
	s.call("GET", "/alerts/history", "", as("acc_viewer")).want(200).into(&history)
	if sent.State != "delivered" || s.alerts.sent != 1 || len(history.Events) != 1 || history.Events[0].Deliveries[0].Channel != "ops" {
		t.Errorf("%+v, %+v", sent, history)
	}
	s.call("DELETE", "/alerts/channels/"+channel.ID, "", as("acc_admin")).rejected(http.StatusConflict, "CONFLICT")
	s.call("DELETE", "/alerts/rules/"+rule.ID, "", as("acc_admin")).want(http.StatusNoContent)
	var actions []string
	for _, n := range s.fake.noted {
		actions = append(actions, n.Action)
		if strings.Contains(n.Before+n.After, "canary") || strings.Contains(n.Before+n.After, "whsec_") {
			t.Errorf("%s contains a secret: %s %s", n.Action, n.Before, n.After)
		}
	}
	if got, want := strings.Join(actions, " "), "alert_channel.create alert_rule.create alert_rule.update alert_channel.test alert_rule.delete"; got != want {
		t.Errorf("audit log: got %s, want %s", got, want)
	}
}

func TestAlertChannelsOfViewersHideTheirPath(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.call("POST", "/alerts/channels", `{"name":"ops","type":"webhook","url":"https://example.com/hooks/canary"}`, as("acc_admin")).want(http.StatusCreated)
	got := s.call("GET", "/alerts", "", as("acc_viewer")).want(200)
	if text := got.Body.String(); strings.Contains(text, "canary") || strings.Contains(text, "whsec_") || !strings.Contains(text, "https://example.com/…") {
		t.Errorf("%s", text)
	}
	e := s.call("POST", "/alerts/channels", `{"name":"x","type":"webhook","url":"https://10.0.0.1/"}`, as("acc_admin")).rejected(http.StatusBadRequest, "INVALID_REQUEST")
	if e.Details.Problems[0].Param != "url" {
		t.Errorf("%+v", e)
	}
}

func TestOnlyOperatorsUseAlertsOfTheGateway(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.call("POST", "/alerts/rules", `{"kind":"spool"}`, as(stranger)).rejected(http.StatusForbidden, "PERMISSION_DENIED")
	s.call("POST", "/alerts/rules", `{"kind":"spool"}`, as("acc_admin")).want(http.StatusCreated)
	var list alerts.AlertList
	s.call("GET", "/alerts", "", as(stranger)).want(200).into(&list)
	for _, k := range list.Kinds {
		if k.Instance {
			t.Errorf("a workspace other than the operator's is offered the kind %s", k.Kind)
		}
	}
}
