// Package release tests the files that scripts/release.sh has built: archives, packages, checksums, bills of materials and the
// Homebrew cask. Its tests are skipped unless FAIRLEAD_RELEASE names the folder.
package release

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"fairlead.dev/test/harness"
)

// folder is a built release.
type folder struct {
	path    string
	version string
}

func open(t *testing.T) folder {
	t.Helper()
	path := os.Getenv("FAIRLEAD_RELEASE")
	if path == "" {
		t.Skip("FAIRLEAD_RELEASE is not set: make release-snapshot builds a release and runs this test")
	}
	data, err := os.ReadFile(filepath.Join(path, "metadata.json"))
	if err != nil {
		t.Fatal(err)
	}
	var metadata struct {
		Version string `json:"version"`
	}
	if err := json.Unmarshal(data, &metadata); err != nil {
		t.Fatal(err)
	}
	return folder{path, metadata.Version}
}

func (f folder) read(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(f.path, name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// name returns the name of a release file for a system and architecture, without the extension.
func (f folder) name(system, arch string) string {
	return "fairlead_" + f.version + "_" + system + "_" + arch
}

// checksums returns the SHA-256 of each file, by name.
func (f folder) checksums(t *testing.T) map[string]string {
	t.Helper()
	sums := map[string]string{}
	for line := range strings.Lines(string(f.read(t, "checksums.txt"))) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		sums[name] = sum
	}
	return sums
}

func TestReleaseIsCompleteAndHasChecksums(t *testing.T) {
	f := open(t)
	var want []string
	for _, arch := range []string{"amd64", "arm64"} {
		want = append(want,
			f.name("linux", arch)+".tar.gz", f.name("darwin", arch)+".tar.gz", f.name("windows", arch)+".zip",
			f.name("linux", arch)+".deb", f.name("linux", arch)+".rpm",
			f.name("linux", arch)+".cdx.json", f.name("darwin", arch)+".cdx.json", f.name("windows", arch)+".cdx.json",
		)
	}
	sums := f.checksums(t)
	for _, name := range want {
		sum := sha256.Sum256(f.read(t, name))
		if sums[name] != hex.EncodeToString(sum[:]) {
			t.Errorf("%s has a different checksum than checksums.txt", name)
		}
		delete(sums, name)
	}
	for name := range sums {
		t.Errorf("checksums.txt lists the unexpected file %s", name)
	}
}

// unpack extracts the archive for this machine into an empty folder.
func (f folder) unpack(t *testing.T) (dir string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the archive for Windows has another format")
	}
	unzipped, err := gzip.NewReader(bytes.NewReader(f.read(t, f.name(runtime.GOOS, runtime.GOARCH)+".tar.gz")))
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	for archive := tar.NewReader(unzipped); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return dir
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, filepath.FromSlash(header.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, header.FileInfo().Mode()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestArchiveServesWithoutGoAndNode(t *testing.T) {
	f := open(t)
	dir := f.unpack(t)
	for _, name := range []string{"LICENSE", "README.md", "completions/fairlead.bash", "completions/fairlead.zsh", "completions/fairlead.fish"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		} else if info.Size() == 0 {
			t.Errorf("%s is empty", name)
		}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	g := harness.Start(t, harness.Options{
		Binary: filepath.Join(dir, "fairlead"), Listen: address, Env: []string{"PATH=/nowhere", "FAIRLEAD_LISTEN=" + address},
	})
	out, _, _ := g.CLI(t, "version", "--json")
	var version struct{ Version, Commit, Modules string }
	if err := json.Unmarshal([]byte(out), &version); err != nil || version.Version != f.version || len(version.Commit) != 12 || len(version.Modules) != 64 {
		t.Errorf("fairlead version printed %s (%v), want %s, a commit of 12 digits and a hash", out, err, f.version)
	}
	if out, errs, code := g.CLI(t, "doctor"); code != 0 {
		t.Errorf("doctor: exit code %d\n%s%s", code, out, errs)
	}
	if page := g.Call(t, harness.Request{Method: "GET", Path: "/"}); !strings.Contains(string(page.Body), "/assets/") {
		t.Errorf("the program of the archive does not serve the dashboard: %s", page.Body)
	}
}

func TestPackageHasAValidUnitAndAccount(t *testing.T) {
	f := open(t)
	for _, tool := range []string{"dpkg-deb", "systemd-analyze", "systemd-sysusers"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip("this machine has no " + tool)
		}
	}
	dir := t.TempDir()
	run := func(name string, args ...string) string {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	run("dpkg-deb", "-x", filepath.Join(f.path, f.name("linux", runtime.GOARCH)+".deb"), dir)
	if out := run(filepath.Join(dir, "usr/bin/fairlead"), "version"); !strings.Contains(out, f.version) {
		t.Errorf("the packaged program has the version %s, want %s", out, f.version)
	}
	run("systemd-sysusers", "--root="+dir, "fairlead.conf")
	accounts, err := os.ReadFile(filepath.Join(dir, "etc/passwd"))
	if err != nil || !regexp.MustCompile(`(?m)^fairlead:x:\d+:\d+:[^:]*:/var/lib/fairlead:\S*nologin$`).Match(accounts) {
		t.Errorf("the accounts are %s (%v), want fairlead with the home /var/lib/fairlead and nologin", accounts, err)
	}
	unit, err := os.ReadFile(filepath.Join(dir, "usr/lib/systemd/system/fairlead.service"))
	if err != nil || !strings.Contains(string(unit), "ExecStart=/usr/bin/fairlead serve\n") {
		t.Fatalf("the unit does not start the packaged binary: %v\n%s", err, unit)
	}
	// systemd-analyze requires that the binary exists, so verify a copy of the unit that names the unpacked binary.
	verified := filepath.Join(dir, "fairlead.service")
	if err := os.WriteFile(verified, []byte(strings.ReplaceAll(string(unit), "/usr/bin/fairlead", dir+"/usr/bin/fairlead")), 0o600); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(run("systemd-analyze", "verify", "--man=no", verified)) {
		if strings.Contains(line, "fairlead.service") {
			t.Error(line)
		}
	}
}

func TestBillsListModulesAndPackages(t *testing.T) {
	f := open(t)
	for _, system := range []string{"linux", "darwin", "windows"} {
		bill := string(f.read(t, f.name(system, runtime.GOARCH)+".cdx.json"))
		for _, part := range []string{`"pkg:golang/modernc.org/sqlite@v`, `"pkg:npm/react@`, `"version": "` + f.version + `"`, `"alg": "SHA-256"`} {
			if !strings.Contains(bill, part) {
				t.Errorf("the bill of materials for %s lacks %s", system, part)
			}
		}
		if strings.Contains(bill, "pkg:npm/vite@") {
			t.Errorf("the bill of materials for %s lists the build tool vite", system)
		}
	}
}

func TestCaskNamesTheArchives(t *testing.T) {
	f := open(t)
	cask := string(f.read(t, "homebrew/Casks/fairlead.rb"))
	sums := f.checksums(t)
	for _, system := range []string{"linux", "darwin"} {
		for _, arch := range []string{"amd64", "arm64"} {
			name := strings.ReplaceAll(f.name(system, arch), f.version, "#{version}") + ".tar.gz"
			if !strings.Contains(cask, "/"+name+`"`) || !strings.Contains(cask, sums[f.name(system, arch)+".tar.gz"]) {
				t.Errorf("the cask lacks the archive %s or its checksum:\n%s", name, cask)
			}
		}
	}
}
