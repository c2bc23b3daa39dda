package limit

import (
	"time"
)

// unknownUse is how much of a limit others are believed to have used in the last minute before Redis went away, of an id
// that was not in use here: in all, replicas then admit at most a tenth more than the limit.
const unknownUse = 0.9

// share admits what this replica may admit alone. What all had admitted when Redis was last heard leaves the window in its
// time; what remains is divided among the replicas that were seen last.
func (r *Redis) share(id string, l Limits, tokens int64) (slot *Slot, err error) {
	state := r.link.State()
	r.views.with(id, func(x *replicaView, at time.Duration) {
		p := part{view: x, at: at, replicas: int64(max(state.Replicas, 1)), outage: at - time.Since(state.Since)}
		if r.now != nil {
			p.outage = at // a clock of its own knows nothing of when Redis went
		}
		if x.outage != state.Outage {
			x.since, x.outage = x.unreported.copy(), state.Outage
			// As many as asked here at that moment may have been admitted at each replica without this one's hearing of it.
			x.seen.requests.add(x.seen.at, (p.replicas-1)*(x.pendingCalls-1))
			x.seen.tokens.add(x.seen.at, (p.replicas-1)*(x.pendingCalls-1)*tokens)
		}
		if refusal, wait, ok := p.admit(l, tokens); !ok {
			err = Reject(refusal, wait)
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

// part is one replica's part of a limit.
type part struct {
	view     *replicaView
	at       time.Duration
	replicas int64
	outage   time.Duration // when Redis went away
}

func (p part) admit(l Limits, tokens int64) (Rejection, time.Duration, bool) {
	x := p.view
	if most := max(l.Concurrent/p.replicas, 1); l.Concurrent > 0 && x.running >= most {
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

// fits says whether n more are within the part of what was left. One request a minute is always within it where the whole
// limit has room: a share that is too small for any is no share.
func (p part) fits(limit, seen, since, n int64) bool {
	if p.unknown() {
		seen = max(seen, int64(unknownUse*float64(limit)))
	}
	left := limit - seen
	return since <= left/p.replicas-n || (since == 0 && n <= left)
}

// unknown says that nobody can tell what was admitted elsewhere in the last minute: the id was not in use here when Redis
// went away, and that is less than a minute ago.
func (p part) unknown() bool {
	const fresh = 3 * time.Second // a few heartbeats
	known := p.view.known && p.outage-p.view.updatedAt < fresh
	return !known && p.at-p.outage < Window
}

// wait is how long until something leaves the window.
func (p part) wait(seen, since *ring) time.Duration {
	at := second(p.at)
	for _, r := range []*ring{seen, since} {
		if r.sum > 0 {
			return r.freed(at, 1, p.at)
		}
	}
	return Window
}
