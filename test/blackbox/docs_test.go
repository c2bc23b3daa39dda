package blackbox

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"fairlead.dev/test/harness"
)

var shellExample = regexp.MustCompile("(?ms)^```sh\n(.*?)^```$")

// TestQuickstartExamplesRun runs the shell examples of the first guide in order, in one shell, as a reader would.
func TestQuickstartExamplesRun(t *testing.T) {
	t.Parallel()
	root, err := harness.Root()
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(root, "docs", "guides", "quickstart.md"))
	if err != nil {
		t.Fatal(err)
	}
	g := harness.Start(t, harness.Options{})
	script := "set -euo pipefail\n"
	examples := shellExample.FindAllStringSubmatch(string(page), -1)
	for _, m := range examples {
		if strings.TrimSpace(m[1]) != "fairlead serve" { // the test has already started the gateway
			script += m[1]
		}
	}
	script = strings.NewReplacer("http://127.0.0.1:8080", g.URL(), "curl ", "curl -sS --fail-with-body ").Replace(script)
	bin, home := t.TempDir(), t.TempDir()
	if err := os.Symlink(harness.Binary(t), filepath.Join(bin, "fairlead")); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "bash", "-c", script)
	cmd.Dir = home
	cmd.Env = []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + home, "FAIRLEAD_DATA_DIR=" + g.DataDir, "FAIRLEAD_DETECT=false"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("run the examples: %v\n%s\n%s", err, script, out)
	}
	for _, want := range []string{"X-Fairlead-Model: ", `"type":"message"`, `"object":"response"`, "data: [DONE]"} {
		if !strings.Contains(strings.ReplaceAll(string(out), `": "`, `":"`), want) {
			t.Errorf("the output lacks %s:\n%s", want, out)
		}
	}
	if len(examples) < 5 {
		t.Errorf("the guide has %d examples, want at least 5", len(examples))
	}
}

// The dashboard handles all unknown paths. The paths of the documentation must not reach the dashboard.
func TestDocumentationIsServed(t *testing.T) {
	t.Parallel()
	g := harness.Start(t, harness.Options{})
	for path, want := range map[string]string{
		"/docs": "<title>Fairlead documentation</title>", "/docs/": "<title>Fairlead documentation</title>", "/docs/errors": `id="NO_ROUTE"`,
		"/docs/guides/agents.md": "# Connect a coding agent", "/llms.txt": "# Fairlead documentation", "/docs/search?q=nginx": "reverse-proxy#nginx",
	} {
		a := wantOK(t, g.Call(t, harness.Request{Method: http.MethodGet, Path: path}))
		if !strings.Contains(string(a.Body), want) || a.Header.Get("Content-Security-Policy") == "" {
			t.Errorf("%s must contain %s and have a Content-Security-Policy: %v\n%.300s", path, want, a.Header, a.Body)
		}
	}
	wantError(t, g.Call(t, harness.Request{Method: http.MethodPost, Path: "/docs"}), http.StatusNotFound, "NOT_FOUND")
}
