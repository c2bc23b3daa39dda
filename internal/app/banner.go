package app

import (
	"cmp"
	"fmt"
	"io"
	"net"
	"net/netip"
	"runtime"
	"strings"
	"time"

	"fairlead.dev/internal/config"
	"fairlead.dev/internal/providerset"
)

// printBanner writes the start-up banner for a terminal. It contains no complete secret and only addresses that can be opened.
func (a *App) printBanner(w io.Writer, startup time.Duration) {
	var b strings.Builder
	line := func(name, text string) { fmt.Fprintf(&b, "  %-10s %s\n", name, text) }
	fmt.Fprintf(&b, "fairlead %s (%s/%s, %s)\n", a.version, runtime.GOOS, runtime.GOARCH, runtime.Version())
	line("config", a.configText())
	data := a.storeName
	if a.storeNew {
		data += " (new)"
	}
	line("data", data)
	line("providers", providersText(a.providers.Load()))
	policies := "0 – routing by score only"
	if n := a.policies.Instance().Len(); n > 0 { // workspace policies are not counted
		policies = fmt.Sprintf("%d from the configuration", n)
	}
	line("policies", fmt.Sprintf("%-34s baseline  %s", policies, cmp.Or(a.loaded().Config.DefaultModel, "none, so costs are shown without savings")))
	base, others := addresses(&a.loaded().Config, a.listener.Addr())
	line("API", base+"/proxy/v1")
	dashboard := base
	if len(others) > 0 {
		dashboard += "   (also " + strings.Join(others, ", ") + ")"
	}
	line("dashboard", dashboard)
	if text := setupText(a.setupCode, base, others); text != "" {
		line("setup", text)
	}
	fmt.Fprintf(&b, "ready in %d ms\n", startup.Milliseconds())
	_, _ = io.WriteString(w, b.String()) // a closed terminal does not stop the server
}

func (a *App) configText() string {
	return cmp.Or(a.loaded().Path, "none – using defaults and environment")
}

func providersText(f *providerset.Set) string {
	var parts []string
	for _, p := range f.Providers {
		n := len(p.Targets)
		switch {
		case p.Simulated:
			parts = append(parts, fmt.Sprintf("simulator (%d models, no network, no cost) – set OPENAI_API_KEY or add one in the dashboard", n))
		case f.Sources[p.Name] == "detected":
			parts = append(parts, fmt.Sprintf("%s (%s, %d models)", p.Name, p.BaseURL, n))
		case len(p.Credentials) == 0:
			parts = append(parts, fmt.Sprintf("%s (no credential, %d models)", p.Name, n))
		default:
			c := p.Credentials[0]
			parts = append(parts, fmt.Sprintf("%s (%s %s, %d models)", p.Name, strings.TrimPrefix(c.Source, "env "), c.Hint(), n))
		}
	}
	if len(parts) == 0 {
		return "none – set OPENAI_API_KEY, or add a provider to the configuration"
	}
	return strings.Join(parts, "   ")
}

// setupText returns the link that creates the first account, or an empty string if an account exists.
func setupText(code, base string, others []string) string {
	if code == "" {
		return ""
	}
	if len(others) > 0 {
		base = others[0] // reachable from this and other machines
	}
	return fmt.Sprintf("%s/welcome#%s   first account, valid 1 h   (or: fairlead admin create)", base, code)
}

// addresses returns the addresses to open. For a wildcard listen address these are loopback and the IPv4
// addresses at which other machines reach this one.
func addresses(c *config.Config, listening net.Addr) (first string, others []string) {
	scheme := "http"
	if c.TLS.Cert != "" {
		scheme = "https"
	}
	if public := c.PublicURL; public != "" {
		return strings.TrimSuffix(public, "/"), nil
	}
	host, port, err := net.SplitHostPort(listening.String())
	if err != nil {
		return scheme + "://" + listening.String(), nil
	}
	ip, err := netip.ParseAddr(host)
	if err != nil || !ip.IsUnspecified() {
		return scheme + "://" + net.JoinHostPort(host, port), nil
	}
	machine, _ := net.InterfaceAddrs() // the error is ignored: the loopback address is returned in any case
	for _, address := range machine {
		if n, ok := address.(*net.IPNet); ok && n.IP.IsGlobalUnicast() && n.IP.To4() != nil {
			others = append(others, scheme+"://"+net.JoinHostPort(n.IP.String(), port))
		}
	}
	return scheme + "://" + net.JoinHostPort("127.0.0.1", port), others
}
