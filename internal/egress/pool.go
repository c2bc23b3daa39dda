package egress

import (
	"sync"
	"time"
)

// pruneEvery is how often idle connections are looked at.
const pruneEvery = 5 * time.Second

// pool keeps connections that no call uses.
type pool struct {
	mu     sync.Mutex
	most   int // per host
	idle   map[string][]*conn
	timer  *time.Timer // closes those that idle for too long
	closed bool
}

func newPool(most int) *pool { return &pool{most: most, idle: map[string][]*conn{}} }

// take returns the connection that was used last, so that the others may grow old; nil where there is none alive.
func (p *pool) take(key string) *conn {
	for {
		c := p.pop(key)
		if c == nil || (time.Since(c.idle) < idleTimeout && quiet(c.raw)) {
			return c
		}
		_ = c.Close() // it is dead already, or about to be
	}
}

func (p *pool) pop(key string) *conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := p.idle[key]
	if len(list) == 0 {
		return nil
	}
	c := list[len(list)-1]
	list[len(list)-1] = nil
	p.idle[key] = list[:len(list)-1]
	return c
}

// put keeps a connection, where there is room.
func (p *pool) put(c *conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || len(p.idle[c.key]) >= p.most {
		return false
	}
	c.idle, c.forget, c.release = time.Now(), nil, nil
	p.idle[c.key] = append(p.idle[c.key], c)
	if p.timer == nil {
		p.timer = time.AfterFunc(pruneEvery, p.prune)
	}
	return true
}

// prune closes what has idled for too long, and what the host has closed: nobody else looks at a connection that is not used.
func (p *pool) prune() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.timer = nil
	left := 0
	for key, list := range p.idle {
		var alive []*conn
		for _, c := range list {
			if time.Since(c.idle) < idleTimeout && quiet(c.raw) {
				alive = append(alive, c)
				continue
			}
			_ = c.Close()
		}
		left += len(alive)
		if p.idle[key] = alive; alive == nil {
			delete(p.idle, key)
		}
	}
	if left > 0 && !p.closed {
		p.timer = time.AfterFunc(pruneEvery, p.prune)
	}
}

// close closes every idle connection, and keeps none from here on.
func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	if p.timer != nil {
		p.timer.Stop()
	}
	for _, list := range p.idle {
		for _, c := range list {
			_ = c.Close()
		}
	}
	p.idle = nil
}
