package harness

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// stopTime is the time that a gateway may take to drain and exit: its own limit, plus a margin for a busy machine.
const stopTime = 45 * time.Second

// process is one run of the binary.
type process struct {
	cmd      *exec.Cmd
	ready    chan string   // receives the listen address once
	done     chan struct{} // closed when the process has ended and all its output is read
	err      error         // exit error; valid after done is closed
	stopping atomic.Bool   // whether a stop signal was sent
}

// start runs the binary and waits until it serves.
func (g *Gateway) start(t testing.TB) {
	t.Helper()
	g.mu.Lock()
	if g.address == "" && g.options.Early {
		g.address = FreeAddress(t) // the gateway logs its address only when it is ready
	}
	listen := g.address
	g.mu.Unlock()
	if listen == "" {
		listen = "127.0.0.1:0"
	}
	args := append([]string{"serve", "--listen", listen}, g.common()...)
	p, err := g.launch(append(args, g.options.Args...))
	if err != nil {
		t.Fatalf("start the gateway: %v", err)
	}
	g.mu.Lock()
	g.process = p
	g.mu.Unlock()
	if g.options.Early {
		g.await(t, p, "/livez")
		return
	}
	select {
	case address := <-p.ready:
		g.mu.Lock()
		g.address = address
		g.mu.Unlock()
	case <-p.done:
		t.Fatalf("the gateway exited before it was ready: %v", p.err)
	case <-time.After(patience):
		t.Fatalf("the gateway was not ready within %s", patience)
	}
	g.await(t, p, "/readyz")
}

// common returns the flags that serve and the other commands share.
func (g *Gateway) common() []string {
	flags := []string{"--data-dir", g.DataDir}
	if g.config != "" {
		flags = append(flags, "--config", g.config)
	}
	return flags
}

// environment returns the few environment variables that every process needs, and those in the options. It does not inherit provider keys
// or settings.
func (g *Gateway) environment() []string {
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + g.home, "TMPDIR=" + os.TempDir(), "FAIRLEAD_DETECT=false"}
	return append(env, g.options.Env...)
}

// launch runs the binary and reads its output.
func (g *Gateway) launch(args []string) (*process, error) {
	cmd := exec.Command(g.binary, args...)
	cmd.Dir, cmd.Env = g.home, g.environment()
	cmd.SysProcAttr = dieWithParent()
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	stdout, started, err := g.stdout(cmd)
	if err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, ready: make(chan string, 1), done: make(chan struct{})}
	begun := make(chan error)
	go func() {
		// The kernel kills the child when the thread that started it ends, so this thread must run as long as the child.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started()
		begun <- err
		if err != nil {
			return
		}
		var reading sync.WaitGroup
		for _, r := range []io.Reader{stderr, stdout} {
			reading.Go(func() { g.follow(r, p) })
		}
		reading.Wait()
		p.err = cmd.Wait()
		close(p.done)
	}()
	return p, <-begun
}

// stdout returns a reader of the process's standard output. The caller calls started when the process is running.
func (g *Gateway) stdout(cmd *exec.Cmd) (r io.Reader, started func(), err error) {
	if !g.options.Terminal {
		r, err = cmd.StdoutPipe()
		return r, func() {}, err
	}
	ours, theirs, err := openTerminal()
	if err != nil {
		return nil, nil, err
	}
	cmd.Stdout = theirs
	return ours, func() { _ = theirs.Close() }, nil
}

// follow stores every line and finds the line with the listen address of the gateway.
func (g *Gateway) follow(r io.Reader, p *process) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		line := strings.TrimRight(lines.Text(), "\r")
		g.log.add(line)
		if address := listening(line); address != "" {
			select {
			case p.ready <- address:
			default: // the address was already reported in another form
			}
		}
	}
	_, _ = io.Copy(io.Discard, r) // an extremely long line must not block the process
}

// apiLine matches the line with the address in the text that the gateway prints on a terminal when it starts.
var apiLine = regexp.MustCompile(`^\s+API\s+https?://(\S+)/proxy/v1`)

func listening(line string) string {
	if match := apiLine.FindStringSubmatch(line); match != nil {
		return match[1]
	}
	var entry struct{ Msg, Listen string }
	if json.Unmarshal([]byte(line), &entry) == nil && entry.Msg == "ready" {
		return entry.Listen
	}
	return ""
}

// await waits until a request to the path returns status 200.
func (g *Gateway) await(t testing.TB, p *process, path string) {
	t.Helper()
	Eventually(t, path+" returns 200", func() bool {
		select {
		case <-p.done:
			t.Fatalf("the gateway exited: %v", p.err)
		default:
		}
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, g.URL()+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err != nil {
			return false
		}
		defer resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
}

// Stop sends the stop signal unless it was sent before. It expects that the process drains and exits with 0.
func (g *Gateway) Stop(t testing.TB) {
	t.Helper()
	p := g.running(t)
	if !p.stopping.Load() { // a second signal would prevent draining
		g.Signal(t, syscall.SIGTERM)
	}
	select {
	case <-p.done:
	case <-time.After(stopTime):
		t.Fatalf("the gateway did not exit within %s of SIGTERM", stopTime)
	}
	if p.err != nil {
		t.Errorf("the gateway exited with %v, want exit code 0", p.err)
	}
}

// Kill ends the process with SIGKILL.
func (g *Gateway) Kill(t testing.TB) {
	t.Helper()
	g.Signal(t, syscall.SIGKILL)
	<-g.running(t).done
}

// Restart stops the process if it is running and starts it at the same address with the same files.
func (g *Gateway) Restart(t testing.TB) {
	t.Helper()
	if p := g.running(t); !p.ended() {
		g.Stop(t)
	}
	g.start(t)
}

// Signal sends the process a signal.
func (g *Gateway) Signal(t testing.TB, s os.Signal) {
	t.Helper()
	p := g.running(t)
	if s == syscall.SIGTERM || s == os.Interrupt {
		p.stopping.Store(true)
	}
	if err := p.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Fatalf("signal the gateway: %v", err)
	}
}

// PID returns the process ID, for inspecting memory use and open files.
func (g *Gateway) PID(t testing.TB) int {
	t.Helper()
	return g.running(t).cmd.Process.Pid
}

// Done is closed when the process has ended.
func (g *Gateway) Done(t testing.TB) <-chan struct{} {
	t.Helper()
	return g.running(t).done
}

// ExitCode waits until the process has ended.
func (g *Gateway) ExitCode(t testing.TB) int {
	t.Helper()
	p := g.running(t)
	<-p.done
	return p.cmd.ProcessState.ExitCode()
}

func (g *Gateway) running(t testing.TB) *process {
	t.Helper()
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.process == nil {
		t.Fatal("the gateway was not started")
	}
	return g.process
}

// end kills the process when the test ends.
func (g *Gateway) end() {
	g.mu.Lock()
	p := g.process
	g.mu.Unlock()
	if p != nil && !p.ended() {
		_ = p.cmd.Process.Kill() // the process may be exiting already
		<-p.done
	}
}

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}
