package egress

import (
	"fmt"
	"net/netip"
	"strings"
)

// ranges lists the special-purpose blocks of IPv4 and those within the global unicast space of IPv6 (2000::/3). All IPv6 addresses outside
// that space are special, except NAT64 addresses of public IPv4 addresses; the listed blocks outside that space have a specific name. The
// list follows the IANA special-purpose registries and adds Azure's platform address.
var ranges = []addressRange{
	{netip.MustParsePrefix("0.0.0.0/8"), "unspecified", false},
	{netip.MustParsePrefix("10.0.0.0/8"), "private", true},
	{netip.MustParsePrefix("100.64.0.0/10"), "carrier-grade NAT", true},
	{netip.MustParsePrefix("127.0.0.0/8"), "loopback", true},
	{netip.MustParsePrefix("168.63.129.16/32"), "cloud platform", false},
	{netip.MustParsePrefix("169.254.0.0/16"), "link-local", false},
	{netip.MustParsePrefix("172.16.0.0/12"), "private", true},
	{netip.MustParsePrefix("192.0.0.0/24"), "protocol assignment", false},
	{netip.MustParsePrefix("192.0.2.0/24"), "documentation", false},
	{netip.MustParsePrefix("192.31.196.0/24"), "name server (AS112)", false},
	{netip.MustParsePrefix("192.52.193.0/24"), "multicast tunnelling", false},
	{netip.MustParsePrefix("192.88.99.0/24"), "6to4 relay", false},
	{netip.MustParsePrefix("192.168.0.0/16"), "private", true},
	{netip.MustParsePrefix("192.175.48.0/24"), "name server (AS112)", false},
	{netip.MustParsePrefix("198.18.0.0/15"), "benchmarking", false},
	{netip.MustParsePrefix("198.51.100.0/24"), "documentation", false},
	{netip.MustParsePrefix("203.0.113.0/24"), "documentation", false},
	{netip.MustParsePrefix("224.0.0.0/4"), "multicast", false},
	{netip.MustParsePrefix("240.0.0.0/4"), "reserved", false},

	{netip.MustParsePrefix("2001::/32"), "Teredo", false},
	{netip.MustParsePrefix("2001::/23"), "protocol assignment", false},
	{netip.MustParsePrefix("2001:db8::/32"), "documentation", false},
	{netip.MustParsePrefix("2002::/16"), "6to4", false},
	{netip.MustParsePrefix("2620:4f:8000::/48"), "name server (AS112)", false},
	{netip.MustParsePrefix("3fff::/20"), "documentation", false},

	{netip.MustParsePrefix("::/128"), "unspecified", false},
	{netip.MustParsePrefix("::1/128"), "loopback", true},
	{netip.MustParsePrefix("64:ff9b:1::/48"), "local translation", false},
	{netip.MustParsePrefix("fc00::/7"), "private", true},
	{netip.MustParsePrefix("fe80::/10"), "link-local", false},
	{netip.MustParsePrefix("ff00::/8"), "multicast", false},
}

var (
	globalUnicast = netip.MustParsePrefix("2000::/3")
	nat64         = netip.MustParsePrefix("64:ff9b::/96")
)

// addressRange is a special-purpose block. If private is set, hosts in the configuration file may have addresses in the block. It is not
// set for blocks in which no provider can run, or for link-local addresses, which serve the credentials of cloud instances.
type addressRange struct {
	prefix  netip.Prefix
	name    string
	private bool
}

// special returns the special-purpose range of an address, or false for a public one.
func special(addr netip.Addr) (addressRange, bool) {
	addr = plain(addr)
	if !addr.IsValid() {
		return addressRange{name: "invalid"}, true
	}
	for _, r := range ranges {
		if r.prefix.Contains(addr) {
			return r, true
		}
	}
	switch {
	case addr.Is4(), globalUnicast.Contains(addr):
		return addressRange{}, false
	case nat64.Contains(addr):
		// A NAT64 translator forwards to the IPv4 address in the last four bytes, so that address is checked.
		b := addr.As16()
		return special(netip.AddrFrom4([4]byte(b[12:])))
	default:
		return addressRange{name: "reserved"}, true
	}
}

// plain converts a mapped IPv4 address to IPv4 and removes the zone. Prefix.Contains returns false for every address with a zone,
// so a zone would bypass the table.
func plain(addr netip.Addr) netip.Addr { return addr.Unmap().WithZone("") }

// guard decides which addresses may be called.
type guard struct {
	prefixes []netip.Prefix
	hosts    map[string]bool
}

func newGuard(o Options) guard {
	g := guard{prefixes: make([]netip.Prefix, 0, len(o.AllowPrivate)), hosts: map[string]bool{}}
	for _, p := range o.AllowPrivate {
		if p.Addr().Is4In6() && p.Bits() >= 96 { // convert IPv4-mapped prefixes to IPv4, as plain does for addresses
			p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
		}
		g.prefixes = append(g.prefixes, p)
	}
	for _, h := range o.AllowHosts {
		g.hosts[normalHost(h)] = true
	}
	if o.Proxy != nil {
		g.hosts[hostPort(o.Proxy)] = true
	}
	return g
}

// guardError is the error for an address that was rejected before connecting.
type guardError struct {
	addr netip.Addr
	kind string
}

func (e *guardError) Error() string {
	return fmt.Sprintf("address %s is %s", e.addr, e.kind)
}

// check returns nil if a connection to hostPort may use addr, and otherwise a *guardError.
func (g guard) check(hostPort string, addr netip.Addr) error {
	found, isSpecial := special(addr)
	if !isSpecial {
		return nil
	}
	for _, p := range g.prefixes {
		if p.Contains(plain(addr)) {
			return nil
		}
	}
	if g.hosts[hostPort] {
		literal, err := netip.ParseAddrPort(hostPort) // hostPort may contain the address itself
		// localhost is only this machine, even if the resolver returns another address.
		private := found.private && (found.name == "loopback" || !strings.HasPrefix(hostPort, "localhost:"))
		if private || err == nil && plain(literal.Addr()) == plain(addr) {
			return nil
		}
	}
	return &guardError{addr: addr, kind: found.name}
}
