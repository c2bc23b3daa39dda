// Package alerts serves the alert rules, channels and history of a workspace.
package alerts

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/admin/adminapi"
	"fairlead.dev/internal/alert"
)

// Deps are the dependencies of the operations.
type Deps struct{ Alerts *alert.Service }

type handlers struct {
	Deps
	*adminapi.Server
}

// AlertList holds the rules and channels of a workspace.
type AlertList struct {
	Rules    []AlertRule    `json:"rules" doc:"Oldest first."`
	Channels []AlertChannel `json:"channels" doc:"Oldest first."`
	Kinds    []AlertKind    `json:"kinds" doc:"Kinds of rules that the caller may use."`
	Email    bool           `json:"email_available" doc:"Whether the operator has configured a mail server."`
}

// AlertRule is a rule with its last evaluation.
type AlertRule struct {
	ID         string       `json:"id"`
	Name       string       `json:"name"`
	Kind       string       `json:"kind"`
	Threshold  float64      `json:"threshold" doc:"Threshold in the unit of the kind."`
	Unit       string       `json:"unit" enum:"usd,percent,ms,points,days,count"`
	Window     *string      `json:"window" doc:"Time that the metric covers. null for kinds without a window."`
	KeyID      *string      `json:"key_id" doc:"API key that the rule watches. null for all keys."`
	Channels   []string     `json:"channels" doc:"IDs of the channels that are notified."`
	Enabled    bool         `json:"enabled"`
	MutedUntil *time.Time   `json:"muted_until" doc:"Until then, crossings are recorded but not sent. null if not muted."`
	State      string       `json:"state" enum:"ok,firing,unknown,disabled" doc:"unknown: not evaluated yet, or not enough data."`
	Values     []AlertValue `json:"values" doc:"Last known values, one per budget or key for rules on these."`
	CreatedAt  time.Time    `json:"created_at"`
}

// AlertValue is the last known value of a rule.
type AlertValue struct {
	Subject string    `json:"subject" doc:"ID of the key or workspace. Empty for the whole workspace or gateway."`
	Label   string    `json:"label"`
	Value   float64   `json:"value"`
	Text    string    `json:"text" doc:"Value with its unit."`
	Detail  string    `json:"detail"`
	Firing  bool      `json:"firing"`
	Since   time.Time `json:"since" doc:"Last change of firing."`
	SeenAt  time.Time `json:"seen_at" doc:"Time of the value."`
}

// AlertKind describes a rule kind.
type AlertKind struct {
	Kind      string   `json:"kind"`
	Name      string   `json:"name"`
	Unit      string   `json:"unit" enum:"usd,percent,ms,points,days,count"`
	Below     bool     `json:"below" doc:"Whether the rule fires below the threshold. Otherwise it fires at or above it."`
	Min       float64  `json:"min"`
	Max       float64  `json:"max"`
	Threshold float64  `json:"threshold" doc:"Default threshold."`
	Windows   []string `json:"windows" doc:"Accepted windows, the default first. Empty if the kind has none."`
	PerKey    bool     `json:"per_key" doc:"Whether a rule can be limited to one API key."`
	Instance  bool     `json:"instance" doc:"Whether the metric belongs to the gateway. Only operators may use it."`
}

// AlertChannel is a destination of notifications.
type AlertChannel struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	Type      string    `json:"type" enum:"webhook,slack,email"`
	Target    string    `json:"target" doc:"URL, host or e-mail addresses. Only the host of a URL is shown without the permission manage_alerts, and for Slack."`
	CreatedAt time.Time `json:"created_at"`
}

// NewAlertChannel is a channel with its signing key.
type NewAlertChannel struct {
	AlertChannel
	SigningKey *string `json:"signing_key" doc:"Key of the signatures of a webhook. Returned only once. null for other channels."`
}

// AlertEvent is an alert that fired or recovered, or a test of a channel.
type AlertEvent struct {
	ID         string          `json:"id"`
	Type       string          `json:"type" enum:"firing,recovered,test"`
	At         time.Time       `json:"at"`
	Since      *time.Time      `json:"since" doc:"When the recovered alert fired. null for other events."`
	RuleID     *string         `json:"rule_id" doc:"null for a test."`
	RuleName   string          `json:"rule_name"`
	Kind       *string         `json:"kind"`
	Threshold  float64         `json:"threshold"`
	Value      float64         `json:"value"`
	Subject    string          `json:"subject"`
	Label      string          `json:"label"`
	Text       string          `json:"text" doc:"Description of the event."`
	Muted      bool            `json:"muted" doc:"Whether the event was not sent, because the rule was muted or has no channel."`
	Deliveries []AlertDelivery `json:"deliveries"`
}

// AlertDelivery is the notification of an event through one channel.
type AlertDelivery struct {
	ChannelID string     `json:"channel_id"`
	Channel   string     `json:"channel_name"`
	State     string     `json:"state" enum:"pending,delivered,failed"`
	Attempts  int        `json:"attempts"`
	NextAt    *time.Time `json:"next_at" doc:"Next attempt. null if delivered or failed."`
	Error     *string    `json:"error" doc:"Error of the last attempt. null if delivered."`
	UpdatedAt time.Time  `json:"updated_at"`
}

// AlertHistory is one page of events.
type AlertHistory struct {
	Events []AlertEvent `json:"events" doc:"Newest first."`
	Before *string      `json:"before" doc:"Cursor of the next page. null on the last page."`
}

// Mount registers the operations.
func Mount(s *adminapi.Server, d Deps) {
	a := &handlers{Deps: d, Server: s}
	tags := []string{"alerts"}
	adminapi.Register(s, account.ReadWorkspace, huma.Operation{
		OperationID: "list-alerts", Method: http.MethodGet, Path: "/alerts", Tags: tags, Summary: "List alert rules with their state, and channels",
	}, a.list)
	adminapi.Register(s, account.ReadWorkspace, huma.Operation{
		OperationID: "list-alert-history", Method: http.MethodGet, Path: "/alerts/history", Tags: tags,
		Summary: "List crossings and tests with their deliveries, newest first", Description: "Events are kept for 90 days.",
	}, a.history)
	adminapi.Register(s, account.ManageAlerts, huma.Operation{
		OperationID: "create-alert-rule", Method: http.MethodPost, Path: "/alerts/rules", Tags: tags, DefaultStatus: http.StatusCreated,
		Summary: "Add an alert rule", Description: "Omitted settings have the defaults of the kind. A workspace can have 50 rules. Rules are evaluated every 30 seconds.",
	}, a.createRule)
	adminapi.Register(s, account.ReadWorkspace, huma.Operation{
		OperationID: "get-alert-rule", Method: http.MethodGet, Path: "/alerts/rules/{id}", Tags: tags, Summary: "Get an alert rule",
	}, func(ctx context.Context, c *adminapi.Call, in *path) (*adminapi.Output[AlertRule], error) {
		r, err := a.Alerts.Rule(ctx, c.WorkspaceID, in.ID)
		if err != nil {
			return nil, err
		}
		return a.respondRule(ctx, c, &r)
	})
	adminapi.Register(s, account.ManageAlerts, huma.Operation{
		OperationID: "update-alert-rule", Method: http.MethodPatch, Path: "/alerts/rules/{id}", Tags: tags, Summary: "Change, mute or disable an alert rule",
		Description: "Disabling a rule ends its firing alerts without a notification.",
	}, func(ctx context.Context, c *adminapi.Call, in *updateAlertRuleInput) (*adminapi.Output[AlertRule], error) {
		b := &in.Body
		before, after, err := a.Alerts.ChangeRule(ctx, c.Actor, in.ID, alert.RuleDraft{
			Name: b.Name, Threshold: b.Threshold, Window: (*alert.Window)(b.Window), KeyID: b.KeyID.OrZero(), Channels: b.Channels, Enabled: b.Enabled, MutedUntil: b.MutedUntil.OrZero(),
		})
		if err != nil {
			return nil, err
		}
		if err := a.Record(ctx, c.Actor, "alert_rule.update", in.ID, NoteRule(&before), NoteRule(&after)); err != nil {
			return nil, err
		}
		return a.respondRule(ctx, c, &after)
	})
	adminapi.Register(s, account.ManageAlerts, huma.Operation{
		OperationID: "delete-alert-rule", Method: http.MethodDelete, Path: "/alerts/rules/{id}", Tags: tags, Summary: "Delete an alert rule",
	}, func(ctx context.Context, c *adminapi.Call, in *path) (*adminapi.NoContent, error) {
		r, err := a.Alerts.RemoveRule(ctx, c.Actor, in.ID)
		if err != nil {
			return nil, err
		}
		return nil, a.Record(ctx, c.Actor, "alert_rule.delete", in.ID, NoteRule(&r), nil)
	})
	a.mountChannels(tags)
}

func (a *handlers) mountChannels(tags []string) {
	adminapi.Register(a.Server, account.ManageAlerts, huma.Operation{
		OperationID: "create-alert-channel", Method: http.MethodPost, Path: "/alerts/channels", Tags: tags, DefaultStatus: http.StatusCreated,
		Summary: "Add a channel", Description: "The destination is stored encrypted. A workspace can have 20 channels.",
	}, func(ctx context.Context, c *adminapi.Call, in *createAlertChannelInput) (*adminapi.Output[NewAlertChannel], error) {
		b := &in.Body
		made, key, err := a.Alerts.AddChannel(ctx, c.Actor, alert.ChannelDraft{Name: b.Name, Type: alert.ChannelType(b.Type), URL: b.URL, To: b.To})
		if err != nil {
			return nil, err
		}
		if err := a.Record(ctx, c.Actor, "alert_channel.create", made.ID, nil, NoteChannel(&made)); err != nil {
			return nil, err
		}
		return adminapi.Respond(NewAlertChannel{channelView(&made, c.Actor), adminapi.NonEmpty(key)}), nil
	})
	adminapi.Register(a.Server, account.ManageAlerts, huma.Operation{
		OperationID: "update-alert-channel", Method: http.MethodPatch, Path: "/alerts/channels/{id}", Tags: tags, Summary: "Change the name or the destination of a channel",
	}, func(ctx context.Context, c *adminapi.Call, in *updateAlertChannelInput) (*adminapi.Output[AlertChannel], error) {
		b := &in.Body
		before, after, err := a.Alerts.ChangeChannel(ctx, c.Actor, in.ID, alert.ChannelDraft{Name: b.Name, URL: b.URL, To: b.To})
		if err != nil {
			return nil, err
		}
		if err := a.Record(ctx, c.Actor, "alert_channel.update", in.ID, NoteChannel(&before), NoteChannel(&after)); err != nil {
			return nil, err
		}
		return adminapi.Respond(channelView(&after, c.Actor)), nil
	})
	adminapi.Register(a.Server, account.ManageAlerts, huma.Operation{
		OperationID: "delete-alert-channel", Method: http.MethodDelete, Path: "/alerts/channels/{id}", Tags: tags,
		Summary: "Delete a channel", Description: "A channel that a rule uses cannot be deleted.",
	}, func(ctx context.Context, c *adminapi.Call, in *path) (*adminapi.NoContent, error) {
		removed, err := a.Alerts.RemoveChannel(ctx, c.Actor, in.ID)
		if err != nil {
			return nil, err
		}
		return nil, a.Record(ctx, c.Actor, "alert_channel.delete", in.ID, NoteChannel(&removed), nil)
	})
	adminapi.Register(a.Server, account.ManageAlerts, huma.Operation{
		OperationID: "test-alert-channel", Method: http.MethodPost, Path: "/alerts/channels/{id}/test", Tags: tags,
		Summary: "Send a test notification", Description: "Makes one attempt and returns its result, which is also part of the history. A workspace can send 6 tests in a minute.",
	}, func(ctx context.Context, c *adminapi.Call, in *path) (*adminapi.Output[AlertDelivery], error) {
		d, err := a.Alerts.Test(ctx, c.Actor, in.ID)
		if err != nil {
			return nil, err
		}
		if err := a.Record(ctx, c.Actor, "alert_channel.test", in.ID, nil, map[string]string{"state": string(d.State)}); err != nil {
			return nil, err
		}
		return adminapi.Respond(deliveryView(&d)), nil
	})
}

func (a *handlers) list(ctx context.Context, c *adminapi.Call, _ *struct{}) (*adminapi.Output[AlertList], error) {
	rules, err := a.Alerts.Rules.Rules(ctx, c.WorkspaceID)
	if err != nil {
		return nil, err
	}
	states, err := a.Alerts.History.WorkspaceStates(ctx, c.WorkspaceID)
	if err != nil {
		return nil, err
	}
	channels, err := a.Alerts.Channels.Channels(ctx, c.WorkspaceID)
	if err != nil {
		return nil, err
	}
	list := AlertList{Rules: []AlertRule{}, Channels: []AlertChannel{}, Kinds: []AlertKind{}, Email: a.Alerts.Sender.Mail().Server != ""}
	for i := range rules {
		list.Rules = append(list.Rules, RuleView(&rules[i], states, a.Now()))
	}
	for i := range channels {
		list.Channels = append(list.Channels, channelView(&channels[i], c.Actor))
	}
	for _, k := range alert.Kinds() {
		if k.Instance && !c.Actor.May(account.ManageProviders) {
			continue
		}
		kind := AlertKind{
			Kind: string(k.Kind), Name: k.Name, Unit: string(k.Unit), Below: k.Below, Min: k.Min, Max: k.Max, Threshold: k.Usual, Windows: []string{},
			PerKey: k.PerKey, Instance: k.Instance,
		}
		for _, w := range k.Windows {
			kind.Windows = append(kind.Windows, string(w))
		}
		list.Kinds = append(list.Kinds, kind)
	}
	return adminapi.Respond(list), nil
}

// RuleView returns the API representation of a rule.
func RuleView(r *alert.Rule, states []alert.State, now time.Time) AlertRule {
	info, _ := alert.Info(r.Kind)
	v := AlertRule{
		ID: r.ID, Name: r.Name, Kind: string(r.Kind), Threshold: r.Threshold, Unit: string(info.Unit), Window: adminapi.NonEmpty(string(r.Window)),
		KeyID: adminapi.NonEmpty(r.KeyID), Channels: append([]string{}, r.Channels...), Enabled: r.Enabled, State: "unknown", Values: []AlertValue{}, CreatedAt: r.CreatedAt,
	}
	if r.Muted(now) {
		v.MutedUntil = adminapi.Time(r.MutedUntil)
	}
	for i := range states {
		s := &states[i]
		if s.RuleID != r.ID {
			continue
		}
		v.Values = append(v.Values, AlertValue{
			Subject: s.Subject, Label: s.Label, Value: s.Value, Text: alert.Format(info.Unit, s.Value), Detail: s.Detail, Firing: s.Firing, Since: s.Since, SeenAt: s.SeenAt,
		})
		if s.Firing {
			v.State = "firing"
		} else if v.State == "unknown" {
			v.State = "ok"
		}
	}
	if !r.Enabled {
		v.State = "disabled"
	}
	return v
}

// channelView returns the API representation of a channel. The path of a webhook URL may be a credential, so it is visible only
// to callers with the permission to manage alerts.
func channelView(c *alert.Channel, by account.Actor) AlertChannel {
	v := AlertChannel{ID: c.ID, Name: c.Name, Type: string(c.Type), Target: c.Target, CreatedAt: c.CreatedAt}
	if c.Type == alert.Webhook && !by.May(account.ManageAlerts) {
		v.Target = "…"
		if u, err := url.Parse(c.Target); err == nil {
			v.Target = u.Scheme + "://" + u.Host + "/…"
		}
	}
	return v
}

// EventView returns the API representation of an event.
func EventView(e *alert.Event) AlertEvent {
	v := AlertEvent{
		ID: e.ID, Type: string(e.Type), At: e.At, Since: adminapi.Time(e.Since), RuleID: adminapi.NonEmpty(e.RuleID), RuleName: e.RuleName, Kind: adminapi.NonEmpty(string(e.Kind)),
		Threshold: e.Threshold, Value: e.Value, Subject: e.Subject, Label: e.Label, Text: e.Sentence(), Muted: e.Muted, Deliveries: []AlertDelivery{},
	}
	for i := range e.Deliveries {
		v.Deliveries = append(v.Deliveries, deliveryView(&e.Deliveries[i]))
	}
	return v
}

func deliveryView(d *alert.Delivery) AlertDelivery {
	v := AlertDelivery{ChannelID: d.ChannelID, Channel: d.ChannelName, State: string(d.State), Attempts: d.Attempts, Error: adminapi.NonEmpty(d.Error), UpdatedAt: d.UpdatedAt}
	if d.State == alert.Pending {
		v.NextAt = adminapi.Time(d.NextAt)
	}
	return v
}

type historyInput struct {
	Rule   string `query:"rule" maxLength:"64" doc:"Rule ID. Lists the events of one rule."`
	Before string `query:"before" maxLength:"64" doc:"Event ID. Lists older events."`
	Limit  int    `query:"limit" minimum:"1" maximum:"200" default:"50"`
}

func (a *handlers) history(ctx context.Context, c *adminapi.Call, in *historyInput) (*adminapi.Output[AlertHistory], error) {
	events, err := a.Alerts.History.Events(ctx, c.WorkspaceID, in.Rule, in.Before, in.Limit)
	if err != nil {
		return nil, err
	}
	page := AlertHistory{Events: make([]AlertEvent, 0, len(events))}
	for i := range events {
		page.Events = append(page.Events, EventView(&events[i]))
	}
	if len(events) == in.Limit {
		page.Before = new(events[len(events)-1].ID)
	}
	return adminapi.Respond(page), nil
}
