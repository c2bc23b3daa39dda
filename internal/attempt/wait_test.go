package attempt

import (
	"runtime"
	"testing"
	"time"

	"fairlead/internal/llm"
	"fairlead/internal/provider"
)

// waitedStream records the stack depth of its reader.
type waitedStream struct{ frames int }

func (s *waitedStream) Wait()                        { s.frames = runtime.Callers(2, make([]uintptr, 64)) }
func (*waitedStream) Next() (llm.Event, bool, error) { return llm.Event{}, false, nil }
func (*waitedStream) Close()                         {}

// Very many streams wait at the same time, each with the stack frames between its reader and the wait.
func TestAttemptWaitsInItsStream(t *testing.T) {
	t.Parallel()
	stream := &waitedStream{}
	a := &Attempt{
		series: &Series{Settings: &Settings{Idle: time.Hour}}, call: &provider.Call{Target: &provider.Target{}},
		timer: time.NewTimer(time.Hour), stream: stream,
	}
	outside := runtime.Callers(1, make([]uintptr, 64))
	a.Wait()
	if inside := stream.frames - outside; inside > 1 { // Wait itself
		t.Errorf("a waiting attempt has %d more calls on its stack", inside)
	}
}
