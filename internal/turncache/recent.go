package turncache

import "iter"

// Recent holds the states that a reader had after each of the last few messages. At the end of the body, the reader stores two of them:
// the last state, and an earlier state that is used if the client changes its last messages in the next turn, for example by moving a
// prompt-cache breakpoint.
type Recent[T any] struct {
	states [earlier + 1]*T
	count  int
}

// earlier is the distance in messages between the two states that are kept. An agent adds up to four messages per turn.
const earlier = 4

// Next returns a pointer to the next state. It reuses the memory of the oldest state, so the caller must set every field.
func (r *Recent[T]) Next() *T {
	at := r.count % len(r.states)
	if r.states[at] == nil {
		r.states[at] = new(T)
	}
	r.count++
	return r.states[at]
}

// Kept yields the last state and then the earlier state. It omits a state that does not exist.
func (r *Recent[T]) Kept() iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for _, back := range []int{1, earlier + 1} {
			if r.count >= back && !yield(r.states[(r.count-back)%len(r.states)]) {
				return
			}
		}
	}
}
