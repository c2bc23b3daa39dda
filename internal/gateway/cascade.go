package gateway

import (
	"context"
	"slices"

	"fairlead.dev/internal/attempt"
	"fairlead.dev/internal/bill"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/predict"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/response"
	"fairlead.dev/internal/route"
)

// Checker checks responses before they are served.
type Checker interface {
	// Check applies the checks of a cascade to a response within a bounded time.
	Check(ctx context.Context, r *CheckedResponse) CheckResult
	// Observed returns how many of a target's recent responses to a task type were checked, and how many of these failed.
	Observed(workspaceID string, task predict.Task, target string) (checked, failed float64)
}

// CheckedResponse is a complete response that the client has not received.
type CheckedResponse struct {
	ID        string // request ID
	Workspace string
	Format    string
	Target    *provider.Target
	Body      requestlog.Body // request and response bodies
	Decision  *route.Decision // routing decision with Cascade set
	Stored    bool            // whether request text may be stored
}

// CheckResult is the result of checking a response.
type CheckResult struct {
	State  requestlog.CheckState
	Reason string // reason why the response failed or was not checked
}

const (
	// maxChecked limits the size of checked responses, because they stay in memory until the check ends.
	maxChecked = 1 << 20
	// maxCheckedRequest limits the size of requests whose responses are checked, because a check reads the request again.
	maxCheckedRequest = 4 << 20
)

// open returns the attempt whose response is delivered. If a policy checks responses and the response of the first model fails, the second
// model serves the request; the client pays for both responses. The response of the last model is delivered in any case.
func (d *delivery) open(ctx context.Context) (*attempt.Attempt, error) {
	first, err := d.series.TryInOrder(ctx)
	if err != nil || d.gateway.Checker == nil || !checkable(d.plan) {
		return first, err
	}
	next, steps := -1, d.plan.decision.Cascade.Steps
	if first.Target().Model.Name == steps[0].Model {
		next = slices.IndexFunc(d.series.Plan, func(t *provider.Target) bool { return t.Model.Name == steps[1].Model })
	}
	result, events := d.check(ctx, first)
	if result.State != requestlog.CheckFailed || next < 0 {
		d.recordCheck(result)
		return first, nil
	}
	second, err := d.escalate(ctx, first, events, next, result.Reason)
	if err != nil {
		return nil, err
	}
	if second == first {
		result.Reason += " The next model did not respond."
	} else {
		result, _ = d.check(ctx, second)
	}
	d.recordCheck(result)
	return second, nil
}

// checkable reports whether a policy checks the response of a request.
func checkable(p plan) bool {
	c := p.decision.Cascade
	return c != nil && len(c.Steps) > 1 && !p.req.Background
}

// check reads the whole response of an attempt and checks it. It returns the events of the response.
func (d *delivery) check(ctx context.Context, a *attempt.Attempt) (CheckResult, []llm.Event) {
	if len(d.plan.req.Body) > maxCheckedRequest {
		a.SetCheck(requestlog.NotChecked)
		return CheckResult{requestlog.NotChecked, "The request is too long."}, nil
	}
	result := CheckResult{requestlog.NotChecked, "The response is too long or was interrupted."}
	events, whole := a.Buffer(maxChecked)
	if whole {
		buffer := response.Buffer{Limit: maxChecked}
		for i := range events {
			if ev := &events[i]; ev.Data != nil && !ev.Bare {
				buffer.Add(ev, d.out.Streams())
			}
		}
		result = d.gateway.Checker.Check(ctx, &CheckedResponse{
			ID: d.in.ID, Workspace: d.grant.Workspace.ID, Format: d.in.Route.Format.Name(), Target: a.Target(), Decision: d.plan.decision, Stored: d.rec.StoresText(),
			Body: requestlog.Body{Request: d.plan.req.Body, Response: buffer.Bytes(nil), Streamed: d.plan.req.Stream, Folded: d.out.Streams()},
		})
		if buffer.InBlocks() {
			buffer.Reset()
		}
	}
	a.SetCheck(result.State)
	return result, events
}

// escalate sends the request to the second model after the first model's response has failed its checks. The request's hold covers both
// responses. escalate returns the first attempt if no other target responds.
func (d *delivery) escalate(ctx context.Context, first *attempt.Attempt, events []llm.Event, next int, reason string) (*attempt.Attempt, error) {
	var received bill.UsageCounter
	for i := range events {
		received.Add(&events[i])
	}
	charge, held := d.charge(first, &received), d.series.Terms.Held
	if charge.Attempt != nil {
		d.spent.CheckedCost = *charge.Attempt
		d.series.Terms.Held = new(held.Sub(*charge.Attempt))
	}
	d.spent.CheckedTokens = charge.Usage.Total()
	second, err := d.series.TryInOrderFrom(ctx, next)
	if err != nil && ctx.Err() == nil {
		d.spent.CheckedTokens, d.spent.CheckedCost, d.series.Terms.Held = 0, 0, held
		return first, nil
	}
	first.Reject(reason, charge)
	d.rec.RecordTarget(first.Target(), d.plan.decision)
	d.gateway.Routing.Prefixes.Record(d.grant.Workspace.ID, d.plan.fingerprint, first.Target().ID(), bill.CacheRules(first.Target()), charge.Usage, d.in.Start)
	return second, err
}

// recordCheck records the check result of the delivered response.
func (d *delivery) recordCheck(result CheckResult) {
	switch result.State {
	case requestlog.CheckFailed:
		d.rec.Warnings = append(d.rec.Warnings, "the response failed its checks: "+result.Reason)
	case requestlog.NotChecked:
		d.rec.Warnings = append(d.rec.Warnings, "the response was not checked: "+result.Reason)
	case requestlog.CheckPassed:
	}
}
