// Package anthropic implements Anthropic and other vendors that use its Messages format: their addresses, their calls and the differences
// between models. The messages packages implement the format itself.
package anthropic

import (
	"cmp"
	"net/http"
	"regexp"
	"strings"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/provider"
	messages "fairlead.dev/internal/wire/anthropic"
)

const (
	name    = "anthropic"
	title   = "Anthropic"
	address = "https://api.anthropic.com/v1"
	version = "2023-06-01" // API version; newer features have separate headers
)

// Lacks is the set of abilities that the format cannot express.
const Lacks = llm.Logprobs | llm.ManyChoices | llm.AudioIn | llm.AudioOut

// Vendor is Anthropic at its own address.
var Vendor = provider.Vendor{
	Name: name, Title: title, Format: messages.Name,
	BaseURL: address, URLEnv: "ANTHROPIC_BASE_URL", Env: []string{"ANTHROPIC_API_KEY"},
	New: func(s provider.Settings) *provider.Provider { return newProvider(name, title, address, s) },
}

// Plain returns a vendor that uses the format at another address.
func Plain(name, title string) provider.Vendor {
	return provider.Vendor{
		Name: name, Title: title, Format: messages.Name,
		New: func(s provider.Settings) *provider.Provider { return newProvider(name, title, "", s) },
	}
}

func newProvider(name, title, address string, s provider.Settings) *provider.Provider {
	name = cmp.Or(s.Name, name)
	base := strings.TrimRight(cmp.Or(s.BaseURL, address), "/")
	if !regexp.MustCompile(`/v[0-9]+[a-z0-9]*$`).MatchString(base) { // add the version: Anthropic's own tools are configured without it
		base += "/v1"
	}
	targets := provider.Signing(messages.Name, s.TargetsWithout(Lacks|llm.Transport&^llm.MessagesAPI))
	if address != "" {
		AllowSearch(targets)
		for _, t := range targets {
			t.EndMark = true
		}
	}
	return &provider.Provider{
		Name: name, Title: cmp.Or(title, name), BaseURL: base, Credentials: s.Credentials,
		ModelsPath: "/models?limit=1000", Authorize: authorize, Targets: targets,
		Exchanges: provider.Exchanges{Chat: conversation{settings: s, url: base + "/messages"}},
	}
}

// AllowSearch marks the targets whose models can search the web: Anthropic's models since Claude 3.7.
func AllowSearch(targets []*provider.Target) {
	for _, t := range targets {
		if strings.Contains(t.Upstream, "claude") && modelOf(t).name != "claude-3" {
			t.Lacks &^= llm.WebSearch
		}
	}
}

func authorize(h http.Header, secret string) {
	h.Set("Anthropic-Version", version)
	if secret != "" {
		h.Set("X-Api-Key", secret)
	}
}
