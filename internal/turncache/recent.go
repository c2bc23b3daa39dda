package turncache

import "iter"

// Recent holds the last states of a reader until it knows which of them to keep: the last one, and an earlier one, because a client may
// change its last messages in the next turn, for example by moving a cache mark.
type Recent[T any] struct {
	states [earlier + 1]*T
	count  int
}

// earlier is the distance in messages between the two states that are kept. An agent adds up to four messages per turn.
const earlier = 4

// Next returns the memory for a state that follows the others. The caller sets every field.
func (r *Recent[T]) Next() *T {
	at := r.count % len(r.states)
	if r.states[at] == nil {
		r.states[at] = new(T)
	}
	r.count++
	return r.states[at]
}

// Kept yields the states to keep.
func (r *Recent[T]) Kept() iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for _, back := range []int{1, earlier + 1} {
			if r.count >= back && !yield(r.states[(r.count-back)%len(r.states)]) {
				return
			}
		}
	}
}
