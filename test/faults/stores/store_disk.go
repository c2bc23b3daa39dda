package stores

import (
	"bufio"
	"fmt"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"fairlead.dev/test/faults/scenario"
	"fairlead.dev/test/harness"
)

// diskFails is fault case F06: the operating system fails writes or syncs of a running gateway, for the journal and the database,
// and later accepts them again. strace injects the failures into system calls. Unlike a small file system, this needs
// no additional privileges.
func diskFails(t *testing.T, size scenario.Size) string {
	var figures []string
	for _, fault := range []struct {
		name, inject string
		config       string
	}{
		{"ENOSPC on write", "pwrite64:error=ENOSPC", ""},
		{"EIO on write", "pwrite64:error=EIO", ""},
		{"EIO on sync, strict", "fsync:error=EIO", "spool: {strict: true}"},
	} {
		figures = append(figures, fault.name+": "+failingDisk(t, size, fault.name, fault.inject, fault.config))
	}
	return strings.Join(figures, "; ")
}

func failingDisk(t *testing.T, size scenario.Size, name, inject, config string) string {
	t.Helper()
	_, url := harness.Upstream(t)
	g := harness.Start(t, harness.Options{Config: harness.Config(t, []harness.Provider{{
		Name: "alpha", BaseURL: url, Models: []harness.Model{harness.Chat("m", 0.4, 1.6, 0.5)},
	}}, config)})
	k, reader := g.Key(t), g.Key(t, "--scopes", "read")
	var mu sync.Mutex
	var ids []string
	ask := func() int {
		a := g.Call(t, harness.Request{Key: k, Body: scenario.Chat("m")})
		if a.Status == http.StatusOK {
			mu.Lock()
			defer mu.Unlock()
			ids = append(ids, a.Header.Get("X-Request-Id"))
		}
		return a.Status
	}
	scenario.Together(4, size.Of(20, 200), func(int) {
		if status := ask(); status != http.StatusOK {
			t.Errorf("%s: status %d before the fault, want 200", name, status)
		}
	})

	restore := attachStrace(t, g, "-e", "trace="+strings.SplitN(inject, ":", 2)[0], "-e", "inject="+inject)
	within(t, 5*time.Second, "requests are rejected ("+name+")", func() bool { return ask() == http.StatusServiceUnavailable })
	during := len(ids)
	var refusals atomic.Int64
	scenario.Together(4, size.Of(20, 300), func(int) {
		a := g.Call(t, harness.Request{Key: k, Body: scenario.Chat("m")})
		scenario.WantError(t, name, a, http.StatusServiceUnavailable, "LEDGER_UNAVAILABLE")
		if a.Header.Get("Retry-After") == "" {
			t.Errorf("%s: the rejection has no Retry-After", name)
		}
		refusals.Add(1)
	})
	if status := readiness(t, g); status != http.StatusServiceUnavailable {
		t.Errorf("%s: readyz returned %d while requests are rejected, want 503", name, status)
	}
	if !strings.Contains(g.Log(), "entries cannot be written to disk") {
		t.Errorf("%s: the log does not contain the reason for the rejections", name)
	}
	if len(ids) != during {
		t.Errorf("%s: %d requests were served although their entries could not be stored", name, len(ids)-during)
	}
	restore()
	recovered := within(t, 10*time.Second, "requests are served again ("+name+")", func() bool { return ask() == http.StatusOK })
	scenario.Settled(t, g, reader)
	g.Kill(t) // acknowledged entries must survive without a clean shutdown
	g.Restart(t)
	scenario.Settled(t, g, reader)
	logged := map[string]int{}
	for _, r := range scenario.Export(t, g, reader) {
		logged[r.ID]++
	}
	wrong := 0
	for _, id := range ids {
		if logged[id] != 1 {
			wrong++
			t.Errorf("%s: the log has %d entries of the served request %s, want 1", name, logged[id], id)
		}
	}
	return fmt.Sprintf("%d rejected, %d of %d lost or doubled, recovered after %.1f s", refusals.Load(), wrong, len(ids), recovered.Seconds())
}

// attachStrace attaches strace to a running gateway and waits until it is attached. end detaches it.
func attachStrace(t testing.TB, g *harness.Gateway, options ...string) (end func()) {
	t.Helper()
	path, err := exec.LookPath("strace")
	if err != nil {
		t.Fatalf("this case needs strace; scripts/setup-test.sh installs it: %v", err)
	}
	cmd := exec.CommandContext(t.Context(), path, append(append([]string{"-f"}, options...), "-p", strconv.Itoa(g.PID(t)))...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // if killed, strace would leave the gateway stopped
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	attached, ended := make(chan string, 1), make(chan struct{})
	go func() {
		defer close(ended)
		lines := bufio.NewScanner(stderr)
		lines.Buffer(nil, 16<<20)
		for lines.Scan() {
			select {
			case attached <- lines.Text():
			default:
			}
		}
		_ = cmd.Wait() // the error is ignored: a signal ends the program
	}()
	if line := <-attached; !strings.Contains(line, "attached") {
		t.Fatalf("attach strace: %s", line)
	}
	once := sync.OnceFunc(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // strace may have ended with the gateway
		<-ended
	})
	t.Cleanup(once)
	return once
}

// manyWriters is fault case F08: a hundred clients write entries, users read pages, and commands write to the same file at the
// same time. No request fails because of a lock.
func manyWriters(t *testing.T, size scenario.Size) string {
	_, url := harness.Upstream(t)
	g := harness.Start(t, harness.Options{Config: harness.Config(t, []harness.Provider{{
		Name: "alpha", BaseURL: url, Models: []harness.Model{harness.Chat("m", 0.4, 1.6, 0.5)},
	}})})
	k, reader := g.Key(t), g.Key(t, "--scopes", "read")
	end := time.Now().Add(time.Duration(size.Of(3, 60)) * time.Second)
	var written, read, commands atomic.Int64
	var all sync.WaitGroup
	check := func(what string, status int, body []byte) {
		if status != http.StatusOK || strings.Contains(string(body), "locked") {
			t.Errorf("%s: status %d, want 200 and no lock error: %s", what, status, scenario.Clip(body))
		}
	}
	for range 100 {
		all.Go(func() {
			for time.Now().Before(end) && !t.Failed() {
				a := g.Call(t, harness.Request{Key: k, Body: scenario.Chat("m")})
				check("a request", a.Status, a.Body)
				written.Add(1)
			}
		})
	}
	pages := []string{"/requests?limit=50", "/requests?q=hello", "/requests?sort=cost", "/requests/count", "/stats/series?step=1h", "/keys"}
	for i := range 4 {
		all.Go(func() {
			for n := i; time.Now().Before(end) && !t.Failed(); n++ {
				a := g.Call(t, harness.Request{Method: http.MethodGet, Path: "/api/v1" + pages[n%len(pages)], Key: reader})
				if a.Status == http.StatusNotFound {
					continue
				}
				check("page "+pages[n%len(pages)], a.Status, a.Body)
				read.Add(1)
			}
		})
	}
	all.Go(func() {
		for time.Now().Before(end) {
			g.NewKey(t)
			commands.Add(1)
		}
	})
	all.Wait()
	scenario.Settled(t, g, reader)
	if log := strings.ToLower(g.Log()); strings.Contains(log, "locked") || strings.Contains(log, "busy") {
		t.Error("the log contains \"locked\" or \"busy\"")
	}
	if n := int64(len(scenario.Export(t, g, reader))); n != written.Load() {
		t.Errorf("the log has %d entries of %d requests", n, written.Load())
	}
	return fmt.Sprintf("%d requests, %d pages, %d commands: no lock", written.Load(), read.Load(), commands.Load())
}
