package upload

import "sync"

// Budget limits the memory of all request bodies, in total and per workspace, so that the bodies of one workspace cannot block the
// bodies of other workspaces. The zero Budget is ready to use.
type Budget struct {
	mu          sync.Mutex
	held        int64
	byWorkspace map[string]int64
}

// take reserves n more bytes for a body. mine is the number of bytes that the body already holds. take returns false if all workspaces
// together would exceed total, or this workspace would exceed half of total. A workspace may always hold a single body.
func (b *Budget) take(workspace string, n, mine, total int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	own := b.byWorkspace[workspace]
	if b.held+n > total || own > mine && own+n > total/2 {
		return false
	}
	if b.byWorkspace == nil {
		b.byWorkspace = map[string]int64{}
	}
	b.held += n
	b.byWorkspace[workspace] = own + n
	return true
}

// release returns n bytes of a workspace to the budget.
func (b *Budget) release(workspace string, n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held -= n
	if left := b.byWorkspace[workspace] - n; left > 0 {
		b.byWorkspace[workspace] = left
		return
	}
	delete(b.byWorkspace, workspace)
}
