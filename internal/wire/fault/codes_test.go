package fault

import (
	"net/http"
	"testing"

	"fairlead.dev/internal/llm"
)

// The cases are errors that vendors document, grouped by what the error affects: the credential with all its models, one model, or only
// the request.
func TestErrorCodeTakesPrecedenceOverStatus(t *testing.T) {
	t.Parallel()
	const (
		credential = llm.UpstreamAuth
		limited    = llm.UpstreamRateLimited
		denied     = llm.UpstreamDenied
		unknown    = llm.UpstreamNotFound
		request    = llm.UpstreamRejected
		unable     = llm.UpstreamUnsupported
	)
	openai := func(code, kind, message string) string {
		return `{"error":{"message":"` + message + `","type":"` + kind + `","param":null,"code":"` + code + `"}}`
	}
	anthropic := func(kind, message string) string {
		return `{"type":"error","error":{"type":"` + kind + `","message":"` + message + `"}}`
	}
	google := func(status, reason, message string) string {
		return `{"error":{"message":"` + message + `","status":"` + status + `","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"` + reason + `"}]}}`
	}
	aws := func(kind, message string) string { return `{"type":"` + kind + `","message":"` + message + `"}` }
	tests := []struct {
		vendor string
		status int
		body   string
		want   llm.Kind
	}{
		{"OpenAI", 401, openai("account_deactivated", "invalid_request_error", "The account is deactivated."), credential},
		{"OpenAI", 403, openai("model_not_found", "invalid_request_error", "Project does not have access to model gpt-5."), unknown},
		{"OpenAI", 403, openai("", "invalid_request_error", "You are not allowed to sample from this model."), denied},
		{"OpenAI", 403, openai("unsupported_country_region_territory", "request_forbidden", "Country, region, or territory not supported."), denied},
		{"OpenAI", 404, openai("", "invalid_request_error", "No such File object: file-model."), request},
		{"OpenAI", 404, openai("", "invalid_request_error", "Previous response with id 'resp_1' not found."), request},
		{"OpenAI", 429, openai("billing_not_active", "billing_not_active", "Your account is not active."), credential},
		{"OpenAI", 400, openai("billing_hard_limit_reached", "invalid_request_error", "Billing hard limit has been reached."), credential},
		{"OpenAI", 400, openai("unsupported_parameter", "invalid_request_error", "Unsupported parameter: 'temperature'."), unable},
		{"OpenAI", 400, openai("unsupported_value", "invalid_request_error", "'temperature' must be 1."), unable},
		{"OpenAI", 400, openai("unknown_parameter", "invalid_request_error", "Unknown parameter: 'top_k'."), unable},
		{"OpenAI", 400, openai("invalid_value", "invalid_request_error", "Invalid value: 'invalid api key'."), request},
		{"OpenAI", 400, openai("invalid_value", "invalid_request_error", "Invalid value: 'credit balance is too low'."), request},
		{"OpenAI", 400, openai("content_policy_violation", "invalid_request_error", "no"), llm.UpstreamContentPolicy},
		{"Anthropic", 400, anthropic("invalid_request_error", "This organization has been disabled."), credential},
		{"Anthropic", 400, anthropic("invalid_request_error", "messages: at least one message is required"), request},
		{"Anthropic", 400, anthropic("invalid_request_error", "`temperature` is deprecated for this model."), unable},
		{"Anthropic", 400, anthropic("invalid_request_error", "top_n: Extra inputs are not permitted"), unable},
		{"Anthropic", 401, anthropic("authentication_error", "invalid x-api-key"), credential},
		{"Anthropic", 402, anthropic("billing_error", "no"), credential},
		{"Anthropic", 403, anthropic("permission_error", "Your API key does not have permission to use the specified resource."), denied},
		{"Anthropic", 404, anthropic("not_found_error", "model: claude-9"), unknown},
		{"Anthropic", 429, anthropic("rate_limit_error", "slow down"), limited},
		{"Gemini", 400, google("INVALID_ARGUMENT", "API_KEY_INVALID", "API key not valid. Please pass a valid API key."), credential},
		{"Gemini", 400, google("FAILED_PRECONDITION", "", "User location is not supported for the API use."), unable},
		{"Gemini", 400, google("INVALID_ARGUMENT", "", "Unknown name foo: Cannot find field."), unable},
		{"Gemini", 400, google("INVALID_ARGUMENT", "", "contents must not be empty"), request},
		{"Gemini", 401, google("UNAUTHENTICATED", "", "no"), credential},
		{"Gemini", 403, google("PERMISSION_DENIED", "SERVICE_DISABLED", "The API is disabled."), credential},
		{"Gemini", 403, google("PERMISSION_DENIED", "API_KEY_SERVICE_BLOCKED", "blocked"), credential},
		{"Gemini", 403, google("PERMISSION_DENIED", "CONSUMER_SUSPENDED", "suspended"), credential},
		{"Gemini", 403, google("PERMISSION_DENIED", "BILLING_DISABLED", "billing"), credential},
		{"Gemini", 403, google("PERMISSION_DENIED", "IAM_PERMISSION_DENIED", "Permission denied on resource models/gemini-9."), denied},
		{"Gemini", 404, google("NOT_FOUND", "", "models/gemini-9 is not found for API version v1beta."), unknown},
		{"Gemini", 404, google("NOT_FOUND", "", "CachedContent not found."), request},
		{"Gemini", 429, google("RESOURCE_EXHAUSTED", "", "Resource has been exhausted."), limited},
		{"Bedrock", 403, aws("AccessDeniedException", "User is not authorized to perform bedrock:InvokeModel on the resource."), denied},
		{"Bedrock", 403, aws("UnrecognizedClientException", "The security token included in the request is invalid."), credential},
		{"Bedrock", 403, aws("InvalidSignatureException", "The signature does not match."), credential},
		{"Bedrock", 403, aws("ExpiredTokenException", "expired"), credential},
		{"Bedrock", 404, aws("ResourceNotFoundException", "The model version was not found."), unknown},
		{"Bedrock", 400, aws("ValidationException", "The model doesn't support tool use."), unable},
		{"Bedrock", 400, aws("ValidationException", "messages: text is empty"), request},
		{"Bedrock", 429, aws("ThrottlingException", "Too many requests"), limited},
		{"Azure", 401, openai("401", "", "Access denied due to invalid subscription key."), credential},
		{"Azure", 403, openai("AccessDenied", "", "Access denied due to Virtual Network rules."), denied},
		{"Azure", 429, openai("429", "", "Requests have exceeded the token rate limit."), limited},
		{"DeepSeek", 402, openai("invalid_request_error", "unknown_error", "Insufficient Balance"), credential},
		{"xAI", 403, openai("", "", "Your team has used all available credits."), credential},
		{"Moonshot", 429, openai("", "exceeded_current_quota_error", "no"), credential},
		{"vLLM", 404, `{"detail":"Not Found"}`, unknown},
	}
	for _, tc := range tests {
		if got := Failure(tc.status, http.Header{}, []byte(tc.body), now).Kind; got != tc.want {
			t.Errorf("%s, status %d, body %s: kind %q, want %q", tc.vendor, tc.status, tc.body, got, tc.want)
		}
	}
}
