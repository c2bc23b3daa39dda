package configfile

import (
	"testing"

	"go.uber.org/goleak"

	"fairlead/internal/cli/clitest"
	"fairlead/internal/cli/keys"
	"fairlead/internal/cli/requests"
	"fairlead/internal/cli/server"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newLab(t *testing.T) *clitest.Lab {
	t.Helper()
	return clitest.New(t, NewConfig, NewInit, keys.New, requests.New, server.NewServe)
}
