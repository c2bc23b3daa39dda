// Package redistest provides a Redis or Valkey server for tests: the server given by the environment variable
// FAIRLEAD_TEST_REDIS, or a new one that runs as long as the test process. Tests that kill their server start their own with Own.
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

	"fairlead.dev/internal/cluster"
)

// Variable is the environment variable with the address of a server that tests may write to.
const Variable = "FAIRLEAD_TEST_REDIS"

var errMissing = errors.New("no Redis or Valkey server is installed and " + Variable + " is not set; run scripts/setup-test.sh")

// shared starts the shared server when the first test needs it.
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

// Main runs the tests of a package and stops the shared server if it was started. Call it from TestMain.
func Main(m *testing.M) int {
	defer func() {
		if sharedServer != nil {
			sharedServer.stop()
		}
	}()
	return m.Run()
}

// Start returns the address of the shared server. Other tests use it at the same time, so use a unique Namespace.
func Start(t testing.TB) string {
	t.Helper()
	s, err := shared()
	check(t, err)
	return s.url
}

// Client returns a client for the shared server. It is closed when the test ends.
func Client(t testing.TB) *redis.Client {
	t.Helper()
	return connect(t, Start(t))
}

// Namespace returns a unique namespace.
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

// Server is a server for a single test. The test can kill it and start it again without data at the same address.
type Server struct {
	binary string
	port   int
	url    string
	run    *exec.Cmd
	ended  chan struct{}
}

// Own starts a server for a single test.
func Own(t testing.TB) *Server {
	t.Helper()
	s, err := prepare()
	check(t, err)
	t.Cleanup(s.stop)
	check(t, s.start())
	return s
}

// URL returns the address of the server.
func (s *Server) URL() string { return s.url }

// Client returns a client for the server. It is closed when the test ends.
func (s *Server) Client(t testing.TB) *redis.Client {
	t.Helper()
	return connect(t, s.url)
}

// Kill kills the server and discards its data.
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

// start starts the server and waits until it responds. The server is killed when the OS thread that started it ends. This
// thread is therefore kept alive.
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
			_ = command.Wait() // the error is ignored: the test kills the server
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
		time.Sleep(25 * time.Millisecond) // poll until the server has started
	}
	return fmt.Errorf("%s does not answer on port %d", s.binary, s.port)
}

func (s *Server) stop() {
	if s.run == nil {
		return
	}
	_ = s.run.Process.Kill() // the server may already have ended
	<-s.ended
	s.run = nil
}

// Signal sends a signal to the server: SIGSTOP makes it unresponsive, and SIGCONT resumes it.
func (s *Server) Signal(t testing.TB, signal os.Signal) {
	t.Helper()
	if err := s.run.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
}
