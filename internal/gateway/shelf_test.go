package gateway

import (
	"testing"
)

func TestShelfKeepsRoomForOtherWorkspaces(t *testing.T) {
	t.Parallel()
	var s shelf
	for i, step := range []struct {
		workspace string
		n, mine   int64
		taken     bool
	}{
		{"a", 60, 0, true},   // one body may always be there
		{"a", 30, 60, true},  // and grow
		{"a", 1, 0, false},   // but no second one beyond half
		{"b", 11, 0, false},  // nor anything beyond the whole
		{"b", 10, 0, true},   // others have the rest
		{"a", 1, 90, false},  // which is full now
		{"a", -90, 0, true},  // the first body goes
		{"b", 40, 0, true},   // half for one workspace, in several bodies
		{"b", 1, 0, false},   //
		{"c", 50, 0, true},   // and the other half for the others
		{"c", -50, 0, true},  //
		{"b", -50, 0, true},  //
		{"b", 100, 0, true},  // one body of all there is
		{"b", -100, 0, true}, //
	} {
		if step.n < 0 {
			s.give(step.workspace, -step.n)
			continue
		}
		if got := s.take(step.workspace, step.n, step.mine, 100); got != step.taken {
			t.Errorf("step %d: taken is %v", i, got)
		}
	}
	if s.held != 0 || len(s.of) != 0 {
		t.Errorf("%d bytes are still counted, for %v", s.held, s.of)
	}
}
