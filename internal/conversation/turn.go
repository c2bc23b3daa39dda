package conversation

import (
	"math"
	"slices"

	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/turncache"
)

// reading is the state from which the next turn of a conversation continues. It depends only on the body up to end.
type reading struct {
	list     int // offset of the list of messages in the body
	end      int // offset after the last message
	messages []position
	facts    []*facts // facts of the last messages
	task     *task    // task of the conversation; nil if it depends on bytes after end
}

// position is the range of a message in the body, with properties of the message.
type position struct {
	from, to int32
	kind     rawjson.Kind
	author   author
	wordless bool // whether the message has only tool calls and tool results
}

// facts are the properties of a message that determine whether a tool loop is stuck.
type facts struct {
	calls   []call
	results []result
	ask     ask // description of the text of a user message
}

const (
	maxPositions = 4 << 10 // maximum number of messages in a stored state
	earlier      = 4       // number of messages between the two stored states; the earlier one is used if a client changes its last messages
)

// keep stores states for the next turn and returns the offsets in the body at which they end. If determined is true, the task depends
// only on the bytes up to the last message and is stored too.
func (c *conversation) keep(turn *turncache.Turn, start, end int, t task, determined bool) (ends []int) {
	n := len(c.messages)
	if turn == nil || end > math.MaxInt32 || n == 0 || n > maxPositions {
		return nil
	}
	positions, known := make([]position, n), make([]*facts, n)
	for i := range c.messages {
		m := &c.messages[i]
		from := int32(m.value.Index)                                                                                      //nolint:gosec // the index is at most end, which fits
		positions[i] = position{from, from + int32(len(m.value.Raw)), m.value.Kind, m.author, m.decoded && m.whole == ""} //nolint:gosec // the length is at most end, which fits
		known[i] = m.facts
	}
	first := max(0, slices.IndexFunc(known, func(f *facts) bool { return f != nil }))
	for _, back := range []int{0, earlier} {
		if back >= n {
			break
		}
		if back > 0 {
			end = int(positions[n-1-back].to)
			determined = determined && !c.hasWords(n-back) // the later messages may have changed the task
		}
		state := &reading{list: start, end: end, messages: positions[:n-back], facts: known[min(first, n-back) : n-back]}
		size := 128 + 16*n + 160*(n-first)
		if determined {
			state.task = new(t)
			size += 256 + len(t.text) + len(t.system)
		}
		turn.Keep(turncache.Reading, end, state, size)
		ends = append(ends, end)
	}
	return ends
}
