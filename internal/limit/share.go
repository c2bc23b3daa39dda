package limit

import "time"

// unknownUse applies to an ID that was not in use at this replica. It is the fraction of a limit that other replicas are assumed to
// have used in the minute before Redis became unavailable. In total, replicas then admit at most a tenth more than the limit.
const unknownUse = 0.9

// share admits a request within this replica's share of the limit. The counts of all replicas at the last contact with Redis are
// subtracted from the limit until they leave the window. The rest is divided among the replicas that were live at that time.
func (r *Redis) share(id string, l Limits, tokens int64) (slot *Slot, err error) {
	state := r.link.State()
	r.views.with(id, func(x *replicaView, at time.Duration) {
		p := replicaShare{view: x, at: at, replicas: int64(max(state.Replicas, 1)), outage: at - time.Since(state.Since)}
		if r.now != nil {
			p.outage = at // assume that the outage begins now, because an injected clock cannot be compared with state.Since
		}
		if x.outage != state.Outage {
			x.since, x.outage = x.unreported.copy(), state.Outage
			// Each other replica may have admitted as many requests as this replica had pending calls when the outage began.
			x.seen.requests.add(x.seen.at, (p.replicas-1)*(x.pendingCalls-1))
			x.seen.tokens.add(x.seen.at, (p.replicas-1)*(x.pendingCalls-1)*tokens)
		}
		if rejection, wait, ok := p.admit(l, tokens); !ok {
			err = Reject(rejection, wait)
			return
		}
		x.running++
		x.own.add(tokens)
		x.unreported.add(tokens)
		x.since.add(tokens)
		x.uncertain = x.uncertain || l.Concurrent > 0
		slot = NewSlot(&redisGrant{limiter: r, id: id, limits: l, tokens: tokens})
	})
	return slot, err
}

// replicaShare is one replica's share of a limit.
type replicaShare struct {
	view     *replicaView
	at       time.Duration
	replicas int64
	outage   time.Duration // time at which Redis became unavailable
}

func (p replicaShare) admit(l Limits, tokens int64) (Rejection, time.Duration, bool) {
	x := p.view
	if limit := max(l.Concurrent/p.replicas, 1); l.Concurrent > 0 && x.running >= limit {
		return Rejection{Concurrent, l.Concurrent, x.running}, time.Second, false
	}
	if l.RequestsPerMinute > 0 && !p.fits(l.RequestsPerMinute, x.seen.requests.sum, x.since.requests.sum, 1) {
		return Rejection{RequestsPerMinute, l.RequestsPerMinute, x.seen.requests.sum + x.since.requests.sum}, p.wait(&x.seen.requests, &x.since.requests), false
	}
	if l.TokensPerMinute > 0 && !p.fits(l.TokensPerMinute, x.seen.tokens.sum, x.since.tokens.sum, tokens) {
		return Rejection{TokensPerMinute, l.TokensPerMinute, x.seen.tokens.sum + x.since.tokens.sum}, p.wait(&x.seen.tokens, &x.since.tokens), false
	}
	return Rejection{}, 0, true
}

// fits reports whether n more requests or tokens are within this replica's share of the remaining capacity. One request per minute
// always fits if the total limit has capacity, because a share may be smaller than a single request.
func (p replicaShare) fits(limit, seen, since, n int64) bool {
	const fresh = 3 * time.Second // maximum age of usable totals: a few heartbeats
	known := p.view.known && p.outage-p.view.updatedAt < fresh
	if !known && p.at-p.outage < Window { // usage by other replicas in the last minute is unknown
		seen = max(seen, int64(unknownUse*float64(limit)))
	}
	left := limit - seen
	return since <= left/p.replicas-n || (since == 0 && n <= left)
}

// wait returns how long it takes until the oldest count leaves the window.
func (p replicaShare) wait(seen, since *ring) time.Duration {
	at := second(p.at)
	for _, r := range []*ring{seen, since} {
		if r.sum > 0 {
			return r.freed(at, 1, p.at)
		}
	}
	return Window
}
