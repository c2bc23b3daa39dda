package providerset

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"fairlead/internal/provider"
)

// The tags that targets have by themselves.
const (
	tagZDR         = "zdr"          // marked as keeping nothing of what it is sent
	tagCollects    = "collects"     // may keep or train on what it is sent
	tagSimulated   = "simulated"    // no model at all
	tagLocal       = "local"        // on this machine or in its private network
	tagOpenWeights = "open_weights" // the model's weights are published
)

var derivedTags = []string{tagCollects, tagLocal, tagOpenWeights, tagSimulated, tagZDR}

// label gives the targets of a provider their tags: the operator's, and those that follow from what is known.
func label(p *provider.Provider) {
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

// privateNames are the ends of host names that no public name server answers for.
var privateNames = []string{".localhost", ".local", ".internal", ".home.arpa"}

// isPrivate reports whether an address is sure to stay within this machine or its network: it is loopback or private, or
// its name is one that only a private network knows. Of other names nobody can tell without asking.
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
	return !strings.Contains(host, ".") || slices.ContainsFunc(privateNames, func(end string) bool { return strings.HasSuffix(host, end) })
}
