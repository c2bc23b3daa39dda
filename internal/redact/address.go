package redact

import (
	"net/netip"
	"strings"
)

const longestAddress = 45 // maximum length of an address: an IPv6 address that ends with an IPv4 address

// findAddresses finds IP addresses in runs of address characters.
func findAddresses(s string, found func(start, end int)) {
	eachRun(s, sets.address, func(start, end int) {
		for start < end && s[start] == '.' {
			start++
		}
		for end > start && (s[end-1] == '.' || (s[end-1] == ':' && !strings.HasSuffix(s[start:end], "::"))) {
			end--
		}
		if end-start > longestAddress || isWord(before(s, start)) || isWord(after(s, end)) {
			return
		}
		text := s[start:end]
		if host, _, port := strings.Cut(text, ":"); port && strings.Count(text, ":") == 1 {
			text = host // the text is an IPv4 address with a port
		}
		// Require a digit, because expressions such as a::b are common in source code.
		if _, err := netip.ParseAddr(text); err == nil && strings.ContainsAny(text, digits) {
			found(start, start+len(text))
		}
	})
}
