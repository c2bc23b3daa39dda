package gateway

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"sync"
	"time"

	"fairlead.dev/internal/bill"
	"fairlead.dev/internal/gateway/upstream"
	"fairlead.dev/internal/limit"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/wire/show"
)

const (
	// maxBackground limits the number of background responses that a replica tracks.
	maxBackground = 1000
	// maxBackgroundText limits the stored text of a background response, because its entry stays in memory until the response ends.
	maxBackgroundText = 64 << 10
	// backgroundTime limits how long a background response is tracked.
	backgroundTime = 2 * time.Hour
	// firstPoll and lastPoll are the shortest and the longest pause between two polls.
	firstPoll, lastPoll = time.Second, 30 * time.Second
	// endDelay is the time that the message of another replica with the end of a response may take.
	endDelay = 3 * time.Second
)

// background tracks the responses that providers generate in the background, because their usage is known only when they end.
type background struct {
	slots limit.FairSemaphore
	ctx   context.Context //nolint:containedctx // the context belongs to all tasks and is cancelled by stop
	stop  context.CancelFunc
	tasks sync.WaitGroup

	mu      sync.Mutex
	running map[llm.StoredResponse]chan llm.Event // ends of responses that clients have read, without sessions
}

// follow returns a channel that receives the end of a response if a client reads it.
func (b *background) follow(stored llm.StoredResponse) chan llm.Event {
	b.mu.Lock()
	defer b.mu.Unlock()
	end := make(chan llm.Event, 1)
	stored.Session = ""
	b.running[stored] = end
	return end
}

// find returns the channel for the end of a response, or nil if no task on this replica waits for it.
func (b *background) find(stored llm.StoredResponse) chan llm.Event {
	b.mu.Lock()
	defer b.mu.Unlock()
	stored.Session = ""
	return b.running[stored]
}

func (b *background) forget(stored llm.StoredResponse) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.running, stored)
}

// showsEnd reports whether an event shows what a background response costs: its usage, or that it failed.
func showsEnd(ev *llm.Event) bool {
	return ev.Finish != "" && (ev.Usage != nil || ev.Finish == "failed")
}

// report completes the task of a response if the event shows its end.
func (b *background) report(stored llm.StoredResponse, ev *llm.Event) {
	if !showsEnd(ev) {
		return
	}
	select {
	case b.find(stored) <- llm.Event{Finish: ev.Finish, Usage: ev.Usage}:
	default: // no task waits for the response
	}
}

// responseEnd is a message to the replica that tracks a background response. Another replica has read its end before deleting or cancelling it.
type responseEnd struct {
	Ended  llm.StoredResponse `json:"ended"`
	Finish string             `json:"finish"`
	Usage  *llm.Usage         `json:"usage"`
}

// readEnd reads a response that a client is about to delete or cancel, because its usage can no longer be read afterwards.
func (g *Gateway) readEnd(ctx context.Context, stored llm.StoredResponse) {
	tracked := g.background.find(stored) != nil
	if !tracked && g.PublishEnd == nil {
		return
	}
	last, _ := g.pollStored(ctx, stored)
	if tracked {
		g.background.report(stored, &last)
	} else if showsEnd(&last) {
		if message, err := json.Marshal(responseEnd{stored, last.Finish, last.Usage}); err == nil {
			g.PublishEnd(ctx, string(message))
		}
	}
}

// ReceiveEnd handles a message of PublishEnd. It returns false for any other message.
func (g *Gateway) ReceiveEnd(message string) bool {
	var end responseEnd
	if err := json.Unmarshal([]byte(message), &end); err != nil || end.Ended.ID == "" {
		return false
	}
	g.background.report(end.Ended, &llm.Event{Finish: end.Finish, Usage: end.Usage})
	return true
}

// backgroundTask tracks a background response whose entry is not complete.
type backgroundTask struct {
	d      *delivery
	call   *provider.Call // original call, used to check whether the final usage is plausible
	stored llm.StoredResponse
	end    chan llm.Event
	// estimate is charged if the response fails without usage. It covers the prompt and the output that the client received.
	estimate llm.Usage
	maximum  llm.Usage // charged if the final usage stays unknown
}

// admitBackground reserves the capacity to track a background response. release frees the capacity unless the run has a task; the
// task then frees the capacity when it ends.
func (r *run) admitBackground(ctx context.Context) (release func(), err error) {
	tracked, key := &r.Gateway.background, r.call.Grant.Key.ID
	if !tracked.slots.Acquire(ctx, key, maxBackground, 0) {
		return nil, overloadedError("The gateway is at its limit of background responses. Retry later, or send the request without background.")
	}
	tracked.tasks.Add(1) // added before the request ends, so that Drain waits for the task
	return func() {
		if r.background == nil {
			tracked.end(key)
		}
	}, nil
}

// detach ends a call whose response the provider continues to generate in the background. A task charges the response and completes the
// entry. err is the error for a client that waits for the whole response, or nil for a client that does not wait.
func (d *delivery) detach(ctx context.Context, a *upstream.Attempt, received *bill.UsageCounter, err error) error {
	var e *llm.Error
	if err != nil {
		e = llm.AsError(err)
	}
	usage, _ := a.Usage(received)
	a.Finish(e, bill.Charge{Usage: usage})
	d.recordWarnings(a)
	task := d.newTask(a, received.Pending, usage)
	d.background = task.complete // runs after the call has ended
	if err != nil {
		return err
	}
	d.recordResponse(received)
	d.complete()
	d.end(ctx)
	return nil
}

// end frees the capacity held by a request or its task.
func (b *background) end(keyID string) {
	b.slots.Release(keyID)
	b.tasks.Done()
}

// newTask returns the task that completes the entry of a background response. The task does not keep the text of the request.
func (d *delivery) newTask(a *upstream.Attempt, id string, estimate llm.Usage) *backgroundTask {
	req, target, maximum := *d.plan.req, a.Target(), estimate
	if target.Price != nil {
		maximum = d.series.Terms.MaxUsage(target)
		maximum.Estimated = true
	}
	req.Body, req.Fields, req.Conversation, req.Asked = nil, nil, nil, ""
	d.series.Terms.Request, d.plan.req, d.req = &req, &req, &req
	if e := d.entry; len(e.Body.Request) > maxBackgroundText || d.delivered.Size() > maxBackgroundText {
		e.BodyState, e.Preview, e.Body = requestlog.BodyTooLarge, "", requestlog.Body{}
		d.delivered.Reset()
	}
	stored := llm.StoredResponse{Workspace: d.call.Grant.Workspace.ID, Provider: target.Provider, Credential: a.Credential(), ID: id}
	return &backgroundTask{
		d: d, call: &provider.Call{Target: target, Request: &req, MaxOutput: d.series.Terms.OutputLimit(target)}, estimate: estimate, maximum: maximum,
		stored: stored, end: d.Gateway.background.follow(stored),
	}
}

// awaitUsage polls the provider until the response has ended or a client has read its end. It returns an event without usage if the usage stays unknown.
func (t *backgroundTask) awaitUsage(ctx context.Context) llm.Event {
	for pause := firstPoll; ; pause = min(2*pause, lastPoll) {
		select {
		case <-ctx.Done():
			return llm.Event{}
		case ev := <-t.end:
			return ev
		case <-time.After(pause):
		}
		ev, ended := t.d.pollStored(ctx, t.stored)
		if !ended {
			continue
		}
		if !showsEnd(&ev) { // another replica may have deleted the response, after it sent the end
			select {
			case <-ctx.Done():
			case ev = <-t.end:
			case <-time.After(endDelay):
			}
		}
		return ev
	}
}

// pollStored reads a stored response once. ended reports whether the response has ended or can no longer be read.
func (g *Gateway) pollStored(ctx context.Context, stored llm.StoredResponse) (ev llm.Event, ended bool) {
	p, ok := g.snapshot.Load().Provider(stored.Provider)
	if !ok || !holdsStored(p, stored) {
		return llm.Event{}, true
	}
	settings := g.settings.Load()
	stream, err := g.Dispatcher.CallStored(ctx, p, &provider.StoredOperation{Response: stored, Method: http.MethodGet}, settings.Attempts.Idle)
	if err != nil {
		return llm.Event{}, llm.AsError(err).UpstreamStatus == http.StatusNotFound
	}
	defer stream.Close()
	ev, _, err = stream.Next()
	return ev, err == nil && ev.Finish != ""
}

// complete waits until a background response ends, charges it and completes its entry. If the usage is missing or implausible, it charges
// the maximum usage, because a client that cancels or deletes a response could otherwise avoid its cost. A failed response is charged as
// estimated.
func (t *backgroundTask) complete() {
	d, e, g := t.d, t.d.entry, t.d.Gateway
	defer g.background.end(d.call.Grant.Key.ID)
	defer g.background.forget(t.stored)
	ctx, cancel := context.WithTimeout(g.background.ctx, backgroundTime)
	defer cancel()
	last := t.awaitUsage(ctx)
	usage, target := t.estimate, t.call.Target
	switch {
	case last.Usage != nil && bill.Plausible(*last.Usage, t.call):
		usage = *last.Usage
	case last.Finish == "failed":
		e.Warnings = append(slices.Clone(e.Warnings), "the final usage of the background response is unknown: only the prompt and the delivered output are charged, as estimated")
	default:
		usage = t.maximum
		e.Warnings = append(slices.Clone(e.Warnings), "the final usage of the background response is unknown: the maximum usage is charged")
	}
	charge := d.series.Terms.Charge(target, usage, 0, d.spent, d.baseline)
	d.recordCharge(charge, last.Usage != nil && usage.Estimated)
	if n := len(e.Attempts); n > 0 {
		e.Attempts[n-1].Usage, e.Attempts[n-1].Cost = new(charge.Usage), charge.Attempt
	}
	if e.Outcome == requestlog.OK {
		e.Finish = show.Shorten(last.Finish)
	}
	d.recordPrefix(target, charge.Usage)
	d.settle(charge)
	d.hold.Release() // has an effect only if the price is unknown, because settle then leaves the hold open
	if err := g.Log.End(e); err != nil {
		g.Logger.Error("background response was not logged", "request_id", e.ID, "error", err.Error())
	} else {
		d.releaseText()
	}
	d.observe(context.WithoutCancel(g.background.ctx))
}
