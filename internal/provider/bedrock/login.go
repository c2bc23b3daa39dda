package bedrock

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/credentials/ec2rolecreds"
	"github.com/aws/aws-sdk-go-v2/credentials/endpointcreds"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/provider"
)

const (
	identityName      = "AWS default credentials"
	credentialService = "The AWS credential service"
)

// login finds access keys in the same way as the AWS SDK and assumes roles.
type login struct {
	settings provider.Settings
	region   string
	cache    *provider.TokenCache
}

// token returns the access key for signing, in the same text format as a configured access key. API keys are returned
// unchanged. Access keys are returned unchanged if no role is configured.
func (l *login) token(ctx context.Context, secret string) (string, error) {
	static, pair := accessKey(secret)
	if secret != provider.Identity && (!pair || l.settings.Options[OptionRole] == "") {
		return secret, nil
	}
	return l.cache.Token(ctx, secret, func(ctx context.Context) (provider.Token, error) {
		var base aws.CredentialsProvider // source of the access keys; nil for the SDK's default chain
		if secret != provider.Identity {
			base = credentials.StaticCredentialsProvider{Value: static}
		} else if !l.settings.Trusted(secret) {
			return provider.Token{}, llm.Errorf(llm.UpstreamAuth, "AWS default credentials can be enabled only in the configuration file or the environment, not in the dashboard.")
		}
		return l.fetch(ctx, base)
	})
}

func (l *login) fetch(ctx context.Context, base aws.CredentialsProvider) (provider.Token, error) {
	hosts := []string{ // fixed addresses of the instance metadata service, the container agent and EKS Pod Identity
		"169.254.169.254:80", "[fd00:ec2::254]:80", "169.254.170.2:80", "169.254.170.23:80", "[fd00:ec2::23]:80",
	}
	endpoint := l.settings.Options[optionMetadata]
	for _, address := range []string{endpoint, l.settings.Options[optionContainer]} {
		if u, err := url.Parse(address); err == nil && u.Host != "" {
			hosts = append(hosts, provider.HostPort(u))
		}
	}
	client := l.settings.TokenClient(hosts...)
	if client == nil {
		return provider.Token{}, errors.New("no HTTP client for the AWS credential service")
	}
	call, client := provider.NewTokenCall(ctx, client)
	got, err := l.retrieve(ctx, client, endpoint, base)
	if err != nil {
		return provider.Token{}, classify(call, err)
	}
	secret := got.AccessKeyID + ":" + got.SecretAccessKey
	if got.SessionToken != "" {
		secret += ":" + got.SessionToken
	}
	t := provider.Token{Value: secret}
	if got.CanExpire {
		t.Expires = got.Expires
	}
	return t, nil
}

// retrieve runs the SDK's credential chain with the given client: environment, web identity, shared profiles, container and instance.
func (l *login) retrieve(ctx context.Context, client *http.Client, endpoint string, base aws.CredentialsProvider) (aws.Credentials, error) {
	options := []func(*config.LoadOptions) error{
		config.WithHTTPClient(client), config.WithRegion(l.region),
		config.WithRetryer(func() aws.Retryer { return aws.NopRetryer{} }), // the SDK must not retry, because the gateway does
		config.WithEndpointCredentialOptions(func(o *endpointcreds.Options) { o.HTTPClient = client }),
		config.WithEC2RoleCredentialOptions(func(o *ec2rolecreds.Options) {
			// Fallback to version 1 of the metadata service is disabled: version 2 requires a PUT, which server-side
			// request forgery cannot make.
			o.Client = imds.New(imds.Options{HTTPClient: client, Endpoint: endpoint, EnableFallback: aws.FalseTernary, Retryer: aws.NopRetryer{}})
		}),
	}
	if profile := l.settings.Options[OptionSharedProfile]; profile != "" {
		options = append(options, config.WithSharedConfigProfile(profile))
	}
	if base != nil {
		options = append(options, config.WithCredentialsProvider(base))
	}
	cfg, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return aws.Credentials{}, err
	}
	source := cfg.Credentials
	if role := l.settings.Options[OptionRole]; role != "" {
		source = stscreds.NewAssumeRoleProvider(sts.NewFromConfig(cfg), role, func(o *stscreds.AssumeRoleOptions) {
			o.RoleSessionName = "fairlead"
			if id := l.settings.Options[OptionExternalID]; id != "" {
				o.ExternalID = &id
			}
		})
	}
	return source.Retrieve(ctx)
}

// classify converts an error of the AWS SDK to an error for the client. The text of the SDK's error may contain response bodies or the
// output of a credential process, so only the error code is kept.
func classify(call *provider.TokenCall, err error) error {
	if call.Err != nil {
		return provider.TokenServiceError(credentialService, call.Err)
	}
	e := &llm.Error{Kind: llm.UpstreamAuth, UpstreamStatus: call.Status, Message: "No usable AWS credentials were found."}
	if missing, ok := errors.AsType[config.SharedConfigProfileNotExistError](err); ok {
		e.Message = "The AWS profile " + missing.Profile + " does not exist."
		return e
	}
	if strings.Contains(err.Error(), "custom RootCAs") {
		// The SDK accepts AWS_CA_BUNDLE only with its own HTTP client, which would bypass the address checks.
		e.Message = "AWS credentials cannot be found while AWS_CA_BUNDLE is set. Unset it and add the certificates to the system's certificate store."
		return e
	}
	if call.Status >= 300 {
		code := "status " + http.StatusText(call.Status)
		if api, ok := errors.AsType[smithy.APIError](err); ok {
			code = api.ErrorCode()
		}
		e.Message = credentialService + " rejected the request: " + code + "."
	}
	switch {
	case call.Status == http.StatusTooManyRequests || strings.Contains(e.Message, "Throttling"):
		e.Kind = llm.UpstreamRateLimited
	case call.Status >= 500:
		e.Kind = llm.UpstreamServer
	}
	return e
}

// options reads the addresses of metadata services and the shared profile from the environment.
func options(lookup func(string) string) map[string]string {
	found := map[string]string{}
	for option, variable := range map[string]string{
		OptionSharedProfile: "AWS_PROFILE", optionMetadata: "AWS_EC2_METADATA_SERVICE_ENDPOINT", optionContainer: "AWS_CONTAINER_CREDENTIALS_FULL_URI",
	} {
		if value := lookup(variable); value != "" {
			found[option] = value
		}
	}
	return found
}

// ambient returns the access key from the environment, or provider.Identity if a variable selects another credential source of the SDK.
// source is the name of the variable. Both results are empty if no such variable is set.
func ambient(lookup func(string) string) (secret, source string) {
	id, key := lookup("AWS_ACCESS_KEY_ID"), lookup("AWS_SECRET_ACCESS_KEY")
	if id != "" && key != "" {
		secret = id + ":" + key
		if session := lookup("AWS_SESSION_TOKEN"); session != "" {
			secret += ":" + session
		}
		return secret, "AWS_ACCESS_KEY_ID"
	}
	for _, name := range []string{"AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_PROFILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI"} {
		if lookup(name) != "" {
			return provider.Identity, name
		}
	}
	return "", ""
}
