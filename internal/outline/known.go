package outline

import "sync"

// knownLimit is the maximum number of addresses in each of the two maps of a Known, which take about 20 MB in total.
const knownLimit = 256 << 10

// Known is the set of parts that this process has written to the database. Its size is limited: addresses that were not used for a long
// time are removed, and their parts are written again. It is safe for concurrent use.
type Known struct {
	limit int

	mu     sync.Mutex
	recent map[stored]struct{}
	older  map[stored]struct{}
	paused int
}

// stored identifies a stored part. Addresses differ between workspaces.
type stored struct {
	day     int64
	address Address
}

// NewKnown returns an empty set.
func NewKnown() *Known {
	return &Known{limit: knownLimit, recent: map[stored]struct{}{}, older: map[stored]struct{}{}}
}

// Of returns a function that reports whether a part is known to be stored on the given day.
func (k *Known) Of(day int64) func(Address) bool {
	return func(a Address) bool {
		k.mu.Lock()
		defer k.mu.Unlock()
		s := stored{day, a}
		if k.paused > 0 {
			return false
		}
		if _, ok := k.recent[s]; ok {
			return true
		}
		_, ok := k.older[s]
		if ok {
			k.add(s)
		}
		return ok
	}
}

func (k *Known) add(s stored) {
	if len(k.recent) >= k.limit {
		k.recent, k.older = map[stored]struct{}{}, k.recent
	}
	k.recent[s] = struct{}{}
}

// Add adds the parts of a block that was written on the given day.
func (k *Known) Add(day int64, block []byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.paused > 0 {
		return
	}
	_ = EachPart(block, func(p Part) error { // the error is ignored, because a corrupt block is never written
		k.add(stored{day, p.Address})
		return nil
	})
}

// Clear empties the set. It is called when the database might not have the parts in the set.
func (k *Known) Clear() {
	k.mu.Lock()
	defer k.mu.Unlock()
	clear(k.recent)
	clear(k.older)
}

// Pause empties the set and adds no parts until resume is called. It is used while entries and their parts are deleted.
func (k *Known) Pause() (resume func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.paused++
	clear(k.recent)
	clear(k.older)
	return sync.OnceFunc(func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.paused--
	})
}
