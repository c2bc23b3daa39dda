package gateway

import (
	"runtime"
	"testing"
	"time"

	"fairlead/internal/llm"
	"fairlead/internal/provider"
)

// awaited is a stream of a few events whose reader waits for each before it asks for it.
type awaited struct {
	t      *testing.T
	left   int
	waited bool
	frames int // at most on the stack while it was waited for
}

func (s *awaited) Wait() {
	s.waited = true
	s.frames = max(s.frames, runtime.Callers(2, make([]uintptr, 64)))
}

func (s *awaited) Next() (llm.Event, bool, error) {
	if !s.waited {
		s.t.Error("an event was asked for that nobody had waited for")
	}
	s.waited = false
	s.left--
	return llm.Event{Data: []byte(`{}`), Content: true}, s.left >= 0, nil
}

func (*awaited) Close() {}

// Very many streams wait at the same time: what lies between them and the handler is kept on the stack for each.
func TestAnOpenStreamWaitsNearItsHandler(t *testing.T) {
	t.Parallel()
	x, stream := stepping(true), &awaited{t: t, left: 3}
	ans := &answer{exchange: x, target: &provider.Target{}, timer: time.NewTimer(time.Hour), stream: stream}
	outside := runtime.Callers(1, make([]uintptr, 64))
	if err := x.pass(ans, &tally{}); err != nil {
		t.Fatal(err)
	}
	if inside := stream.frames - outside; inside > 2 { // pass and wait
		t.Errorf("a stream that is open has %d calls more on its stack", inside)
	}
}
