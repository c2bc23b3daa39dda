package egress

import (
	"cmp"
	"context"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"unicode"

	"fairlead.dev/internal/llm"
)

// CheckURL validates a provider address entered by a user. It must be an https URL (http is accepted for allowed hosts and allowed
// private networks) without user information, query or fragment. Its host must not resolve to a special-purpose address that is not
// allowed. The guard repeats the address check at every connection. Errors are *llm.Error of kind InvalidRequest.
func (c *Client) CheckURL(ctx context.Context, raw string) error {
	s := c.current.Load()
	u, err := url.Parse(raw)
	if err != nil {
		return badURL("This is not a URL.")
	}
	port, portErr := strconv.ParseUint(cmp.Or(u.Port(), "443"), 10, 16)
	switch {
	case u.Scheme != "https" && u.Scheme != "http":
		return badURL("The address must start with https://.")
	case u.Opaque != "" || u.Hostname() == "":
		return badURL("The address has no host.")
	case u.User != nil:
		return badURL("The address must not contain a user name or password.")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return badURL("The address must not have a query or fragment.")
	case strings.HasSuffix(u.Host, ":") || portErr != nil || port == 0:
		return badURL("The address has an invalid port.")
	case strings.ContainsFunc(u.Hostname(), func(r rune) bool { return r > unicode.MaxASCII }): // net/http reads ①②⑦.⓪.⓪.① as 127.0.0.1
		return badURL("The host has characters outside ASCII. Write an international name in its xn-- form.")
	case isNumber(u.Hostname()):
		return badURL("The host is an IP address in an unusual notation.")
	}
	private, err := s.checkHost(ctx, u)
	if err != nil {
		return err
	}
	if u.Scheme == "http" && !private && !s.guard.hosts[hostPort(u)] {
		return badURL("The address must start with https://: over http:// the credential can be read in transit.")
	}
	return nil
}

// Loopback returns the host and port of a URL whose host is localhost or a literal loopback address, and an empty string for other URLs.
func Loopback(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	at := hostPort(u)
	host, _, _ := net.SplitHostPort(at) // hostPort returns a valid pair
	if addr, err := netip.ParseAddr(host); host != "localhost" && (err != nil || !plain(addr).IsLoopback()) {
		return ""
	}
	return at
}

// checkHost rejects a host that resolves to a special-purpose address that is not allowed. private reports whether all its
// addresses are special-purpose addresses that are allowed. A name that does not resolve now is accepted, because the guard
// checks its addresses at every connection.
func (s *settings) checkHost(ctx context.Context, u *url.URL) (private bool, err error) {
	host := u.Hostname()
	addrs := []netip.Addr{}
	if addr, err := netip.ParseAddr(host); err == nil {
		addrs = append(addrs, addr)
	} else {
		addrs = s.resolve(ctx, host)
	}
	private = len(addrs) > 0
	for _, addr := range addrs {
		if err := s.guard.check(hostPort(u), addr); err != nil {
			e := rejection(host, err)
			e.Kind, e.Param = llm.InvalidRequest, "base_url"
			e.Message = strings.Replace(e.Message, "was not called", "cannot be used", 1)
			return false, e
		}
		_, isSpecial := special(addr)
		private = private && isSpecial
	}
	return private, nil
}

func (s *settings) resolve(ctx context.Context, host string) []netip.Addr {
	name := strings.ToLower(strings.TrimSuffix(host, "."))
	if name == "localhost" || strings.HasSuffix(name, ".localhost") {
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}
	}
	resolver := s.options.Resolver
	if resolver == nil {
		resolver = net.DefaultResolver
	}
	ctx, cancel := context.WithTimeout(ctx, connectTimeout(s.options))
	defer cancel()
	addrs, err := resolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil
	}
	return addrs
}

// isNumber reports whether host is a number such as 2130706433, 0x7f.1 or 127.1, which some resolvers interpret as an IPv4
// address.
func isNumber(host string) bool {
	if _, err := netip.ParseAddr(host); err == nil {
		return false
	}
	labels := strings.Split(strings.TrimSuffix(host, "."), ".")
	last := strings.ToLower(labels[len(labels)-1])
	if hex, ok := strings.CutPrefix(last, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return last == "" || strings.Trim(last, "0123456789") == ""
}

func badURL(sentence string) *llm.Error {
	return &llm.Error{Kind: llm.InvalidRequest, Message: sentence, Param: "base_url"}
}
