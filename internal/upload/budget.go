package upload

import "sync"

// Budget counts the memory of all request bodies, in total and per workspace, so that the bodies of one workspace cannot exclude
// those of all others. The zero Budget is ready to use.
type Budget struct {
	mu   sync.Mutex
	held int64
	of   map[string]int64
}

// take reserves n more bytes for a body that holds mine already. It reports false beyond the total, and beyond half of the total
// for one workspace. A workspace may always hold a single body.
func (b *Budget) take(workspace string, n, mine, total int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	own := b.of[workspace]
	if b.held+n > total || own > mine && own+n > total/2 {
		return false
	}
	if b.of == nil {
		b.of = map[string]int64{}
	}
	b.held += n
	b.of[workspace] = own + n
	return true
}

// give returns n bytes of a workspace.
func (b *Budget) give(workspace string, n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held -= n
	if left := b.of[workspace] - n; left > 0 {
		b.of[workspace] = left
		return
	}
	delete(b.of, workspace)
}
