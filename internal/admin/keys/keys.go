package keys

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/admin/adminapi"
	"fairlead.dev/internal/admin/spending"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/requestlog"
)

// spendSpan is the period over which a key's spend is summed.
const spendSpan = 30 * 24 * time.Hour

func (a *handlers) registerKeys() {
	tags := []string{"keys"}
	adminapi.Register(a.Server, account.ReadKeys, huma.Operation{
		OperationID: "list-keys", Method: http.MethodGet, Path: "/keys", Tags: tags,
		Summary: "List API keys with cost and budget use, newest first", Description: "Includes revoked keys.",
	}, a.listKeys)
	adminapi.Register(a.Server, account.ManageOwnKeys, huma.Operation{
		OperationID: "create-key", Method: http.MethodPost, Path: "/keys", Tags: tags,
		Summary: "Create an API key", DefaultStatus: http.StatusCreated,
		Description: "The response contains the API key, which is shown only once. A key cannot have more permissions than its creator.",
	}, a.createKey)
	adminapi.Register(a.Server, account.ReadKeys, huma.Operation{
		OperationID: "get-key", Method: http.MethodGet, Path: "/keys/{id}", Tags: tags,
		Summary: "Get an API key",
	}, func(ctx context.Context, c *adminapi.Call, in *KeyPath) (*adminapi.Output[KeyView], error) {
		key, err := a.Keys.Key(ctx, c.WorkspaceID, in.ID)
		if err != nil {
			return nil, err
		}
		return a.keyAnswer(ctx, key)
	})
	adminapi.Register(a.Server, account.ManageOwnKeys, huma.Operation{
		OperationID: "update-key", Method: http.MethodPatch, Path: "/keys/{id}", Tags: tags,
		Summary: "Change an API key", Description: "Members without manage_keys can change only keys that they created.",
	}, a.updateKey)
	adminapi.Register(a.Server, account.ManageOwnKeys, huma.Operation{
		OperationID: "rotate-key", Method: http.MethodPost, Path: "/keys/{id}/rotate", Tags: tags,
		Summary: "Rotate an API key", Description: "The response contains the new key, which is shown only once. Without a grace period, the old key stops working immediately.",
	}, func(ctx context.Context, c *adminapi.Call, in *rotateKeyInput) (*adminapi.Output[NewKey], error) {
		key, secret, err := a.Keys.RotateKey(ctx, c.Actor, in.ID, account.Grace{
			For:      time.Duration(in.Body.GraceMS) * time.Millisecond,
			AfterUse: time.Duration(in.Body.GraceAfterUseMS) * time.Millisecond,
		})
		if err != nil {
			return nil, err
		}
		spent, err := a.spendings(ctx, c.WorkspaceID)
		if err != nil {
			return nil, err
		}
		return adminapi.Respond(NewKey{KeyView: a.keyView(&key, spent), Secret: secret}), nil
	})
	adminapi.Register(a.Server, account.ManageOwnKeys, huma.Operation{
		OperationID: "revoke-key", Method: http.MethodDelete, Path: "/keys/{id}", Tags: tags,
		Summary: "Revoke an API key", DefaultStatus: http.StatusOK,
	}, func(ctx context.Context, c *adminapi.Call, in *KeyPath) (*adminapi.Output[KeyView], error) {
		key, err := a.Keys.RevokeKey(ctx, c.Actor, in.ID)
		if err != nil {
			return nil, err
		}
		return a.keyAnswer(ctx, key)
	})
}

// spendings holds the costs and budget usage of all workspace keys.
type spendings struct {
	recent map[string]money.Amount
	use    map[string]spending.BudgetUse
}

func (a *handlers) spendings(ctx context.Context, workspaceID string) (spendings, error) {
	now := a.Now()
	groups, err := a.Figures.Breakdown(ctx, requestlog.BreakdownQuery{
		RollupFilter: requestlog.RollupFilter{WorkspaceID: workspaceID, From: now.Add(-spendSpan), To: now}, By: "key", Limit: 10_000,
	})
	if err != nil {
		return spendings{}, err
	}
	s := spendings{recent: map[string]money.Amount{}}
	for _, g := range groups {
		s.recent[g.Name] = g.Cost
	}
	s.use, err = a.Spending.BudgetUse(ctx, workspaceID)
	return s, err
}

func (a *handlers) listKeys(ctx context.Context, c *adminapi.Call, _ *struct{}) (*adminapi.Output[KeyList], error) {
	keys, err := a.Keys.Keys(ctx, c.WorkspaceID)
	if err != nil {
		return nil, err
	}
	spent, err := a.spendings(ctx, c.WorkspaceID)
	if err != nil {
		return nil, err
	}
	list := KeyList{Keys: make([]KeyView, 0, len(keys))}
	for i := range keys {
		list.Keys = append(list.Keys, a.keyView(&keys[i], spent))
	}
	return adminapi.Respond(list), nil
}

// KeyPath is a key ID in a path. It is exported because huma requires it for embedded fields.
type KeyPath struct {
	ID string `path:"id" maxLength:"64" doc:"Key ID."`
}

func (a *handlers) keyAnswer(ctx context.Context, key account.Key) (*adminapi.Output[KeyView], error) {
	spent, err := a.spendings(ctx, key.WorkspaceID)
	if err != nil {
		return nil, err
	}
	return adminapi.Respond(a.keyView(&key, spent)), nil
}

type createKeyInput struct {
	Body struct {
		Name          string               `json:"name" minLength:"1" maxLength:"100"`
		Scopes        []string             `json:"scopes,omitempty" enum:"inference,read,manage" maxItems:"3" doc:"Defaults to inference."`
		AllowedModels []string             `json:"allowed_models,omitempty" maxItems:"100" doc:"Allowed models. Empty to allow all models. Wildcards are allowed: gpt-4.1*"`
		Limits        KeyLimits            `json:"limits,omitzero"`
		Budget        *spending.BudgetView `json:"budget,omitempty"`
		Sessions      *SessionLimits       `json:"sessions,omitempty"`
		Baseline      string               `json:"baseline_model,omitempty" maxLength:"200"`
		LogBodies     *bool                `json:"log_bodies,omitempty" doc:"Defaults to the workspace setting."`
		Cache         *ResponseCache       `json:"cache,omitempty"`
		ErrorFormat   string               `json:"error_format,omitempty" enum:"openai"`
		AllowUnpriced bool                 `json:"allow_unpriced,omitempty"`
		Tags          map[string]string    `json:"tags,omitempty"`
		ExpiresAt     *time.Time           `json:"expires_at,omitempty" doc:"Expiry time. The key never expires if omitted."`
	}
}

func (a *handlers) createKey(ctx context.Context, c *adminapi.Call, in *createKeyInput) (*adminapi.Output[NewKey], error) {
	b := &in.Body
	if err := validateExpiry(b.ExpiresAt); err != nil {
		return nil, err
	}
	draft := account.KeySettings{
		Name: b.Name, Scopes: scopes(b.Scopes), AllowedModels: b.AllowedModels, Limits: account.Limits(b.Limits),
		Budget: b.Budget.Budget(), Sessions: b.Sessions.limits(), Baseline: b.Baseline, LogBodies: b.LogBodies, Cache: b.Cache.settings(), ErrorFormat: b.ErrorFormat,
		AllowUnpriced: b.AllowUnpriced, Tags: b.Tags,
	}
	adminapi.Apply(&draft.ExpiresAt, b.ExpiresAt)
	key, secret, err := a.Keys.CreateKey(ctx, c.Actor, draft)
	if err != nil {
		return nil, err
	}
	return adminapi.Respond(NewKey{KeyView: a.keyView(&key, spendings{}), Secret: secret}), nil
}

// validateExpiry rejects the zero time. Omit the field for a key that never expires.
func validateExpiry(at *time.Time) error {
	if at != nil && at.IsZero() {
		return adminapi.Invalid("body", "expires_at", "must be in the future; omit the field for a key that never expires")
	}
	return nil
}

type updateKeyInput struct {
	KeyPath
	Body struct {
		Name          *string                             `json:"name,omitempty" minLength:"1" maxLength:"100"`
		Scopes        *[]string                           `json:"scopes,omitempty" enum:"inference,read,manage" maxItems:"3"`
		AllowedModels *[]string                           `json:"allowed_models,omitempty" maxItems:"100" doc:"Allowed models. Empty to allow all models."`
		Limits        *KeyLimits                          `json:"limits,omitempty"`
		Budget        adminapi.Field[spending.BudgetView] `json:"budget,omitzero" doc:"null to remove the budget."`
		Sessions      adminapi.Field[SessionLimits]       `json:"sessions,omitzero" doc:"null to remove the limits."`
		Baseline      adminapi.Field[string]              `json:"baseline_model,omitzero"`
		LogBodies     adminapi.Field[bool]                `json:"log_bodies,omitzero" doc:"null to use the workspace setting."`
		Cache         adminapi.Field[ResponseCache]       `json:"cache,omitzero" doc:"null to disable the response cache."`
		ErrorFormat   adminapi.Field[string]              `json:"error_format,omitzero" doc:"openai, or null for the default format."`
		AllowUnpriced *bool                               `json:"allow_unpriced,omitempty"`
		Tags          *map[string]string                  `json:"tags,omitempty"`
		ExpiresAt     adminapi.Field[time.Time]           `json:"expires_at,omitzero" doc:"null for a key that never expires."`
	}
}

func (a *handlers) updateKey(ctx context.Context, c *adminapi.Call, in *updateKeyInput) (*adminapi.Output[KeyView], error) {
	b := &in.Body
	if err := validateExpiry(b.ExpiresAt.Value); err != nil {
		return nil, err
	}
	change := account.KeyChange{
		Name: b.Name, AllowedModels: b.AllowedModels, Budget: spending.Change(b.Budget), Baseline: b.Baseline.OrZero(),
		ErrorFormat: b.ErrorFormat.OrZero(), AllowUnpriced: b.AllowUnpriced, Tags: b.Tags, ExpiresAt: b.ExpiresAt.OrZero(),
	}
	if b.Scopes != nil {
		change.Scopes = new(scopes(*b.Scopes))
	}
	if b.Limits != nil {
		change.Limits = new(account.Limits(*b.Limits))
	}
	if b.Sessions.Given {
		change.Sessions = new(b.Sessions.Value.limits())
	}
	if b.Cache.Given {
		change.Cache = new(b.Cache.Value.settings())
	}
	if b.LogBodies.Given {
		change.LogBodies = &b.LogBodies.Value
	}
	key, err := a.Keys.UpdateKey(ctx, c.Actor, in.ID, change)
	if err != nil {
		return nil, err
	}
	return a.keyAnswer(ctx, key)
}

type rotateKeyInput struct {
	KeyPath
	Body struct {
		GraceMS         int64 `json:"grace_ms,omitempty" minimum:"0" maximum:"7776000000" doc:"How long the old secret remains valid."`
		GraceAfterUseMS int64 `json:"grace_after_use_ms,omitempty" minimum:"0" maximum:"7776000000" doc:"How long the old secret remains valid after the first use of the new one."`
	}
}
