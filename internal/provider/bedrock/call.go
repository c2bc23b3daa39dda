package bedrock

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"

	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/smithy-go/encoding/httpbinding"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/wire/bedrock"
)

// caller contains the settings and methods that chat and embeddings share.
type caller struct {
	settings provider.Settings
	base     string
	region   string
	signer   *v4.Signer
}

// acceptStream is the media type of Bedrock's streams.
const acceptStream = "application/vnd.amazon.eventstream"

// post builds the HTTP request for a model action. Model names may contain colons and slashes, so all characters except letters, digits and
// -._~ are escaped: once in the address and again in the signed path.
func (c caller) post(ctx context.Context, call *provider.Call, action string, body []byte, accept string) (*http.Request, error) {
	model := httpbinding.EscapePath(c.profiled(call.Target.Upstream), true)
	r, err := c.settings.Post(ctx, c.base+"/model/"+model+"/"+action, accept, body)
	if err != nil {
		return nil, err
	}
	if r.Header.Get("Authorization") != "" { // the operator's header takes precedence
		return r, nil
	}
	key, pair := accessKey(call.Secret)
	call.Secrets = append(call.Secrets, parts(call.Secret)...) // temporary keys are also masked
	if !pair {
		authorize(r.Header, call.Secret)
		return r, nil
	}
	sum := sha256.Sum256(body)
	if err := c.signer.SignHTTP(ctx, key, r, hex.EncodeToString(sum[:]), "bedrock", c.region, c.settings.Clock()()); err != nil {
		return nil, fmt.Errorf("sign the request: %w", err)
	}
	return r, nil
}

// Failure implements provider.Exchange.
func (c caller) Failure(call *provider.Call, resp *http.Response) *llm.Error {
	body := provider.FailureBody(call, resp)
	return bedrock.Failure(resp.StatusCode, resp.Header, body, c.settings.Clock()())
}
