package bedrock

import (
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"

	"fairlead.dev/internal/provider"
)

// accessKey parses a secret as an access key. It returns false for an API key, which has no colons and is sent
// unchanged.
func accessKey(secret string) (aws.Credentials, bool) {
	id, rest, found := strings.Cut(secret, ":")
	if !found || secret == provider.Identity {
		return aws.Credentials{}, false
	}
	key, session, _ := strings.Cut(rest, ":")
	return aws.Credentials{AccessKeyID: id, SecretAccessKey: key, SessionToken: session}, true
}

// authorize sets the Authorization header for an API key. An access key signs requests and is never sent.
func authorize(h http.Header, secret string) {
	if _, pair := accessKey(secret); !pair && secret != "" {
		h.Set("Authorization", "Bearer "+secret)
	}
}

// parts returns the parts of an access key. AWS may repeat them in errors.
func parts(secret string) []string {
	key, pair := accessKey(secret)
	if !pair {
		return nil
	}
	return []string{key.AccessKeyID, key.SecretAccessKey, key.SessionToken}
}
