package providerset

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"fairlead.dev/internal/provider"
)

// Built-in target tags.
const (
	tagZDR         = "zdr"          // the operator declares that the provider stores nothing (zero data retention)
	tagCollects    = "collects"     // the provider may store prompts or train on them
	tagSimulated   = "simulated"    // the target is served by the simulator
	tagLocal       = "local"        // the target is on this machine or in its private network
	tagOpenWeights = "open_weights" // the model's weights are published
)

// setTags sets the tags of a provider's targets: the operator's tags, and the built-in tags that apply to the target.
func setTags(p *provider.Provider) {
	local := !p.Simulated && isPrivate(p.BaseURL)
	for _, t := range p.Targets {
		tags := slices.Clone(t.Tags)
		for _, one := range []struct {
			name string
			has  bool
		}{
			{tagZDR, t.ZeroRetention},
			{tagCollects, t.Collects},
			{tagSimulated, t.Simulated || p.Simulated},
			{tagLocal, local},
			{tagOpenWeights, t.Model.OpenWeights},
		} {
			if one.has {
				tags = append(tags, one.name)
			}
		}
		slices.Sort(tags)
		t.Tags = slices.Compact(tags)
	}
}

// isPrivate reports whether an address is certainly on this machine or its network: a loopback or private address, or a
// name that is resolved only in private networks. Other names would require a DNS lookup.
func isPrivate(baseURL string) bool {
	u, err := url.Parse(baseURL)
	if err != nil || u.Hostname() == "" {
		return false
	}
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	if ip, err := netip.ParseAddr(host); err == nil {
		ip = ip.Unmap()
		return ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast()
	}
	return !strings.Contains(host, ".") || slices.ContainsFunc([]string{".localhost", ".local", ".internal", ".home.arpa"}, func(end string) bool { return strings.HasSuffix(host, end) })
}
