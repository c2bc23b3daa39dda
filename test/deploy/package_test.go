package deploy

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// runScript runs a maintainer script with fake system programs and returns the command lines with which the script calls them.
func runScript(t *testing.T, name, argument string, systemd bool, programs ...string) []string {
	t.Helper()
	dir := t.TempDir()
	record := filepath.Join(dir, "calls")
	for _, program := range programs {
		text := fmt.Sprintf("#!/bin/sh\necho %s \"$@\" >>%s\n[ %s != id ] && [ %s != systemctl ]\n", program, record, program, program)
		if err := os.WriteFile(filepath.Join(dir, program), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	running := filepath.Join(dir, "running")
	if systemd {
		if err := os.Mkdir(running, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	script := filepath.Join(dir, "script")
	if err := os.WriteFile(script, []byte(strings.ReplaceAll(read(t, "deploy/package/"+name), "/run/systemd/system", running)), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "/bin/sh", script, argument)
	cmd.Env = []string{"PATH=" + dir}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", name, argument, err, out)
	}
	calls, err := os.ReadFile(record)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return strings.FieldsFunc(string(calls), func(r rune) bool { return r == '\n' })
}

// A failing systemctl must not fail the installation, so the fake one always fails.
func TestMaintainerScripts(t *testing.T) {
	t.Parallel()
	const reload, restart, stop = "systemctl daemon-reload", "systemctl try-restart fairlead.service", "systemctl disable --now fairlead.service"
	all := []string{"systemctl", "systemd-sysusers", "id", "useradd"}
	for name, c := range map[string]struct {
		script, argument string
		systemd          bool
		programs         []string
		want             []string
	}{
		"install":                {"postinstall.sh", "configure", true, all, []string{"systemd-sysusers fairlead.conf", reload, restart}},
		"install in a container": {"postinstall.sh", "configure", false, all, []string{"systemd-sysusers fairlead.conf"}},
		"install without systemd": {"postinstall.sh", "1", false, []string{"id", "useradd"}, []string{
			"id fairlead", "useradd --system --user-group --home-dir /var/lib/fairlead --no-create-home --shell /usr/sbin/nologin fairlead",
		}},
		"remove deb":              {"preremove.sh", "remove", true, all, []string{stop}},
		"remove rpm":              {"preremove.sh", "0", true, all, []string{stop}},
		"upgrade deb":             {"preremove.sh", "upgrade", true, all, []string{}},
		"upgrade rpm":             {"preremove.sh", "1", true, all, []string{}},
		"removed":                 {"postremove.sh", "remove", true, all, []string{reload}},
		"removed without systemd": {"postremove.sh", "remove", false, all, []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, runScript(t, c.script, c.argument, c.systemd, c.programs...)); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
		})
	}
}
