package sso

import (
	"context"
	"slices"
	"strings"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"fairlead.dev/internal/account"
)

// maxGroups limits the number of groups of a person.
const maxGroups = 2000

// person holds the provider's claims about a person.
type person struct {
	subject string
	email   string // address in lower case; verified, unless TrustEmail is set and the claim email_verified is missing
	name    string
	groups  []string
}

// matching returns the mappings that apply to a person with the given groups.
func (o Options) matching(groups []string) []Mapping {
	var found []Mapping
	for _, m := range o.Groups {
		if m.Group == Everyone || slices.Contains(groups, m.Group) {
			found = append(found, m)
		}
	}
	return found
}

// read returns the person that a token response describes. token is the verified ID token, or nil for a refresh response without an ID
// token. If required claims are missing, they are read from the userinfo endpoint.
func (c *connection) read(ctx context.Context, p *oidc.Provider, token *oidc.IDToken, access *oauth2.Token) (person, error) {
	claims := map[string]any{}
	subject := ""
	if token != nil {
		subject = token.Subject
		if err := token.Claims(&claims); err != nil {
			return person{}, refused(TokenInvalid, "the claims of the ID token are invalid", err)
		}
	}
	_, hasGroups := claim(claims, c.options.GroupsClaim)
	needsGroups := slices.ContainsFunc(c.options.Groups, func(m Mapping) bool { return m.Group != Everyone })
	if token == nil || claims["email"] == nil || needsGroups && !hasGroups {
		more, err := c.userInfo(ctx, p, access, subject)
		if err != nil {
			return person{}, err
		}
		// The address and its verification must come from the same source: the ID token and userinfo may contain different addresses, and
		// a provider may let users change one of them without verification.
		if _, has := claims["email"]; has && !strings.EqualFold(text(more["email"]), text(claims["email"])) {
			delete(more, "email_verified")
		} else if !has {
			delete(claims, "email_verified")
		}
		for name, value := range more {
			if _, has := claims[name]; !has {
				claims[name] = value
			}
		}
	}
	return c.options.person(claims)
}

// userInfo reads the claims from the userinfo endpoint. It returns no claims if the provider has no such endpoint.
func (c *connection) userInfo(ctx context.Context, p *oidc.Provider, access *oauth2.Token, subject string) (map[string]any, error) {
	claims := map[string]any{}
	if p.UserInfoEndpoint() == "" {
		return claims, nil
	}
	info, err := p.UserInfo(c.context(ctx), oauth2.StaticTokenSource(access))
	if err != nil {
		return nil, &RefusalError{Reason: Unavailable, Detail: "the userinfo endpoint failed", Err: err}
	}
	if subject != "" && info.Subject != subject {
		return nil, refused(TokenInvalid, "the userinfo endpoint returned another subject", nil)
	}
	if err := info.Claims(&claims); err != nil {
		return nil, refused(TokenInvalid, "the claims of the userinfo endpoint are invalid", err)
	}
	return claims, nil
}

// person checks the claims and returns the person.
func (o Options) person(claims map[string]any) (person, error) {
	p := person{subject: text(claims["sub"]), email: account.NormalEmail(text(claims["email"])), name: strings.TrimSpace(text(claims["name"]))}
	if p.subject == "" || len(p.subject) > 255 || account.ClientName(p.subject) != p.subject {
		return person{}, refused(TokenInvalid, "the subject is missing or invalid", nil)
	}
	name, domain, _ := strings.Cut(p.email, "@")
	if name == "" || domain == "" || strings.Contains(domain, "@") || len(p.email) > 254 || account.ClientName(p.email) != p.email {
		return person{}, refused(EmailMissing, "the claim email is missing or invalid", nil)
	}
	verified, stated := claims["email_verified"]
	if !isTrue(verified) && (stated || !o.TrustEmail) {
		return person{}, refused(EmailUnverified, "the claim email_verified is not true", nil)
	}
	if len(o.AllowedDomains) > 0 && !slices.ContainsFunc(o.AllowedDomains, func(allowed string) bool { return account.NormalEmail(allowed) == domain }) {
		return person{}, refused(DomainNotAllowed, "the domain "+cleaned(domain)+" is not in allowed_domains", nil)
	}
	if groups, ok := claim(claims, o.GroupsClaim); ok {
		p.groups = names(groups)
	}
	if len(o.matching(p.groups)) == 0 {
		return p, refused(NoGroup, "no group of the user is mapped to a workspace", nil)
	}
	return p, nil
}

// claim returns a claim by its name, or by its path if the name contains dots and no claim has that name.
func claim(claims map[string]any, name string) (any, bool) {
	if value, ok := claims[name]; ok {
		return value, true
	}
	first, rest, nested := strings.Cut(name, ".")
	if inner, ok := claims[first].(map[string]any); ok && nested {
		return claim(inner, rest)
	}
	return nil, false
}

// names returns the strings of a claim that is a list or a single string.
func names(value any) []string {
	switch value := value.(type) {
	case string:
		return []string{value}
	case []any:
		list := []string{}
		for _, one := range value[:min(len(value), maxGroups)] {
			if name, ok := one.(string); ok {
				list = append(list, name)
			}
		}
		return list
	}
	return nil
}

func text(value any) string {
	s, _ := value.(string) // other types are treated as missing
	return s
}

// isTrue reports whether a claim is true. Some providers send a string.
func isTrue(value any) bool {
	switch value := value.(type) {
	case bool:
		return value
	case string:
		return value == "true"
	}
	return false
}
