package account_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/account/secret"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
)

func TestKeySettingsAreChecked(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "invitation")
	owner := f.owner("ann@example.com")
	tests := []struct {
		name  string
		draft account.KeySettings
		param string
	}{
		{"no name", account.KeySettings{}, "name"},
		{"long name", account.KeySettings{Name: strings.Repeat("x", 101)}, "name"},
		{"unknown scope", account.KeySettings{Name: "x", Scopes: []account.Scope{"admin"}}, "scopes"},
		{"empty model", account.KeySettings{Name: "x", AllowedModels: []string{""}}, "allowed_models"},
		{"star inside", account.KeySettings{Name: "x", AllowedModels: []string{"gpt*mini"}}, "allowed_models"},
		{"negative rate", account.KeySettings{Name: "x", Limits: account.Limits{RequestsPerMinute: -1}}, "limits.requests_per_minute"},
		{"huge rate", account.KeySettings{Name: "x", Limits: account.Limits{TokensPerMinute: 1 << 62}}, "limits.tokens_per_minute"},
		{"negative concurrency", account.KeySettings{Name: "x", Limits: account.Limits{Concurrent: -1}}, "limits.concurrent"},
		{"negative budget", account.KeySettings{Name: "x", Budget: &account.Budget{Amount: -1, Period: account.Daily}}, "budget.amount_usd"},
		{"unknown period", account.KeySettings{Name: "x", Budget: &account.Budget{Period: "hour"}}, "budget.period"},
		{"unknown zone", account.KeySettings{Name: "x", Budget: &account.Budget{Period: account.Daily, Zone: "Nowhere"}}, "budget.zone"},
		{"zone of the machine", account.KeySettings{Name: "x", Budget: &account.Budget{Period: account.Daily, Zone: "Local"}}, "budget.zone"},
		{"warning beyond", account.KeySettings{Name: "x", Budget: &account.Budget{Period: account.Daily, WarnPercent: 101}}, "budget.warn_percent"},
		{"unknown error format", account.KeySettings{Name: "x", ErrorFormat: "xml"}, "error_format"},
		{"baseline with a line break", account.KeySettings{Name: "x", Baseline: "a\nb"}, "baseline"},
		{"tag without name", account.KeySettings{Name: "x", Tags: map[string]string{"": "v"}}, "tags"},
		{"already expired", account.KeySettings{Name: "x", ExpiresAt: f.clock.now()}, "expires_at"},
	}
	for _, tt := range tests {
		t.Log(tt.name)
		_, _, err := f.CreateKey(f.ctx, owner, tt.draft)
		f.refused(err, llm.InvalidRequest, tt.param)
	}
}

func TestKeyLifecycle(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "invitation")
	owner := f.owner("ann@example.com")
	f.clock.pass(time.Second)
	key, text, err := f.CreateKey(f.ctx, owner, account.KeySettings{Name: "ci"})
	f.must(err)
	f.must(secret.ParseKey(text))
	if s := key.Secrets[0]; s.Start != text[:7] || s.End != text[len(text)-4:] || len(s.Hash) != 32 {
		t.Errorf("%+v", s)
	}
	if diff := cmp.Diff([]account.Scope{account.Inference}, key.Scopes); diff != "" {
		t.Error(diff)
	}

	f.clock.pass(time.Second)
	changed, err := f.UpdateKey(f.ctx, owner, key.ID, account.KeyChange{Name: new("build"), Budget: new(&account.Budget{Amount: money.Dollar, Period: account.Daily})})
	f.must(err)
	if changed.Name != "build" || changed.Budget == nil || changed.Scopes[0] != account.Inference {
		t.Errorf("%+v", changed)
	}
	_, err = f.UpdateKey(f.ctx, owner, key.ID, account.KeyChange{Scopes: &[]account.Scope{}})
	f.refused(err, llm.InvalidRequest, "scopes")

	f.clock.pass(time.Second)
	rotated, second, err := f.RotateKey(f.ctx, owner, key.ID, account.Grace{For: time.Hour})
	f.must(err)
	if second == text || len(rotated.Secrets) != 2 || !rotated.Secrets[0].ExpiresAt.Equal(f.clock.now().Add(time.Hour)) {
		t.Errorf("%+v", rotated.Secrets)
	}
	_, _, err = f.RotateKey(f.ctx, owner, key.ID, account.Grace{For: -1})
	f.refused(err, llm.InvalidRequest, "grace")

	f.clock.pass(time.Second)
	revoked, err := f.RevokeKey(f.ctx, owner, key.ID)
	f.must(err)
	at := revoked.RevokedAt
	f.clock.pass(time.Minute)
	revoked, err = f.RevokeKey(f.ctx, owner, key.ID)
	f.must(err)
	if at.IsZero() || !revoked.RevokedAt.Equal(at) {
		t.Errorf("revoked at %v, again at %v", at, revoked.RevokedAt)
	}
	_, err = f.UpdateKey(f.ctx, owner, key.ID, account.KeyChange{Name: new("x")})
	f.refused(err, llm.Conflict)
	_, _, err = f.RotateKey(f.ctx, owner, key.ID, account.Grace{})
	f.refused(err, llm.Conflict)
	keys, err := f.Keys(f.ctx, owner.WorkspaceID)
	f.must(err)
	if len(keys) != 1 || keys[0].RevokedAt.IsZero() {
		t.Errorf("revoked keys stay listed: %+v", keys)
	}

	events, err := f.Audit(f.ctx, owner.WorkspaceID, "", 100)
	f.must(err)
	var actions []string
	for _, e := range events {
		actions = append(actions, e.Action)
	}
	if diff := cmp.Diff([]string{"key.revoke", "key.rotate", "key.update", "key.create", "account.register"}, actions); diff != "" {
		t.Error(diff)
	}
}

func TestGracesAreBounded(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "invitation")
	owner := f.owner("ann@example.com")
	key, _, err := f.CreateKey(f.ctx, owner, account.KeySettings{Name: "ci"})
	f.must(err)
	for range 4 {
		_, _, err = f.RotateKey(f.ctx, owner, key.ID, account.Grace{AfterUse: time.Hour})
		f.must(err)
	}
	_, _, err = f.RotateKey(f.ctx, owner, key.ID, account.Grace{For: time.Hour})
	f.refused(err, llm.Conflict)
	leaked, _, err := f.RotateKey(f.ctx, owner, key.ID, account.Grace{})
	f.must(err)
	for i, secret := range leaked.Secrets[:len(leaked.Secrets)-1] {
		if !secret.ExpiresAt.Equal(f.clock.now()) {
			t.Errorf("secret %d ends at %v: a rotation without grace ends all", i, secret.ExpiresAt)
		}
	}
	for range 12 {
		f.clock.pass(time.Second)
		key, _, err = f.RotateKey(f.ctx, owner, key.ID, account.Grace{})
		f.must(err)
	}
	if len(key.Secrets) != 10 {
		t.Errorf("got %d secrets, want 10", len(key.Secrets))
	}
}

func TestKeysOfOtherWorkspacesAreNotFound(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "invitation")
	ann, bob := f.owner("ann@example.com"), f.owner("bob@example.com")
	key, _, err := f.CreateKey(f.ctx, ann, account.KeySettings{Name: "ci"})
	f.must(err)
	calls := map[string]func(keyID string) error{
		"read":   func(keyID string) error { _, err := f.Key(f.ctx, bob.WorkspaceID, keyID); return err },
		"update": func(keyID string) error { _, err := f.UpdateKey(f.ctx, bob, keyID, account.KeyChange{}); return err },
		"rotate": func(keyID string) error { _, _, err := f.RotateKey(f.ctx, bob, keyID, account.Grace{}); return err },
		"revoke": func(keyID string) error { _, err := f.RevokeKey(f.ctx, bob, keyID); return err },
	}
	for name, call := range calls {
		foreign, unknown := call(key.ID), call("key_unknown")
		f.refused(foreign, llm.NotFound)
		if foreign == nil || unknown == nil || foreign.Error() != unknown.Error() || !errors.Is(foreign, account.ErrNotFound) {
			t.Errorf("%s: another workspace's key gives %v, an unknown key %v; want the same ErrNotFound", name, foreign, unknown)
		}
	}
}

func TestGrantsAreLimitedToOwnPermissions(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "invitation")
	owner := f.owner("owner@example.com")
	developer := f.member(owner, "developer@example.com", account.Developer)
	other := f.member(owner, "other@example.com", account.Developer)
	viewer := f.member(owner, "viewer@example.com", account.Viewer)

	_, _, err := f.CreateKey(f.ctx, viewer, account.KeySettings{Name: "x"})
	f.refused(err, llm.PermissionDenied)
	_, _, err = f.CreateKey(f.ctx, developer, account.KeySettings{Name: "x", Scopes: []account.Scope{account.Manage}})
	f.refused(err, llm.PermissionDenied, "scopes")
	own, _, err := f.CreateKey(f.ctx, developer, account.KeySettings{Name: "x", Scopes: []account.Scope{account.Read, account.Inference, account.Read}})
	f.must(err)
	_, err = f.UpdateKey(f.ctx, developer, own.ID, account.KeyChange{Scopes: &[]account.Scope{account.Manage}})
	f.refused(err, llm.PermissionDenied, "scopes")
	_, err = f.UpdateKey(f.ctx, other, own.ID, account.KeyChange{Name: new("mine")})
	f.refused(err, llm.PermissionDenied)
	_, _, err = f.RotateKey(f.ctx, other, own.ID, account.Grace{})
	f.refused(err, llm.PermissionDenied)
	_, err = f.RevokeKey(f.ctx, other, own.ID)
	f.refused(err, llm.PermissionDenied)

	// The owner added a scope to the developer's key. The developer may rename the key but not rotate it, because the developer
	// would get the new secret.
	_, err = f.UpdateKey(f.ctx, owner, own.ID, account.KeyChange{Scopes: &[]account.Scope{account.Inference, account.Manage}})
	f.must(err)
	_, err = f.UpdateKey(f.ctx, developer, own.ID, account.KeyChange{Name: new("renamed")})
	f.must(err)
	_, _, err = f.RotateKey(f.ctx, developer, own.ID, account.Grace{})
	f.refused(err, llm.PermissionDenied, "scopes")

	// The key loses the rights that the new role of its creator does not include.
	f.must(f.SetRole(f.ctx, owner, developer.AccountID, account.Viewer))
	own, err = f.Key(f.ctx, owner.WorkspaceID, own.ID)
	f.must(err)
	actor, err := f.KeyActor(f.ctx, &own)
	f.must(err)
	if actor.May(account.ConnectProviders) || !actor.May(account.ReadKeys) {
		t.Errorf("the key of a viewer has the wrong permissions: %+v", actor)
	}
	_, err = f.RevokeKey(f.ctx, owner, own.ID)
	f.must(err)
}

func TestKeysMadeByAKeyStayWithinIt(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "invitation")
	owner := f.owner("owner@example.com")
	make := func(d account.KeySettings) account.Actor {
		t.Helper()
		d.Name, d.Scopes = "maker", []account.Scope{account.Inference, account.Manage}
		key, _, err := f.CreateKey(f.ctx, owner, d)
		f.must(err)
		actor, err := f.KeyActor(f.ctx, &key)
		f.must(err)
		return actor
	}
	soon := f.clock.now().Add(time.Hour)
	tests := []struct {
		name  string
		maker account.KeySettings
		draft account.KeySettings
		param string // name of the rejected parameter; empty when allowed
	}{
		{"nothing bounded", account.KeySettings{}, account.KeySettings{}, ""},
		{"all models", account.KeySettings{AllowedModels: []string{"gpt*"}}, account.KeySettings{}, "allowed_models"},
		{"other models", account.KeySettings{AllowedModels: []string{"gpt*"}}, account.KeySettings{AllowedModels: []string{"g*"}}, "allowed_models"},
		{"some models", account.KeySettings{AllowedModels: []string{"gpt*"}}, account.KeySettings{AllowedModels: []string{"gpt-4.1", "gpt-5*"}}, ""},
		{"no limit", account.KeySettings{Limits: account.Limits{Concurrent: 3}}, account.KeySettings{}, "limits"},
		{"higher limit", account.KeySettings{Limits: account.Limits{Concurrent: 3}}, account.KeySettings{Limits: account.Limits{Concurrent: 4}}, "limits"},
		{"lower limit", account.KeySettings{Limits: account.Limits{Concurrent: 3}}, account.KeySettings{Limits: account.Limits{Concurrent: 2}}, ""},
		{"no end", account.KeySettings{ExpiresAt: soon}, account.KeySettings{}, "expires_at"},
		{"later end", account.KeySettings{ExpiresAt: soon}, account.KeySettings{ExpiresAt: soon.Add(1e6)}, "expires_at"},
		{"same end", account.KeySettings{ExpiresAt: soon}, account.KeySettings{ExpiresAt: soon}, ""},
		{"unpriced", account.KeySettings{}, account.KeySettings{AllowUnpriced: true}, "allow_unpriced"},
		{"a budget's second use", account.KeySettings{Budget: &account.Budget{Amount: 1, Period: account.Daily}}, account.KeySettings{Budget: &account.Budget{Amount: 1, Period: account.Daily}}, "budget"},
		{"reading needs no budget", account.KeySettings{Budget: &account.Budget{Amount: 1, Period: account.Daily}}, account.KeySettings{Scopes: []account.Scope{account.Read}}, ""},
	}
	for _, tt := range tests {
		maker := make(tt.maker)
		tt.draft.Name = tt.name
		key, _, err := f.CreateKey(f.ctx, maker, tt.draft)
		t.Log(tt.name)
		if tt.param != "" {
			f.refused(err, llm.PermissionDenied, tt.param)
			continue
		}
		f.must(err)
		if key.CreatedBy != owner.AccountID {
			t.Errorf("made by %q, want the person behind the key", key.CreatedBy)
		}
	}

	bounded := make(account.KeySettings{Limits: account.Limits{Concurrent: 3}})
	_, err := f.UpdateKey(f.ctx, bounded, bounded.KeyID, account.KeyChange{Limits: &account.Limits{}})
	f.refused(err, llm.PermissionDenied)
	free := make(account.KeySettings{})
	_, _, err = f.RotateKey(f.ctx, bounded, free.KeyID, account.Grace{})
	f.refused(err, llm.PermissionDenied, "limits")
	_, err = f.UpdateKey(f.ctx, bounded, free.KeyID, account.KeyChange{Name: new("renamed")})
	f.must(err)
	_, _, err = f.RotateKey(f.ctx, bounded, bounded.KeyID, account.Grace{})
	f.must(err)
	_, err = f.RevokeKey(f.ctx, owner, bounded.KeyID)
	f.must(err)
	_, _, err = f.CreateKey(f.ctx, bounded, account.KeySettings{Name: "late", Limits: account.Limits{Concurrent: 1}})
	f.refused(err, llm.RevokedAPIKey)
}
