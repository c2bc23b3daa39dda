// Package gemini implements the vendor Google Gemini (AI Studio): its address, authentication and models. The wire
// format is in internal/wire/gemini. Vertex AI, which uses the same format, is a separate vendor.
package gemini

import (
	"cmp"
	"net/http"
	"net/url"
	"strings"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/wire/gemini"
)

// embedBatch is the maximum number of inputs in one embeddings call.
const embedBatch = 100

// address is the base URL of Google's API.
const address = "https://generativelanguage.googleapis.com/v1beta"

// keyHeader is the name of the header that contains the API key.
const keyHeader = "X-Goog-Api-Key"

// Vendor is Google Gemini at Google's address.
var Vendor = provider.Vendor{
	Name: "gemini", Title: "Google Gemini", Format: gemini.Name,
	BaseURL: address,
	Env:     []string{"GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY"},
	New:     func(s provider.Settings) *provider.Provider { return New("gemini", "Google Gemini", s) },
}

// Plain returns a vendor that uses the format at another address.
func Plain(name, title string) provider.Vendor {
	return provider.Vendor{
		Name: name, Title: title, Format: gemini.Name,
		New: func(s provider.Settings) *provider.Provider { return New(name, title, s) },
	}
}

// New creates a provider from settings.
func New(name, title string, s provider.Settings) *provider.Provider {
	name = cmp.Or(s.Name, name)
	base := strings.TrimRight(cmp.Or(s.BaseURL, address), "/")
	call := caller{base: base, settings: s}
	return &provider.Provider{
		Name: name, Title: cmp.Or(title, name), BaseURL: base, Credentials: s.Credentials,
		ModelsPath: "/models?pageSize=1000", Authorize: authorize, Targets: targets(s),
		Exchanges: provider.Exchanges{Chat: conversation{call}, Embed: embedding{call}},
	}
}

func authorize(h http.Header, secret string) {
	if secret != "" {
		h.Set(keyHeader, secret)
	}
}

// targets removes the abilities that the API cannot express: log probabilities, audio output and, for small open
// models, tools and JSON.
func targets(s provider.Settings) []*provider.Target {
	list := provider.Signing(gemini.Name, s.TargetsWithout(llm.Logprobs|llm.AudioOut|llm.Transport))
	for _, t := range list {
		t.EmbedBatch = embedBatch
		if gemini.TraitsOf(t.Upstream).Search {
			t.Lacks &^= llm.WebSearch
		}
		t.InlineMedia = !gemini.TraitsOf(t.Upstream).FileURLs
		if strings.HasPrefix(t.Upstream, "gemma-3") {
			lacks := llm.Tools | llm.ParallelTools | llm.JSONMode | llm.JSONSchema
			model := *t.Model
			model.Abilities &^= lacks
			t.Model, t.Lacks = &model, t.Lacks|lacks
		}
	}
	return list
}

// modelURL returns the URL of a model's method. Names with a slash are complete resource names, such as tunedModels/mine.
func (c caller) modelURL(upstream, method string) string {
	if !strings.Contains(upstream, "/") {
		upstream = "models/" + upstream
	}
	parts := strings.Split(upstream, "/")
	for i, part := range parts {
		parts[i] = url.PathEscape(part)
	}
	return c.base + "/" + strings.Join(parts, "/") + ":" + method
}
