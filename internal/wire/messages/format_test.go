package messages

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead/internal/llm"
	"fairlead/internal/rawjson"
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
	body := (&llm.Error{Kind: llm.UpstreamRateLimited, Message: "slow <down>"}).Body("req_1")
	if err := f.Framing().WriteError(&b, f.ErrorBody(body), 1); err != nil {
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
		got := rawjson.Parse(Format{}.ErrorBody(e.Body("req_1")))
		if got.Get("error.message").String() != "why" || got.Get("code").String() != kind.Code() || got.Get("details.request_id").String() != "req_1" || got.Get("error.type").String() == "" {
			t.Errorf("%s: %s", kind, got.Raw)
		}
	}
	for code, want := range map[string]string{"INVALID_REQUEST": "invalid_request_error", "INVALID_API_KEY": "authentication_error", "OVERLOADED": "overloaded_error", "INTERNAL_ERROR": "api_error"} {
		if got := errorType(code); got != want {
			t.Errorf("%s is a %s", code, got)
		}
	}
	if got := string(Format{}.ErrorBody([]byte("no JSON"))); !rawjson.Valid([]byte(got)) {
		t.Error(got)
	}
}
