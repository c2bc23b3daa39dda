package gateway_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"syscall"
	"testing"

	"fairlead/internal/requestlog"
)

// leaver is a client that is gone when the last bytes are written.
type leaver struct {
	*httptest.ResponseRecorder
	last []byte
}

func (l *leaver) Write(data []byte) (int, error) {
	if bytes.Contains(data, l.last) {
		return 0, syscall.EPIPE
	}
	return l.ResponseRecorder.Write(data)
}

// An entry is on disk before the last byte: what happens to that byte can neither change it nor make a second one.
func TestClientThatLeavesWithTheLastBytesHasOneEntry(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ body, last string }{
		"whole":    {hello, `"choices"`},
		"streamed": {streaming("large"), "[DONE]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newKit(t)
			w := &leaver{httptest.NewRecorder(), []byte(c.last)}

			k.gateway.ServeHTTP(w, k.request(http.MethodPost, "/chat/completions", c.body))

			if e := k.entry(); e.Outcome != requestlog.OK || e.Error != nil {
				t.Errorf("recorded as %s, %+v", e.Outcome, e.Error)
			}
			if n := len(k.log.ended); n != 0 {
				t.Errorf("recorded %d times more", n)
			}
		})
	}
}
