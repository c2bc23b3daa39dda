package doctor

import (
	"testing"

	"go.uber.org/goleak"

	"fairlead.dev/internal/cli/clitest"
	"fairlead.dev/internal/cli/keys"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newLab(t *testing.T) *clitest.Lab {
	t.Helper()
	return clitest.New(t, New, keys.New)
}
