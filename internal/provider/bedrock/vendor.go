// Package bedrock calls Amazon Bedrock. It implements addresses, credentials, signatures and the differences between
// models. Chat uses the Converse API; embeddings use the API of each model.
package bedrock

import (
	"cmp"
	"regexp"
	"strings"

	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/wire/bedrock"
)

const (
	name  = "bedrock"
	title = "Amazon Bedrock"
)

// Options of the vendor.
const (
	// OptionRegion is the region of the address and of signatures, such as eu-central-1.
	OptionRegion = "region"
	// OptionProfile is the prefix of inference profiles, such as "eu" or "global"; "none" for no prefix. The default
	// depends on the region.
	OptionProfile = "profile"
	// OptionInputType is the input type of Cohere embeddings. The default is search_document.
	OptionInputType = "input_type"
	// OptionSharedProfile is a profile in ~/.aws/config and ~/.aws/credentials.
	OptionSharedProfile = "aws_profile"
	// OptionRole is the ARN of a role to assume. OptionExternalID is the external ID that the role's trust policy
	// requires.
	OptionRole       = "role_arn"
	OptionExternalID = "external_id"

	optionMetadata  = "metadata_endpoint" // address of the instance metadata service, from the environment
	optionContainer = "container_uri"     // address of the container's credentials, from the environment
)

// Vendor is Amazon Bedrock. A secret is a Bedrock API key, or ACCESS_KEY_ID:SECRET_ACCESS_KEY with an optional :SESSION_TOKEN.
var Vendor = provider.Vendor{
	Name: name, Title: title, Format: bedrock.Name,
	BaseURL: "https://bedrock-runtime.{AWS_REGION|AWS_DEFAULT_REGION}.amazonaws.com",
	Place:   "options: {region: eu-central-1}",
	URLEnv:  "AWS_ENDPOINT_URL_BEDROCK_RUNTIME",
	Env:     []string{"AWS_BEARER_TOKEN_BEDROCK"},
	Ambient: ambient, Options: options, Identity: identityName,
	New: New,
}

// Plain returns a vendor that uses the format at another address.
func Plain(name, title string) provider.Vendor {
	return provider.Vendor{
		Name: name, Title: title, Format: bedrock.Name,
		New: func(s provider.Settings) *provider.Provider {
			p := New(s)
			p.Title = title
			return p
		},
	}
}

// lacks is the set of abilities that the API cannot express.
const lacks = llm.Logprobs | llm.ManyChoices | llm.AudioOut

// New returns a provider with the given settings.
func New(s provider.Settings) *provider.Provider {
	c := caller{settings: s, base: address(s), signer: v4.NewSigner()}
	c.region = regionOf(s, c.base)
	p := &provider.Provider{
		Name: cmp.Or(s.Name, name), Title: title, BaseURL: c.base, Credentials: s.Credentials, Targets: provider.Signing(bedrock.Name, s.TargetsWithout(lacks|llm.Transport)),
		Exchanges: provider.Exchanges{Chat: conversation{c}, Embed: embedding{c}}, Authorize: authorize, Parts: parts,
	}
	p.Login = (&login{settings: s, region: c.region, cache: provider.NewTokenCache(s.Clock())}).token
	for _, t := range p.Targets {
		t.InlineMedia = true
		t.EndMark = isClaude(t) && familyOf(t.Upstream, t.Model).dialect.Cache >= bedrock.CacheText
		if !isClaude(t) { // prefill is undocumented for other models
			model := *t.Model
			model.Abilities &^= llm.Prefill
			t.Model, t.Lacks = &model, t.Lacks|llm.Prefill
		}
		if t.Model.Op == llm.Embed {
			t.EmbedBatch = embedderOf(t.Upstream).most
		}
	}
	return p
}

// address returns the address of the Bedrock runtime. A configured region changes an AWS address, but not an operator's
// custom address.
func address(s provider.Settings) string {
	base, region := strings.TrimRight(s.BaseURL, "/"), s.Options[OptionRegion]
	if region == "" || base != "" && !strings.HasPrefix(base, "https://bedrock-runtime.") {
		return base
	}
	domain := "amazonaws.com"
	if strings.HasPrefix(region, "cn-") {
		domain = "amazonaws.com.cn"
	}
	return "https://bedrock-runtime." + region + "." + domain
}

// regionOf returns the region for signatures: the configured region, or the region in the address.
func regionOf(s provider.Settings, base string) string {
	if region := s.Options[OptionRegion]; region != "" {
		return region
	}
	if found := regexp.MustCompile(`bedrock-runtime(?:-fips)?\.([a-z0-9-]+)\.`).FindStringSubmatch(base); found != nil {
		return found[1]
	}
	return "us-east-1"
}
