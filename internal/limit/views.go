package limit

import (
	"sync"
	"time"
)

// viewSet holds this replica's view of the IDs in use here. It is used to apply the replica's share while Redis is unavailable,
// and to send the missing counts to Redis afterwards.
type viewSet struct {
	mu    sync.Mutex
	clock clock
	swept time.Duration
	ids   map[string]*replicaView
}

// replicaView is this replica's view of one ID.
type replicaView struct {
	seen         counts // most recently received totals of all replicas; counts are dated at the time of receipt
	own          counts // counts of requests admitted by this replica
	unreported   counts // part of own that Redis does not have yet
	since        counts // part of own since Redis became unavailable
	outage       int64  // number of the outage in which since was counted
	updatedAt    time.Duration
	known        bool   // whether totals have been received
	pendingCalls int64  // number of calls to Redis in progress
	running      int64  // number of requests running on this replica
	uncertain    bool   // whether the running count in Redis may be wrong
	epoch        string // epoch of the Redis data that includes all counts of this replica
}

// with advances the view of an ID to the current time and calls do with it.
func (v *viewSet) with(id string, do func(x *replicaView, at time.Duration)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	at := v.clock.read()
	v.sweep(at)
	x := v.ids[id]
	if x == nil {
		x = &replicaView{}
		v.ids[id] = x
	}
	x.advance(at)
	do(x, at)
}

func (x *replicaView) advance(at time.Duration) {
	for _, c := range []*counts{&x.seen, &x.own, &x.unreported, &x.since} {
		c.advance(second(at))
	}
}

func (v *viewSet) sweep(at time.Duration) {
	if at-v.swept < sweepEvery {
		return
	}
	v.swept = at
	for id, x := range v.ids {
		x.advance(at)
		unused := x.seen.requests.sum == 0 && x.seen.tokens.sum == 0 && x.own.requests.sum == 0 && x.own.tokens.sum == 0
		if unused && x.running == 0 && x.pendingCalls == 0 && !x.uncertain {
			delete(v.ids, id)
		}
	}
}

// setTotals records the totals of all replicas.
func (x *replicaView) setTotals(at time.Duration, requests, tokens int64) {
	x.seen.requests.add(x.seen.at, max(requests-x.seen.requests.sum, 0))
	x.seen.tokens.add(x.seen.at, max(tokens-x.seen.tokens.sum, 0))
	x.updatedAt, x.known = at, true
}

// recordUnreportedSettlement counts the tokens by which a request exceeded its estimate if Redis did not receive them. An excess estimate
// is not subtracted; it counts until it leaves the window.
func (v *viewSet) recordUnreportedSettlement(id string, more int64) {
	v.with(id, func(x *replicaView, _ time.Duration) {
		for _, c := range []*counts{&x.own, &x.unreported, &x.since} {
			c.tokens.add(c.at, max(more, 0))
		}
	})
}

func (v *viewSet) markUncertain(id string) {
	v.with(id, func(x *replicaView, _ time.Duration) { x.uncertain = true })
}

// report holds the counts of one ID that are sent to Redis.
type report struct {
	id         string
	running    int64  // number of running requests; -1 for no change
	missing    []any  // age in seconds, requests and tokens of each second that Redis lacks
	unreported counts // counts contained in missing
}

// reports returns a report for each ID in use. If Redis has lost its data, the reports contain all counts of the last minute.
func (v *viewSet) reports(epoch string) []report {
	v.mu.Lock()
	defer v.mu.Unlock()
	at := v.clock.read()
	v.sweep(at)
	var all []report
	for id, x := range v.ids {
		x.advance(at)
		missing, running := &x.unreported, int64(-1)
		if x.epoch != epoch && x.epoch != "" {
			missing, x.uncertain = &x.own, true
		}
		if x.uncertain {
			running = x.running
		}
		all = append(all, report{id: id, running: running, missing: missing.ages(), unreported: x.unreported.copy()})
	}
	return all
}
