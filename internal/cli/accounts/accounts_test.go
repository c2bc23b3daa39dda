package accounts

import (
	"context"
	"strings"
	"testing"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/cli/clitest"
)

func TestCreateAccount(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.Run(cli.ExitOK, "keys", "create", "--name", "ci")
	l.Console.In = strings.NewReader("correct horse battery\n")
	out, err := l.Run(cli.ExitOK, "admin", "create", "--email", "You@Example.com", "--name", "You", "--password-stdin")
	if out != "" {
		t.Errorf("stdout: got %s, want none", out)
	}
	clitest.MustContain(t, err, "Created account you@example.com. Sign in at http://127.0.0.1:8080")

	i, w := l.Open()
	person, _, errLogin := i.Accounts.Login(t.Context(), "you@example.com", "correct horse battery", account.Visitor{})
	if errLogin != nil || person.Name != "You" {
		t.Fatalf("sign in: %+v, %v", person, errLogin)
	}
	owned, errOwned := i.Accounts.Workspaces(t.Context(), person.ID)
	if errOwned != nil || len(owned) != 1 || owned[0].Workspace.ID != w.ID {
		t.Errorf("the first account does not own the workspace of command-line keys: %+v, %v", owned, errOwned)
	}

	l.Console.In = strings.NewReader("correct horse battery\n")
	_, err = l.Run(cli.ExitFailed, "admin", "create", "--email", "you@example.com", "--password-stdin")
	clitest.MustContain(t, err, "error: An account with this email address already exists.", "fix: sign in, or run  fairlead admin reset-password")
}

func TestResetPassword(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.Console.In = strings.NewReader("the first password")
	out, _ := l.Run(cli.ExitOK, "admin", "create", "--email", "a@example.com", "--password-stdin", "--json")
	if view := clitest.Lines(t, out)[0]; view["email"] != "a@example.com" || !strings.HasPrefix(view["id"].(string), "acc_") {
		t.Errorf("JSON: %s", out)
	}
	l.Console.In = strings.NewReader("the second password\r\n")
	l.Run(cli.ExitOK, "admin", "reset-password", "--email", "a@example.com", "--password-stdin")
	i, _ := l.Open()
	if _, _, err := i.Accounts.Login(t.Context(), "a@example.com", "the second password", account.Visitor{}); err != nil {
		t.Error(err)
	}
	l.Console.In = strings.NewReader("the third password")
	_, err := l.Run(cli.ExitFailed, "admin", "reset-password", "--email", "b@example.com", "--password-stdin")
	clitest.MustContain(t, err, "error: Account not found.", "fix: check the address")
}

func TestUnlockAllowsSignInsAgain(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.Console.In = strings.NewReader("correct horse battery\n")
	l.Run(cli.ExitOK, "admin", "create", "--email", "a@example.com", "--password-stdin")
	i, _ := l.Open()
	login := func(secret string) error {
		_, _, err := i.Accounts.Login(t.Context(), "a@example.com", secret, account.Visitor{})
		return err
	}
	for range 10 {
		_ = login("wrong password") // counts as a failed sign-in
	}
	if login("correct horse battery") == nil {
		t.Fatal("the account is not locked")
	}
	_, stderr := l.Run(cli.ExitOK, "admin", "unlock", "--email", "a@example.com")
	clitest.MustContain(t, stderr, "a@example.com can sign in again.")
	if err := login("correct horse battery"); err != nil {
		t.Error(err)
	}
	_, stderr = l.Run(cli.ExitFailed, "admin", "unlock", "--email", "b@example.com")
	clitest.MustContain(t, stderr, "fix: check the address")
}

func TestRemoveMemberRevokesAndListsKeys(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.Console.In = strings.NewReader("correct horse battery\n")
	l.Run(cli.ExitOK, "admin", "create", "--email", "a@example.com", "--password-stdin")
	i, w := l.Open()
	members, err := i.Accounts.Members(t.Context(), w.ID)
	if err != nil || len(members) != 1 {
		t.Fatalf("members %+v, %v", members, err)
	}
	owner, err := i.Accounts.Actor(t.Context(), members[0].AccountID, w.ID)
	if err != nil {
		t.Fatal(err)
	}
	_, token, err := i.Accounts.Invite(t.Context(), owner, account.Developer)
	if err != nil {
		t.Fatal(err)
	}
	b, _, err := i.Accounts.Register(t.Context(), account.Registration{Email: "b@example.com", Password: "correct horse battery", Invitation: token})
	if err != nil {
		t.Fatal(err)
	}
	key, _, err := i.Accounts.CreateKey(t.Context(), account.Actor{AccountID: b.ID, WorkspaceID: w.ID, Role: account.Developer}, account.KeySettings{Name: "ci"})
	if err != nil {
		t.Fatal(err)
	}

	_, stderr := l.Run(cli.ExitOK, "admin", "remove-member", "--email", "B@example.com")

	clitest.MustContain(t, stderr, "Removed B@example.com from workspace "+w.ID+" and revoked 1 API keys.", key.ID+"  ci")
	if stored, err := i.Accounts.Key(t.Context(), w.ID, key.ID); err != nil || stored.RevokedAt.IsZero() {
		t.Errorf("the key is %+v, %v", stored, err)
	}
	_, stderr = l.Run(cli.ExitFailed, "admin", "remove-member", "--email", "b@example.com")
	clitest.MustContain(t, stderr, "No member of the workspace has this email address.")
}

func TestPasswordsAreAskedForTwice(t *testing.T) {
	t.Parallel()
	answers := func(texts ...string) func(context.Context) (string, error) {
		return func(context.Context) (string, error) {
			text := texts[0]
			texts = texts[1:]
			return text, nil
		}
	}
	l := newLab(t)
	l.Console.CanAsk = true
	l.Console.Secret = answers("correct horse battery", "correct horse")
	_, err := l.Run(cli.ExitFailed, "admin", "create", "--email", "a@example.com")
	clitest.MustContain(t, err, "Password: ", "Repeat password: ", "error: the passwords do not match")
	l.Console.Secret = answers("short", "short")
	_, err = l.Run(cli.ExitUsage, "admin", "create", "--email", "a@example.com")
	clitest.MustContain(t, err, "error: The password must have at least 10 characters.")
	l.Console.Secret = answers("correct horse battery", "correct horse battery")
	l.Run(cli.ExitOK, "admin", "create", "--email", "a@example.com")
}

func TestPasswordsAreNotAskedForWithoutATerminal(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	_, err := l.Run(cli.ExitUsage, "admin", "create", "--email", "a@example.com")
	clitest.MustContain(t, err, "this is not a terminal", "fix: pipe the password in and add --password-stdin")
	_, err = l.Run(cli.ExitUsage, "admin", "create", "--email", "a@example.com", "--password-stdin")
	clitest.MustContain(t, err, "standard input is empty")
	_, err = l.Run(cli.ExitUsage, "admin", "create")
	clitest.MustContain(t, err, "--email is missing")
	if cmd, _, errFind := cli.NewRoot(l.Console, l.Commands...).Find([]string{"admin", "create"}); errFind != nil || cmd.Flag("password") != nil {
		t.Errorf("admin create has a --password flag, or was not found: %v", errFind)
	}
}
