package conversation

import (
	"math"

	"fairlead/internal/rawjson"
	"fairlead/internal/turncache"
)

// reading is what the next turn of a conversation need not read again. Apart from the results of tools, it depends only on the body up to
// end.
type reading struct {
	list     int // position of the list of messages
	end      int // position after the last message
	messages []position
	outcomes map[uint64]outcome // of results of tools, by the hash of the output
}

// position is where a message is in the body.
type position struct {
	from, to int32
	kind     rawjson.Kind
	author   author
}

// maxPositions bounds the messages of a reading.
const maxPositions = 4 << 10

// findReading returns the reading of an earlier turn, or an empty one.
func findReading(turn *turncache.Turn) *reading {
	if _, state := turn.Find(turncache.Reading); state != nil {
		return state.(*reading)
	}
	return &reading{}
}

// keep stores what the next turn, which has the same body up to end, need not read again.
func (c *conversation) keep(turn *turncache.Turn, start, end int) {
	if turn == nil || end > math.MaxInt32 || len(c.messages) > maxPositions {
		return
	}
	state := &reading{list: start, end: end, messages: make([]position, len(c.messages)), outcomes: c.outcomes.read}
	for i := range c.messages {
		v := &c.messages[i].value
		state.messages[i] = position{int32(v.Index), int32(v.Index + len(v.Raw)), v.Kind, c.messages[i].author} //nolint:gosec // at most end
	}
	turn.Keep(turncache.Reading, end, state, 64+12*len(state.messages)+64*len(state.outcomes))
}
