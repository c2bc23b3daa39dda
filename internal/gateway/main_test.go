package gateway_test

import (
	"testing"

	"go.uber.org/goleak"

	"fairlead.dev/internal/cluster/redistest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(tests{m},
		goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"), // idle connections of the shared transports
		goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"),
	)
}

// tests stops the Redis server of the tests before leaks are counted.
type tests struct{ *testing.M }

func (t tests) Run() int { return redistest.Main(t.M) }
