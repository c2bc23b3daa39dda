package anthropic

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
)

func TestFraming(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	f := Format{}
	if err := f.Framing().WriteEvent(&b, llm.Event{Name: "ping", Data: []byte(`{"type":"ping"}`)}); err != nil {
		t.Fatal(err)
	}
	if err := f.Framing().WriteEnd(&b); err != nil {
		t.Fatal(err)
	}
	body := f.ErrorBody(&llm.Error{Kind: llm.UpstreamRateLimited, Message: "slow <down>"}, "req_1")
	if err := f.Framing().WriteError(&b, body, 1); err != nil {
		t.Fatal(err)
	}
	want := "event: ping\ndata: {\"type\":\"ping\"}\n\n" +
		`event: error` + "\n" + `data: {"type":"error","error":{"type":"rate_limit_error","message":"slow <down>"},"code":"PROVIDER_RATE_LIMITED","details":{"origin":"provider","request_id":"req_1","retryable":true}}` + "\n\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
}

func TestErrorBodies(t *testing.T) {
	t.Parallel()
	for _, kind := range llm.Kinds() {
		e := &llm.Error{Kind: kind, Message: "why"}
		got := rawjson.Parse(Format{}.ErrorBody(e, "req_1"))
		if got.Get("error.message").String() != "why" || got.Get("code").String() != kind.Code() || got.Get("details.request_id").String() != "req_1" || got.Get("error.type").String() == "" {
			t.Errorf("%s: error body %s, want the message, type, code and request ID", kind, got.Raw)
		}
	}
	for kind, want := range map[llm.Kind]string{
		llm.InvalidRequest: "invalid_request_error", llm.InvalidAPIKey: "authentication_error", llm.Internal: "api_error",
		llm.Overloaded: "overloaded_error", llm.UpstreamOverloaded: "overloaded_error", llm.NoTargetAvailable: "overloaded_error",
		llm.UpstreamServer: "api_error", llm.UpstreamRateLimited: "rate_limit_error",
	} {
		body := Format{}.ErrorBody(&llm.Error{Kind: kind, Message: "why"}, "req_1")
		if got := rawjson.Get(body, "error.type").String(); got != want {
			t.Errorf("%s has type %s, want %s", kind, got, want)
		}
	}
}
