// Package blackbox tests the built gateway from the user's perspective: a process with flags, files, ports and a
// command line.
package blackbox

import (
	"os"
	"testing"

	"fairlead.dev/internal/store/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }
