package cascade

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/gateway"
	"fairlead.dev/internal/policy"
	"fairlead.dev/internal/predict"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/route"
)

type doer func(*http.Request) (*http.Response, error)

func (d doer) Do(r *http.Request) (*http.Response, error) { return d(r) }

func answers(status int, body string) doer {
	return func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader(body))}, nil
	}
}

// asked returns a text response to be scored by a hook.
func asked(stored bool) *gateway.CheckedResponse {
	return &gateway.CheckedResponse{
		ID: "req_1", Workspace: "ws_1", Format: "chat", Stored: stored,
		Target: &provider.Target{Provider: "p", Model: &catalog.Model{Name: "small"}},
		Body: requestlog.Body{
			Request:  []byte(`{"messages":[{"role":"user","content":"hello"}]}`),
			Response: []byte(`{"choices":[{"message":{"role":"assistant","content":"Hello."}}]}`),
		},
		Decision: &route.Decision{
			Input:         route.Input{Prediction: route.Prediction{Features: predict.Features{Task: predict.Chat}}},
			PolicyEffects: route.PolicyEffects{Cascade: &route.Cascade{Checks: []string{"hook"}, Verify: &policy.ResponseChecks{Checks: []string{"hook"}, Hook: "https://checks.example.com/score"}}},
		},
	}
}

func TestHookDecides(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		hook   doer
		stored bool
		state  requestlog.CheckState
		reason string
	}{
		"high score":         {answers(200, `{"score":0.5}`), true, requestlog.CheckPassed, ""},
		"low score":          {answers(200, `{"score":0.25,"reason":"rude"}`), true, requestlog.CheckFailed, "hook: score 0.25 is below 0.5. rude"},
		"text is not stored": {answers(200, `{"score":0}`), false, requestlog.NotChecked, "The hook returned no score: requests whose text is not stored are not sent to hooks."},
		"an error status":    {answers(500, `{"score":0}`), true, requestlog.NotChecked, "The hook returned no score: status 500."},
		"a redirect":         {answers(302, `{"score":0}`), true, requestlog.NotChecked, "The hook returned no score: status 302."},
		"no JSON":            {answers(200, `<html>`), true, requestlog.NotChecked, "The hook returned no score: the response is not JSON."},
		"a score of NaN":     {answers(200, `{"score":null}`), true, requestlog.NotChecked, "The hook returned no score: the response has no score between 0 and 1."},
		"oversized response": {answers(200, `{"reason":"`+strings.Repeat("x", hookBytes)+`","score":1}`), true, requestlog.NotChecked, "The hook returned no score: the response is not JSON."},
		"a slow hook": {func(r *http.Request) (*http.Response, error) {
			if at, ok := r.Context().Deadline(); !ok || time.Until(at) > hookTime {
				return nil, errors.New("no deadline")
			}
			return nil, context.DeadlineExceeded
		}, true, requestlog.NotChecked, "The hook returned no score: it could not be reached in time."},
	} {
		got := New(tc.hook).Check(t.Context(), asked(tc.stored))
		if got.State != tc.state || got.Reason != tc.reason {
			t.Errorf("%s: got %+v, want %v, %q", name, got, tc.state, tc.reason)
		}
	}
}

func TestFailedHookIsNotCalledAgainImmediately(t *testing.T) {
	t.Parallel()
	now, calls := time.Unix(0, 0), 0
	c := New(doer(func(*http.Request) (*http.Response, error) {
		calls++
		return nil, errors.New("down")
	}))
	c.rates.now = func() time.Time { return now }
	for range 3 {
		c.Check(t.Context(), asked(true))
	}
	now = now.Add(hookPause)
	c.Check(t.Context(), asked(true))
	if calls != 2 {
		t.Errorf("the hook was called %d times, want 2", calls)
	}
}

func TestUnreadableResponseIsNotChecked(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]requestlog.CheckState{
		`{"error":"x"}`: requestlog.NotChecked,
		`{"choices":[{"message":{"role":"assistant","content":""}}]}`: requestlog.CheckFailed,
	} {
		r := asked(true)
		r.Body.Response = []byte(body)
		if got := New(answers(200, `{"score":1}`)).Check(t.Context(), r); got.State != want {
			t.Errorf("%s: got %+v, want state %v", body, got, want)
		}
	}
}

func TestObservationsDecay(t *testing.T) {
	t.Parallel()
	now := time.Unix(0, 0)
	c := New(answers(200, `{"score":0}`))
	c.rates.now = func() time.Time { return now }
	for range 4 {
		c.Check(t.Context(), asked(true))
	}
	for hours, want := range map[time.Duration]float64{0: 4, 24: 2, 48: 1} {
		now = time.Unix(0, 0).Add(hours * time.Hour)
		if checked, failed := c.Observed("ws_1", predict.Chat, "p/small"); checked != want || failed != want {
			t.Errorf("after %d hours %v of %v failed, want %v", hours, failed, checked, want)
		}
	}
	if checked, _ := c.Observed("ws_2", predict.Chat, "p/small"); checked != 0 {
		t.Error("the results count for another workspace")
	}
	now = time.Unix(0, 0)
	for range 3 * maxCount {
		c.Check(t.Context(), asked(true))
	}
	if checked, failed := c.Observed("ws_1", predict.Chat, "p/small"); checked != maxCount || failed != maxCount {
		t.Errorf("%v of %v failed, want %v of %v", failed, checked, maxCount, maxCount)
	}
	for i := range maxRates + 10 {
		c.rates.add(rateKey{"ws", predict.Chat, string(rune(i))}, false)
	}
	if n := len(c.rates.counts); n > maxRates {
		t.Errorf("%d counts in memory, want at most %d", n, maxRates)
	}
}
