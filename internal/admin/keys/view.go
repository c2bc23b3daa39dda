package keys

import (
	"time"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/admin/adminapi"
	"fairlead.dev/internal/admin/spending"
	"fairlead.dev/internal/money"
)

// KeyView is an API key with its restrictions and costs.
type KeyView struct {
	ID            string                  `json:"id"`
	Name          string                  `json:"name"`
	State         string                  `json:"state" enum:"active,expired,revoked"`
	Scopes        []string                `json:"scopes"`
	AllowedModels []string                `json:"allowed_models" doc:"Allowed models. Empty if all models are allowed. Wildcards are allowed: gpt-4.1*"`
	Limits        KeyLimits               `json:"limits"`
	Budget        *spending.BudgetView    `json:"budget,omitempty"`
	BudgetUse     *spending.BudgetUseView `json:"budget_use,omitempty" doc:"Use of the budget in the current period."`
	Sessions      *SessionLimits          `json:"sessions,omitempty" doc:"Limits of each session and each end user. Omitted if there are none."`
	Spend30d      money.Amount            `json:"spend_30d_usd" doc:"Known cost of the last 30 days."`
	Baseline      *string                 `json:"baseline_model" doc:"Baseline model. null to use the workspace's."`
	LogBodies     *bool                   `json:"log_bodies" doc:"null to use the workspace setting."`
	Cache         *ResponseCache          `json:"cache,omitempty" doc:"Use of the response cache. Omitted if it is disabled."`
	ErrorFormat   *string                 `json:"error_format"`
	AllowUnpriced bool                    `json:"allow_unpriced"`
	Tags          map[string]string       `json:"tags"`
	Secrets       []KeySecret             `json:"secrets" doc:"Valid secrets, the current one last. Older ones are in their grace period."`
	CreatedBy     *string                 `json:"created_by" doc:"Account ID. null if the key was created on the command line."`
	CreatedAt     time.Time               `json:"created_at"`
	ExpiresAt     *time.Time              `json:"expires_at"`
	RevokedAt     *time.Time              `json:"revoked_at"`
	LastUsedAt    *time.Time              `json:"last_used_at"`
	LastUsedBy    *string                 `json:"last_used_by" doc:"Client of the last request with this key."`
}

// KeyLimits holds the limits of a key. 0 means no limit.
type KeyLimits struct {
	RequestsPerMinute int64 `json:"requests_per_minute" minimum:"0" required:"false"`
	TokensPerMinute   int64 `json:"tokens_per_minute" minimum:"0" required:"false"`
	Concurrent        int64 `json:"concurrent" minimum:"0" required:"false"`
}

// SessionLimits holds the limits that apply to each session and each end user of a key.
type SessionLimits struct {
	Budget         *spending.BudgetView `json:"budget,omitempty" doc:"Budget of each session. Its period is total."`
	UserBudget     *spending.BudgetView `json:"user_budget,omitempty" doc:"Budget of each end user."`
	Downgrade      bool                 `json:"downgrade,omitempty" doc:"Whether requests are served by auto:cost once warn_percent of a budget is spent."`
	TurnsPerMinute int64                `json:"turns_per_minute,omitempty" minimum:"0" doc:"Maximum number of requests of a session in a minute. 0 means no limit."`
	SpendPerMinute money.Amount         `json:"spend_per_minute_usd,omitempty" doc:"Maximum cost of a session in a minute. A request that starts below the limit may exceed it. 0 means no limit."`
}

func (s *SessionLimits) limits() *account.SessionLimits {
	if s == nil {
		return nil
	}
	return &account.SessionLimits{
		Budget: s.Budget.Budget(), UserBudget: s.UserBudget.Budget(), Downgrade: s.Downgrade, TurnsPerMinute: s.TurnsPerMinute, SpendPerMinute: s.SpendPerMinute,
	}
}

// ResponseCache configures the response cache for a key.
type ResponseCache struct {
	Mode       string `json:"mode" enum:"on_request,always" doc:"on_request: for requests with the header x-fairlead-cache: on. always: for all requests."`
	TTLSeconds int64  `json:"ttl_seconds" minimum:"1" maximum:"2592000" doc:"Maximum age of a cached response."`
	Shared     bool   `json:"shared,omitempty" doc:"Whether the key shares cached responses with the other sharing keys of the workspace."`
}

func (c *ResponseCache) settings() *account.ResponseCache {
	if c == nil {
		return nil
	}
	return &account.ResponseCache{Mode: account.CacheMode(c.Mode), TTL: time.Duration(c.TTLSeconds) * time.Second, Shared: c.Shared}
}

// KeySecret describes a secret without revealing it.
type KeySecret struct {
	Start           string     `json:"start" doc:"First characters of the secret."`
	End             string     `json:"end" doc:"Last four characters of the secret."`
	CreatedAt       time.Time  `json:"created_at"`
	ExpiresAt       *time.Time `json:"expires_at"`
	GraceAfterUseMS *int64     `json:"grace_after_use_ms" doc:"Grace period that starts with the first use of the newer secret."`
	UsedAt          *time.Time `json:"used_at" doc:"Time of the first use."`
}

// KeyList holds the keys of a workspace.
type KeyList struct {
	Keys []KeyView `json:"keys"`
}

// NewKey is a key with its secret.
type NewKey struct {
	KeyView
	Secret string `json:"secret" doc:"The API key. Shown only once."`
}

func (a *handlers) keyView(k *account.Key, spent spendings) KeyView {
	v := KeyView{
		ID: k.ID, Name: k.Name, State: State(k, a.Now()), Scopes: make([]string, 0, len(k.Scopes)), AllowedModels: k.AllowedModels,
		Limits: KeyLimits(k.Limits), Budget: spending.ViewOf(k.Budget), BudgetUse: spending.UseViewOf(spent.use, k.ID, k.Budget),
		Spend30d: spent.recent[k.ID], Baseline: adminapi.NonEmpty(k.Baseline), LogBodies: k.LogBodies, ErrorFormat: adminapi.NonEmpty(k.ErrorFormat),
		AllowUnpriced: k.AllowUnpriced, Tags: k.Tags, Secrets: make([]KeySecret, 0, len(k.Secrets)),
		CreatedBy: adminapi.NonEmpty(k.CreatedBy), CreatedAt: k.CreatedAt.UTC(), ExpiresAt: adminapi.Time(k.ExpiresAt), RevokedAt: adminapi.Time(k.RevokedAt),
		LastUsedAt: adminapi.Time(k.LastUsedAt), LastUsedBy: adminapi.NonEmpty(k.LastUsedBy),
	}
	if s := k.Sessions; s != nil {
		v.Sessions = &SessionLimits{
			Budget: spending.ViewOf(s.Budget), UserBudget: spending.ViewOf(s.UserBudget), Downgrade: s.Downgrade, TurnsPerMinute: s.TurnsPerMinute, SpendPerMinute: s.SpendPerMinute,
		}
	}
	if c := k.Cache; c != nil {
		v.Cache = &ResponseCache{Mode: string(c.Mode), TTLSeconds: int64(c.TTL / time.Second), Shared: c.Shared}
	}
	for _, s := range k.Scopes {
		v.Scopes = append(v.Scopes, string(s))
	}
	now := a.Now()
	for _, s := range k.Secrets {
		if !s.ExpiresAt.IsZero() && !s.ExpiresAt.After(now) {
			continue // not listed: expired secrets are kept only so that using one returns a specific error
		}
		v.Secrets = append(v.Secrets, KeySecret{
			Start: s.Start, End: s.End, CreatedAt: s.CreatedAt.UTC(), ExpiresAt: adminapi.Time(s.ExpiresAt),
			GraceAfterUseMS: adminapi.Millis(s.AfterUse), UsedAt: adminapi.Time(s.UsedAt),
		})
	}
	return v
}

// State returns active, expired or revoked.
func State(k *account.Key, now time.Time) string {
	switch {
	case !k.RevokedAt.IsZero():
		return "revoked"
	case !k.ExpiresAt.IsZero() && !k.ExpiresAt.After(now):
		return "expired"
	}
	return "active"
}

func scopes(names []string) []account.Scope {
	list := make([]account.Scope, 0, len(names))
	for _, name := range names {
		list = append(list, account.Scope(name))
	}
	return list
}
