package keys

import (
	"strings"
	"time"

	"fairlead.dev/internal/account"
	adminkeys "fairlead.dev/internal/admin/keys"
	"fairlead.dev/internal/cli"
)

// keyView is the JSON form of a key.
type keyView struct {
	ID  string `json:"id"`            // first, so that scripts without a JSON parser find ID and key
	Key string `json:"key,omitempty"` // complete secret; set only when it was just created
	adminkeys.KeyFacts

	WorkspaceID string `json:"workspace_id"`
}

func viewKey(k *account.Key, now time.Time) keyView {
	return keyView{ID: k.ID, KeyFacts: adminkeys.FactsOf(k, now), WorkspaceID: k.WorkspaceID}
}

// newKeyView returns the view of a key with its new secret.
func newKeyView(k *account.Key, secret string, now time.Time) keyView {
	v := viewKey(k, now)
	v.Key = secret
	return v
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
		state := cli.Cell{Text: adminkeys.State(key, now), Paint: cli.Yellow}
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
