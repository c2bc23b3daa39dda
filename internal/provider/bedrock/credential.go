package bedrock

import (
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"

	"fairlead/internal/provider"
)

// accessKey unpacks a secret. It reports false for an API key, which is presented as it is: those have no colons.
func accessKey(secret string) (aws.Credentials, bool) {
	id, rest, found := strings.Cut(secret, ":")
	if !found || secret == provider.Identity {
		return aws.Credentials{}, false
	}
	key, session, _ := strings.Cut(rest, ":")
	return aws.Credentials{AccessKeyID: id, SecretAccessKey: key, SessionToken: session}, true
}

// authorize presents an API key. An access key signs whole requests and is in none of them.
func authorize(h http.Header, secret string) {
	if _, pair := accessKey(secret); !pair && secret != "" {
		h.Set("Authorization", "Bearer "+secret)
	}
}

// parts returns the parts of an access key. The service repeats what was signed.
func parts(secret string) []string {
	key, pair := accessKey(secret)
	if !pair {
		return nil
	}
	return []string{key.AccessKeyID, key.SecretAccessKey, key.SessionToken}
}
