package requestlog

import (
	"net/http"
	"strings"
	"testing"
)

const (
	trace = "4bf92f3577b34da6a3ce929d0e0e4736"
	span  = "00f067aa0ba902b7"
)

func TestReadAcceptsOnlyValidHeaders(t *testing.T) {
	t.Parallel()
	valid := TraceContext{TraceID: trace, SpanID: span, Sampled: true}
	unsampled := valid
	unsampled.Sampled = false
	for name, c := range map[string]struct {
		header string
		want   TraceContext
	}{
		"sampled":             {"00-" + trace + "-" + span + "-01", valid},
		"not sampled":         {"00-" + trace + "-" + span + "-00", unsampled},
		"other flags":         {"00-" + trace + "-" + span + "-fe", unsampled},
		"a later version":     {"cc-" + trace + "-" + span + "-01-more", valid},
		"none":                {"", TraceContext{}},
		"the invalid version": {"ff-" + trace + "-" + span + "-01", TraceContext{}},
		"suffix in version 0": {"00-" + trace + "-" + span + "-01-more", TraceContext{}},
		"upper case":          {"00-" + strings.ToUpper(trace) + "-" + span + "-01", TraceContext{}},
		"zero trace":          {"00-" + strings.Repeat("0", 32) + "-" + span + "-01", TraceContext{}},
		"zero span":           {"00-" + trace + "-" + strings.Repeat("0", 16) + "-01", TraceContext{}},
		"short":               {"00-" + trace + "-" + span, TraceContext{}},
		"wrong separators":    {"00_" + trace + "_" + span + "_01", TraceContext{}},
	} {
		if got := ReadTraceContext(http.Header{"Traceparent": {c.header}}); got != c.want {
			t.Errorf("%s: Read = %+v, want %+v", name, got, c.want)
		}
	}
}

func TestWriteContinuesTheTraceOfRead(t *testing.T) {
	t.Parallel()
	c := ReadTraceContext(http.Header{"Traceparent": {"00-" + trace + "-" + span + "-01"}, "Tracestate": {"a=1", "b=2"}})
	h := http.Header{}
	c.Write(h, SpanID("req_1", 1))
	if want := "00-" + trace + "-" + SpanID("req_1", 1) + "-01"; h.Get("Traceparent") != want || h.Get("Tracestate") != "a=1,b=2" {
		t.Errorf("headers %v, want traceparent %s and the joined tracestate", h, want)
	}
	if long := ReadTraceContext(http.Header{"Traceparent": {"00-" + trace + "-" + span + "-01"}, "Tracestate": {strings.Repeat("a", 600)}}); long.State != "" {
		t.Error("a tracestate that is too long was kept")
	}
}

func TestDerivedIDsDiffer(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{TraceID("req_1"): true, TraceID("req_2"): true}
	for i := range 300 {
		seen[SpanID("req_1", i)], seen[SpanID("req_2", i)] = true, true
	}
	if len(seen) != 602 {
		t.Errorf("%d different ids, want 602", len(seen))
	}
	if !isTraceID(TraceID("req_1")) || len(TraceID("req_1")) != traceDigits || len(SpanID("req_1", 0)) != spanDigits {
		t.Errorf("TraceID = %q, SpanID = %q; want %d and %d hex digits", TraceID("req_1"), SpanID("req_1", 0), traceDigits, spanDigits)
	}
}
