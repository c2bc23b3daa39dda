package gateway_test

import (
	"testing"

	"fairlead.dev/internal/simulator"
)

func TestAttemptRecordsTheBytesOfItsResponse(t *testing.T) {
	t.Parallel()
	const failure = `{"error":{"message":"down"}}`
	const whole = `{"choices":[{"index":0,"message":{"role":"assistant","content":"Aye."},"finish_reason":"stop"}]}`
	k := newKit(t)
	k.alpha.Always(simulator.Behaviour{Status: 503, Body: []byte(failure)})
	k.beta.Always(simulator.Behaviour{Body: []byte(whole)})

	k.post("/chat/completions", hello)

	e := k.entry()
	if len(e.Attempts) != 2 || e.Attempts[0].Bytes != int64(len(failure)) || e.Attempts[1].Bytes != int64(len(whole)) {
		t.Errorf("want %d and %d bytes, got %+v", len(failure), len(whole), e.Attempts)
	}
}
