// Package bedrock is Amazon Bedrock: where it is, how calls to it are signed, and what its models take unlike each other.
// Conversations go through the Converse API, embeddings through the models' own.
package bedrock

import (
	"cmp"
	"regexp"
	"strings"

	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"fairlead/internal/llm"
	"fairlead/internal/provider"
	"fairlead/internal/wire/converse"
)

const (
	name  = "bedrock"
	title = "Amazon Bedrock"
)

// The options of the vendor.
const (
	// OptionRegion is the region, such as eu-central-1. It moves the address and is what signatures name.
	OptionRegion = "region"
	// OptionProfile is the prefix of inference profiles, such as eu or global; "none" for models as they are named. By
	// default it follows the region.
	OptionProfile = "profile"
	// OptionInputType is what Cohere's embeddings are for: search_document by default.
	OptionInputType = "input_type"
	// OptionSharedProfile is a profile of ~/.aws/config and ~/.aws/credentials.
	OptionSharedProfile = "aws_profile"
	// OptionRole is the ARN of a role to assume, OptionExternalID the external id that its trust policy requires.
	OptionRole       = "role_arn"
	OptionExternalID = "external_id"

	optionMetadata  = "metadata_endpoint" // address of the instance metadata service, from the environment
	optionContainer = "container_uri"     // address of the container's credentials, from the environment
)

// Vendor is Amazon Bedrock. Its secret is a Bedrock API key, or an access key and its secret, and a session token where
// there is one, with colons between.
var Vendor = provider.Vendor{
	Name: name, Title: title, Format: converse.Name,
	BaseURL: "https://bedrock-runtime.{AWS_REGION|AWS_DEFAULT_REGION}.amazonaws.com",
	Place:   "options: {region: eu-central-1}",
	URLEnv:  "AWS_ENDPOINT_URL_BEDROCK_RUNTIME",
	Env:     []string{"AWS_BEARER_TOKEN_BEDROCK"},
	Ambient: ambient, Options: options, Identity: identityName,
	New: New,
}

// Plain is a provider of this format at an address of its own.
func Plain(name, title string) provider.Vendor {
	return provider.Vendor{
		Name: name, Title: title, Format: converse.Name,
		New: func(s provider.Settings) *provider.Provider {
			p := New(s)
			p.Title = title
			return p
		},
	}
}

// lacks is what the API has no place for.
const lacks = llm.Logprobs | llm.ManyChoices | llm.AudioOut

// New makes the provider that settings describe.
func New(s provider.Settings) *provider.Provider {
	c := caller{settings: s, base: address(s), signer: v4.NewSigner()}
	c.region = regionOf(s, c.base)
	p := &provider.Provider{
		Name: cmp.Or(s.Name, name), Title: title, BaseURL: c.base, Credentials: s.Credentials, Targets: s.Narrowed(lacks, false),
		Chat: conversation{c}, Embed: embedding{c}, Authorize: authorize, Parts: parts,
	}
	p.Login = (&login{settings: s, region: c.region, cache: provider.NewTokenCache(s.Clock())}).token
	for _, t := range p.Targets {
		t.InlineMedia = true
		if !isClaude(t) { // of the others it is not known
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

// address is where the runtime is. An address of the operator's own stands, unless only the region was meant by it.
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

var regionInHost = regexp.MustCompile(`bedrock-runtime(?:-fips)?\.([a-z0-9-]+)\.`)

// regionOf is the region that a signature must name: as set, or as the address has it.
func regionOf(s provider.Settings, base string) string {
	if region := s.Options[OptionRegion]; region != "" {
		return region
	}
	if found := regionInHost.FindStringSubmatch(base); found != nil {
		return found[1]
	}
	return "us-east-1"
}
