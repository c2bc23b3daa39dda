package llm

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestBody(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		err  *Error
		want string
	}{
		"plain": {
			Errorf(InvalidAPIKey, "The key is not known."),
			`{"error":"The key is not known.","code":"INVALID_API_KEY","details":{"origin":"client","request_id":"req_1","retryable":false}}`,
		},
		"with everything": {
			&Error{
				Kind: UpstreamRejected, Message: `a <b> & "c"`, Param: "n", UpstreamStatus: 422, UpstreamCode: "bad",
				Details: map[string]any{"problems": []string{"<x>"}, "origin": "forged", "request_id": "forged"},
			},
			`{"error":"a <b> & \"c\"","code":"PROVIDER_UPSTREAM_ERROR","details":{"origin":"client","param":"n","problems":["<x>"],"request_id":"req_1","retryable":false,"upstream_code":"bad","upstream_status":422}}`,
		},
		"final error of a retryable kind": {
			&Error{Kind: UpstreamServer, Message: "x", Final: true},
			`{"error":"x","code":"PROVIDER_UPSTREAM_ERROR","details":{"origin":"provider","request_id":"req_1","retryable":false}}`,
		},
		"details that JSON cannot express": {
			&Error{Kind: Overloaded, Message: "x", Details: map[string]any{"f": func() {}, "nan": math.NaN(), "kept": 1}},
			`{"error":"x","code":"OVERLOADED","details":{"kept":1,"origin":"gateway","request_id":"req_1","retryable":true}}`,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, string(tc.err.Body("req_1"))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestLinkedAddsLinks(t *testing.T) {
	t.Parallel()
	e := Errorf(NoRoute, "No model.").With("excluded", 1)
	for name, tc := range map[string]struct{ base, entry, want string }{
		"logged":     {"https://h", "req_1", `"doc_url":"https://h/docs/errors#NO_ROUTE","excluded":1,"log_url":"https://h/requests/req_1",`},
		"not logged": {"https://h", "", `"doc_url":"https://h/docs/errors#NO_ROUTE","excluded":1,"origin"`},
		"no address": {"", "req_1", `"doc_url":"/docs/errors#NO_ROUTE","excluded":1,"log_url":"/requests/req_1",`},
	} {
		if got := string(e.Linked(tc.base, tc.entry).Body("req_1")); !strings.Contains(got, tc.want) {
			t.Errorf("%s: body %s does not contain %s", name, got, tc.want)
		}
	}
	if len(e.Details) != 1 {
		t.Errorf("Linked changed the details of the error: %v", e.Details)
	}
}

func TestOpenAIBody(t *testing.T) {
	t.Parallel()
	e := &Error{Kind: InvalidRequest, Message: "n must be < 5", Param: "n"}
	want := `{"error":{"message":"n must be < 5","type":"invalid_request","param":"n","code":"INVALID_REQUEST"},"code":"INVALID_REQUEST","details":{"origin":"client","param":"n","request_id":"req_1","retryable":false}}`
	if diff := cmp.Diff(want, string(e.OpenAIBody("req_1"))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	e.Param = ""
	if body := string(e.OpenAIBody("req_1")); !strings.Contains(body, `"param":null`) {
		t.Errorf("body %s does not contain param", body)
	}
}

// Both formats are valid JSON for every kind and message.
func TestBodiesAreValidForEveryKind(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		e := &Error{
			Kind:    rapid.SampledFrom(append(Kinds(), "unknown")).Draw(t, "kind"),
			Message: rapid.OneOf(rapid.String(), rapid.Just("\xff<script>\u2028\n")).Draw(t, "message"),
			Param:   rapid.String().Draw(t, "param"), Final: rapid.Bool().Draw(t, "final"),
			UpstreamStatus: rapid.IntRange(0, 599).Draw(t, "status"), UpstreamCode: rapid.String().Draw(t, "code"),
			Details: rapid.MapOf(rapid.String(), rapid.Just[any](map[string]any{"<": []int{1}})).Draw(t, "details"),
		}
		for _, body := range [][]byte{e.Body("req_1"), e.OpenAIBody("req_1")} {
			var read struct {
				Error   any
				Code    string
				Details map[string]any
			}
			if err := json.Unmarshal(body, &read); err != nil || !strings.HasPrefix(string(body), `{"error":`) || strings.Contains(string(body), "\n") {
				t.Fatalf("body %s is not one line of JSON that starts with error: %v", body, err)
			}
			if read.Code != e.Kind.Code() || read.Details["request_id"] != "req_1" || read.Details["origin"] != string(e.Kind.Origin()) || read.Details["retryable"] != e.Retryable() {
				t.Fatalf("body %s does not match kind %s, retryable %t", body, e.Kind, e.Retryable())
			}
			if strings.Contains(string(body), `\u003c`) || strings.Contains(string(body), `\u0026`) {
				t.Fatalf("%s contains HTML escapes", body)
			}
		}
	})
}
