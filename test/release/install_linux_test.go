package release

import (
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Two files of the installed package, and the data folder of the service. The folder is not part of the package.
const (
	program  = "/usr/bin/fairlead"
	unitFile = "/usr/lib/systemd/system/fairlead.service"
	state    = "/var/lib/fairlead"
)

// TestPackageInstallsServesAndPurges installs the package on this machine. It needs root and dpkg, and runs only with make
// release-install. It runs the command line of the unit as the account of the package, because systemd does not run everywhere.
func TestPackageInstallsServesAndPurges(t *testing.T) {
	if os.Getenv("FAIRLEAD_RELEASE_INSTALL") == "" {
		t.Skip("FAIRLEAD_RELEASE_INSTALL is not set: make release-install installs the package on this machine")
	}
	f := open(t)
	run := func(name string, args ...string) string {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	for _, path := range []string{program, state, "/etc/fairlead"} {
		if _, err := os.Lstat(path); err == nil {
			t.Fatalf("%s exists: the test would replace an installation", path)
		}
	}
	run("dpkg", "-i", filepath.Join(f.path, f.name("linux", runtime.GOARCH)+".deb"))
	t.Cleanup(func() {
		_ = exec.Command("dpkg", "--purge", "fairlead").Run()
		_ = exec.Command("userdel", "fairlead").Run()
		_ = os.RemoveAll(state)
	})
	account, err := user.Lookup("fairlead")
	if err != nil || account.HomeDir != state {
		t.Fatalf("the account is %+v (%v), want the home directory %s", account, err, state)
	}
	unit, err := os.ReadFile(unitFile)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := exec.LookPath("systemd-analyze"); err == nil {
		for line := range strings.Lines(run("systemd-analyze", "verify", "--man=no", unitFile)) {
			if strings.Contains(line, "fairlead") {
				t.Error(line)
			}
		}
	}
	uid, _ := strconv.ParseUint(account.Uid, 10, 32)
	gid, _ := strconv.ParseUint(account.Gid, 10, 32)
	if err := os.Mkdir(state, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(state, int(uid), int(gid)); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	asAccount := func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
		cmd.Dir = "/"
		cmd.Env = []string{"PATH=/usr/sbin:/usr/bin", "HOME=" + state, "USER=fairlead", "STATE_DIRECTORY=" + state, "FAIRLEAD_LISTEN=" + address}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
		return cmd
	}
	command := regexp.MustCompile(`(?m)^ExecStart=(.+)$`).FindStringSubmatch(string(unit))[1]
	service := asAccount(strings.Fields(command)...)
	var log strings.Builder
	service.Stdout, service.Stderr = &log, &log
	if err := service.Start(); err != nil {
		t.Fatal(err)
	}
	ready := false
	for begun := time.Now(); !ready && time.Since(begun) < time.Minute; time.Sleep(50 * time.Millisecond) {
		if resp, err := http.Get("http://" + address + "/readyz"); err == nil {
			ready = resp.StatusCode == http.StatusOK
			resp.Body.Close()
		}
	}
	doctor, doctorErr := asAccount(program, "--data-dir", state, "doctor").CombinedOutput()
	_ = service.Process.Signal(syscall.SIGTERM)
	if err := service.Wait(); !ready || err != nil {
		t.Errorf("the service was ready: %v, and exited with %v; want true and no error\n%s", ready, err, log.String())
	}
	if doctorErr != nil {
		t.Errorf("doctor: %v\n%s", doctorErr, doctor)
	}
	run("dpkg", "--purge", "fairlead")
	for _, path := range []string{program, unitFile, "/usr/lib/sysusers.d/fairlead.conf", "/etc/fairlead"} {
		if _, err := os.Lstat(path); err == nil {
			t.Errorf("%s remains after the package was purged", path)
		}
	}
	if _, err := os.Stat(state); err != nil {
		t.Errorf("purging the package deleted the data of the gateway: %v", err)
	}
}
