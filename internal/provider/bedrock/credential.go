package bedrock

import (
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// ambient reads the access key of Amazon's own tools and packs it into one secret.
func ambient(lookup func(string) string) (secret, source string) {
	id, key := lookup("AWS_ACCESS_KEY_ID"), lookup("AWS_SECRET_ACCESS_KEY")
	if id == "" || key == "" {
		return "", ""
	}
	secret = id + ":" + key
	if session := lookup("AWS_SESSION_TOKEN"); session != "" {
		secret += ":" + session
	}
	return secret, "AWS_ACCESS_KEY_ID"
}

// accessKey unpacks a secret. It reports false for an API key, which is presented as it is: those have no colons.
func accessKey(secret string) (aws.Credentials, bool) {
	id, rest, found := strings.Cut(secret, ":")
	if !found {
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
