package gateway

import (
	"encoding/json"
	"sync"
	"time"

	"fairlead/internal/llm"
	"fairlead/internal/requestlog"
)

// record makes the entry complete and durable. It must return before the last byte goes out.
func (g *Gateway) record(x *exchange) error {
	e := x.entry
	e.Latency = time.Since(x.start)
	e.Overhead = x.overhead()
	e.BytesOut = x.w.size()
	if !x.storesText() {
		return g.Log.End(e)
	}
	room := answerRooms.Get().(*[]byte)
	e.Body.Response = x.kept.text((*room)[:0])
	if err := g.Log.End(e); err != nil {
		return err // the text is needed again when the failure is recorded
	}
	if x.kept.parts != nil {
		*room, e.Body.Response = e.Body.Response, nil // the log has it
		x.kept.forget()
	}
	if cap(*room) <= largestAnswerRoom {
		answerRooms.Put(room)
	}
	return nil
}

// answerRooms are where the parts of a streamed answer are put together for the log.
var answerRooms = sync.Pool{New: func() any { return new([]byte) }}

const largestAnswerRoom = 64 << 10

// overhead is what we added: the time so far less the time in attempts and the time spent waiting for providers.
func (x *exchange) overhead() time.Duration {
	spent := x.upstream + x.entry.Wait
	if !x.waiting.IsZero() {
		spent += time.Since(x.waiting)
	}
	return max(0, time.Since(x.start)-spent)
}

// wait notes that an attempt has begun.
func (x *exchange) wait(at time.Time) {
	if x.calls++; x.calls == 1 {
		x.waiting = at
	}
}

// waited notes that an attempt has ended.
func (x *exchange) waited() {
	if x.calls--; x.calls == 0 {
		x.upstream += time.Since(x.waiting)
		x.waiting = time.Time{}
	}
}

// blocked records the time since a moment as waiting. Time with an attempt in flight belongs to the attempt.
func (x *exchange) blocked(since time.Time) {
	if d := time.Since(since); x.calls == 0 && d >= leastWait {
		x.entry.Wait += d
		x.paused += d
	}
}

// leastWait is the shortest time that counts as waiting. Less is the cost of taking a lock.
const leastWait = 100 * time.Microsecond

// conclude notes on the entry how the request failed.
func (x *exchange) conclude(e *llm.Error, started bool) {
	entry := x.entry
	entry.Status = e.Status()
	entry.Error = &requestlog.Failure{Code: e.Kind.Code(), Message: e.Message, Origin: e.Kind.Origin()}
	entry.Outcome = outcome(e.Kind)
	if !x.storesText() && e.Kind.FromUpstream() {
		entry.Error.Message = "" // a provider may quote the prompt
	}
	refused := x.req == nil && (e.Kind == llm.InvalidJSON || e.Kind == llm.InvalidRequest)
	if refused && x.bodyState() != requestlog.BodyStored { // the sentence may quote what was wrong
		entry.Error.Message = "The request was refused for what it says; its text is not kept, and neither is what was said about it."
	}
	if started {
		entry.Status = 200 // that is what went out before the stream broke
		if entry.Outcome != requestlog.Cancelled {
			entry.Outcome = requestlog.Partial
		}
	}
}

// outcome sorts a kind of error by who has to do something about it.
func outcome(k llm.Kind) requestlog.Outcome {
	switch k {
	case llm.ClientCancelled:
		return requestlog.Cancelled
	case llm.ScopeDenied, llm.ModelNotAllowed, llm.PolicyRejected, llm.RateLimited, llm.BudgetExceeded, llm.RevokedAPIKey,
		llm.Overloaded, llm.LedgerUnavailable, llm.ServerShutdown:
		return requestlog.Rejected
	case llm.Internal:
		return requestlog.GatewayError
	default:
		if k.Origin() == llm.FromProvider {
			return requestlog.UpstreamError
		}
		return requestlog.ClientError
	}
}

// trace is the whole decision as a client sees it.
func (x *exchange) trace() []byte {
	data, err := json.Marshal(map[string]any{
		"request_id":        x.entry.ID,
		"decision":          x.entry.DecisionKind,
		"model":             x.entry.Model,
		"provider":          x.entry.Provider,
		"trace":             x.decision,
		"attempts":          x.entry.Attempts,
		"usage":             x.entry.Usage,
		"cost_usd":          x.entry.Cost,
		"baseline_model":    x.entry.BaselineModel,
		"baseline_cost_usd": x.entry.BaselineCost,
		"warnings":          x.entry.Warnings,
	})
	if err != nil {
		return []byte(`null`) // the answer matters more than its trace
	}
	return data
}

// storesText reports whether the request's text may be kept.
func (x *exchange) storesText() bool { return x.entry.BodyState == requestlog.BodyStored }

// bodyState decides whether the text is kept, and if not, on whose word.
func (x *exchange) bodyState() requestlog.BodyState {
	key, workspace := x.grant.Key, x.grant.Workspace
	switch {
	case x.noText:
		return requestlog.BodyDisabledByRequest
	case !x.settings.LogBodies:
		return requestlog.BodyDisabled
	case key.LogBodies != nil && !*key.LogBodies:
		return requestlog.BodyDisabledForKey
	case key.LogBodies == nil && !workspace.LogBodies:
		return requestlog.BodyDisabled
	case x.req != nil && int64(len(x.req.Body)) > x.settings.BodyLimit:
		return requestlog.BodyTooLarge
	}
	return requestlog.BodyStored
}

// hideText forgets the text that a policy wants kept out of the log.
func (x *exchange) hideText() {
	if x.storesText() {
		x.entry.BodyState, x.entry.Preview, x.entry.Body = requestlog.BodyDisabledByPolicy, "", requestlog.Body{}
	}
}

// keepAnswer adds a piece of the answer to what is kept, up to the limit: for the log, or to go on with it should it break.
func (x *exchange) keepAnswer(ev *llm.Event) {
	limit := int64(rescueBytes)
	switch {
	case x.forgotten:
		return
	case x.storesText():
		limit = x.settings.BodyLimit
		x.entry.Body.Streamed, x.entry.Body.Folded = x.req.Stream, x.w.stream
	case !x.rescuable():
		return
	}
	x.said += int64(ev.ASCIIBytes + ev.NonASCIIBytes) // in a stream that repeats itself there is little to keep for much text
	if !x.w.stream {
		if !x.forgets(len(ev.Data), limit, "nothing") {
			x.kept.adopt(ev.Data)
		}
		return
	}
	head, news := x.kept.folder.Fold(ev.Data)
	if !x.forgets(x.kept.size+len(head)+len(news), limit, "only the beginning") {
		x.kept.add(head...)
		x.kept.add(news...)
	}
}

// forgets reports whether so much, or the text in it, is more than may be kept. From then on nothing is.
func (x *exchange) forgets(size int, limit int64, left string) bool {
	if max(int64(size), x.said) <= limit {
		return false
	}
	x.forgotten = true
	if x.storesText() {
		x.warned = append(x.warned, "the log has "+left+" of the answer, which is longer than log.body_limit")
	}
	return true
}
