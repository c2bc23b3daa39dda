package config

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"fairlead.dev/internal/document"
)

// checkSSO validates the combinations of the single sign-on settings.
func (l *loader) checkSSO() {
	c := l.config.SSO
	if c.Issuer == "" {
		if c.SignIn == "sso_only" {
			l.complain("sso.sign_in", fault{code: Contradictory, message: "sign_in: sso_only requires an issuer, otherwise no account could sign in", fix: "set sso.issuer, or remove sso.sign_in"})
		}
		return
	}
	if c.Recheck < 5*time.Second || c.Recheck > time.Hour {
		l.complain("sso.recheck", fault{code: OutOfRange, message: fmt.Sprintf("recheck must be from 5s to 1h, not %s", FormatDuration(c.Recheck)), fix: "write a duration such as 30s"})
	}
	if c.ClientID == "" {
		l.complain("sso.client_id", fault{code: MissingField, message: "sso has an issuer and no client_id", fix: "register Fairlead at the identity provider and set sso.client_id"})
	}
	if len(c.Groups) == 0 {
		l.complain("sso.groups", fault{code: MissingField, message: "sso has an issuer and no groups, so no account could sign in", fix: "map a group to a workspace and a role; the name * matches all users"})
	}
	if c.LinkByEmail && c.TrustEmail {
		l.complain("sso.link_by_email", fault{code: Contradictory, message: "link_by_email cannot be used with trust_email, because an unverified address could take over an account", fix: "remove one of the two settings"})
	}
	for i, g := range c.Groups {
		path := at("sso.groups", i)
		switch {
		case g.Name == "":
			l.complain(path, fault{code: MissingField, message: "a group has no name", fix: "add the name of the group, or * for all users"})
		case g.Workspace == "":
			l.complain(path, fault{code: MissingField, message: fmt.Sprintf("group %s has no workspace", document.Quote(g.Name)), fix: "add workspace: ws_… or workspace: operator"})
		case g.Workspace != "operator" && !strings.HasPrefix(g.Workspace, "ws_"):
			l.complain(join(path, "workspace"), fault{code: BadValue, message: fmt.Sprintf("workspace is not a workspace ID: %s", document.Quote(g.Workspace)), fix: "copy the ID (ws_…) from the dashboard, or write operator"})
		case g.Role == "":
			l.complain(path, fault{code: MissingField, message: fmt.Sprintf("group %s has no role", document.Quote(g.Name)), fix: "add role: viewer, developer, admin or owner"})
		}
	}
	if !slices.Contains(c.Scopes, "openid") {
		l.complain("sso.scopes", fault{code: MissingField, message: "scopes does not contain openid", fix: "add openid"})
	}
}

// checkIssuer requires https, because tokens are read from the issuer's endpoints. Loopback is accepted for tests and for a provider on
// the same machine.
func checkIssuer(name, text string) *fault {
	if wrong := checkURL(name, text); wrong != nil {
		return wrong
	}
	u, _ := url.Parse(text) // checkURL has parsed it
	addr, err := netip.ParseAddr(u.Hostname())
	if u.Scheme == "https" || u.Hostname() == "localhost" || err == nil && addr.Unmap().IsLoopback() {
		return nil
	}
	return &fault{code: BadValue, message: name + " must begin with https://", fix: "write an address such as https://login.example.com; http:// is accepted for localhost only"}
}
