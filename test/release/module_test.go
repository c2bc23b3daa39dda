package release

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fairlead.dev/test/harness"
)

// TestModuleInstallsWithGo runs `go install` with the module files of the release as the proxy, and serves with the result. Other
// modules come from the module cache of this machine.
func TestModuleInstallsWithGo(t *testing.T) {
	f := open(t)
	run := func(env []string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir, cmd.Env = t.TempDir(), append(os.Environ(), env...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return strings.TrimSpace(string(out))
	}
	cache, proxies := run(nil, "env", "GOMODCACHE"), run(nil, "env", "GOPROXY")
	dir := t.TempDir()
	run([]string{
		"GOWORK=off", "CGO_ENABLED=0", "GOFLAGS=-trimpath -modcacherw", "GOBIN=" + dir, "GOMODCACHE=" + t.TempDir(), "GONOSUMDB=fairlead.dev",
		"GOPROXY=file://" + filepath.Join(f.path, "goproxy") + ",file://" + filepath.Join(cache, "cache", "download") + "," + proxies,
	}, "install", "fairlead.dev/cmd/fairlead@v"+f.version)
	g := harness.Start(t, harness.Options{Binary: filepath.Join(dir, "fairlead"), Env: []string{"PATH=/nowhere"}})
	out, _, _ := g.CLI(t, "version", "--json")
	var version struct{ Version string }
	if err := json.Unmarshal([]byte(out), &version); err != nil || version.Version != f.version {
		t.Errorf("fairlead version printed %s (%v), want %s", out, err, f.version)
	}
	if page := g.Call(t, harness.Request{Method: "GET", Path: "/"}); !strings.Contains(string(page.Body), "/assets/") {
		t.Errorf("the installed program does not serve the dashboard: %s", page.Body)
	}
}
