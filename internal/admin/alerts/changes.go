package alerts

import (
	"context"
	"time"

	"fairlead.dev/internal/admin/adminapi"
	"fairlead.dev/internal/alert"
)

type createAlertRuleInput struct {
	Body struct {
		Name      string    `json:"name,omitempty" maxLength:"100" doc:"Defaults to the name of the kind."`
		Kind      string    `json:"kind" enum:"spend,budget,forecast,error_rate,latency_p95,fallback_rate,requests,savings,quality,quality_risk,key_expiry,open_circuits,spool"`
		Threshold *float64  `json:"threshold,omitempty" doc:"Threshold in the unit of the kind: US dollars, percent, milliseconds, points, days or a number."`
		Window    *string   `json:"window,omitempty" maxLength:"8" doc:"Time that the metric covers, such as 15m or 24h, or day, week or month for spend."`
		KeyID     *string   `json:"key_id,omitempty" maxLength:"64" doc:"Limits the rule to one API key."`
		Channels  *[]string `json:"channels,omitempty" maxItems:"20" doc:"IDs of the channels to notify."`
		Enabled   *bool     `json:"enabled,omitempty"`
	}
}

type updateAlertRuleInput struct {
	ID   string `path:"id" maxLength:"64"`
	Body struct {
		Name       *string                   `json:"name,omitempty" maxLength:"100"`
		Threshold  *float64                  `json:"threshold,omitempty"`
		Window     *string                   `json:"window,omitempty" maxLength:"8"`
		KeyID      adminapi.Field[string]    `json:"key_id,omitzero" doc:"null for all keys."`
		Channels   *[]string                 `json:"channels,omitempty" maxItems:"20"`
		Enabled    *bool                     `json:"enabled,omitempty"`
		MutedUntil adminapi.Field[time.Time] `json:"muted_until,omitzero" doc:"null ends the mute."`
	}
}

// path holds the ID of a rule or a channel from the URL path.
type path struct {
	ID string `path:"id" maxLength:"64"`
}

// ruleNote is the representation of a rule in the audit log.
type ruleNote struct {
	Name       string     `json:"name"`
	Kind       alert.Kind `json:"kind"`
	Threshold  float64    `json:"threshold"`
	Window     string     `json:"window,omitempty"`
	KeyID      string     `json:"key_id,omitempty"`
	Channels   []string   `json:"channels"`
	Enabled    bool       `json:"enabled"`
	MutedUntil *time.Time `json:"muted_until,omitempty"`
}

// NoteRule returns the representation of a rule in the audit log.
func NoteRule(r *alert.Rule) any {
	return ruleNote{
		Name: r.Name, Kind: r.Kind, Threshold: r.Threshold, Window: string(r.Window), KeyID: r.KeyID, Channels: append([]string{}, r.Channels...), Enabled: r.Enabled,
		MutedUntil: adminapi.Time(r.MutedUntil),
	}
}

// channelNote is the representation of a channel in the audit log. The address may be a credential and is omitted.
type channelNote struct {
	Name string            `json:"name"`
	Type alert.ChannelType `json:"type"`
}

// NoteChannel returns the representation of a channel in the audit log.
func NoteChannel(c *alert.Channel) any { return channelNote{c.Name, c.Type} }

func (a *handlers) createRule(ctx context.Context, c *adminapi.Call, in *createAlertRuleInput) (*adminapi.Output[AlertRule], error) {
	b := &in.Body
	kind := alert.Kind(b.Kind)
	draft := alert.RuleDraft{Name: &b.Name, Kind: &kind, Threshold: b.Threshold, Window: (*alert.Window)(b.Window), KeyID: b.KeyID, Channels: b.Channels, Enabled: b.Enabled}
	r, err := a.Alerts.AddRule(ctx, c.Actor, draft)
	if err != nil {
		return nil, err
	}
	if err := a.Record(ctx, c.Actor, "alert_rule.create", r.ID, nil, NoteRule(&r)); err != nil {
		return nil, err
	}
	return adminapi.Respond(RuleView(&r, nil, a.Now())), nil
}

func (a *handlers) respondRule(ctx context.Context, c *adminapi.Call, r *alert.Rule) (*adminapi.Output[AlertRule], error) {
	states, err := a.Alerts.History.WorkspaceStates(ctx, c.WorkspaceID)
	if err != nil {
		return nil, err
	}
	return adminapi.Respond(RuleView(r, states, a.Now())), nil
}

type createAlertChannelInput struct {
	Body struct {
		Name string   `json:"name" minLength:"1" maxLength:"100"`
		Type string   `json:"type" enum:"webhook,slack,email"`
		URL  string   `json:"url,omitempty" maxLength:"2000" writeOnly:"true" doc:"https URL of a webhook or a Slack-compatible incoming webhook."`
		To   []string `json:"to,omitempty" maxItems:"10" doc:"Recipients of an e-mail channel."`
	}
}

type updateAlertChannelInput struct {
	ID   string `path:"id" maxLength:"64"`
	Body struct {
		Name string   `json:"name,omitempty" maxLength:"100"`
		URL  string   `json:"url,omitempty" maxLength:"2000" writeOnly:"true"`
		To   []string `json:"to,omitempty" maxItems:"10"`
	}
}
