package keys

import (
	"strings"
	"time"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/cli"
)

// keyView is the JSON form of a key. Its JSON fields have the same names as in the admin API.
type keyView struct {
	ID            string            `json:"id"`
	Key           string            `json:"key,omitempty"` // complete secret; set only when it was just created
	Name          string            `json:"name"`
	WorkspaceID   string            `json:"workspace_id"`
	State         string            `json:"state"`
	Scopes        []account.Scope   `json:"scopes"`
	AllowedModels []string          `json:"allowed_models"`
	Limits        account.Limits    `json:"limits"`
	Budget        *account.Budget   `json:"budget,omitempty"`
	LogBodies     *bool             `json:"log_bodies"`
	Tags          map[string]string `json:"tags"`
	Secrets       []secretView      `json:"secrets"` // secrets in the order of creation; the last one is current
	CreatedBy     *string           `json:"created_by"`
	CreatedAt     *time.Time        `json:"created_at"`
	ExpiresAt     *time.Time        `json:"expires_at"`
	RevokedAt     *time.Time        `json:"revoked_at"`
	LastUsedAt    *time.Time        `json:"last_used_at"`
	LastUsedBy    *string           `json:"last_used_by"`
}

// secretView is the JSON form of a secret. It contains only the visible part.
type secretView struct {
	Start     string     `json:"start"`
	End       string     `json:"end"`
	CreatedAt *time.Time `json:"created_at"`
	ExpiresAt *time.Time `json:"expires_at"`
	UsedAt    *time.Time `json:"used_at"`
}

func viewKey(k *account.Key, now time.Time) keyView {
	v := keyView{
		ID: k.ID, Name: k.Name, WorkspaceID: k.WorkspaceID, State: State(k, now), Scopes: k.Scopes, AllowedModels: k.AllowedModels,
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

// newKeyView returns the view of a key with its new secret.
func newKeyView(k *account.Key, secret string, now time.Time) keyView {
	v := viewKey(k, now)
	v.Key = secret
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

func (k *keyCommands) list(keys []account.Key) error {
	now := k.Console.Now()
	t := &cli.Table{Columns: []cli.Column{
		{Title: "NAME", Soft: true},
		{Title: "ID", Hide: 1},
		{Title: "KEY"},
		{Title: "SCOPES", Hide: 5},
		{Title: "LIMITS", Soft: true, Hide: 6},
		{Title: "BUDGET", Right: true, Hide: 3},
		{Title: "LAST USED", Hide: 2},
		{Title: "EXPIRES", Hide: 4},
		{Title: "STATE"},
	}}
	view := func(key *account.Key) keyView { return viewKey(key, now) }
	return cli.PrintList(k.Console, k.Options, keys, "no keys yet. Create one:  fairlead keys create --name ci", view, t, func(key *account.Key) {
		state := cli.Cell{Text: State(key, now), Paint: cli.Yellow}
		switch state.Text {
		case "active":
			state.Paint = cli.Green
		case "revoked":
			state.Paint = cli.Red
		}
		secret := cli.Dash
		if n := len(key.Secrets); n > 0 {
			secret = key.Secrets[n-1].Start + "…" + key.Secrets[n-1].End
		}
		scopes := make([]string, len(key.Scopes))
		for i, scope := range key.Scopes {
			scopes[i] = string(scope)
		}
		budget := "none"
		if b := key.Budget; b != nil {
			budget = cli.Dollars(b.Amount) + "/" + string(b.Period)
			if b.Period == account.Total {
				budget = cli.Dollars(b.Amount) + " total"
			}
		}
		t.Add(cli.Cell{Text: key.Name, Paint: cli.Bold}, cli.Cell{Text: key.ID}, cli.Cell{Text: secret}, cli.Cell{Text: strings.Join(scopes, ",")},
			cli.Cell{Text: limitsText(key.Limits)}, cli.Cell{Text: budget},
			cli.Cell{Text: k.moment(key.LastUsedAt, "never")}, cli.Cell{Text: k.moment(key.ExpiresAt, "never")},
			state)
	})
}

func (k *keyCommands) moment(t time.Time, none string) string {
	if t.IsZero() {
		return none
	}
	return k.Console.FormatTime(k.Options, t, "2006-01-02 15:04")
}

func limitsText(l account.Limits) string {
	var parts []string
	for _, one := range []struct {
		n    int64
		unit string
	}{{l.RequestsPerMinute, " req/min"}, {l.TokensPerMinute, " tok/min"}, {l.Concurrent, " concurrent"}} {
		if one.n > 0 {
			parts = append(parts, cli.Count(one.n)+one.unit)
		}
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}
