package agent_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"fairlead.dev/bench/agent"
)

func TestSessionsGrowTurnByTurn(t *testing.T) {
	t.Parallel()
	for _, format := range agent.Formats() {
		s, other := agent.New(format, "auto", "", `"session_id":"s",`, 1), agent.New(format, "auto", "", "", 2)
		var body, before []byte
		for turn := range agent.Turns {
			before, body = body, s.Next()
			if !json.Valid(body) {
				t.Fatalf("%s: turn %d is not JSON", format, turn)
			}
			if turn == 0 && (len(body) < 28<<10 || len(body) > 36<<10) {
				t.Errorf("%s: the first turn has %d bytes, want 28 KiB to 36 KiB", format, len(body))
			}
			if turn > 0 && !bytes.HasPrefix(body, bytes.TrimSuffix(before, []byte("]}"))) {
				t.Errorf("%s: turn %d does not begin with the previous turn", format, turn)
			}
		}
		if len(body) < 130<<10 || len(body) > 170<<10 {
			t.Errorf("%s: the last turn has %d bytes, want 130 KiB to 170 KiB", format, len(body))
		}
		if bytes.Equal(other.Next(), agent.New(format, "auto", "", "", 3).Next()) {
			t.Errorf("%s: sessions with different seeds are equal", format)
		}
	}
}
