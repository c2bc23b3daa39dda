package models

import (
	"testing"

	"go.uber.org/goleak"

	"fairlead.dev/internal/cli/clitest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newLab(t *testing.T) *clitest.Lab {
	t.Helper()
	return clitest.New(t, New)
}
