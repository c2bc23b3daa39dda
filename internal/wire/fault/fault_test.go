package fault

import (
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire/show"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestFailureClasses(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		status  int
		body    string
		kind    llm.Kind
		message string // required substring of the message
		code    string
	}{
		"an invalid key":     {401, `{"error":{"message":"Incorrect API key provided: sk-ab12cd34ef56.","type":"invalid_request_error","code":"invalid_api_key"}}`, llm.UpstreamAuth, "credential", "invalid_api_key"},
		"a masked key":       {401, `{"error":{"message":"Incorrect API key provided: abcd****wxyz. Find yours"}}`, llm.UpstreamAuth, "[removed]. Find yours", ""},
		"forbidden":          {403, `{"error":{"message":"Country not supported"}}`, llm.UpstreamDenied, "Country not supported", ""},
		"forbidden content":  {403, `{"error":{"message":"flagged","code":"content_policy_violation"}}`, llm.UpstreamContentPolicy, "flagged", "content_policy_violation"},
		"payment":            {402, `{"error":{"message":"Insufficient credits","code":402}}`, llm.UpstreamAuth, "Insufficient credits", ""},
		"an exhausted quota": {429, `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`, llm.UpstreamAuth, "quota", "insufficient_quota"},
		"a per-minute limit worded like an exhausted quota": {
			429, `[{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details.","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure"},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34s"}]}}]`,
			llm.UpstreamRateLimited, "current quota", "RESOURCE_EXHAUSTED",
		},
		"a limit that has passed already": {
			429, `{"error":{"message":"You exceeded your current quota","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"0s"}]}}`,
			llm.UpstreamRateLimited, "current quota", "RESOURCE_EXHAUSTED",
		},
		"a message with a wait":          {429, `{"error":{"message":"You exceeded your current quota. Please try again in 12s."}}`, llm.UpstreamRateLimited, "current quota", ""},
		"a quota without a wait":         {429, `{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","status":"RESOURCE_EXHAUSTED"}}`, llm.UpstreamAuth, "current quota", "RESOURCE_EXHAUSTED"},
		"low credit":                     {400, `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low"}}`, llm.UpstreamAuth, "too little credit", "invalid_request_error"},
		"a wrong Google key":             {400, `[{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}]`, llm.UpstreamAuth, "API key not valid", "INVALID_ARGUMENT"},
		"an unknown model":               {404, `{"error":{"message":"The model does not exist","code":"model_not_found"}}`, llm.UpstreamNotFound, "does not exist", "model_not_found"},
		"an unknown deployment":          {404, `{"error":{"code":"DeploymentNotFound","message":"no such deployment"}}`, llm.UpstreamNotFound, "no such deployment", "DeploymentNotFound"},
		"an unknown model as 400":        {400, `{"error":{"message":"x","code":"model_not_found"}}`, llm.UpstreamNotFound, "x", "model_not_found"},
		"a wrong path":                   {405, ``, llm.UpstreamNotFound, "does not have", ""},
		"rate limit":                     {429, `{"error":{"message":"Rate limit reached","code":"rate_limit_exceeded"}}`, llm.UpstreamRateLimited, "Rate limit", "rate_limit_exceeded"},
		"overload":                       {529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, llm.UpstreamOverloaded, "Overloaded", "overloaded_error"},
		"unavailable":                    {503, `<html><body>503</body></html>`, llm.UpstreamOverloaded, "overloaded", ""},
		"server error":                   {500, `{"error":{"message":"The server had an error","type":"server_error"}}`, llm.UpstreamServer, "server had", "server_error"},
		"bad gateway, plain":             {502, "upstream connect error\n", llm.UpstreamServer, "upstream connect error", ""},
		"a redirect":                     {302, ``, llm.UpstreamServer, "internal error", ""},
		"timeout":                        {408, `{"message":"Model timeout"}`, llm.UpstreamTimeout, "Model timeout", ""},
		"bad request":                    {400, `{"error":{"message":"temperature must be <= 2","param":"temperature"}}`, llm.UpstreamRejected, "temperature must", ""},
		"a string":                       {400, `{"error":"json: cannot unmarshal"}`, llm.UpstreamRejected, "cannot unmarshal", ""},
		"a bare message":                 {400, `{"object":"error","message":"Invalid model","type":"invalid_model","param":null,"code":"1500"}`, llm.UpstreamNotFound, "Invalid model", "1500"},
		"details":                        {422, `{"detail":[{"type":"missing","loc":["body","messages"],"msg":"Field required"},{"loc":["body","n"],"msg":"too big"}]}`, llm.UpstreamRejected, "body.messages: Field required; body.n: too big", "missing"},
		"a string detail":                {422, `{"detail":"Unprocessable"}`, llm.UpstreamRejected, "Unprocessable", ""},
		"a message as an object":         {422, `{"error":{"message":{"detail":[{"loc":["body","x"],"msg":"extra fields not permitted"}]},"type":"invalid"}}`, llm.UpstreamUnsupported, "body.x: extra fields", "invalid"},
		"an empty body":                  {400, ``, llm.UpstreamRejected, "without giving a reason", ""},
		"null":                           {418, `null`, llm.UpstreamRejected, "without giving a reason", ""},
		"context by code":                {400, `{"error":{"message":"too big","code":"context_length_exceeded"}}`, llm.UpstreamContext, "too big", "context_length_exceeded"},
		"context, OpenAI":                {400, `{"error":{"message":"This model's maximum context length is 8192 tokens.","type":"invalid_request_error"}}`, llm.UpstreamContext, "maximum context length", "invalid_request_error"},
		"context, Anthropic":             {400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`, llm.UpstreamContext, "prompt is too long", "invalid_request_error"},
		"context, 413":                   {413, `{"error":{"message":"Input exceeds the context window of this model"}}`, llm.UpstreamContext, "context window", ""},
		"larger than a per-minute limit": {413, `{"error":{"message":"Request too large on tokens per minute (TPM)","type":"tokens","code":"rate_limit_exceeded"}}`, llm.UpstreamContext, "too large", "rate_limit_exceeded"},
		"a large body":                   {413, `{"error":{"message":"Request entity too large"}}`, llm.UpstreamRejected, "entity too large", ""},
		"Azure's filter":                 {400, `{"error":{"message":"The response was filtered","code":"content_filter","innererror":{"code":"ResponsibleAIPolicyViolation"}}}`, llm.UpstreamContentPolicy, "filtered", "content_filter"},
		"Azure's inner code":             {400, `{"error":{"message":"no","code":"x","innererror":{"code":"ResponsibleAIPolicyViolation"}}}`, llm.UpstreamContentPolicy, "no", "x"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := Failure(tc.status, http.Header{}, []byte(tc.body), now)
			if e.Kind != tc.kind || e.UpstreamStatus != tc.status || e.UpstreamCode != tc.code {
				t.Errorf("got %s, status %d, code %q; want %s, %d, %q", e.Kind, e.UpstreamStatus, e.UpstreamCode, tc.kind, tc.status, tc.code)
			}
			if !strings.Contains(e.Message, tc.message) {
				t.Errorf("message %q does not contain %q", e.Message, tc.message)
			}
		})
	}
}

func TestFailureLimitsAndCleansMessages(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		`{"error":{"message":"` + strings.Repeat("ü ", 2000) + `"}}`, strings.Repeat("plain ", 2000), "\xff\xfe text", "a\x1b[31mred\r\nline",
		`{"error":{"message":"a\u001b[31m\u2028b"}}`, `{"error":` + strings.Repeat(`{"message":`, 50) + `"x"` + strings.Repeat("}", 51),
	} {
		e := Failure(400, nil, []byte(body), now)
		if len(e.Message) > maxMessage || !utf8.ValidString(e.Message) || show.OneLine(e.Message) != e.Message || e.Message == "" {
			t.Errorf("%.40q: message has %d bytes: %q; want one line within the limit", body, len(e.Message), e.Message)
		}
	}
}

func TestRedactRemovesCredentials(t *testing.T) {
	t.Parallel()
	for _, secret := range []string{
		"sk-proj-AbCdEf0123456789", "sk-ant-api03-xYz_12-34", "sk-notyours", "gsk_0a1B2c3D4e5F6g7H", "AIzaSyA1234567890abcdefghijklmnopqrstu", "xai-0123456789abcdef",
		"hf_abcdefgh12345678", "AKIAIOSFODNN7EXAMPLE", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc123DEF", "0123456789abcdef0123456789abcdef", "abcd******wxyz",
		"sk-a***************b1c2", "pplx-1234567890abcdef",
	} {
		for _, text := range []string{"key " + secret + " is wrong", "Incorrect API key provided: " + secret + ".", `{"k":"` + secret + `"}`} {
			if got := redact(text); strings.Contains(got, secret) || strings.Contains(got, secret[len(secret)-6:]) {
				t.Errorf("redact(%q) = %q, want the secret removed", text, got)
			}
		}
	}
	for text, want := range map[string]string{
		"Bearer abcdefghijkl":               "Bearer " + removed,
		"api_key=hunter22 and more":         "api_key=" + removed + " and more",
		`"password": "hunter2222"`:          `"password": "` + removed + `"`,
		"authorization: Basic dXNlcjpwYXNz": "authorization: " + removed + " " + removed,
	} {
		if got := redact(text); strings.Contains(got, "hunter") || strings.Contains(got, "abcdef") || strings.Contains(got, "dXN") {
			t.Errorf("redact(%q) = %q, want about %q", text, got, want)
		}
	}
	for _, text := range []string{
		"The model `claude-3-5-sonnet-20241022` does not exist", "accounts/fireworks/models/llama-v3p1-405b-instruct is not deployed",
		"This model's maximum context length is 128000 tokens. However, your messages resulted in 130045 tokens.",
		"max_completion_tokens must be below 16384", "Donaudampfschifffahrtsgesellschaft", "see https://platform.example.com/docs/guides/error-codes",
	} {
		if got := redact(text); got != text {
			t.Errorf("redact(%q) = %q, want it unchanged", text, got)
		}
	}
}

// TestExhaustedQuotaIsDistinguishedFromRateLimits checks a message that Google sends for a rate limit and that OpenAI sends for an
// exhausted quota. If the response says how long to wait, the message means a rate limit. If it has the code of an exhausted quota, it
// means an exhausted quota, whether or not it says how long to wait.
func TestExhaustedQuotaIsDistinguishedFromRateLimits(t *testing.T) {
	t.Parallel()
	const (
		words = `{"error":{"message":"You exceeded your current quota","status":"RESOURCE_EXHAUSTED"}}`
		code  = `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`
	)
	for name, tc := range map[string]struct {
		body, header string
		want         llm.Error
	}{
		"Retry-After":                  {words, "Retry-After", llm.Error{Kind: llm.UpstreamRateLimited, RetryAfter: 20 * time.Second}},
		"Retry-After-Ms":               {words, "Retry-After-Ms", llm.Error{Kind: llm.UpstreamRateLimited, RetryAfter: 20 * time.Millisecond}},
		"rate limit headers":           {words, "X-Ratelimit-Reset-Requests", llm.Error{Kind: llm.UpstreamAuth}}, // providers send these headers with every response, so they do not indicate a rate limit
		"the code":                     {code, "Server", llm.Error{Kind: llm.UpstreamAuth}},
		"the code and a wait":          {code, "Retry-After", llm.Error{Kind: llm.UpstreamAuth}},
		"the code and a rate limit":    {code, "X-Ratelimit-Reset-Requests", llm.Error{Kind: llm.UpstreamAuth}},
		"the code and a wait in words": {strings.Replace(code, "current quota", "current quota, try again in 20s", 1), "Server", llm.Error{Kind: llm.UpstreamAuth}},
	} {
		e := Failure(429, http.Header{tc.header: {"20"}}, []byte(tc.body), now)
		if diff := cmp.Diff(tc.want, llm.Error{Kind: e.Kind, RetryAfter: e.RetryAfter}); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if e := Inside([]byte(code)); e.Kind != llm.UpstreamAuth || e.RetryAfter != 0 {
		t.Errorf("Inside = %s, wait %s; want UpstreamAuth without a wait", e.Kind, e.RetryAfter)
	}
}

func TestRedactRemovesAccounts(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Rate limit reached for gpt-4o in organization org-AbCdEfGhIjKl on tokens per min":               "Rate limit reached for gpt-4o in organization [removed] on tokens per min",
		"Rate limit reached in organization `org_01jabcdefghjk` service tier `on_demand`":                "Rate limit reached in organization `[removed]` service tier `on_demand`",
		"Project `proj_aB3dE5fG7` does not have access to model `gpt-5`":                                 "Project `[removed]` does not have access to model `gpt-5`",
		"Your account org-f1a2b3c4<ak-f2b3c4d5e6> request reached max RPM: 3":                            "Your account [removed]<[removed]> request reached max RPM: 3",
		"exceeds your organization's rate limit (org: 8f7e6d5c-1111-2222-3333-444455556666, model: c-4)": "exceeds your organization's rate limit (org: [removed], model: c-4)",
		"Account 123456789012 is suspended":                                                              "Account [removed] is suspended",
		"account_id=4711471147":                                                                          "account_id=[removed]",
		"API not used in project gen-lang-client-0123456789 before":                                      "API not used in project [removed] before",
		"denied on projects/987654321098/locations/eu":                                                   "denied on projects/[removed]/locations/eu",
		"Organization ID: acme2026":                                                                      "Organization ID: [removed]",
	} {
		if got := redact(text); got != want {
			t.Errorf("redact(%q) = %q, want %q", text, got, want)
		}
	}
	for _, text := range []string{
		"org_rate_limit_exceeded", "project_id is required", "Your account is not active, please check your billing details",
		"Your organization must be verified to use the model `gpt-5`", "The model `team/llama-3-70b` does not exist",
		"organization limit of 50000 tokens", "user_message_too_long", "accounts/fireworks/models/deepseek-v3p1", "project settings",
	} {
		if got := redact(text); got != text {
			t.Errorf("redact(%q) = %q, want it unchanged", text, got)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		status  int
		headers map[string]string
		body    string
		want    time.Duration
	}{
		"nothing":                          {429, nil, ``, 0},
		"seconds":                          {429, map[string]string{"Retry-After": "7"}, ``, 7 * time.Second},
		"a fraction":                       {503, map[string]string{"Retry-After": " 0.5 "}, ``, 500 * time.Millisecond},
		"milliseconds take precedence":     {429, map[string]string{"Retry-After": "7", "Retry-After-Ms": "250"}, ``, 250 * time.Millisecond},
		"a long wait is capped":            {429, map[string]string{"Retry-After": "86400"}, ``, 5 * time.Minute},
		"absurd":                           {429, map[string]string{"Retry-After": "99999999999999999999"}, ``, 0},
		"negative":                         {429, map[string]string{"Retry-After": "-5"}, ``, 0},
		"NaN":                              {429, map[string]string{"Retry-After": "NaN", "Retry-After-Ms": "Inf"}, ``, 0},
		"not a number":                     {429, map[string]string{"Retry-After": "soon"}, ``, 0},
		"an implausible value is skipped":  {429, map[string]string{"Retry-After-Ms": "1e300", "Retry-After": "3"}, ``, 3 * time.Second},
		"a date":                           {503, map[string]string{"Retry-After": "Sun, 01 Mar 2026 12:00:30 GMT"}, ``, 30 * time.Second},
		"a date by the provider's clock":   {503, map[string]string{"Retry-After": "Sun, 01 Mar 2026 13:00:30 GMT", "Date": "Sun, 01 Mar 2026 13:00:00 GMT"}, ``, 30 * time.Second},
		"a date in the past":               {503, map[string]string{"Retry-After": "Sun, 01 Mar 2026 11:00:00 GMT"}, ``, 0},
		"resets, exhausted limits":         {429, map[string]string{"X-Ratelimit-Reset-Requests": "1s", "X-Ratelimit-Reset-Tokens": "1m12s", "X-Ratelimit-Remaining-Requests": "5", "X-Ratelimit-Remaining-Tokens": "0"}, ``, 72 * time.Second},
		"resets, unknown limits":           {429, map[string]string{"X-Ratelimit-Reset-Requests": "2m59.56s", "X-Ratelimit-Reset-Tokens": "6ms"}, ``, 6 * time.Millisecond},
		"resets, seconds":                  {429, map[string]string{"X-Ratelimit-Reset": "12"}, ``, 12 * time.Second},
		"resets, a time":                   {429, map[string]string{"X-Ratelimit-Reset": "1772366420000"}, ``, 20 * time.Second},
		"resets, a time in seconds":        {429, map[string]string{"X-Ratelimit-Reset": "1772366420"}, ``, 20 * time.Second},
		"resets only with 429":             {500, map[string]string{"X-Ratelimit-Reset-Requests": "1s"}, ``, 0},
		"Google's RetryInfo":               {429, nil, `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34.5s"}]}}`, 34500 * time.Millisecond},
		"in the message":                   {429, nil, `{"error":{"message":"Rate limit reached. Please try again in 1m2.5s. Visit"}}`, 62500 * time.Millisecond},
		"in the message, not rate limited": {400, nil, `{"error":{"message":"Please try again in 5s"}}`, 0},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := http.Header{}
			for k, v := range tc.headers {
				h.Set(k, v)
			}
			if got := Failure(tc.status, h, []byte(tc.body), now).RetryAfter; got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

func FuzzFailure(f *testing.F) {
	f.Add(400, "3", []byte(`{"error":{"message":"x","code":1,"details":[{"@type":1}]}}`))
	f.Add(429, "Sun, 01 Mar 2026 12:00:30 GMT", []byte(`[{"detail":[{"loc":[1,"a"],"msg":{}}]}]`))
	f.Add(503, "1e9", []byte(`<html>`))
	f.Fuzz(func(t *testing.T, status int, retry string, body []byte) {
		e := Failure(status, http.Header{"Retry-After": {retry}}, body, now)
		if !e.Kind.FromUpstream() || e.Message == "" || len(e.Message) > maxMessage || !utf8.ValidString(e.Message) {
			t.Fatalf("error %+v, want an upstream error with a message within the limit", e)
		}
		if e.RetryAfter < 0 || e.RetryAfter > longestWait {
			t.Fatalf("RetryAfter = %s, want at most %s", e.RetryAfter, longestWait)
		}
		if show.OneLine(e.Message) != e.Message {
			t.Fatalf("message %q, want one line", e.Message)
		}
	})
}
