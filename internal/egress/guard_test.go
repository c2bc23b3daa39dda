package egress

import (
	"net/netip"
	"testing"
)

func TestSpecialAddresses(t *testing.T) {
	t.Parallel()
	tests := []struct{ addr, want string }{ // want is empty for public addresses
		{"8.8.8.8", ""},
		{"172.15.255.255", ""},
		{"172.32.0.0", ""},
		{"100.63.255.255", ""},
		{"100.128.0.0", ""},
		{"198.17.255.255", ""},
		{"192.167.255.255", ""},
		{"223.255.255.255", ""},
		{"2606:4700::1111", ""},
		{"2a00:1450:4001:81b::200e", ""},

		{"0.0.0.0", "unspecified"},
		{"0.1.2.3", "unspecified"},
		{"10.0.0.1", "private"},
		{"172.16.0.1", "private"},
		{"172.31.255.255", "private"},
		{"192.168.1.1", "private"},
		{"100.64.0.1", "carrier-grade NAT"},
		{"100.100.100.200", "carrier-grade NAT"},
		{"127.0.0.1", "loopback"},
		{"127.255.255.254", "loopback"},
		{"168.63.129.16", "cloud platform"},
		{"169.254.169.254", "link-local"},
		{"192.0.0.192", "protocol assignment"},
		{"192.0.2.1", "documentation"},
		{"192.88.99.1", "6to4 relay"},
		{"198.18.0.1", "benchmarking"},
		{"198.19.255.255", "benchmarking"},
		{"198.51.100.7", "documentation"},
		{"203.0.113.9", "documentation"},
		{"224.0.0.1", "multicast"},
		{"239.255.255.255", "multicast"},
		{"240.0.0.1", "reserved"},
		{"255.255.255.255", "reserved"},

		{"::", "unspecified"},
		{"::1", "loopback"},
		{"fe80::1", "link-local"},
		{"fe80::1%eth0", "link-local"},
		{"fc00::1", "private"},
		{"fd00:ec2::254", "private"},
		{"fd00:ec2::254%lo", "private"},
		{"ff02::1", "multicast"},
		{"2001:db8::1", "documentation"},
		{"3fff::1", "documentation"},
		{"2001:2::1", "protocol assignment"},
		{"2001:10::1", "protocol assignment"},
		{"2620:4f:8000::1", "name server (AS112)"},
		{"100::1", "reserved"},
		{"5f00::1", "reserved"},
		{"fec0::1", "reserved"},

		// IPv4 in other notations
		{"::ffff:127.0.0.1", "loopback"},
		{"::ffff:169.254.169.254", "link-local"},
		{"::ffff:8.8.8.8", ""},
		{"::127.0.0.1", "reserved"},
		{"::8.8.8.8", "reserved"},
		{"64:ff9b::127.0.0.1", "loopback"},
		{"64:ff9b::10.1.2.3", "private"},
		{"64:ff9b::a9fe:a9fe", "link-local"},
		{"64:ff9b::8.8.8.8", ""},
		{"64:ff9b:1::8.8.8.8", "local translation"},
		{"2002:7f00:1::", "6to4"},
		{"2002:0a00:0001::1", "6to4"},
		{"2001:0:4136:e378:8000:63bf:3fff:fdd2", "Teredo"},
		{"2001::7f00:1", "Teredo"},
	}
	for _, tt := range tests {
		t.Run(tt.addr, func(t *testing.T) {
			t.Parallel()
			found, ok := special(netip.MustParseAddr(tt.addr))
			if ok != (tt.want != "") || found.name != tt.want {
				t.Errorf("special(%s) = %q, %v; want %q", tt.addr, found.name, ok, tt.want)
			}
		})
	}
}

func TestGuardChecksHostAndAddress(t *testing.T) {
	t.Parallel()
	prefix := netip.MustParsePrefix
	tests := []struct {
		name    string
		options Options
		host    string
		addr    string
		allowed bool
	}{
		{"public needs nothing", Options{}, "api.example.com:443", "8.8.8.8", true},
		{"private is rejected", Options{}, "api.example.com:443", "10.0.0.1", false},
		{"range allows", Options{AllowPrivate: []netip.Prefix{prefix("10.0.0.0/8")}}, "a:1", "10.9.9.9", true},
		{"range allows the mapped spelling", Options{AllowPrivate: []netip.Prefix{prefix("10.0.0.0/8")}}, "a:1", "::ffff:10.9.9.9", true},
		{"mapped range allows", Options{AllowPrivate: []netip.Prefix{prefix("::ffff:10.0.0.0/104")}}, "a:1", "10.9.9.9", true},
		{"range allows no other", Options{AllowPrivate: []netip.Prefix{prefix("10.0.0.0/8")}}, "a:1", "192.168.0.1", false},
		{"range allows a zoned address", Options{AllowPrivate: []netip.Prefix{prefix("fe80::/10")}}, "a:1", "fe80::1%eth0", true},
		{"all of IPv6 is not IPv4", Options{AllowPrivate: []netip.Prefix{prefix("::/0")}}, "a:1", "127.0.0.1", false},
		{"named host may be private", Options{AllowHosts: []string{"vllm.corp:8000"}}, "vllm.corp:8000", "10.0.0.1", true},
		{"named host in capitals", Options{AllowHosts: []string{"VLLM.corp.:8000"}}, "vllm.corp:8000", "10.0.0.1", true},
		{"other port of a named host", Options{AllowHosts: []string{"vllm.corp:8000"}}, "vllm.corp:22", "10.0.0.1", false},
		{"other host", Options{AllowHosts: []string{"vllm.corp:8000"}}, "evil.example:8000", "10.0.0.1", false},
		{"a name never leads to metadata", Options{AllowHosts: []string{"vllm.corp:80"}}, "vllm.corp:80", "169.254.169.254", false},
		{"a name never leads to unspecified", Options{AllowHosts: []string{"vllm.corp:80"}}, "vllm.corp:80", "0.0.0.0", false},
		{"address literal is allowed", Options{AllowHosts: []string{"169.254.10.10:80"}}, "169.254.10.10:80", "169.254.10.10", true},
		{"localhost is this machine", Options{AllowHosts: []string{"localhost:80"}}, "localhost:80", "127.0.0.1", true},
		{"localhost is no other machine", Options{AllowHosts: []string{"localhost:80"}}, "localhost:80", "10.0.0.1", false},
		{"IPv6 literal is allowed", Options{AllowHosts: []string{"[::1]:80"}}, "[::1]:80", "::1", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := newGuard(tt.options).check(tt.host, netip.MustParseAddr(tt.addr))
			if (err == nil) != tt.allowed {
				t.Errorf("check(%s, %s) = %v, want allowed %v", tt.host, tt.addr, err, tt.allowed)
			}
		})
	}
}

// FuzzGuard checks invariants for every address: all notations of an IPv4 address get the same result, and addresses that the
// standard library considers local are never public.
func FuzzGuard(f *testing.F) {
	f.Add([]byte{127, 0, 0, 1})
	f.Add([]byte{8, 8, 8, 8})
	f.Add(netip.MustParseAddr("64:ff9b::a00:1").AsSlice())
	f.Add(netip.MustParseAddr("fe80::1").AsSlice())
	g := newGuard(Options{})
	f.Fuzz(func(t *testing.T, raw []byte) {
		addr, ok := netip.AddrFromSlice(raw)
		if !ok {
			return
		}
		rejected := g.check("a:1", addr) != nil
		local := addr.IsLoopback() || addr.IsPrivate() || addr.IsLinkLocalUnicast() || addr.IsMulticast() || addr.IsUnspecified()
		if (local || addr.Unmap().IsPrivate() || addr.Unmap().IsLoopback()) && !rejected {
			t.Fatalf("%s is local and allowed", addr)
		}
		if !addr.Is4() {
			if zoned := g.check("a:1", addr.WithZone("eth0")) != nil; zoned != rejected {
				t.Fatalf("%s: with a zone, rejected=%v, want the same as without", addr, zoned)
			}
			return
		}
		four := addr.As4()
		translated := netip.AddrFrom16([16]byte{0, 0x64, 0xff, 0x9b, 12: four[0], 13: four[1], 14: four[2], 15: four[3]})
		for _, other := range []netip.Addr{netip.AddrFrom16(addr.As16()), translated} {
			if got := g.check("a:1", other) != nil; got != rejected {
				t.Fatalf("%s rejected=%v, but %s rejected=%v", addr, rejected, other, got)
			}
		}
		if err := newGuard(Options{AllowPrivate: []netip.Prefix{netip.PrefixFrom(addr, addr.BitLen())}}).check("a:1", addr); err != nil {
			t.Fatalf("%s is allowed by its own prefix, but: %v", addr, err)
		}
	})
}
