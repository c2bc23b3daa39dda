package gateway

import "sync"

// shelf counts the bytes of request bodies that are held: in all, and for each workspace, so that one workspace's bodies
// never keep those of all others out.
type shelf struct {
	mu   sync.Mutex
	held int64
	of   map[string]int64
}

// take counts n more bytes of a body that holds mine already. It refuses what goes beyond most in all, or beyond half of
// it for one workspace, which may always hold one body.
func (s *shelf) take(workspace string, n, mine, most int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	own := s.of[workspace]
	if s.held+n > most || own > mine && own+n > most/2 {
		return false
	}
	if s.of == nil {
		s.of = map[string]int64{}
	}
	s.held += n
	s.of[workspace] = own + n
	return true
}

// give returns what a body took.
func (s *shelf) give(workspace string, n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held -= n
	if left := s.of[workspace] - n; left > 0 {
		s.of[workspace] = left
		return
	}
	delete(s.of, workspace)
}
