// Package azure calls Azure OpenAI. It uses the chat format at the address of a resource, with deployments instead of models and optionally
// Entra ID tokens instead of keys.
package azure

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/provider/compatible"
	"fairlead.dev/internal/wire/openai"
)

const (
	name  = "azure"
	title = "Azure OpenAI"
)

// Names of the options of an Azure provider.
const (
	// OptionResource names the Azure resource. Its endpoint is https://RESOURCE.openai.azure.com.
	OptionResource = "resource"
	// OptionVersion is the version of the older API, such as 2024-10-21, whose paths contain the deployment. Without this option, the v1
	// API is used.
	OptionVersion = "api_version"
	// OptionTenant and OptionClient identify the Entra ID application whose secret is configured.
	OptionTenant = "tenant"
	OptionClient = "client_id"
	// OptionAuthority is the address of Entra ID in sovereign clouds.
	OptionAuthority = "authority"
	// OptionScope replaces the default token scope.
	OptionScope = "scope"
	// OptionTokenFile is the path of the file with the federated token of a workload identity.
	OptionTokenFile = "federated_token_file"

	// Values from the environment. They apply only to the managed identity, so that a resource key is not mistaken for
	// an application secret.
	optionEnvTenant    = "env_tenant"
	optionEnvClient    = "env_client_id"
	optionEnvAuthority = "env_authority"
	optionEndpoint     = "identity_endpoint"
	optionHeader       = "identity_header"
)

// Vendor is Azure OpenAI. A secret is a resource key, an Entra ID token, or entra:TENANT:CLIENT:SECRET.
var Vendor = provider.Vendor{
	Name: name, Title: title, Format: openai.Name,
	BaseURL: "{AZURE_OPENAI_ENDPOINT|AZURE_API_BASE}",
	Env:     []string{"AZURE_OPENAI_API_KEY", "AZURE_API_KEY", "AZURE_OPENAI_AD_TOKEN"},
	Ambient: ambient, Options: options, Identity: identityName,
	New: New,
}

// firstWithResponses is the oldest dated API version that includes the Responses API.
const firstWithResponses = "2025-03-01"

// deployment is the placeholder for the deployment in a path.
const deployment = "{deployment}"

// New returns a provider with the given settings.
func New(s provider.Settings) *provider.Provider {
	base, version := strings.TrimRight(s.BaseURL, "/"), s.Options[OptionVersion]
	if base == "" && s.Options[OptionResource] != "" {
		base = "https://" + s.Options[OptionResource] + ".openai.azure.com"
	}
	base = strings.TrimSuffix(strings.TrimSuffix(base, "/openai/v1"), "/openai") // base_url may contain a path
	row := compatible.Row{
		Name: name, Title: title, Auth: "Api-Key", Takes: openai.Accepts{AllowedTools: true, CustomTools: true},
		ChatPath: "/chat/completions", ResponsesPath: "/responses", EmbedPath: "/embeddings", ModelsPath: "/models",
		CompletePath: "/completions", RealtimePath: "/realtime", PromptsApart: true, CacheKey: version == "",
	}
	s.BaseURL = base + "/openai/v1"
	if version != "" {
		s.BaseURL = base + "/openai"
		query := "?api-version=" + url.QueryEscape(version)
		row.ChatPath = "/deployments/" + deployment + row.ChatPath + query
		row.EmbedPath = "/deployments/" + deployment + row.EmbedPath + query
		row.CompletePath = "/deployments/" + deployment + row.CompletePath + query
		row.ModelsPath += query
		row.RealtimePath += query
		row.ResponsesPath += query
		if version < firstWithResponses {
			row.ResponsesPath = ""
		}
		row.Asks = askedBy(version)
	}
	s.Targets = slices.DeleteFunc(slices.Clone(s.Targets), func(t *provider.Target) bool {
		return t.Model.Vendor == "Anthropic" // Anthropic models are served only in the messages format, at another address
	})
	p := compatible.New(row, s)
	p.Chat, p.Embed, p.Complete, p.Authorize = exchange{p.Chat}, exchange{p.Embed}, exchange{p.Complete}, authorize
	p.Realtime = exchange{p.Realtime}
	if p.Stored != nil {
		p.Stored = exchange{p.Stored}
	}
	p.Login = newLogin(s).token
	p.Parts = func(secret string) []string {
		if secret == provider.Identity {
			return []string{s.Options[optionHeader]}
		}
		app, _ := unpack(secret, s.Options)
		return []string{app.secret}
	}
	return p
}

// askedBy returns the request changes needed for an API version, because old versions do not support some fields.
func askedBy(version string) compatible.Asks {
	old := version < "2024-09-01"
	return compatible.Asks{MaxTokensOnly: old, NoStreamOptions: old}
}

// exchange adds Azure's addresses and authentication to an exchange of package compatible.
type exchange struct{ provider.Exchange }

func (e exchange) NewRequest(ctx context.Context, c *provider.Call) (*http.Request, error) {
	r, err := e.Exchange.NewRequest(ctx, c)
	if err != nil {
		return nil, err
	}
	if isToken(c.Secret) && r.Header.Get("Api-Key") == c.Secret {
		r.Header.Del("Api-Key")
		if r.Header.Get("Authorization") == "" { // the operator's header takes precedence
			authorize(r.Header, c.Secret)
		}
	}
	if before, after, found := strings.Cut(r.URL.Path, deployment); found {
		upstream := c.Target.Upstream
		r.URL.RawPath = pathOf(before) + url.PathEscape(upstream) + pathOf(after)
		r.URL.Path = before + upstream + after
	}
	if c.Request == nil || c.Request.Op != llm.Realtime {
		return r, nil
	}
	if query := r.URL.Query(); query.Has("api-version") { // in dated API versions, the parameter is named "deployment" instead of "model"
		query.Set("deployment", query.Get("model"))
		query.Del("model")
		r.URL.RawQuery = query.Encode()
	}
	return r, nil
}

func pathOf(decoded string) string { return (&url.URL{Path: decoded}).EscapedPath() }

// Failure implements provider.Exchange. A deployment whose model supports only another operation is a configuration
// error, like a missing deployment.
func (e exchange) Failure(c *provider.Call, resp *http.Response) *llm.Error {
	failure := e.Exchange.Failure(c, resp)
	if failure.UpstreamStatus < 500 && failure.UpstreamCode == "OperationNotSupported" {
		failure.Kind = llm.UpstreamNotFound
	}
	return failure
}

// authorize sets the Api-Key header for a key, and a bearer token otherwise.
func authorize(h http.Header, secret string) {
	switch {
	case isToken(secret):
		h.Set("Authorization", "Bearer "+strings.TrimPrefix(secret, bearer))
	case secret != "":
		h.Set("Api-Key", secret)
	}
}

const bearer = "Bearer "

// isToken reports whether a secret is a token: it starts with "Bearer ", or is a JWT.
func isToken(secret string) bool {
	return strings.HasPrefix(secret, bearer) || strings.HasPrefix(secret, "eyJ") && strings.Count(secret, ".") == 2
}

// ambient reads the credentials of an application from the variables of Azure's tools, or reports the variable that
// selects the managed identity.
func ambient(lookup func(string) string) (secret, source string) {
	tenant, client, key := lookup("AZURE_TENANT_ID"), lookup("AZURE_CLIENT_ID"), lookup("AZURE_CLIENT_SECRET")
	switch {
	case tenant != "" && client != "" && key == "" && lookup("AZURE_FEDERATED_TOKEN_FILE") != "":
		return provider.Identity, "AZURE_FEDERATED_TOKEN_FILE"
	case lookup("IDENTITY_ENDPOINT") != "" && lookup("IDENTITY_HEADER") != "" && key == "":
		return provider.Identity, "IDENTITY_ENDPOINT"
	case tenant == "" || client == "" || key == "":
		return "", ""
	}
	return application{tenant: tenant, client: client, secret: key}.String(), "AZURE_CLIENT_SECRET"
}
