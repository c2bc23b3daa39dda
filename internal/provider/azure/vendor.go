// Package azure is Azure OpenAI: OpenAI's wire format at an address of the customer's own, with deployments in the place
// of models and, where wanted, tokens of Entra ID in the place of keys.
package azure

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"fairlead/internal/llm"
	"fairlead/internal/provider"
	"fairlead/internal/provider/compatible"
	"fairlead/internal/wire/chat"
	"fairlead/internal/wire/chatconv"
)

const (
	name  = "azure"
	title = "Azure OpenAI"
)

// The options of the vendor.
const (
	// OptionResource is the name of the resource, where its address is the usual one.
	OptionResource = "resource"
	// OptionVersion is the version of the older API, such as 2024-10-21, which has the deployment in the address. Without
	// it the v1 API is called.
	OptionVersion = "api_version"
	// OptionTenant and OptionClient say who the secret belongs to, where it is the secret of an application in Entra ID.
	OptionTenant = "tenant"
	OptionClient = "client_id"
	// OptionAuthority is where tokens come from in sovereign clouds.
	OptionAuthority = "authority"
	// OptionScope is what tokens are for, where it is not Azure's usual.
	OptionScope = "scope"
	// OptionTokenFile holds the federated token of a workload identity.
	OptionTokenFile = "federated_token_file"

	// Values of the environment. They apply to the machine's identity only, so that a key of the resource is not taken for the
	// secret of an application.
	optionEnvTenant    = "env_tenant"
	optionEnvClient    = "env_client_id"
	optionEnvAuthority = "env_authority"
	optionEndpoint     = "identity_endpoint"
	optionHeader       = "identity_header"
)

// Vendor is Azure OpenAI. Its secret is a key of the resource, a token of Entra ID, or entra:TENANT:CLIENT:SECRET.
var Vendor = provider.Vendor{
	Name: name, Title: title, Format: chat.Name,
	BaseURL: "{AZURE_OPENAI_ENDPOINT|AZURE_API_BASE}",
	Env:     []string{"AZURE_OPENAI_API_KEY", "AZURE_API_KEY", "AZURE_OPENAI_AD_TOKEN"},
	Ambient: ambient, Options: options, Identity: identityName,
	New: New,
}

// deployment stands in a path for the name of the deployment.
const deployment = "{deployment}"

// New makes the provider that settings describe.
func New(s provider.Settings) *provider.Provider {
	base, version := root(s), s.Options[OptionVersion]
	row := compatible.Row{
		Name: name, Title: title, Auth: "Api-Key", Takes: chatconv.Accepts{AllowedTools: true},
		ChatPath: "/chat/completions", EmbedPath: "/embeddings", ModelsPath: "/models",
		CompletePath: "/completions", PromptsApart: true,
	}
	s.BaseURL = base + "/openai/v1"
	if version != "" {
		s.BaseURL = base + "/openai"
		query := "?api-version=" + url.QueryEscape(version)
		row.ChatPath = "/deployments/" + deployment + row.ChatPath + query
		row.EmbedPath = "/deployments/" + deployment + row.EmbedPath + query
		row.CompletePath = "/deployments/" + deployment + row.CompletePath + query
		row.ModelsPath += query
		row.Asks = askedBy(version)
	}
	s.Targets = slices.DeleteFunc(slices.Clone(s.Targets), speaksMessages)
	p := compatible.New(row, s)
	p.Chat, p.Embed, p.Complete, p.Authorize = exchange{p.Chat}, exchange{p.Embed}, exchange{p.Complete}, authorize
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

// speaksMessages reports the models that Azure serves in Anthropic's format only, at another address.
func speaksMessages(t *provider.Target) bool { return t.Model.Vendor == "Anthropic" }

// root is the address of the resource. Operators give it with and without what comes behind.
func root(s provider.Settings) string {
	base := strings.TrimRight(s.BaseURL, "/")
	if base == "" && s.Options[OptionResource] != "" {
		return "https://" + s.Options[OptionResource] + ".openai.azure.com"
	}
	return strings.TrimSuffix(strings.TrimSuffix(base, "/openai/v1"), "/openai")
}

// askedBy is what a version refuses that is older than the fields in question.
func askedBy(version string) compatible.Asks {
	old := version < "2024-09-01"
	return compatible.Asks{MaxTokensOnly: old, NoStreamOptions: old}
}

// exchange is the format's own, at Azure's addresses and with Azure's ways to sign in.
type exchange struct{ provider.Exchange }

func (e exchange) NewRequest(ctx context.Context, c *provider.Call) (*http.Request, error) {
	r, err := e.Exchange.NewRequest(ctx, c)
	if err != nil {
		return nil, err
	}
	if isToken(c.Secret) && r.Header.Get("Api-Key") == c.Secret {
		r.Header.Del("Api-Key")
		if r.Header.Get("Authorization") == "" { // the operator's own header wins
			authorize(r.Header, c.Secret)
		}
	}
	if before, after, found := strings.Cut(r.URL.Path, deployment); found {
		upstream := c.Target.Upstream
		r.URL.RawPath = pathOf(before) + url.PathEscape(upstream) + pathOf(after)
		r.URL.Path = before + upstream + after
	}
	return r, nil
}

func pathOf(decoded string) string { return (&url.URL{Path: decoded}).EscapedPath() }

// Failure classifies an answer that is not 2xx. A deployment of a model that does something else is a mistake in the
// configuration, as one that does not exist is.
func (e exchange) Failure(c *provider.Call, resp *http.Response) *llm.Error {
	failure := e.Exchange.Failure(c, resp)
	if failure.UpstreamStatus < 500 && failure.UpstreamCode == "OperationNotSupported" {
		failure.Kind = llm.UpstreamNotFound
	}
	return failure
}

// authorize presents a key in Azure's own header, and a token as such.
func authorize(h http.Header, secret string) {
	switch {
	case isToken(secret):
		h.Set("Authorization", "Bearer "+strings.TrimPrefix(secret, bearer))
	case secret != "":
		h.Set("Api-Key", secret)
	}
}

const bearer = "Bearer "

// isToken tells a token from a key: it says so, or it is a signed token in three parts.
func isToken(secret string) bool {
	return strings.HasPrefix(secret, bearer) || strings.HasPrefix(secret, "eyJ") && strings.Count(secret, ".") == 2
}

// ambient reads the application that Azure's own tools sign in with.
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
