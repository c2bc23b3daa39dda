package keys

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/account/secret"
	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/cli/clitest"
	"fairlead.dev/internal/money"
)

func TestCreateKeyWritesIDAndKeyFirst(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	out, _ := l.Run(cli.ExitOK, "keys", "create", "--name", "ci", "--json")
	if !regexp.MustCompile(`^\{"id":"key_[0-9A-Z]{26}","key":"fl_[0-9A-Za-z]{38}",.*\}\n$`).MatchString(out) {
		t.Errorf("output %q, want an object that starts with id and key", out)
	}
	view := clitest.Lines(t, out)[0]
	if err := secret.ParseKey(view["key"].(string)); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(l.Dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("data directory: %v %v", info, err)
	}
	i, w := l.Open()
	key, err := i.Accounts.Key(t.Context(), w.ID, view["id"].(string))
	if err != nil {
		t.Fatal(err)
	}
	if key.Name != "ci" || key.CreatedBy != "" || !cmp.Equal(key.Scopes, []account.Scope{account.Inference}) {
		t.Errorf("stored: %+v", key)
	}
}

func TestCreateKeyWritesOnlyTheKeyOnStdout(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	out, err := l.Run(cli.ExitOK, "keys", "create", "--name", "ci")
	if secret.ParseKey(strings.TrimSuffix(out, "\n")) != nil {
		t.Errorf("stdout: %q", out)
	}
	clitest.MustContain(t, err, `Key "ci"`, "curl http://127.0.0.1:8080/proxy/v1/chat/completions", "Bearer "+strings.TrimSpace(out), `"model":"auto"`)
	if _, quiet := l.Run(cli.ExitOK, "keys", "create", "--name", "ci", "--quiet"); quiet != "" {
		t.Errorf("--quiet writes %q", quiet)
	}
	if _, reader := l.Run(cli.ExitOK, "keys", "create", "--name", "reader", "--scopes", "read"); strings.Contains(reader, "curl") {
		t.Errorf("output for a key without inference contains a curl command: %s", reader)
	}
}

func TestCreateKeyAppliesEverySetting(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	out, _ := l.Run(cli.ExitOK, "keys", "create", "--json", "--name", "batch", "--scopes", "read,inference", "--models", "gpt-4.1*,sim-small",
		"--rpm", "60", "--tpm", "90000", "--concurrent", "4", "--budget", "$50", "--period", "week", "--warn", "80", "--expires", "90d",
		"--no-bodies", "--tags", "team=search,stage=prod")
	i, w := l.Open()
	key, err := i.Accounts.Key(t.Context(), w.ID, clitest.Lines(t, out)[0]["id"].(string))
	if err != nil {
		t.Fatal(err)
	}
	off := false
	want := account.Key{
		ID: key.ID, WorkspaceID: w.ID,
		KeySettings: account.KeySettings{
			Name: "batch", Scopes: []account.Scope{account.Inference, account.Read}, AllowedModels: []string{"gpt-4.1*", "sim-small"},
			Limits:    account.Limits{RequestsPerMinute: 60, TokensPerMinute: 90000, Concurrent: 4},
			Budget:    &account.Budget{Amount: 50 * money.Dollar, Period: account.Weekly, WarnPercent: 80},
			LogBodies: &off, Tags: map[string]string{"team": "search", "stage": "prod"}, ExpiresAt: clitest.Noon.Add(90 * 24 * time.Hour),
		},
		CreatedAt: key.CreatedAt, Secrets: key.Secrets,
	}
	if diff := cmp.Diff(want, key); diff != "" {
		t.Error(diff)
	}
}

func TestListKeys(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	if out, err := l.Run(cli.ExitOK, "keys", "list"); out != "" || !strings.Contains(err, "no keys yet") {
		t.Errorf("without keys: %q, %q", out, err)
	}
	l.Run(cli.ExitOK, "keys", "create", "--name", "old", "--expires", "2026-12-01")
	l.Run(cli.ExitOK, "keys", "create", "--name", "batch", "--rpm", "60", "--concurrent", "4", "--budget", "50")
	l.Run(cli.ExitOK, "keys", "create", "--name", "gone")
	l.Run(cli.ExitOK, "keys", "revoke", "gone", "--yes")
	l.Console.Now = func() time.Time { return clitest.Noon.AddDate(0, 1, 0) }

	out, _ := l.Run(cli.ExitOK, "keys", "list")
	rows := strings.Split(strings.TrimSpace(out), "\n")
	if len(rows) != 4 {
		t.Fatalf("got %d rows, want 4:\n%s", len(rows), out)
	}
	for i, want := range []string{
		`^NAME +ID +KEY +SCOPES +LIMITS +BUDGET +LAST USED +EXPIRES +STATE$`,
		`^gone +key_\w{26} +fl_\w{4}…\w{4} +inference +none +none +never +never +revoked$`,
		`^batch +key_\w{26} +fl_\w{4}…\w{4} +inference +60 req/min, 4 concurrent +\$50\.00/month +never +never +active$`,
		`^old +key_\w{26} +fl_\w{4}…\w{4} +inference +none +none +never +2026-12-01 00:00 +expired$`,
	} {
		if !regexp.MustCompile(want).MatchString(rows[i]) {
			t.Errorf("row %d: %q does not match %s", i, rows[i], want)
		}
	}
	out, _ = l.Run(cli.ExitOK, "keys", "list", "--json")
	var states []any
	for _, key := range clitest.Lines(t, out) {
		states = append(states, key["state"])
		if _, shown := key["key"]; shown {
			t.Error("keys list shows a secret")
		}
	}
	if diff := cmp.Diff([]any{"revoked", "active", "expired"}, states); diff != "" {
		t.Error(diff)
	}
}

func TestRotateKey(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	old, _ := l.Run(cli.ExitOK, "keys", "create", "--name", "ci")
	fresh, err := l.Run(cli.ExitOK, "keys", "rotate", "ci", "--grace", "24h", "--grace-after-use", "1h")
	if secret.ParseKey(strings.TrimSpace(fresh)) != nil || fresh == old {
		t.Errorf("new secret: %q", fresh)
	}
	clitest.MustContain(t, err, "The old secret is valid until 1d from now, or 1h after the first use of the new one.")
	i, w := l.Open()
	keys, errKeys := i.Accounts.Keys(t.Context(), w.ID)
	if errKeys != nil || len(keys) != 1 || len(keys[0].Secrets) != 2 {
		t.Fatalf("keys: %+v, %v", keys, errKeys)
	}
	if s := keys[0].Secrets[0]; s.AfterUse != time.Hour || s.ExpiresAt.Sub(s.CreatedAt).Round(time.Hour) != 24*time.Hour {
		t.Errorf("old secret: %+v", s)
	}
	_, err = l.Run(cli.ExitOK, "keys", "rotate", keys[0].ID)
	clitest.MustContain(t, err, "The old secret has been revoked.")
	_, err = l.Run(cli.ExitFailed, "keys", "rotate", "cii")
	clitest.MustContain(t, err, `key "cii" not found`, `fix: did you mean "ci"?`)
}

func TestRevokeAsksOnlyOnATerminal(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.Run(cli.ExitOK, "keys", "create", "--name", "ci")
	state := func() any {
		out, _ := l.Run(cli.ExitOK, "keys", "list", "--json")
		return clitest.Lines(t, out)[0]["state"]
	}

	_, err := l.Run(cli.ExitUsage, "keys", "revoke", "ci")
	clitest.MustContain(t, err, "this is not a terminal", "fix: run the command again with --yes")

	l.Console.CanAsk = true
	l.Console.In = strings.NewReader("n\n")
	_, err = l.Run(cli.ExitFailed, "keys", "revoke", "ci")
	clitest.MustContain(t, err, "Permanently revoke key ci (key_", "never used)? [y/N]", "error: no key was revoked")
	if got := state(); got != "active" {
		t.Errorf("after answering no: got %s, want active", got)
	}
	l.Console.In = strings.NewReader("YES\n")
	l.Run(cli.ExitOK, "keys", "revoke", "ci")
	if got := state(); got != "revoked" {
		t.Errorf("after answering yes: got %s, want revoked", got)
	}
}
