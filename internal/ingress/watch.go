package ingress

import (
	"context"
	"time"
)

// pace is how often the watcher looks. A request is looked at from its second tick on, so a client that has left is seen
// within a fifth of a second, and most short requests are over before.
const pace = 100 * time.Millisecond

// open is a request that is being answered, while its client should have nothing to say.
type open struct {
	conn   *conn
	cancel context.CancelFunc
	began  int64
}

// watch looks for clients that have left. Reading their connections would take a goroutine for each.
func (s *Server) watch(done <-chan struct{}) {
	ticker := time.NewTicker(pace)
	defer ticker.Stop()
	var requests []open
	for {
		select {
		case <-done:
			return
		case <-ticker.C:
			requests = s.opened(s.ticks.Add(1), requests[:0])
			for _, i := range gone(requests) {
				requests[i].end()
			}
			clear(requests)
		}
	}
}

// opened lists the requests that have been open for a while.
func (s *Server) opened(tick int64, list []open) []open {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		c.mu.Lock()
		if c.waits && c.cancel != nil && tick-c.began > 1 {
			list = append(list, open{c, c.cancel, c.began})
		}
		c.mu.Unlock()
	}
	return list
}

// end stops the work for a request, unless it is over: then the connection may have another, or be closed and its number
// be somebody else's.
func (o *open) end() {
	o.conn.mu.Lock()
	defer o.conn.mu.Unlock()
	if o.conn.waits && o.conn.began == o.began {
		o.cancel()
	}
}
