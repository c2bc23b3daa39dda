package account_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/vault"
)

// TestSecretsAreNeverStored uses every kind of secret and checks that none appears in a database file, the audit log or an error.
func TestSecretsAreNeverStored(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "invitation")
	const canary, replacement, credential = "canary-password-one", "canary-password-two", "sk-canary-credential-1234567890"
	ann, session, err := f.Register(f.ctx, account.Registration{Email: "ann@example.com", Password: canary, SetupCode: f.setupCode(), Visitor: local})
	f.must(err)
	owner := f.actor(ann.ID, f.home(ann.ID).ID)
	_, invitation, err := f.Invite(f.ctx, owner, account.Viewer)
	f.must(err)
	key, first, err := f.CreateKey(f.ctx, owner, account.KeySettings{Name: "ci"})
	f.must(err)
	_, second, err := f.RotateKey(f.ctx, owner, key.ID, account.Grace{})
	f.must(err)
	next, err := f.ChangePassword(f.ctx, ann.ID, canary, replacement, local)
	f.must(err)
	safe, err := vault.New(f.db.Config, master, f.clock.now)
	f.must(err)
	_, err = safe.Add(f.ctx, "openai", credential, ann.ID)
	f.must(err)

	var errs []string
	for _, secret := range []string{canary, first, session} {
		_, _, err := f.Login(f.ctx, secret+"@example.com", secret, local)
		errs = append(errs, fmt.Sprint(err))
		_, _, err = f.Session(f.ctx, secret)
		errs = append(errs, fmt.Sprint(err))
		_, err = f.Key(f.ctx, owner.WorkspaceID, secret)
		errs = append(errs, fmt.Sprint(err))
		_, err = f.AcceptInvitation(f.ctx, ann.ID, secret)
		errs = append(errs, fmt.Sprint(err))
		_, err = f.ChangePassword(f.ctx, ann.ID, secret, secret, local)
		errs = append(errs, fmt.Sprint(err))
	}
	events, err := f.Audit(f.ctx, owner.WorkspaceID, "", 100)
	f.must(err)
	files := [][]byte{[]byte(strings.Join(errs, "\n")), fmt.Appendf(nil, "%+v", events)}
	names, err := filepath.Glob(filepath.Join(f.dir, "*"))
	f.must(err)
	for _, name := range names {
		content, err := os.ReadFile(name)
		f.must(err)
		files = append(files, content)
	}
	if len(names) < 2 {
		t.Fatalf("only %v: the write-ahead file is missing", names)
	}
	if !bytes.Contains(bytes.Join(files, nil), []byte("ann@example.com")) {
		t.Fatal("the search does not find ann@example.com in the database files")
	}
	for name, secret := range map[string]string{
		"password": canary, "new password": replacement, "session": session, "new session": next, "invitation": invitation,
		"key": first, "key's random part": first[10:30], "rotated key": second, "credential": credential, "credential's end": credential[10:],
	} {
		for i, content := range files {
			if bytes.Contains(content, []byte(secret)) {
				t.Errorf("the %s is in source %d", name, i)
			}
		}
	}
}
