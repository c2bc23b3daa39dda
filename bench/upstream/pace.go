package upstream

import (
	"bytes"
	"fmt"
	"time"

	"fairlead/bench/agent"
)

// Pace is how an answer streams.
type Pace struct {
	First  time.Duration // before the first chunk
	Gap    time.Duration // between chunks
	Chunks int           // with text in them
	Format string        // client format of the events; empty for chat
}

// mark stands around a pace. No prompt that asks for a whole answer has it, which makes looking for it cheap.
const mark = '~'

// String is the text for a prompt to begin with.
func (p Pace) String() string {
	format := p.Format
	if format == "" {
		format = agent.Chat
	}
	return fmt.Sprintf("%c%d %d %d %s%[1]c ", mark, p.First, p.Gap, p.Chunks, format)
}

// wish is what a request says about its pace, put together from the parts that its body comes in.
type wish struct {
	text []byte // between the marks, so far
	open bool   // the second mark is still to come
}

func (w *wish) read(part []byte) {
	if !w.open && len(w.text) == 0 {
		var found bool
		if _, part, found = bytes.Cut(part, []byte{mark}); !found {
			return
		}
		w.open = true
	}
	if w.open {
		text, _, closed := bytes.Cut(part, []byte{mark})
		w.text, w.open = append(w.text, text...), !closed
	}
}

// pace returns the requested pace. streams is false for a response that is not streamed.
func (w *wish) pace() (p Pace, streams bool) {
	if len(w.text) == 0 {
		return Pace{}, false
	}
	n, _ := fmt.Sscanf(string(w.text), "%d %d %d %s", &p.First, &p.Gap, &p.Chunks, &p.Format)
	return p, n == 4
}
