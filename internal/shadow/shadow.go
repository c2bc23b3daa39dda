// Package shadow compares routed responses with responses from a baseline model. After clients have received their
// responses, a share of the requests is also sent to the other of the two models, and both responses are judged. These calls have their
// own budget and do not affect clients.
package shadow

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/gateway"
	"fairlead.dev/internal/id"
	"fairlead.dev/internal/judge"
	"fairlead.dev/internal/ledger"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/proof"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/response"
	"fairlead.dev/internal/route"
	"fairlead.dev/internal/transcript"
	"fairlead.dev/internal/wire"
)

// Caller makes shadow calls. Its limits, health and caches must be separate from those of the gateway that serves clients.
type Caller interface {
	Run(ctx context.Context, call gateway.Call, sink gateway.Sink) (gateway.Result, error)
	Targets() *route.Snapshot
}

// Store stores comparisons.
type Store interface {
	Save(ctx context.Context, r *proof.Record) error
	Charge(ctx context.Context, c proof.Charge) error
	Bias(ctx context.Context, workspace, model, prompt string) (b judge.Bias, at time.Time, ok bool, err error)
	SaveBias(ctx context.Context, workspace, model, prompt string, b judge.Bias, at time.Time) error
}

// Doer sends HTTP requests to hooks.
type Doer interface {
	Do(req *http.Request) (*http.Response, error)
}

// Options are the dependencies of a Comparer.
type Options struct {
	Caller  Caller
	Store   Store
	Hooks   Doer
	Redact  func(entries []requestlog.Entry) // applies each workspace's redaction rules
	Charged func(c proof.Charge)             // called after a charge is stored
	Report  func(task string, err error)     // called with the result of each task, such as storing a charge; err is nil on success
	// Verdict receives the record of each comparison that made a shadow call, with the routing decision for its request. It may be nil.
	Verdict func(ctx context.Context, r *proof.Record, d *route.Decision) error
	Wait    func(ctx context.Context) (ok bool) // delays a comparison while the gateway is busy; nil for no delay
}

const (
	workers     = 4
	queued      = 64
	queuedBytes = 32 << 20 // maximum total size of the requests and responses that are queued or being compared
	// compareTime limits one comparison.
	compareTime = 10 * time.Minute
	// minOutput is the minimum output limit of a shadow call if the request has no limit. The limit is outputFactor times the estimated
	// length of the routed response if that is more. The call has a limit because the budget must be able to reserve its cost.
	minOutput    = 4096
	outputFactor = 4
	judgeOutput  = 4096
)

// Comparer compares requests in the background. It implements gateway.Comparer.
type Comparer struct {
	o       Options
	queue   chan *gateway.Served
	bytes   atomic.Int64
	dropped atomic.Int64

	mu     sync.Mutex
	judges map[string]*judgeState // measured bias by workspace and judge model
	paused map[string]time.Time   // time when comparisons resume, by workspace; only workspaces with a spent budget
}

// New returns a comparer. Call Run to start it.
func New(o Options) *Comparer {
	return &Comparer{o: o, queue: make(chan *gateway.Served, queued), judges: map[string]*judgeState{}, paused: map[string]time.Time{}}
}

// Offer implements gateway.Comparer. It drops the request if the queue is full.
func (c *Comparer) Offer(s *gateway.Served) {
	size := sizeOf(s)
	if c.bytes.Add(size) <= queuedBytes {
		select {
		case c.queue <- s:
			return
		default:
		}
	}
	c.bytes.Add(-size)
	c.dropped.Add(1)
}

func sizeOf(s *gateway.Served) int64 { return int64(len(s.Call.Body) + len(s.Response.Response)) }

// Dropped returns the number of requests that were not compared because the queue was full or the budget was spent.
func (c *Comparer) Dropped() int64 { return c.dropped.Load() }

// Run compares requests until ctx is done. Requests that are still in the queue are not compared.
func (c *Comparer) Run(ctx context.Context) {
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for {
				select {
				case <-ctx.Done():
					return
				case s := <-c.queue:
					if c.o.Wait == nil || c.o.Wait(ctx) {
						c.Compare(ctx, s)
					}
					c.bytes.Add(-sizeOf(s))
				}
			}
		})
	}
	all.Wait()
}

// BudgetOf returns the budget for a workspace's comparisons.
func BudgetOf(workspaceID string, s *account.Comparison) ledger.Budget {
	return ledger.Budget{ID: "compare:" + workspaceID, Name: "comparison", Amount: s.Budget, Period: ledger.Monthly}
}

// Compare makes the shadow call for a request, judges both responses and stores the result.
func (c *Comparer) Compare(ctx context.Context, s *gateway.Served) {
	ctx, cancel := context.WithTimeout(ctx, compareTime)
	defer cancel()
	settings := s.Call.Grant.Workspace.Comparison
	run := &comparison{Comparer: c, served: s, settings: settings, grant: shadowGrant(s.Call.Grant, settings), excluded: map[string]route.Reason{}}
	for _, cand := range s.Decision.Candidates {
		if x := cand.Excluded; x != nil && !x.Code.Temporary() { // temporary exclusions do not apply to the shadow call
			run.excluded[cand.Target] = x.Code
		}
	}
	heldOut := s.Decision.HeldOut != ""
	r := &run.record
	*r = proof.Record{
		Sample: proof.Sample{
			Request: s.Call.ID, At: s.Call.Start, Key: s.Call.Grant.Key.ID, Task: string(s.Decision.Input.Features.Task),
			Model: s.Model, Baseline: s.Other, Propensity: s.Propensity,
		},
		Workspace: s.Call.Grant.Workspace.ID, Holdout: heldOut, State: proof.Failed,
	}
	if heldOut {
		r.Model, r.Baseline = s.Other, s.Model
	}
	if s.Model == s.Other { // record a tie without a call, so that the statistics include requests served by the baseline model
		r.State, r.Method, r.Reason, r.Entry = proof.Compared, judge.Exact, "The baseline model served the request.", "{}"
		c.o.Report("store comparison", c.o.Store.Save(ctx, r))
		return
	}
	c.mu.Lock()
	paused := time.Now().Before(c.paused[r.Workspace])
	c.mu.Unlock()
	if paused {
		c.dropped.Add(1)
		return
	}
	entry := run.compare(ctx)
	if e := entry.Error; e != nil && e.Code == llm.BudgetExceeded.Code() {
		c.mu.Lock()
		c.paused[r.Workspace] = time.Now().Add(budgetPause)
		c.mu.Unlock()
	}
	run.store(ctx, entry)
	if c.o.Verdict != nil {
		c.o.Report("store verdict", c.o.Verdict(context.WithoutCancel(ctx), r, s.Decision))
	}
}

// budgetPause is the pause in a workspace's comparisons after its budget is spent. It limits the number of stored failures.
const budgetPause = time.Minute

// comparison is one comparison in progress.
type comparison struct {
	*Comparer
	served   *gateway.Served
	settings *account.Comparison
	grant    *account.Grant
	excluded map[string]route.Reason // reason for each excluded target; temporary exclusions are omitted
	record   proof.Record
	spent    atomic.Int64 // cost of all calls
}

// compare makes the shadow call and judges both responses. It returns the log entry of the call.
func (c *comparison) compare(ctx context.Context) *requestlog.Entry {
	s, r := c.served, &c.record
	call := s.Call
	call.Grant, call.Body = c.grant, withoutStorage(s)
	if f, ok := call.Route.Format.(wire.ModelPath); ok {
		call.Route.Format = f.ForModel(s.Other, nil)
	}
	entry, err := c.call(ctx, call, gateway.ShadowTerms{
		Model:     s.Other,
		MaxOutput: max(minOutput, outputFactor*int64(len(s.Response.Response))/3),
		Excluded:  func(t *provider.Target) bool { return t.Model.Name != s.Other || c.forbids(t) },
	})
	r.Shadow = entry.ID
	if err != nil {
		r.Reason = "The shadow call failed: " + failureOf(entry, err, s.Stored)
		return entry
	}
	x, ok := c.exchange(entry) //nolint:contextcheck // exchange only converts data in memory
	switch {
	case !ok:
		r.Reason = "A response has neither text nor tool calls."
	case entry.Finish == "length" && s.Decision.Input.MaxOutput == 0:
		r.Reason = "The shadow response was cut off at the output limit of comparisons."
	default:
		c.judge(ctx, x)
	}
	return entry
}

// exchange returns the request and both responses in the chat format. It returns false if a response has neither text nor tool calls.
func (c *comparison) exchange(entry *requestlog.Entry) (*judge.Exchange, bool) {
	s := c.served
	request, served := transcript.AsChat(s.Format, requestlog.Body{Request: s.Call.Body, Response: s.Response.Response, Streamed: s.Response.Streamed, Folded: s.Response.Folded})
	_, other := transcript.AsChat(s.Format, entry.Body)
	if c.served.Stored {
		c.record.Response = string(other)
	}
	x := &judge.Exchange{Task: c.record.Task, Request: request}
	var ok, otherOK bool
	x.Routed, ok = judge.ParseResponse(served)
	x.Baseline, otherOK = judge.ParseResponse(other)
	if c.record.Holdout {
		x.Routed, x.Baseline = x.Baseline, x.Routed
	}
	return x, ok && otherOK
}

// call makes a call with the permissions of the comparison, and charges its cost to the comparison budget of the workspace. It returns the
// entry of the call with the request and the response. If the call fails, it returns an error and the entry with the cost.
func (c *comparison) call(ctx context.Context, call gateway.Call, terms gateway.ShadowTerms) (*requestlog.Entry, error) {
	call.ID, call.Start, call.Shadow = id.New("req", time.Now()), time.Now(), &terms
	terms.Budget = BudgetOf(c.record.Workspace, c.settings)
	response := response.NewCollector(gateway.MaxCompared)
	result, err := c.o.Caller.Run(ctx, call, response)
	entry := result.Entry
	entry.Body = response.Body()
	if entry.Cost != nil && *entry.Cost > 0 {
		c.spent.Add(int64(*entry.Cost))
		charge := proof.Charge{Budget: terms.Budget.ID, ID: call.ID, At: entry.Time, Amount: *entry.Cost}
		chargeErr := c.o.Store.Charge(context.WithoutCancel(ctx), charge)
		c.o.Report("charge comparison", chargeErr)
		if chargeErr == nil {
			c.o.Charged(charge)
		}
	}
	if err == nil && len(entry.Body.Response) == 0 {
		err = errors.New("the response is too long to be compared")
	}
	entry.Body.Request = call.Body
	return entry, err
}

// store writes the record with the redacted entry of the shadow call.
func (c *comparison) store(ctx context.Context, entry *requestlog.Entry) {
	r := &c.record
	r.Cost = money.Amount(c.spent.Load())
	e := *entry
	e.WorkspaceID, e.Preview, e.Decision = r.Workspace, "", nil // the decision is in the entry of the original request
	e.Body = requestlog.Body{Response: []byte(r.Response)}
	e.Warnings = append([]string{r.Reason}, e.Warnings...)
	if !c.served.Stored && r.Method == judge.Model {
		e.Warnings[0] = "" // the judge's reason may quote the responses, which must not be stored
	}
	one := []requestlog.Entry{e}
	c.o.Redact(one)
	e = one[0]
	r.Response = string(e.Body.Response)
	if len(e.Warnings) > 0 {
		r.Reason, e.Warnings = e.Warnings[0], e.Warnings[1:]
	} else {
		r.Reason = ""
	}
	e.Body = requestlog.Body{}
	text, err := json.Marshal(struct {
		Kind string `json:"kind"`
		Of   string `json:"request_id"`
		*requestlog.Entry
	}{"shadow", r.Request, &e})
	if err != nil {
		c.o.Report("encode shadow entry", err)
		text = []byte("{}")
	}
	r.Entry = string(text)
	c.o.Report("store comparison", c.o.Store.Save(context.WithoutCancel(ctx), r))
}

// shadowGrant returns the grant for shadow calls: the key's permissions without its limits, and with the comparison budget.
func shadowGrant(g *account.Grant, s *account.Comparison) *account.Grant {
	key, workspace := *g.Key, *g.Workspace
	key.Budget, key.Sessions, key.Limits, key.AllowUnpriced = nil, nil, account.Limits{}, false
	workspace.Budget, workspace.Comparison = &account.Budget{Amount: s.Budget, Period: account.Monthly}, nil
	return &account.Grant{Key: &key, Workspace: &workspace}
}

// forbids reports whether the shadow call must not use a target. If the request lists its models, only the candidates are allowed.
func (c *comparison) forbids(t *provider.Target) bool {
	if _, excluded := c.excluded[t.ID()]; excluded {
		return true
	}
	d := c.served.Decision
	if len(d.Input.Controls.Models) == 0 {
		return false
	}
	for _, cand := range d.Candidates {
		if cand.Target == t.ID() {
			return false
		}
	}
	return true
}

// withoutStorage returns the body of a request, changed so that the provider does not store the response for later requests.
func withoutStorage(s *gateway.Served) []byte {
	if s.Format != "responses" {
		return s.Call.Body
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(s.Call.Body, &members) != nil {
		return s.Call.Body
	}
	members["store"] = json.RawMessage("false")
	body, err := json.Marshal(members)
	if err != nil {
		return s.Call.Body
	}
	return body
}

// failureOf describes a failed call. If bodies are not stored, it omits the provider's message, which may quote the request.
func failureOf(e *requestlog.Entry, err error, stored bool) string {
	if e.Error == nil {
		return err.Error()
	}
	if !stored {
		return e.Error.Code
	}
	return cmp.Or(e.Error.Message, e.Error.Code)
}
