// Package vertex calls Google Cloud's Vertex AI. The address contains the project and location, and a short-lived token
// replaces the key. The package offers Google's models in the gemini format and Anthropic's models in the messages
// format, but no models of other publishers.
package vertex

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/provider/anthropic"
	messages "fairlead.dev/internal/wire/anthropic"
	"fairlead.dev/internal/wire/gemini"
)

const (
	name    = "vertex"
	title   = "Google Vertex AI"
	address = "https://aiplatform.googleapis.com/v1"
	global  = "global"

	identityName = "Google Cloud metadata server"
)

// Option names in Settings.Options.
const (
	Project  = "project"
	Location = "location"
	TokenURL = "token_url" // token service used instead of Google's

	MetadataHost   = "metadata_host"   // host of the metadata server, by default 169.254.169.254
	ServiceAccount = "service_account" // service account of the machine, by default "default"
)

// Vendor is Vertex AI. Its address depends on the location.
var Vendor = provider.Vendor{
	Name: name, Title: title, Format: gemini.Name, BaseURL: address, Ambient: ambient, Options: options, Identity: identityName,
	New: New,
}

// New returns a provider with the given settings.
func New(s provider.Settings) *provider.Provider {
	call := caller{name: cmp.Or(s.Name, name), settings: s, project: s.Options[Project]}
	for _, c := range s.Credentials {
		call.project = cmp.Or(call.project, read(c.Secret).project())
	}
	call.base, call.err = base(s, call.project)
	login := &login{settings: s, cache: provider.NewTokenCache(s.Clock())}
	return &provider.Provider{
		Name: call.name, Title: title, BaseURL: cmp.Or(call.base, s.BaseURL, address), Credentials: s.Credentials,
		Authorize: authorize, Login: login.token, Parts: func(secret string) []string { return read(secret).parts() }, Targets: targets(s),
		Exchanges: provider.Exchanges{Chat: conversation{caller: call, claude: anthropic.NewChat(s, call.postClaude)}, Embed: embedding{call}},
	}
}

// Maximum number of inputs in one embeddings call.
const (
	embedBatch    = 1   // maximum batch size for newer models
	embedBatchOld = 250 // maximum batch size for models whose names start with text-
)

// base returns the base URL for a project and a location.
func base(s provider.Settings, project string) (string, error) {
	location := cmp.Or(s.Options[Location], global)
	switch {
	case project == "":
		return "", fmt.Errorf("no project is set for %s: set options.project or GOOGLE_CLOUD_PROJECT", title)
	case strings.ContainsFunc(location, func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' }):
		return "", fmt.Errorf("%q is not a valid location for %s", location, title)
	}
	root := strings.TrimRight(s.BaseURL, "/")
	if root == "" || root == address {
		host := location + "-aiplatform.googleapis.com"
		switch location {
		case global:
			host = "aiplatform.googleapis.com"
		case "us", "eu":
			host = "aiplatform." + location + ".rep.googleapis.com"
		}
		root = "https://" + host + "/v1"
	}
	return root + "/projects/" + url.PathEscape(project) + "/locations/" + location, nil
}

func authorize(h http.Header, token string) {
	if token != "" {
		h.Set("Authorization", "Bearer "+token)
	}
}

// targets returns the targets with Google and Anthropic models, without the abilities that their APIs do not support.
func targets(s provider.Settings) []*provider.Target {
	list := provider.Signing(gemini.Name, s.TargetsWithout(llm.Logprobs|llm.AudioOut|llm.Transport))
	claude := provider.Signing(messages.Name, s.TargetsWithout(anthropic.Lacks|llm.Transport&^llm.MessagesAPI))
	anthropic.AllowSearch(claude)
	for i, t := range list {
		if gemini.TraitsOf(t.Upstream).Search {
			t.Lacks &^= llm.WebSearch
		}
		t.EmbedBatch = embedBatch
		switch {
		case isClaude(t):
			list[i] = claude[i]
			list[i].EndMark = true
		case strings.HasPrefix(t.Upstream, "text-"):
			t.EmbedBatch = embedBatchOld
		}
	}
	return slices.DeleteFunc(list, func(t *provider.Target) bool {
		return !isClaude(t) && !strings.HasPrefix(t.Upstream, "gemini-") && !strings.HasPrefix(t.Upstream, "text-")
	})
}

// traits returns the traits of a model on Vertex AI, where file URLs work for every model, calls have no IDs, and the
// service tier is a header.
func traits(upstream string) gemini.Traits {
	t := gemini.TraitsOf(upstream)
	t.FileURLs, t.CallIDs, t.Tiers = true, false, false
	return t
}
