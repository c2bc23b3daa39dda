package deploy

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"
)

// releaseConfig is the part of .goreleaser.yaml that the tests check.
type releaseConfig struct {
	Dist   string
	Builds []struct {
		Main                              string
		Env, Goos, Goarch, Flags, Ldflags []string
	}
	Archives []struct {
		Files []yaml.Node
	}
	Nfpms []struct {
		Bindir   string
		Scripts  map[string]string
		Contents []struct{ Src, Dst string }
	}
	Casks []struct {
		SkipUpload  bool `yaml:"skip_upload"`
		Completions map[string]string
	} `yaml:"homebrew_casks"`
}

func release(t *testing.T) releaseConfig {
	t.Helper()
	var config releaseConfig
	if err := yaml.Unmarshal([]byte(read(t, ".goreleaser.yaml")), &config); err != nil {
		t.Fatal(err)
	}
	if len(config.Builds) != 1 || len(config.Archives) != 1 || len(config.Nfpms) != 1 || len(config.Casks) != 1 {
		t.Fatalf(".goreleaser.yaml must have one build, archive, package and cask: %+v", config)
	}
	return config
}

// madeFiles is the folder into which scripts/release-files.sh writes files of a release.
const madeFiles = "bin/release-files/"

func TestReleaseIsBuiltLikeTheImage(t *testing.T) {
	t.Parallel()
	build := release(t).Builds[0]
	if want := []string{"linux", "darwin", "windows"}; !slices.Equal(build.Goos, want) {
		t.Errorf("goos = %v, want %v", build.Goos, want)
	}
	if want := []string{"amd64", "arm64"}; !slices.Equal(build.Goarch, want) {
		t.Errorf("goarch = %v, want %v", build.Goarch, want)
	}
	line := strings.Join(slices.Concat(build.Env, build.Flags, build.Ldflags, []string{build.Main}), " ")
	for _, part := range []string{"CGO_ENABLED=0", "-trimpath", "-buildvcs=false", "-s -w -X main.version=", "-X main.commit=", "./cmd/fairlead"} {
		if !strings.Contains(line, part) {
			t.Errorf("the release build lacks %s", part)
		}
	}
}

func TestReleaseContainsFilesThatExist(t *testing.T) {
	t.Parallel()
	config := release(t)
	maker := read(t, "scripts", "release-files.sh")
	exists := func(path string) {
		t.Helper()
		if name, made := strings.CutPrefix(path, madeFiles); !made {
			read(t, path)
		} else if stem := strings.TrimSuffix(name, filepath.Ext(name)); !strings.Contains(maker, stem) {
			t.Errorf("release-files.sh does not write %s", path)
		}
	}
	var sources []string
	for _, file := range config.Archives[0].Files {
		var entry struct{ Src string }
		if file.Decode(&entry) != nil {
			entry.Src = file.Value
		}
		sources = append(sources, strings.TrimSuffix(entry.Src, "*"))
	}
	for _, content := range config.Nfpms[0].Contents {
		sources = append(sources, content.Src)
	}
	for _, script := range config.Nfpms[0].Scripts {
		sources = append(sources, script)
	}
	for _, source := range sources {
		if source != "" && !strings.HasSuffix(source, "/") {
			exists(source)
		}
	}
	for shell, path := range config.Casks[0].Completions {
		if want := "completions/fairlead." + shell; path != want {
			t.Errorf("the cask installs the completion %s, want %s as in the archive", path, want)
		}
	}
	if !config.Casks[0].SkipUpload {
		t.Error("skip_upload is false, so a build would push the cask")
	}
}

// The unit contains the path of a manually installed binary. release-files.sh replaces the path for packages.
func TestPackagedUnitRunsThePackagedBinary(t *testing.T) {
	t.Parallel()
	from, to := "/usr/local/bin/", release(t).Nfpms[0].Bindir+"/"
	expression := "s," + from + "," + to + ","
	if !strings.Contains(read(t, "scripts", "release-files.sh"), "sed '"+expression+"' deploy/systemd/fairlead.service") {
		t.Fatalf("release-files.sh does not apply %s", expression)
	}
	out, err := exec.CommandContext(t.Context(), "sed", expression, filepath.Join(root(t), "deploy/systemd/fairlead.service")).Output()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(out), from) || !strings.Contains(string(out), "ExecStart="+to+"fairlead serve\n") {
		t.Errorf("the packaged unit must start %sfairlead and must not mention %s:\n%s", to, from, out)
	}
}

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
