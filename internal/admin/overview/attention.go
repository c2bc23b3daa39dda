package overview

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/admin/adminapi"
	"fairlead.dev/internal/admin/keys"
	"fairlead.dev/internal/admin/providers"
	"fairlead.dev/internal/admin/requests"
	"fairlead.dev/internal/admin/spending"
)

// expiringWithin is the remaining lifetime below which a key needs attention.
const expiringWithin = 7 * 24 * time.Hour

// defaultWarn is the default warning threshold of a budget in percent.
const defaultWarn = 80

// Attention is an item that needs action.
type Attention struct {
	Kind     string `json:"kind" enum:"alert_firing,no_provider,storage_low,entries_rejected,circuit_open,circuit_recovering,credential_backing_off,budget_over,budget_warn,key_expiring,price_unknown"`
	Severity string `json:"severity" enum:"error,warning"`
	Object   string `json:"object" doc:"Affected target, credential, key ID, model or alert rule ID."`
	Label    string `json:"label"`
	Message  string `json:"message"`
}

// AttentionList holds the items that need action.
type AttentionList struct {
	Attention  []Attention `json:"attention" doc:"Most urgent first."`
	ConfigFile *string     `json:"config_file" doc:"Path of the configuration file. null if there is none, and for callers who are not operators."`
}

func (a *handlers) registerAttention() {
	adminapi.Register(a.Server, account.ReadFigures, huma.Operation{
		OperationID: "get-attention", Method: http.MethodGet, Path: "/attention", Tags: []string{"overview"},
		Summary:     "List items of the gateway that need attention",
		Description: "Covers providers, circuits and, for operators, storage. Keys and prices are part of the overview. Does not query the database, so it can be polled.",
	}, func(_ context.Context, c *adminapi.Call, _ *struct{}) (*adminapi.Output[AttentionList], error) {
		list := AttentionList{Attention: a.gatewayAttention(c, a.Now())}
		if c.Actor.Operator {
			list.ConfigFile = adminapi.NonEmpty(a.Instance.Facts().ConfigFile)
		}
		return adminapi.Respond(list), nil
	})
}

// gatewayAttention lists the items that affect all workspaces.
func (a *handlers) gatewayAttention(c *adminapi.Call, now time.Time) []Attention {
	list := fleetAttention(a.Fleet.Providers(), c.Actor.Operator, now)
	if c.Actor.Operator {
		list = append(storageAttention(a.Instance.Disk()), list...)
	}
	// "No provider is available" comes first, then "storage is low".
	rank := map[string]int{"no_provider": -2, "storage_low": -1, "entries_rejected": -1}
	slices.SortStableFunc(list, func(x, y Attention) int { return cmp.Compare(rank[x.Kind], rank[y.Kind]) })
	return list
}

// attention lists all items, most urgent first.
func (a *handlers) attention(ctx context.Context, c *adminapi.Call, now time.Time) ([]Attention, error) {
	firing, err := a.Alerts.Firing(ctx, c.WorkspaceID)
	if err != nil {
		return nil, err
	}
	list := []Attention{}
	for i := range firing {
		if one := &firing[i]; !one.Rule.Muted(now) {
			list = append(list, Attention{Kind: "alert_firing", Severity: "error", Object: one.Rule.ID, Label: one.Rule.Name, Message: one.Sentence()})
		}
	}
	list = append(list, a.gatewayAttention(c, now)...)
	ofKeys, err := a.keyAttention(ctx, c, now)
	if err != nil {
		return nil, err
	}
	list = append(list, ofKeys...)
	for _, m := range a.Fleet.Models() {
		priced := slices.ContainsFunc(m.Targets, func(t providers.TargetState) bool { return t.Target.Price != nil })
		if len(m.Targets) > 0 && !priced {
			list = append(list, Attention{
				Kind: "price_unknown", Severity: "warning", Object: m.Model.Name, Label: m.Model.Name,
				Message: "The price of this model is unknown. auto never selects it, and its cost is not included in figures.",
			})
		}
	}
	return list, nil
}

func fleetAttention(states []providers.ProviderState, operator bool, now time.Time) []Attention {
	list, usable := []Attention{}, false
	for i := range states {
		p := &states[i]
		if !p.Enabled {
			continue
		}
		awake := len(p.Credentials) == 0 || slices.ContainsFunc(p.Credentials, func(c providers.CredentialState) bool { return !c.BackingOffUntil.After(now) })
		for _, t := range p.Targets {
			usable = usable || (awake && t.Health.Circuit != providers.CircuitOpen)
			if warning, ok := circuitAttention(t); ok {
				list = append(list, warning)
			}
		}
		for _, c := range p.Credentials {
			if operator && !c.BackingOffUntil.IsZero() {
				list = append(list, Attention{
					Kind: "credential_backing_off", Severity: "warning", Object: p.Name + "/" + c.ID, Label: p.Name + " " + c.Hint,
					Message: "This credential is backing off until " + c.BackingOffUntil.UTC().Format(time.RFC3339) + ": " + p.Name + " " + requests.FailureText(c.Reason) + ".",
				})
			}
		}
	}
	if !usable {
		none := Attention{Kind: "no_provider", Severity: "error", Object: "providers", Label: "Providers", Message: "No provider is available: none is enabled, or all are failing. Requests are rejected until a provider recovers."}
		list = append(list, none)
	}
	return list
}

// circuitAttention returns the item for a failing or recovering target.
func circuitAttention(t providers.TargetState) (Attention, bool) {
	v := Attention{Kind: "circuit_open", Severity: "error", Object: t.Target.ID(), Label: t.Target.ID()}
	why := ""
	if reason := t.Health.Reason; reason != "" {
		why = ": " + reason
		if text := requests.FailureText(reason); text != reason {
			why = fmt.Sprintf(": %s %s", t.Target.Provider, text)
		}
	}
	switch t.Health.Circuit {
	case providers.CircuitOpen:
		v.Message = "The circuit is open, so no requests are sent to this target" + why + "."
	case providers.CircuitHalfOpen:
		v.Kind, v.Severity = "circuit_recovering", "warning"
		v.Message = "The target is recovering and receives a few requests" + why + "."
	default:
		return Attention{}, false
	}
	return v, true
}

func (a *handlers) keyAttention(ctx context.Context, c *adminapi.Call, now time.Time) ([]Attention, error) {
	list := []Attention{}
	if !c.Actor.May(account.ReadKeys) {
		return list, nil
	}
	all, err := a.Keys.Keys(ctx, c.WorkspaceID)
	if err != nil {
		return nil, err
	}
	use, err := a.Spending.BudgetUse(ctx, c.WorkspaceID)
	if err != nil {
		return nil, err
	}
	for i := range all {
		k := &all[i]
		if keys.State(k, now) != "active" {
			continue
		}
		if warning, ok := budgetAttention(k, use); ok {
			list = append(list, warning)
		}
		if !k.ExpiresAt.IsZero() && k.ExpiresAt.Sub(now) < expiringWithin {
			list = append(list, Attention{
				Kind: "key_expiring", Severity: "warning", Object: k.ID, Label: k.Name,
				Message: "This key expires on " + k.ExpiresAt.UTC().Format(time.RFC3339) + ".",
			})
		}
	}
	return list, nil
}

func budgetAttention(k *account.Key, all map[string]spending.BudgetUse) (Attention, bool) {
	use, ok := all[k.ID]
	if !ok || k.Budget == nil {
		return Attention{}, false
	}
	used := adminapi.Percent(use.Spent, k.Budget.Amount)
	warn := float64(k.Budget.WarnPercent)
	if warn == 0 {
		warn = defaultWarn
	}
	v := Attention{Kind: "budget_warn", Severity: "warning", Object: k.ID, Label: k.Name}
	switch {
	case use.Spent >= k.Budget.Amount:
		v.Kind, v.Severity = "budget_over", "error"
		v.Message = fmt.Sprintf("This key has used its budget of %s.", k.Budget.Amount.Display())
	case used != nil && *used >= warn:
		v.Message = fmt.Sprintf("This key has used %.0f %% of its budget of %s.", *used, k.Budget.Amount.Display())
	default:
		return Attention{}, false
	}
	return v, true
}
