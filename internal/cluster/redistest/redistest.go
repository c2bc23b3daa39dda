// Package redistest gives tests a real Redis or Valkey: the server that the environment names, or one of its own that
// lives as long as the test process. Tests that kill their server start one apart.
package redistest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"fairlead/internal/cluster"
)

// Variable names the environment variable with the address of a server that tests may write to.
const Variable = "FAIRLEAD_TEST_REDIS"

var errMissing = errors.New("no Redis or Valkey server is installed and " + Variable + " is not set; run scripts/setup-test.sh")

// shared starts the server of this process when the first test asks for it.
var shared = sync.OnceValues(func() (*Server, error) {
	if address := os.Getenv(Variable); address != "" {
		return &Server{url: address}, nil
	}
	s, err := prepare()
	if err != nil {
		return nil, err
	}
	sharedServer = s
	return s, s.start()
})

var sharedServer *Server

// Main runs the tests of a package and stops the server that they may have started. Call it from TestMain.
func Main(m *testing.M) int {
	defer func() {
		if sharedServer != nil {
			sharedServer.stop()
		}
	}()
	return m.Run()
}

// Start returns the address of a server that other tests use at the same time: take names of your own.
func Start(t testing.TB) string {
	t.Helper()
	s, err := shared()
	check(t, err)
	return s.url
}

// Client connects to the shared server until the test ends.
func Client(t testing.TB) *redis.Client {
	t.Helper()
	return connect(t, Start(t))
}

// Namespace is a name that no other test has.
func Namespace() string { return "test" + rand.Text() }

func connect(t testing.TB, url string) *redis.Client {
	t.Helper()
	client, err := cluster.Dial(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func check(t testing.TB, err error) {
	t.Helper()
	if errors.Is(err, errMissing) && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Server is a server that a test has for itself, to kill it and to start it again, empty, at the same address.
type Server struct {
	binary string
	port   int
	url    string
	run    *exec.Cmd
	ended  chan struct{}
}

// Own starts a server for one test.
func Own(t testing.TB) *Server {
	t.Helper()
	s, err := prepare()
	check(t, err)
	t.Cleanup(s.stop)
	check(t, s.start())
	return s
}

// URL is the server's address.
func (s *Server) URL() string { return s.url }

// Client connects to the server until the test ends.
func (s *Server) Client(t testing.TB) *redis.Client {
	t.Helper()
	return connect(t, s.url)
}

// Kill ends the server immediately and discards its data.
func (s *Server) Kill() { s.stop() }

// Start starts the server again.
func (s *Server) Start(t testing.TB) {
	t.Helper()
	check(t, s.start())
}

func prepare() (*Server, error) {
	binary, err := exec.LookPath("redis-server")
	if err != nil {
		if binary, err = exec.LookPath("valkey-server"); err != nil {
			return nil, errMissing
		}
	}
	free, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	port := free.Addr().(*net.TCPAddr).Port
	return &Server{binary: binary, port: port, url: fmt.Sprintf("redis://127.0.0.1:%d/0", port)}, free.Close()
}

// start runs the server and waits until it answers. The child dies with the thread that started it, so that one lives on.
func (s *Server) start() error {
	command := exec.CommandContext(context.Background(), s.binary,
		"--bind", "127.0.0.1", "--port", strconv.Itoa(s.port), "--save", "", "--appendonly", "no", "--dir", os.TempDir())
	endWithParent(command)
	begun, ended := make(chan error), make(chan struct{})
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(ended)
		err := command.Start()
		begun <- err
		if err == nil {
			_ = command.Wait() // it is killed
		}
	}()
	if err := <-begun; err != nil {
		return fmt.Errorf("start %s: %w", s.binary, err)
	}
	s.run, s.ended = command, ended
	for range 400 {
		dialer := net.Dialer{Timeout: time.Second}
		if conn, err := dialer.DialContext(context.Background(), "tcp", fmt.Sprintf("127.0.0.1:%d", s.port)); err == nil {
			return conn.Close()
		}
		time.Sleep(25 * time.Millisecond) // another process starts in its own time
	}
	return fmt.Errorf("%s does not answer on port %d", s.binary, s.port)
}

func (s *Server) stop() {
	if s.run == nil {
		return
	}
	_ = s.run.Process.Kill() // it may have ended
	<-s.ended
	s.run = nil
}

// Signal sends the server a signal: SIGSTOP makes it as slow as can be, SIGCONT ends that.
func (s *Server) Signal(t testing.TB, signal os.Signal) {
	t.Helper()
	if err := s.run.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
}
