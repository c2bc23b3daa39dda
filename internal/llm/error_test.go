package llm

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// contract lists the documented HTTP statuses of every error code.
var contract = map[string][]int{
	"MISSING_API_KEY": {401}, "INVALID_API_KEY": {401}, "EXPIRED_API_KEY": {401}, "REVOKED_API_KEY": {401},
	"SCOPE_DENIED": {403}, "MODEL_NOT_ALLOWED": {403}, "BROWSER_NOT_ALLOWED": {403},
	"INVALID_JSON": {400}, "INVALID_REQUEST": {400},
	"UNSUPPORTED_MEDIA_TYPE": {415}, "PAYLOAD_TOO_LARGE": {413}, "NOT_FOUND": {404}, "METHOD_NOT_ALLOWED": {405}, "UPGRADE_REQUIRED": {426},
	"MODEL_NOT_FOUND":         {404},
	"CONTEXT_TOO_LONG":        {400},
	"POLICY_REJECTED":         {403},
	"NO_ROUTE":                {400},
	"RATE_LIMITED":            {429},
	"BUDGET_EXCEEDED":         {402},
	"PROVIDER_UPSTREAM_ERROR": {400, 502, 503}, // 400 for errors of the client when the provider's status is not passed on
	"PROVIDER_RATE_LIMITED":   {429},
	"PROVIDER_TIMEOUT":        {504},
	"OVERLOADED":              {503}, "LEDGER_UNAVAILABLE": {503}, "SERVER_SHUTDOWN": {503},
	"INTERNAL_ERROR": {500},
}

// apart lists codes that the model API never returns: codes of the admin API, and one that is only logged.
var apart = map[string][]int{
	"SIGN_IN_REQUIRED": {401}, "WRONG_CREDENTIALS": {401}, "SECOND_FACTOR_REQUIRED": {401}, "PERMISSION_DENIED": {403}, "CROSS_ORIGIN": {403}, "CONFLICT": {409},
	"CLIENT_CANCELLED": {499},
}

func TestKindsKeepTheContract(t *testing.T) {
	t.Parallel()
	want := maps.Clone(contract)
	maps.Copy(want, apart)
	got := map[string][]int{}
	for _, k := range Kinds() {
		if !slices.Contains(got[k.Code()], k.Status()) {
			got[k.Code()] = append(got[k.Code()], k.Status())
		}
	}
	for _, statuses := range got {
		slices.Sort(statuses)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-contract +kinds):\n%s", diff)
	}
}

func TestEveryKindIsComplete(t *testing.T) {
	t.Parallel()
	origins := []Origin{FromClient, FromGateway, FromPolicy, FromProvider}
	for _, k := range Kinds() {
		if k.Code() == "" || k.Code() != strings.ToUpper(k.Code()) || k.Status() < 400 || k.Status() > 599 || !slices.Contains(origins, k.Origin()) {
			t.Errorf("%s: code %q, status %d, origin %q", k, k.Code(), k.Status(), k.Origin())
		}
		if k.Status() >= 500 && k.Origin() == FromClient {
			t.Errorf("%s: origin is the client, but the status is %d", k, k.Status())
		}
		if k.Retryable() && k.Origin() == FromClient {
			t.Errorf("%s: a client error is retryable", k)
		}
		if k.NextMayHelp() && !k.FromUpstream() {
			t.Errorf("%s: NextMayHelp is true for an error that is not from a provider", k)
		}
	}
	if !slices.IsSorted(Kinds()) {
		t.Errorf("Kinds is not sorted: %v", Kinds())
	}
}

// Clients retry some statuses automatically, so a kind must have such a status only if a retry can succeed. The exception is an error of
// the gateway's credential or model at the provider: its documented status is 502, and only the header x-should-retry prevents retries.
func TestStatusesThatClientsActOn(t *testing.T) {
	t.Parallel()
	refused := map[Kind]bool{UpstreamAuth: true, UpstreamDenied: true, UpstreamNotFound: true}
	for _, k := range Kinds() {
		e := &Error{Kind: k}
		switch status := e.Status(); {
		case status == 422 || status == 408:
			t.Errorf("%s has status %d, which clients retry", k, status)
		case status == 409 && k != Conflict, status == 401 && k.FromUpstream(), status == 403 && k.FromUpstream():
			t.Errorf("%s has status %d, which the contract does not allow for it", k, status)
		case (status == 429 || status >= 500) && !k.Retryable() && !refused[k]:
			t.Errorf("%s has status %d, which clients retry, but is not retryable", k, status)
		}
	}
}

func TestStatusPassesOnClientErrors(t *testing.T) {
	t.Parallel()
	for _, kind := range []Kind{UpstreamRejected, UpstreamUnsupported, UpstreamContentPolicy} {
		for upstream, want := range map[int]int{
			400: 400, 404: 404, 413: 413, 415: 415, 418: 418, 422: 422, 451: 451,
			401: 400, 402: 400, 403: 400, 407: 400, 408: 400, 409: 400, 425: 400, 429: 400,
			0: 400, 200: 400, 302: 400, 500: 400, 503: 400, 600: 400, -1: 400,
		} {
			if got := (&Error{Kind: kind, UpstreamStatus: upstream}).Status(); got != want {
				t.Errorf("%s with provider status %d has status %d, want %d", kind, upstream, got, want)
			}
		}
	}
	for _, kind := range Kinds() {
		if kind.passedOn() {
			continue
		}
		for _, upstream := range []int{400, 401, 404, 422, 429, 500} {
			if got := (&Error{Kind: kind, UpstreamStatus: upstream}).Status(); got != kind.Status() {
				t.Errorf("%s with provider status %d has status %d, want %d", kind, upstream, got, kind.Status())
			}
		}
	}
}

func TestUnknownKindIsInternal(t *testing.T) {
	t.Parallel()
	e := &Error{Kind: "no such kind", Message: "x"}
	if e.Status() != 500 || e.Kind.Code() != "INTERNAL_ERROR" || e.Kind.Origin() != FromGateway || e.Kind.FromUpstream() {
		t.Errorf("status %d, code %q, origin %q; want 500, INTERNAL_ERROR, %q", e.Status(), e.Kind.Code(), e.Kind.Origin(), FromGateway)
	}
}

func TestAsErrorHidesTheCause(t *testing.T) {
	t.Parallel()
	cause := errors.New("dial tcp 10.0.0.7:5432: password authentication failed")
	e := AsError(cause)
	if e.Kind != Internal || !errors.Is(e, cause) {
		t.Errorf("AsError = %v of kind %s, want Internal with the cause", e, e.Kind)
	}
	for _, body := range [][]byte{e.Body("req_1"), e.OpenAIBody("req_1")} {
		if strings.Contains(string(body), "10.0.0.7") || strings.Contains(string(body), "password") {
			t.Errorf("the response body reveals the cause: %s", body)
		}
	}
	if !strings.Contains(e.Error(), "10.0.0.7") {
		t.Errorf("Error() does not contain the cause: %s", e.Error())
	}
}

func TestAsErrorUnwraps(t *testing.T) {
	t.Parallel()
	want := Errorf(NoRoute, "none of %d targets", 3).With("excluded", []string{"a"})
	if got := AsError(fmt.Errorf("serve: %w", want)); got != want {
		t.Errorf("AsError = %v, want %v", got, want)
	}
	if want.Message != "none of 3 targets" || want.Error() != "no_route: none of 3 targets" {
		t.Errorf("message %q, error text %q", want.Message, want.Error())
	}
}

func TestFinalErrorsAreNotRetryable(t *testing.T) {
	t.Parallel()
	e := &Error{Kind: UpstreamConnect}
	if !e.Retryable() {
		t.Error("a connection error is not retryable")
	}
	if e.Final = true; e.Retryable() {
		t.Error("a final error is retryable")
	}
}
