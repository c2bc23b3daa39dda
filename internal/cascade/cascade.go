// Package cascade checks responses before they are served: against the schemas of the request, and with an HTTP hook that a user
// configures. It counts how often the responses of each model fail, so that the router tries a cheap model first only if that lowers the
// expected cost.
package cascade

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"fairlead.dev/internal/gateway"
	"fairlead.dev/internal/judge"
	"fairlead.dev/internal/policy"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/transcript"
)

// Doer sends HTTP requests to hooks. It must refuse addresses that users may not reach.
type Doer interface {
	Do(req *http.Request) (*http.Response, error)
}

const (
	hookTime  = 5 * time.Second
	hookBytes = 64 << 10 // maximum size of a hook's response
	maxReason = 500      // maximum length of a hook's reason in characters
	hookPause = 10 * time.Second
	maxPaused = 1000 // maximum number of paused hooks
	notAsked  = "it could not be reached in time"
)

// Checker checks responses. It implements gateway.Checker.
type Checker struct {
	hooks Doer
	rates rates

	mu     sync.Mutex
	paused map[string]time.Time // times until which failed hooks are not called, by URL
}

// New returns a checker that calls hooks through the given client.
func New(hooks Doer) *Checker {
	return &Checker{hooks: hooks, rates: rates{now: time.Now, counts: map[rateKey]count{}}, paused: map[string]time.Time{}}
}

// Check implements gateway.Checker.
func (c *Checker) Check(ctx context.Context, r *gateway.CheckedResponse) gateway.CheckResult {
	result := c.check(ctx, r)
	if result.State != requestlog.NotChecked {
		c.rates.add(rateKey{r.Workspace, r.Decision.Input.Features.Task, r.Target.ID()}, result.State == requestlog.CheckFailed)
	}
	return result
}

func (c *Checker) check(ctx context.Context, r *gateway.CheckedResponse) gateway.CheckResult {
	request, answer := transcript.AsChat(r.Format, r.Body) //nolint:contextcheck // AsChat only converts data in memory
	if !rawjson.Get(answer, "choices.0.message").Exists() {
		return gateway.CheckResult{State: requestlog.NotChecked, Reason: "The response cannot be read."}
	}
	parsed, ok := judge.ParseResponse(answer)
	if !ok {
		return gateway.CheckResult{State: requestlog.CheckFailed, Reason: "The response has neither text nor tool calls."}
	}
	plan := r.Decision.Cascade
	checked := judge.CheckResponse(request, parsed, plan.Checks)
	if checked.Failed != "" {
		return gateway.CheckResult{State: requestlog.CheckFailed, Reason: checked.Failed + ": " + checked.Reason}
	}
	if !slices.Contains(plan.Checks, policy.CheckHook) {
		return gateway.CheckResult{State: requestlog.CheckPassed}
	}
	switch score, reason, err := c.askHook(ctx, r, request, parsed); {
	case err != nil:
		return gateway.CheckResult{State: requestlog.NotChecked, Reason: "The hook returned no score: " + err.Error() + "."}
	case score < threshold(plan.Verify):
		return gateway.CheckResult{State: requestlog.CheckFailed, Reason: fmt.Sprintf("hook: score %g is below %g. %s", score, threshold(plan.Verify), reason)}
	}
	return gateway.CheckResult{State: requestlog.CheckPassed}
}

func threshold(v *policy.ResponseChecks) float64 {
	if v.Threshold == nil {
		return policy.DefaultThreshold
	}
	return *v.Threshold
}

// hookRequest is the body that a hook receives.
type hookRequest struct {
	RequestID string          `json:"request_id"`
	Task      string          `json:"task"`
	Model     string          `json:"model"`
	Request   json.RawMessage `json:"request"` // request in the chat format
	Response  judge.Response  `json:"response"`
}

// askHook calls the hook of the policy and returns the score of a response. Errors are shown to clients, so they do not contain the address
// of the hook.
func (c *Checker) askHook(ctx context.Context, r *gateway.CheckedResponse, request []byte, parsed judge.Response) (float64, string, error) {
	address := r.Decision.Cascade.Verify.Hook
	if !r.Stored { // the log contains the reason of the hook, which may quote the response
		return 0, "", errors.New("requests whose text is not stored are not sent to hooks")
	}
	c.mu.Lock()
	until := c.paused[address]
	c.mu.Unlock()
	if c.rates.now().Before(until) {
		return 0, "", errors.New("the hook failed recently and is paused for a few seconds")
	}
	body, err := json.Marshal(hookRequest{r.ID, string(r.Decision.Input.Features.Task), r.Target.Model.Name, request, parsed})
	if err != nil {
		return 0, "", errors.New("the request cannot be encoded")
	}
	ctx, cancel := context.WithTimeout(ctx, hookTime)
	defer cancel()
	score, reason, err := c.post(ctx, address, body)
	if err != nil {
		c.pause(address)
	}
	return score, reason, err
}

func (c *Checker) post(ctx context.Context, address string, body []byte) (float64, string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return 0, "", errors.New(notAsked)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "fairlead")
	resp, err := c.hooks.Do(req)
	if err != nil {
		return 0, "", errors.New(notAsked) // err contains the address of the hook
	}
	defer func() { _ = resp.Body.Close() }() // the error is ignored, because it does not affect the result
	if resp.StatusCode != http.StatusOK {
		return 0, "", fmt.Errorf("status %d", resp.StatusCode)
	}
	var answer struct {
		Score  *float64 `json:"score"`
		Reason string   `json:"reason"`
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, hookBytes)).Decode(&answer); err != nil {
		return 0, "", errors.New("the response is not JSON")
	}
	if answer.Score == nil || !(*answer.Score >= 0 && *answer.Score <= 1) {
		return 0, "", errors.New("the response has no score between 0 and 1")
	}
	if reason := []rune(answer.Reason); len(reason) > maxReason {
		answer.Reason = string(reason[:maxReason])
	}
	return *answer.Score, answer.Reason, nil
}

// pause stops calls of a failed hook for hookPause, so that the hook does not delay the next responses.
func (c *Checker) pause(address string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.paused) >= maxPaused {
		clear(c.paused)
	}
	c.paused[address] = c.rates.now().Add(hookPause)
}
