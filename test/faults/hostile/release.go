package hostile

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io/fs"
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
	module, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(module, []byte("replace ")) {
		t.Error("go.mod contains a replace directive")
	}
	// Nothing may be downloaded, and go.mod and go.sum must be complete.
	offline := []string{"GOWORK=off", "GOPROXY=off", "GOFLAGS=-mod=readonly", "GOTOOLCHAIN=local", "CGO_ENABLED=0"}
	packages := strings.Fields(goTool(t, root, offline, "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", "./cmd/fairlead"))
	if len(packages) < 50 {
		t.Errorf("go list printed %d packages, want at least 50", len(packages))
	}
	figure := fmt.Sprintf("%d packages, all pinned and present", len(packages))
	if size == scenario.Fast {
		return figure
	}
	// Verification needs all modules, including those that no build uses and that are missing on a new machine.
	goTool(t, root, []string{"GOWORK=off"}, "mod", "download")
	if out := goTool(t, root, offline, "mod", "verify"); !strings.Contains(out, "all modules verified") {
		t.Errorf("go mod verify printed %s, want all modules verified", out)
	}
	sums := map[string]int{}
	for _, name := range []string{"a", "another place with a longer name"} {
		sums[buildIn(t, root, filepath.Join(t.TempDir(), name), offline)]++
	}
	if len(sums) != 1 {
		t.Errorf("the hashes of two builds are %v, want one hash", sums)
	}
	return figure + ", verified; two clean builds are the same; " + vulnerabilities(t, root) + "; " + startWithoutNetwork(t)
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
	goTool(t, dir, env, "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", program, "./cmd/fairlead")
	data, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", sha256.Sum256(data))
}

// copySource copies the files that a build reads: the module, the packages, and the built dashboard.
func copySource(t *testing.T, root, dir string) {
	t.Helper()
	for _, name := range []string{"go.mod", "go.sum", "cmd", "docs", "internal", "web/embed.go", "web/stub"} {
		err := filepath.WalkDir(filepath.Join(root, name), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			at, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, at)), 0o755); err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(dir, at), data, 0o644)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// vulnerabilities runs govulncheck if it is installed and its database can be reached. Otherwise it reports that the
// check did not run.
func vulnerabilities(t *testing.T, root string) string {
	t.Helper()
	tool, err := exec.LookPath("govulncheck")
	if err != nil {
		tool = filepath.Join(root, "bin", "tools", "govulncheck")
		if _, err := os.Stat(tool); err != nil {
			return "govulncheck NOT run: it is not installed"
		}
	}
	cmd := exec.CommandContext(t.Context(), tool, "./cmd/fairlead")
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	switch text := string(out); {
	case err == nil:
		return "govulncheck clean"
	case strings.Contains(text, "Vulnerability #"):
		t.Errorf("govulncheck found vulnerabilities: %s", text)
		return "govulncheck found vulnerabilities"
	default:
		last := strings.Split(strings.TrimSpace(text), "\n")
		return "govulncheck NOT run: " + last[len(last)-1]
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
