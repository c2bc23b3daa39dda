// Package alert notifies people when a figure of a workspace crosses a threshold. Figures are spending, errors, latency, missing
// requests, open circuits, expiring keys, savings and measured quality. The package evaluates rules, records crossings, and delivers
// one notification per crossing and channel.
package alert

import (
	"slices"
	"time"

	"fairlead.dev/internal/llm"
)

// Kind identifies the figure that a rule watches.
type Kind string

// Kinds of rules.
const (
	Spend        Kind = "spend"         // cost in the window
	Budget       Kind = "budget"        // used share of a budget
	Forecast     Kind = "forecast"      // share of a budget expected to be used by the end of its period
	ErrorRate    Kind = "error_rate"    // share of requests that failed
	LatencyP95   Kind = "latency_p95"   // 95th percentile of the latency
	FallbackRate Kind = "fallback_rate" // share of requests that a fallback served
	Requests     Kind = "requests"      // number of requests in the window
	Savings      Kind = "savings"       // saved share of the baseline cost
	Quality      Kind = "quality"       // upper bound of the measured quality difference
	QualityRisk  Kind = "quality_risk"  // lower bound of the measured quality difference
	KeyExpiry    Kind = "key_expiry"    // time until a key expires
	OpenCircuits Kind = "open_circuits" // largest number of targets with an open circuit on one replica
	SpoolSize    Kind = "spool"         // largest used share of the queue in front of the database on one replica
)

// Unit is the unit of a threshold and the measured values.
type Unit string

// Units.
const (
	Dollars      Unit = "usd"
	Percent      Unit = "percent"
	Milliseconds Unit = "ms"
	Points       Unit = "points" // percentage points of the quality difference
	Days         Unit = "days"
	Count        Unit = "count"
)

// Window is the time that a figure covers: a duration, or a calendar period in UTC.
type Window string

// KindInfo describes a kind of rule.
type KindInfo struct {
	Kind     Kind
	Name     string // display name, capitalised to begin a sentence
	Unit     Unit
	Below    bool // whether the rule fires below the threshold; otherwise, it fires at or above the threshold
	Min, Max float64
	Usual    float64  // suggested threshold
	Windows  []Window // accepted windows, the suggested one first; empty if the kind has none
	PerKey   bool     // whether a rule may be limited to one API key
	Instance bool     // whether the figure describes the whole gateway; only operators may use such rules
}

// Kinds lists the kinds of rules in the order in which they are offered.
func Kinds() []KindInfo {
	missing := []Window{"15m", "5m", "1h", "6h", "24h", "7d"}
	traffic := []Window{"15m", "5m", "1h", "6h", "24h", "7d", "30d"}
	spending := []Window{"24h", "1h", "6h", "7d", "30d", "day", "week", "month"}
	slow := []Window{"7d", "24h", "30d"}
	measured := []Window{"30d", "7d"}
	return []KindInfo{
		{Kind: Spend, Name: "Spend", Unit: Dollars, Min: 0.000001, Max: 1e9, Usual: 100, Windows: spending, PerKey: true},
		{Kind: Budget, Name: "Budget used", Unit: Percent, Min: 1, Max: 1000, Usual: 80, PerKey: true},
		{Kind: Forecast, Name: "Budget forecast", Unit: Percent, Min: 1, Max: 1000, Usual: 100, PerKey: true},
		{Kind: ErrorRate, Name: "Error rate", Unit: Percent, Min: 0.01, Max: 100, Usual: 5, Windows: traffic, PerKey: true},
		{Kind: LatencyP95, Name: "Latency p95", Unit: Milliseconds, Min: 1, Max: 3_600_000, Usual: 10_000, Windows: traffic, PerKey: true},
		{Kind: FallbackRate, Name: "Fallback rate", Unit: Percent, Min: 0.01, Max: 100, Usual: 10, Windows: traffic, PerKey: true},
		{Kind: Requests, Name: "Requests", Unit: Count, Below: true, Min: 1, Max: 1e9, Usual: 1, Windows: missing, PerKey: true},
		{Kind: KeyExpiry, Name: "Key expiry", Unit: Days, Below: true, Min: 0.1, Max: 365, Usual: 7, PerKey: true},
		{Kind: Savings, Name: "Savings", Unit: Percent, Below: true, Min: -1000, Max: 100, Usual: 10, Windows: slow, PerKey: true},
		{Kind: Quality, Name: "Quality difference", Unit: Points, Below: true, Min: -100, Max: 100, Usual: -2, Windows: measured},
		{Kind: QualityRisk, Name: "Lower bound of the quality difference", Unit: Points, Below: true, Min: -100, Max: 100, Usual: -5, Windows: measured},
		{Kind: OpenCircuits, Name: "Open circuits", Unit: Count, Min: 1, Max: 10_000, Usual: 1, Instance: true},
		{Kind: SpoolSize, Name: "Queue size", Unit: Percent, Min: 1, Max: 100, Usual: 50, Instance: true},
	}
}

// Info returns the description of a kind. It reports false for an unknown kind.
func Info(k Kind) (KindInfo, bool) {
	all := Kinds()
	i := slices.IndexFunc(all, func(info KindInfo) bool { return info.Kind == k })
	if i < 0 {
		return KindInfo{}, false
	}
	return all[i], true
}

// Start returns the start of the window that ends at now.
func (w Window) Start(now time.Time) time.Time {
	now = now.UTC()
	day := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, time.UTC)
	switch w {
	case "day":
		return day
	case "week":
		return day.AddDate(0, 0, -(int(day.Weekday())+6)%7)
	case "month":
		return day.AddDate(0, 0, 1-day.Day())
	}
	return now.Add(-w.Duration())
}

// Duration returns the length of the window. For a calendar month it returns 30 days.
func (w Window) Duration() time.Duration {
	switch w {
	case "5m":
		return 5 * time.Minute
	case "15m":
		return 15 * time.Minute
	case "1h":
		return time.Hour
	case "6h":
		return 6 * time.Hour
	case "24h", "day":
		return 24 * time.Hour
	case "7d", "week":
		return 7 * 24 * time.Hour
	case "30d", "month":
		return 30 * 24 * time.Hour
	}
	return 0
}

// Rule compares a figure of a workspace with a threshold.
type Rule struct {
	ID          string
	WorkspaceID string
	Name        string
	Kind        Kind
	Threshold   float64 // threshold in the kind's unit
	Window      Window  // time window; empty for kinds without one
	KeyID       string  // API key that the rule is limited to; empty for all keys
	Channels    []string
	Enabled     bool
	MutedUntil  time.Time // time until which crossings are recorded but not sent
	CreatedBy   string    // account ID; empty for the command line
	CreatedAt   time.Time
}

// Muted reports whether notifications of the rule are suppressed.
func (r *Rule) Muted(now time.Time) bool { return r.MutedUntil.After(now) }

// ChannelType is the way in which a channel delivers notifications.
type ChannelType string

// Types of channels.
const (
	Webhook ChannelType = "webhook" // signed JSON sent over HTTP
	Slack   ChannelType = "slack"   // incoming webhook of Slack, Mattermost or another compatible service
	Email   ChannelType = "email"   // message sent over SMTP
)

// Channel is a destination of notifications.
type Channel struct {
	ID          string
	WorkspaceID string
	Name        string
	Type        ChannelType
	Target      string // destination for display: URL, host or e-mail addresses. The path of a Slack URL is secret and omitted.
	Sealed      []byte // encrypted Secrets
	CreatedBy   string
	CreatedAt   time.Time
}

// Secrets are the parts of a channel that are stored encrypted.
type Secrets struct {
	URL string   `json:"url,omitempty"`
	Key string   `json:"key,omitempty"` // signing key of a webhook, whsec_…
	To  []string `json:"to,omitempty"`  // e-mail addresses
}

// EventType distinguishes fired alerts, recoveries and tests.
type EventType string

// Types of events.
const (
	Firing    EventType = "firing"
	Recovered EventType = "recovered"
	Test      EventType = "test"
)

// Event is a crossing of a threshold, or a test of a channel.
type Event struct {
	ID          string
	WorkspaceID string
	Type        EventType
	EventRule
	Subject    string // ID of the key, or of the workspace for its own budget; empty for other figures of the workspace or gateway
	Label      string // display name of the subject
	Value      float64
	Detail     string
	At         time.Time
	Since      time.Time // time at which the alert fired; set only for a recovery
	Muted      bool
	Deliveries []Delivery
}

// EventRule is a copy of the rule, taken when the event occurred.
type EventRule struct {
	RuleID    string // rule ID; empty for a test
	RuleName  string
	Kind      Kind
	Threshold float64
	Window    Window
}

// DeliveryState describes how far a delivery has progressed.
type DeliveryState string

// States of a delivery.
const (
	Pending   DeliveryState = "pending"
	Delivered DeliveryState = "delivered"
	Failed    DeliveryState = "failed"
)

// Delivery tracks the notification of an event through one channel.
type Delivery struct {
	ID          string
	EventID     string
	WorkspaceID string
	ChannelID   string
	ChannelName string
	State       DeliveryState
	Attempts    int
	NextAt      time.Time // time of the next attempt while the delivery is pending
	Error       string    // error of the last attempt
	UpdatedAt   time.Time
}

// State holds the result of the last evaluation of a rule for one subject.
type State struct {
	RuleID   string
	Subject  string
	Label    string
	Firing   bool
	Since    time.Time // time of the last change of Firing
	Value    float64
	Detail   string
	SeenAt   time.Time // time at which Value was measured
	EventID  string    // ID of the event that was recorded when the alert fired; empty if it is not firing
	Notified bool      // whether the event was sent
	Revision int64     // incremented with every change; 0 if not stored yet
}

// invalid returns the error for a field of a rule or channel.
func invalid(param, message string) error {
	return &llm.Error{Kind: llm.InvalidRequest, Param: param, Message: message}
}
