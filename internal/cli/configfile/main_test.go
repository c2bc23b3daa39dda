package configfile

import (
	"testing"

	"go.uber.org/goleak"

	"fairlead.dev/internal/cli/clitest"
	"fairlead.dev/internal/cli/keys"
	"fairlead.dev/internal/cli/requests"
	"fairlead.dev/internal/cli/server"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newLab(t *testing.T) *clitest.Lab {
	t.Helper()
	return clitest.New(t, NewConfig, NewInit, keys.New, requests.New, server.NewServe)
}
