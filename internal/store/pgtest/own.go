//go:build unix

package pgtest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// Owned is a PostgreSQL server for one test, which can be stopped, killed and restarted with its data.
type Owned struct {
	bin, dir string
	port     int
	cred     *syscall.Credential

	running *os.Process
	done    chan struct{} // closed when the server has ended
}

// Own prepares a server; Start starts it. The server is removed at the end of the test. Without PostgreSQL, the test
// fails in CI and is skipped elsewhere.
func Own(t testing.TB) *Owned {
	t.Helper()
	bin, err := binaries()
	if errors.Is(err, errMissing) && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	check(t, err)
	dir, err := os.MkdirTemp("", "pgtest")
	check(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	cred, err := owner(dir)
	check(t, err)
	out, err := command(cred, dir, filepath.Join(bin, "initdb"), "-D", filepath.Join(dir, "data"), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync", "--locale=C.UTF-8").CombinedOutput()
	if err != nil {
		t.Fatalf("initdb: %v: %s", err, out)
	}
	port, err := freePort()
	check(t, err)
	o := &Owned{bin: bin, dir: dir, port: port, cred: cred}
	t.Cleanup(func() {
		if o.running != nil {
			o.Signal(t, syscall.SIGCONT)
			o.Stop(t)
		}
	})
	return o
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Address returns the server's TCP address.
func (o *Owned) Address() string { return "127.0.0.1:" + strconv.Itoa(o.port) }

// DSN returns the URL of the server's database.
func (o *Owned) DSN() string { return DSN(o.Address()) }

// DSN returns the database URL of an owned server at the given TCP address.
func DSN(address string) string {
	return "postgres://postgres@" + address + "/postgres?sslmode=disable"
}

// Start starts the server and waits until it accepts connections.
func (o *Owned) Start(t testing.TB) {
	t.Helper()
	cmd := command(o.cred, o.dir, filepath.Join(o.bin, "postgres"), "-D", filepath.Join(o.dir, "data"), "-p", strconv.Itoa(o.port), "-h", "127.0.0.1", "-k", o.dir,
		"-c", "fsync=off", "-c", "max_connections=200")
	cmd.SysProcAttr.Setpgid = true // with its own process group, a signal reaches all processes of the server
	begun := make(chan error)
	done := make(chan struct{})
	go func() {
		runtime.LockOSThread() // Linux ends the server when the thread that started it exits
		defer runtime.UnlockOSThread()
		defer close(done)
		err := cmd.Start()
		begun <- err
		if err == nil {
			_ = cmd.Wait() // ignore the exit status, because the test ends the server
		}
	}()
	check(t, <-begun)
	o.running, o.done = cmd.Process, done
	check(t, (&server{dsn: o.DSN()}).wait())
}

// Stop shuts the server down without waiting for clients.
func (o *Owned) Stop(t testing.TB) {
	t.Helper()
	check(t, o.running.Signal(syscall.SIGINT))
	select {
	case <-o.done:
	case <-time.After(30 * time.Second):
		t.Error("PostgreSQL did not stop within 30 s")
		o.Signal(t, syscall.SIGKILL)
		<-o.done
	}
	o.running = nil
}

// Signal sends a signal to all processes of the server. SIGSTOP suspends it, SIGCONT resumes it.
func (o *Owned) Signal(t testing.TB, s syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(-o.running.Pid, s); err != nil {
		t.Error(fmt.Errorf("signal PostgreSQL: %w", err))
	}
}
