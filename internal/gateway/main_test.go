package gateway_test

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"), // idle connections of the shared transports
		goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"),
	)
}
