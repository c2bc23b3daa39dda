package providerset

import (
	"cmp"
	"slices"
	"strings"

	"fairlead.dev/internal/config"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/provider/anthropic"
	"fairlead.dev/internal/provider/azure"
	"fairlead.dev/internal/provider/bedrock"
	"fairlead.dev/internal/provider/compatible"
	"fairlead.dev/internal/provider/gemini"
	"fairlead.dev/internal/provider/vertex"
	messages "fairlead.dev/internal/wire/anthropic"
	wirebedrock "fairlead.dev/internal/wire/bedrock"
	wiregemini "fairlead.dev/internal/wire/gemini"
	"fairlead.dev/internal/wire/openai"
	"fairlead.dev/internal/wire/responses"
)

// dialects lists the vendors that have their own package. Vendors that use the chat format are rows of data in
// internal/provider/compatible.
var dialects = []provider.Vendor{
	anthropic.Vendor,
	azure.Vendor,
	bedrock.Vendor,
	gemini.Vendor,
	vertex.Vendor,
}

// plain maps a format to a function that returns a vendor without deviations from the format. It is used for addresses of unknown vendors.
var plain = map[string]func(name, title string) provider.Vendor{
	openai.Name:      compatible.Plain,
	responses.Name:   compatible.PlainResponses,
	messages.Name:    anthropic.Plain,
	wiregemini.Name:  gemini.Plain,
	wirebedrock.Name: bedrock.Plain,
}

// vendors lists all known vendors.
func vendors() []provider.Vendor {
	list := slices.Clone(dialects)
	for _, row := range compatible.Rows() {
		list = append(list, row.Vendor())
	}
	return list
}

// VendorNames returns the names of all known vendors.
func VendorNames() []string {
	var names []string
	for _, v := range vendors() {
		names = append(names, v.Name)
	}
	return names
}

// MissingAddress describes how to set the address of a provider in the configuration file. It returns "" if the provider
// has an address.
func MissingAddress(p config.Provider, lookup func(string) string) string {
	v := vendor(p)
	address, _ := v.Address(lookup)
	if made := v.New(provider.Settings{BaseURL: cmp.Or(p.BaseURL, address), Options: p.Options}); strings.Contains(made.BaseURL, "://") && !strings.Contains(made.BaseURL, "{") {
		return ""
	}
	ways := []string{"add base_url: https://host/v1"}
	if v.Place != "" {
		ways = append(ways, v.Place)
	}
	if _, rest, found := strings.Cut(v.BaseURL, "{"); found {
		variable, _, _ := strings.Cut(rest, "}")
		variable, _, _ = strings.Cut(variable, "|")
		ways = append(ways, "or set "+variable)
	}
	return strings.Join(ways, ", ")
}

// findVendor returns the vendor with the given name.
func findVendor(name string) (provider.Vendor, bool) {
	list := vendors()
	i := slices.IndexFunc(list, func(v provider.Vendor) bool { return v.Name == name })
	if i < 0 {
		return provider.Vendor{}, false
	}
	return list[i], true
}
