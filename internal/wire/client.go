package wire

import (
	"context"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"fairlead.dev/internal/llm"
)

// FeatureHeader is implemented by formats whose clients request optional features in a header.
type FeatureHeader interface {
	// FeatureHeader returns the canonical name of the header. Its value becomes llm.Request.Beta.
	FeatureHeader() string
}

// VendorFormat is implemented by formats that belong to one vendor.
type VendorFormat interface {
	// Vendor returns the vendor assumed for a model that the catalog does not contain.
	Vendor() string
}

// ModelPath is implemented by formats whose requests name the model in the path instead of the body.
type ModelPath interface {
	// ForModel returns the format for a request with the given model in the path and the given URL query.
	ForModel(model string, query url.Values) Format
}

// TokenCounter is implemented by formats that define their own response format for token-count requests.
type TokenCounter interface {
	// TokenCount returns the response as a value to be encoded as JSON.
	TokenCount(tokens int64) any
}

// VectorEncoder is implemented by formats that define their own embeddings format. DecodeRequest of such a format returns an embeddings
// request in OpenAI's format.
type VectorEncoder interface {
	// EncodeVectors translates an embeddings response from OpenAI's format.
	EncodeVectors(data []byte) []byte
}

// StreamType is implemented by framings that do not use server-sent events.
type StreamType interface {
	ContentType() string
	// KeepAlive returns bytes that are sent while a stream has no events. Clients ignore these bytes.
	KeepAlive() string
}

// OutputLimiter is implemented by formats whose output limit is not a top-level member.
type OutputLimiter interface {
	// LimitOutput returns the body with its output limit replaced by limit.
	LimitOutput(req *llm.Request, limit int64) []byte
}

// SessionHeaders lists the headers in which coding agents and other clients identify a conversation, in order of
// precedence.
func SessionHeaders() []string {
	return []string{"X-Fairlead-Session", "X-Claude-Code-Session-Id", "X-Session-Id", "Session-Id", "Session_id", "Conversation_id"}
}

// ErrorClient describes the client that receives an error object.
type ErrorClient struct {
	Requested string // value of the X-Fairlead-Error-Format header
	KeyFormat string // error format configured for the API key
	UserAgent string
}

// ErrorBody returns the error object in the form that the client can read. The order of precedence is: the form requested in the header,
// the wire format's own form, the form configured for the API key, and the form that the client library needs. The default is the flat
// form. f may be nil.
func ErrorBody(f Format, c ErrorClient, e *llm.Error, requestID string) []byte {
	shaped, hasShape := f.(ErrorFormat)
	switch {
	case c.Requested == "flat":
		return e.Body(requestID)
	case c.Requested == "openai":
		return e.OpenAIBody(requestID)
	case hasShape:
		return shaped.ErrorBody(e, requestID)
	case c.KeyFormat == "openai", hidesFlatErrors(c.UserAgent):
		return e.OpenAIBody(requestID)
	default:
		return e.Body(requestID)
	}
}

// hidesFlatErrors reports whether the client library does not show the message of a flat error. openai-go since 3.53
// cannot parse it; openai-python since 3 and the Vercel AI SDK print only the status.
func hidesFlatErrors(userAgent string) bool {
	if strings.Contains(userAgent, "ai-sdk/") {
		return true
	}
	product, version, _ := strings.Cut(userAgent, " ")
	parts := strings.SplitN(version, ".", 3)
	major, _ := strconv.Atoi(parts[0]) // a component that is not a number counts as 0
	minor := 0
	if len(parts) > 1 {
		minor, _ = strconv.Atoi(parts[1])
	}
	switch {
	case product == "OpenAI/Go":
		return major > 3 || (major == 3 && minor >= 53)
	case strings.HasSuffix(product, "OpenAI/Python"): // also matches AsyncOpenAI/Python and AzureOpenAI/Python
		return major >= 3
	}
	return false
}

// outputMembers lists the members that limit the output, in any format.
var outputMembers = []string{"max_tokens", "max_completion_tokens", "max_output_tokens"}

// LimitOutput returns the request with its output limit replaced by limit.
func LimitOutput(ctx context.Context, f Format, req *llm.Request, limit int64) (*llm.Request, error) {
	var body []byte
	if l, ok := f.(OutputLimiter); ok {
		body = l.LimitOutput(req, limit)
	} else {
		body = req.Replace(func(name string, _ []byte) []byte {
			if slices.Contains(outputMembers, name) {
				return strconv.AppendInt(nil, limit, 10)
			}
			return nil
		})
	}
	limited, err := f.DecodeRequest(ctx, req.Op, body)
	if err != nil {
		return nil, err
	}
	limited.Model, limited.Controls.SessionID, limited.Beta = req.Model, req.Controls.SessionID, req.Beta
	return limited, nil
}

// EditsContext reports whether the request lets the provider drop parts of the prompt.
func EditsContext(req *llm.Request) bool {
	return slices.ContainsFunc(req.Fields, func(f llm.Field) bool { return f.Name == "context_management" })
}
