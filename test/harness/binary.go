package harness

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// built builds the binary once for all tests of a process.
var built = sync.OnceValues(build)

// Binary returns the path of the gateway: the value of FAIRLEAD_TEST_BINARY, or a binary built from this tree.
func Binary(t testing.TB) string {
	t.Helper()
	path, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func build() (string, error) {
	if named := os.Getenv("FAIRLEAD_TEST_BINARY"); named != "" {
		return filepath.Abs(named)
	}
	root, err := Root()
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "fairlead-test-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "fairlead")
	cmd := exec.Command("go", "build", "-o", path, "./cmd/fairlead")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the gateway: %w\n%s", err, out)
	}
	return path, nil
}

// Root returns the root of the source tree: the nearest parent folder that contains cmd/fairlead.
func Root() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "cmd", "fairlead")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no cmd/fairlead above %s", start)
		}
	}
}
