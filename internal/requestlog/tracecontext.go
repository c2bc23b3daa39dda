package requestlog

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
)

// Lengths of IDs in hexadecimal digits.
const (
	traceDigits = 32
	spanDigits  = 16
)

// maxTraceState is the maximum length of a tracestate header that is kept, as the specification recommends.
const maxTraceState = 512

// TraceContext is the position of a request in a trace. The zero value describes a request that starts a trace.
type TraceContext struct {
	TraceID string // trace ID, 32 hexadecimal digits
	SpanID  string // ID of the caller's span, 16 hexadecimal digits; empty if the request starts the trace
	Sampled bool   // whether the caller records the trace
	State   string // data of tracing systems, forwarded unchanged
}

// ReadTraceContext returns the trace context of a request. It returns the zero value if the headers have none or an invalid one.
func ReadTraceContext(h http.Header) TraceContext {
	header := h.Get("Traceparent")
	const length = len("00-") + traceDigits + len("-") + spanDigits + len("-00")
	if len(header) < length {
		return TraceContext{}
	}
	version, traceID, spanID, flags := header[:2], header[3:35], header[36:52], header[53:55]
	future := version != "00" && version != "ff" && len(header) > length && header[length] == '-' // later versions may append fields
	switch {
	case header[2] != '-' || header[35] != '-' || header[52] != '-' || version == "ff" || len(header) > length && !future:
		return TraceContext{}
	case !isHex(version) || !isHex(flags) || !isTraceID(traceID) || !isTraceID(spanID):
		return TraceContext{}
	}
	c := TraceContext{TraceID: strings.Clone(traceID), SpanID: strings.Clone(spanID), Sampled: strings.ContainsAny(flags[1:], "13579bdf")}
	if state := strings.Join(h.Values("Tracestate"), ","); len(state) <= maxTraceState {
		c.State = state
	}
	return c
}

// Write sets the trace context headers, with spanID as the parent span. The trace ID, the sampled flag and the state are those of c.
func (c TraceContext) Write(h http.Header, spanID string) {
	flags := "00"
	if c.Sampled {
		flags = "01"
	}
	h.Set("Traceparent", "00-"+c.TraceID+"-"+spanID+"-"+flags)
	if c.State != "" {
		h.Set("Tracestate", c.State)
	}
}

// TraceID returns the trace ID of a request that starts a trace.
func TraceID(requestID string) string {
	sum := sha256.Sum256([]byte("trace " + requestID))
	return hex.EncodeToString(sum[:traceDigits/2])
}

// SpanID derives a span ID from a request ID. i is 0 for the span of the request, and n+1 for the span of attempt n.
func SpanID(requestID string, i int) string {
	sum := sha256.Sum256(append([]byte("span "+requestID+" "), byte(i>>8), byte(i)))
	return hex.EncodeToString(sum[:spanDigits/2])
}

// isTraceID reports whether an ID has only lower-case hexadecimal digits and is not all zeros.
func isTraceID(s string) bool { return isHex(s) && strings.Trim(s, "0") != "" }

func isHex(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
