package simulator

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/simulator/inprocess"
	"fairlead.dev/internal/simulator/simtest"
)

func faulty(fault, more string) string {
	return simtest.UserPrompt("sim-small", "Hello", `,"metadata":{"simulate":"`+fault+`"}`+more)
}

func TestStatusFaults(t *testing.T) {
	t.Parallel()
	s := NewSimulator(Options{})
	tests := []struct {
		fault  Fault
		status int
		code   string
		retry  string
	}{
		{Fault401, 401, "invalid_api_key", ""},
		{Fault404, 404, "model_not_found", ""},
		{Fault429, 429, "rate_limit_exceeded", "2"},
		{Fault500, 500, "", ""},
		{Fault503, 503, "", "1"},
		{Fault529, 529, "", ""},
		{FaultContentFilter, 400, "content_filter", ""},
		{FaultContextLength, 400, "context_length_exceeded", ""},
	}
	for _, tt := range tests {
		for _, more := range []string{"", `,"stream":true`} {
			resp := simtest.Post(t, s, "/v1/chat/completions", faulty(string(tt.fault), more))
			body, err := simtest.ReadAll(resp)
			if resp.StatusCode != tt.status || err != nil || resp.Header.Get("Retry-After") != tt.retry {
				t.Errorf("%s: status %d, error %v, Retry-After %q; want %d, %q",
					tt.fault, resp.StatusCode, err, resp.Header.Get("Retry-After"), tt.status, tt.retry)
			}
			if !strings.HasPrefix(body, `{"error":{"message":"SIMULATED`) || !strings.Contains(body, tt.code) {
				t.Errorf("%s: body %s, want code %s", tt.fault, body, tt.code)
			}
		}
	}
}

func TestBrokenResponses(t *testing.T) {
	t.Parallel()
	s := NewSimulator(Options{})
	const stream = `,"stream":true`
	tests := []struct {
		name        string
		fault       Fault
		more        string
		contentType string
		check       func(body string, err error) bool
	}{
		{"empty", FaultEmpty, "", "application/json", func(b string, err error) bool { return b == "" && err == nil }},
		{"empty stream", FaultEmpty, stream, "text/event-stream", func(b string, err error) bool { return b == "" && err == nil }},
		{"html", FaultHTML, "", "text/html; charset=utf-8", func(b string, _ error) bool { return strings.HasPrefix(b, "<!doctype") }},
		{"garbage", FaultGarbage, "", "application/json", func(b string, _ error) bool { return strings.HasSuffix(b, `"con`) }},
		{"garbage stream", FaultGarbage, stream, "text/event-stream", func(b string, _ error) bool { return strings.HasPrefix(b, "data: ") && !strings.Contains(b, "[DONE]") }},
		{"error in 200", FaultErrorIn200, "", "application/json", func(b string, _ error) bool { return strings.HasPrefix(b, `{"error":`) }},
		{"error in stream", FaultErrorIn200, stream, "text/event-stream", func(b string, _ error) bool { return strings.HasPrefix(b, `data: {"error":`) }},
		{"role then error", FaultRoleThenError, stream, "text/event-stream", func(b string, err error) bool {
			events := simtest.EventData(b)
			return err == nil && len(events) == 2 && strings.Contains(events[0], `"role"`) && strings.HasPrefix(events[1], `{"error":`)
		}},
		{"cut", FaultCut, "", "application/json", func(b string, err error) bool {
			return errors.Is(err, io.ErrUnexpectedEOF) && strings.HasPrefix(b, `{"id"`)
		}},
		{"cut stream", FaultCut, stream, "text/event-stream", func(b string, err error) bool {
			return errors.Is(err, io.ErrUnexpectedEOF) && len(simtest.EventData(b)) > 3 && !strings.Contains(b, `"finish_reason":"`)
		}},
		{"no usage", FaultNoUsage, "", "application/json", func(b string, _ error) bool { return !strings.Contains(b, "usage") }},
		{"no usage in stream", FaultNoUsage, stream + `,"stream_options":{"include_usage":true}`, "text/event-stream", func(b string, _ error) bool { return !strings.Contains(b, "usage") && strings.Contains(b, "[DONE]") }},
		{"absurd usage", FaultAbsurdUsage, "", "application/json", func(b string, _ error) bool { return strings.Contains(b, `"prompt_tokens":-17`) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			resp := simtest.Post(t, s, "/v1/chat/completions", faulty(string(tt.fault), tt.more))
			body, err := simtest.ReadAll(resp)
			if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != tt.contentType || !tt.check(body, err) {
				t.Errorf("status %d, type %s, error %v, body %s", resp.StatusCode, resp.Header.Get("Content-Type"), err, body)
			}
		})
	}
}

func TestReset(t *testing.T) {
	t.Parallel()
	s := NewSimulator(Options{})
	server := httptest.NewServer(s)
	defer server.Close()
	over := &http.Transport{}
	defer over.CloseIdleConnections()
	for name, rt := range map[string]http.RoundTripper{"in process": inprocess.Transport(s), "network": over} {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/v1/chat/completions", strings.NewReader(faulty("reset", "")))
		if _, err := rt.RoundTrip(req); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("%s: error = %v, want a reset", name, err)
		}
	}
}

func TestFaultsThatTakeTime(t *testing.T) {
	t.Parallel()
	tests := []struct {
		fault, more string
		early       bool // whether the status arrives before the deadline
	}{
		{"timeout", "", false},
		{"slow_start", "", false},
		{"slow_start", `,"stream":true`, false},
		{"stall", "", true},
		{"stall", `,"stream":true`, true},
	}
	for _, tt := range tests {
		t.Run(tt.fault+tt.more, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := NewSimulator(Options{SlowStart: 20 * time.Second})
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				req, _ := http.NewRequestWithContext(ctx, http.MethodPost, "http://mock.test/v1/chat/completions", strings.NewReader(faulty(tt.fault, tt.more)))
				resp, err := inprocess.Transport(s).RoundTrip(req)
				if (err == nil) != tt.early {
					t.Fatalf("error = %v, want early status = %t", err, tt.early)
				}
				if err == nil {
					var body string
					if body, err = simtest.ReadAll(resp); body == "" {
						t.Error("no data before the silence")
					}
				}
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("error = %v, want context.DeadlineExceeded", err)
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		started := time.Now()
		simtest.Chat(t, NewSimulator(Options{SlowStart: 20 * time.Second}), faulty("slow_start", ""))
		if took := time.Since(started); took != 20*time.Second {
			t.Errorf("slow start took %s, want 20s", took)
		}
	})
}

func TestFaultForOneModel(t *testing.T) {
	t.Parallel()
	s := NewSimulator(Options{})
	label := `,"metadata":{"simulate":"429@sim-large, 500@sim-medium","other":1}`
	for model, want := range map[string]int{"sim-large": 429, "sim-medium": 500, "sim-small": 200} {
		resp := simtest.Post(t, s, "/v1/chat/completions", simtest.UserPrompt(model, "Hello", label))
		if _, err := simtest.ReadAll(resp); err != nil || resp.StatusCode != want {
			t.Errorf("%s: status %d, want %d", model, resp.StatusCode, want)
		}
	}
	for _, odd := range []string{`{"simulate":7}`, `"text"`, `null`, `{"simulate":""}`, `[]`} {
		simtest.Chat(t, s, simtest.UserPrompt("sim-small", "Hello", `,"metadata":`+odd))
	}
}

func TestSwitchedFaults(t *testing.T) {
	t.Parallel()
	s := NewSimulator(Options{})
	statuses := func(model string, n int) []int {
		list := []int{}
		for range n {
			resp := simtest.Post(t, s, "/v1/chat/completions", simtest.UserPrompt(model, "Hello", ""))
			_, _ = simtest.ReadAll(resp)
			list = append(list, resp.StatusCode)
		}
		return list
	}
	set := func(rule FaultRule) {
		t.Helper()
		if err := s.SetFault(rule); err != nil {
			t.Fatal(err)
		}
	}

	set(FaultRule{Model: "sim-small", Fault: Fault503, Times: 2})
	if diff := cmp.Diff([]int{200}, statuses("sim-large", 1)); diff != "" {
		t.Errorf("another model: %s", diff)
	}
	if diff := cmp.Diff([]int{503, 503, 200}, statuses("sim-small", 3)); diff != "" {
		t.Errorf("two times: %s", diff)
	}
	set(FaultRule{Fault: Fault500, Rate: 0.25})
	if diff := cmp.Diff([]int{200, 200, 200, 500, 200, 200, 200, 500}, statuses("sim-small", 8)); diff != "" {
		t.Errorf("a quarter: %s", diff)
	}
	set(FaultRule{Model: "sim-nano", Fault: Fault429})
	want := []FaultRule{{Fault: Fault500, Rate: 0.25}, {Model: "sim-nano", Fault: Fault429}}
	if diff := cmp.Diff(want, s.Faults()); diff != "" {
		t.Error(diff)
	}
	s.ClearFaults("sim-nano")
	if diff := cmp.Diff(want[:1], s.Faults()); diff != "" {
		t.Error(diff)
	}
	s.ClearFaults("")
	if len(s.Faults()) != 0 {
		t.Errorf("faults remain: %v", s.Faults())
	}
	for _, bad := range []FaultRule{{Fault: "fire"}, {Fault: Fault500, Rate: 2}, {Fault: Fault500, Times: -1}, {Fault: Fault500, Model: "gpt-9"}} {
		if s.SetFault(bad) == nil {
			t.Errorf("SetFault(%+v) succeeded, want an error", bad)
		}
	}
}
