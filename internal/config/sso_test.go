package config

import (
	"strings"
	"testing"
)

func TestSSOSettingsAreChecked(t *testing.T) {
	t.Parallel()
	const valid = "sso:\n  issuer: https://login.example.com\n  client_id: fairlead\n  groups:\n    - {name: staff, workspace: operator, role: admin}\n"
	if _, err := Load(Options{Path: write(t, valid), Env: []string{"HOME=/h"}}); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct{ old, new, want string }{
		"plain http":         {"https://login", "http://login", "must begin with https://"},
		"query":              {"example.com", "example.com?a=b", "must not contain a query"},
		"no client":          {"  client_id: fairlead\n", "", "no client_id"},
		"no groups":          {"  groups:\n    - {name: staff, workspace: operator, role: admin}\n", "", "no groups"},
		"unknown role":       {"role: admin", "role: king", "role"},
		"no role":            {", role: admin", "", "has no role"},
		"name of workspace":  {"workspace: operator", "workspace: Research", "not a workspace ID"},
		"no workspace":       {"workspace: operator, ", "", "has no workspace"},
		"no openid":          {"  client_id", "  scopes: [email]\n  client_id", "does not contain openid"},
		"long recheck":       {"  client_id", "  recheck: 2h\n  client_id", "from 5s to 1h"},
		"domain with an at":  {"  client_id", "  allowed_domains: ['@example.com']\n  client_id", "not a domain"},
		"not an address":     {"  client_id", "  break_glass: [ops]\n  client_id", "not an email address"},
		"only, not set up":   {valid, "sso: {sign_in: sso_only}\n", "requires an issuer"},
		"short secret":       {"  client_id", "  client_secret: abc\n  client_id", "too short"},
		"unknown setting":    {"  client_id", "  clientid: x\n  client_id", "unknown"},
		"secret in a file":   {"  client_id", "  client_secret: file:/nowhere/secret\n  client_id", "/nowhere/secret"},
		"loopback is plain":  {"https://login.example.com", "http://127.0.0.1:5556/dex", ""},
		"sign-in by sso":     {"  client_id", "  sign_in: sso_only\n  break_glass: [ops@example.com]\n  client_id", ""},
		"unverified link":    {"  client_id", "  link_by_email: true\n  trust_email: true\n  client_id", "cannot be used with trust_email"},
		"any of the persons": {"name: staff", "name: '*'", ""},
	} {
		_, err := Load(Options{Path: write(t, strings.Replace(valid, tc.old, tc.new, 1)), Env: []string{"HOME=/h"}})
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: got %v, want %q", name, err, tc.want)
		}
	}
}
