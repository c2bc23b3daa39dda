package upstream

import (
	"bytes"
	"fmt"
	"time"

	"fairlead.dev/bench/agent"
)

// Pace describes how a response is streamed.
type Pace struct {
	First  time.Duration // time before the first chunk
	Gap    time.Duration // time between chunks
	Chunks int           // number of chunks with text
	Format string        // client format of the events; empty for chat
}

// mark delimits a pace. Prompts without a pace never contain it.
const mark = '~'

// String returns the text that a prompt must begin with to get a response with this pace.
func (p Pace) String() string {
	format := p.Format
	if format == "" {
		format = agent.Chat
	}
	return fmt.Sprintf("%c%d %d %d %s%[1]c ", mark, p.First, p.Gap, p.Chunks, format)
}

// paceReader extracts the pace from a request body that arrives in parts.
type paceReader struct {
	text []byte // text between the marks so far
	open bool   // whether the first mark was read and the second was not
}

func (w *paceReader) read(part []byte) {
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

// pace returns the pace in the prompt. If the prompt has none, streams is false and the response is not streamed.
func (w *paceReader) pace() (p Pace, streams bool) {
	if len(w.text) == 0 {
		return Pace{}, false
	}
	n, _ := fmt.Sscanf(string(w.text), "%d %d %d %s", &p.First, &p.Gap, &p.Chunks, &p.Format)
	return p, n == 4
}
