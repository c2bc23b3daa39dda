package hostile

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fairlead.dev/test/faults/scenario"
	"fairlead.dev/test/harness"
)

// Release is fault case F61: the same commit builds to the same bytes everywhere, only from pinned modules, and the program
// starts without downloading anything.
func Release(t *testing.T, size scenario.Size) string {
	root, err := harness.Root()
	if err != nil {
		t.Fatal(err)
	}
	// Nothing may be downloaded, and go.mod and go.sum must be complete.
	offline := []string{"GOWORK=off", "GOPROXY=off", "GOFLAGS=-mod=readonly", "GOTOOLCHAIN=local", "CGO_ENABLED=0"}
	packages := strings.Fields(goTool(t, root, offline, "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", "./cmd/fairlead"))
	if len(packages) < 50 {
		t.Errorf("go list printed %d packages, want at least 50", len(packages))
	}
	figure := fmt.Sprintf("%d packages, all pinned and present", len(packages))
	sums := map[string]int{}
	for _, name := range []string{"a", "another place with a longer name"} {
		sums[buildIn(t, root, filepath.Join(t.TempDir(), name), offline)]++
	}
	if len(sums) != 1 {
		t.Errorf("the hashes of two builds are %v, want one hash", sums)
	}
	if size == scenario.Fast {
		return figure + "; two clean builds are the same"
	}
	// Verification needs all modules, including those that no build uses and that are missing on a new machine.
	goTool(t, root, []string{"GOWORK=off"}, "mod", "download")
	if out := goTool(t, root, offline, "mod", "verify"); !strings.Contains(out, "all modules verified") {
		t.Errorf("go mod verify printed %s, want all modules verified", out)
	}
	return figure + ", verified; two clean builds are the same; " + startWithoutNetwork(t)
}

func goTool(t *testing.T, dir string, env []string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", args[0], err, out)
	}
	return string(out)
}

// buildIn copies the source to another directory and builds it there with an empty cache. It returns the hash of the
// program.
func buildIn(t *testing.T, root, dir string, env []string) string {
	t.Helper()
	copySource(t, root, dir)
	program := filepath.Join(dir, "fairlead")
	env = append(env, "GOCACHE="+filepath.Join(t.TempDir(), "cache"))
	goTool(t, dir, env, "build", "-trimpath", "-buildvcs=false", "-tags", "grpcnotrace", "-ldflags", "-s -w", "-o", program, "./cmd/fairlead")
	data, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", sha256.Sum256(data))
}

// copySource copies the files that a build reads: the module, the packages, and the built dashboard.
func copySource(t *testing.T, root, dir string) {
	t.Helper()
	for _, name := range []string{"cmd", "docs", "internal", "web/stub"} {
		if err := os.CopyFS(filepath.Join(dir, name), os.DirFS(filepath.Join(root, name))); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"go.mod", "go.sum", "web/embed.go"} {
		data, err := os.ReadFile(filepath.Join(root, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), data, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// startWithoutNetwork starts the program without any network.
func startWithoutNetwork(t *testing.T) string {
	t.Helper()
	unshare, err := exec.LookPath("unshare")
	if err != nil || exec.CommandContext(t.Context(), unshare, "-rn", "true").Run() != nil {
		return "start without a network NOT tested: namespaces are not permitted"
	}
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), unshare, "-rn", "timeout", "10", harness.Binary(t), "serve", "--listen", "127.0.0.1:0", "--data-dir", filepath.Join(dir, "data"))
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}
	out, _ := cmd.CombinedOutput() // the error is ignored: timeout kills the program
	if !strings.Contains(string(out), `"msg":"ready"`) {
		t.Errorf("the gateway did not start without a network: %s", scenario.Clip(out))
	}
	return "starts without a network"
}
