package main

import (
	"strings"
	"time"

	"fairlead/internal/account"
)

// keyView is a key as JSON. Names are those of the admin API.
type keyView struct {
	ID            string            `json:"id"`
	Key           string            `json:"key,omitempty"` // the secret, right after it was made
	Name          string            `json:"name"`
	WorkspaceID   string            `json:"workspace_id"`
	State         string            `json:"state"`
	Scopes        []account.Scope   `json:"scopes"`
	AllowedModels []string          `json:"allowed_models"`
	Limits        account.Limits    `json:"limits"`
	Budget        *account.Budget   `json:"budget,omitempty"`
	LogBodies     *bool             `json:"log_bodies"`
	Tags          map[string]string `json:"tags"`
	Secrets       []secretView      `json:"secrets"` // the current one last
	CreatedBy     *string           `json:"created_by"`
	CreatedAt     *time.Time        `json:"created_at"`
	ExpiresAt     *time.Time        `json:"expires_at"`
	RevokedAt     *time.Time        `json:"revoked_at"`
	LastUsedAt    *time.Time        `json:"last_used_at"`
	LastUsedBy    *string           `json:"last_used_by"`
}

// secretView is what may be shown of a secret.
type secretView struct {
	Start     string     `json:"start"`
	End       string     `json:"end"`
	CreatedAt *time.Time `json:"created_at"`
	ExpiresAt *time.Time `json:"expires_at"`
	UsedAt    *time.Time `json:"used_at"`
}

func viewKey(k *account.Key, now time.Time) keyView {
	v := keyView{
		ID: k.ID, Name: k.Name, WorkspaceID: k.WorkspaceID, State: keyState(k, now), Scopes: k.Scopes, AllowedModels: k.AllowedModels,
		Limits: k.Limits, Budget: k.Budget, LogBodies: k.LogBodies, Tags: k.Tags, CreatedBy: textOrNil(k.CreatedBy),
		CreatedAt: moment(k.CreatedAt), ExpiresAt: moment(k.ExpiresAt), RevokedAt: moment(k.RevokedAt),
		LastUsedAt: moment(k.LastUsedAt), LastUsedBy: textOrNil(k.LastUsedBy),
	}
	for _, s := range k.Secrets {
		if s.ExpiresAt.IsZero() || s.ExpiresAt.After(now) {
			v.Secrets = append(v.Secrets, secretView{s.Start, s.End, moment(s.CreatedAt), moment(s.ExpiresAt), moment(s.UsedAt)})
		}
	}
	return v
}

// newKeyView is a key with the secret that was just made for it.
func newKeyView(k *account.Key, secret string, now time.Time) keyView {
	v := viewKey(k, now)
	v.Key = secret
	return v
}

func keyState(k *account.Key, now time.Time) string {
	switch {
	case !k.RevokedAt.IsZero():
		return "revoked"
	case !k.ExpiresAt.IsZero() && !k.ExpiresAt.After(now):
		return "expired"
	}
	return "active"
}

func textOrNil(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return new(t.UTC())
}

func (k *keyCommands) table(keys []account.Key, now time.Time) *table {
	t := &table{columns: []column{
		{title: "NAME", soft: true},
		{title: "ID", hide: 1},
		{title: "KEY"},
		{title: "SCOPES", hide: 5},
		{title: "LIMITS", soft: true, hide: 6},
		{title: "BUDGET", right: true, hide: 3},
		{title: "LAST USED", hide: 2},
		{title: "EXPIRES", hide: 4},
		{title: "STATE"},
	}}
	for i := range keys {
		key := &keys[i]
		state := keyState(key, now)
		t.add(cell{key.Name, bold}, cell{text: key.ID}, cell{text: secretText(key)}, cell{text: scopesText(key.Scopes)},
			cell{text: limitsText(key.Limits)}, cell{text: budgetText(key.Budget)},
			cell{text: k.moment(key.LastUsedAt, "never")}, cell{text: k.moment(key.ExpiresAt, "never")},
			cell{state, statePaint(state)})
	}
	return t
}

func (k *keyCommands) moment(t time.Time, none string) string {
	if t.IsZero() {
		return none
	}
	return k.console.at(k.options, t, "2006-01-02 15:04")
}

func statePaint(state string) paint {
	switch state {
	case "active":
		return green
	case "revoked":
		return red
	}
	return yellow
}

// secretText shows the ends of the current secret.
func secretText(k *account.Key) string {
	if len(k.Secrets) == 0 {
		return unknown
	}
	s := k.Secrets[len(k.Secrets)-1]
	return s.Start + "…" + s.End
}

func scopesText(scopes []account.Scope) string {
	texts := make([]string, len(scopes))
	for i, s := range scopes {
		texts[i] = string(s)
	}
	return strings.Join(texts, ",")
}

func limitsText(l account.Limits) string {
	var parts []string
	for _, one := range []struct {
		n    int64
		unit string
	}{{l.RequestsPerMinute, " req/min"}, {l.TokensPerMinute, " tok/min"}, {l.Concurrent, " at once"}} {
		if one.n > 0 {
			parts = append(parts, count(one.n)+one.unit)
		}
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}

func budgetText(b *account.Budget) string {
	switch {
	case b == nil:
		return "none"
	case b.Period == account.Total:
		return dollars(b.Amount) + " in all"
	}
	return dollars(b.Amount) + "/" + string(b.Period)
}
