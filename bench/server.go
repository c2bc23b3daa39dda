package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"fairlead/bench/load"
	"fairlead/bench/mock"
)

// The servers of a comparison.
const (
	direct   = "direct"
	nginx    = "nginx"
	floor    = "floor"
	fairlead = "fairlead"
)

// server is one thing to measure.
type server struct {
	name  string
	base  string // what /chat/completions stands below
	model string
	key   string
	pid   int // 0 for the direct line
}

func (s *server) target() load.Target {
	t := load.Target{Name: s.name, BaseURL: s.base, Path: "/chat/completions", Model: s.model, PID: s.pid}
	if s.key != "" {
		t.Headers = map[string]string{"Authorization": "Bearer " + s.key}
	}
	return t
}

// child is a process that this run has started.
type child struct {
	cmd  *exec.Cmd
	done chan struct{}
}

// start runs a command until stopAll. Its output is handed to read, which returns when the process is ready.
func (b *bench) start(cmd *exec.Cmd, read func(*bufio.Reader) error) error {
	out, in, err := os.Pipe()
	if err != nil {
		return err
	}
	if cmd.Stderr == nil {
		cmd.Stderr = in
	} else {
		cmd.Stdout = in
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	_ = in.Close() // the process has its own
	c := &child{cmd: cmd, done: make(chan struct{})}
	b.running = append(b.running, c)
	reader := bufio.NewReader(out)
	err = read(reader)
	go func() {
		defer close(c.done)
		_, _ = io.Copy(io.Discard, reader) // log lines cost what they cost in production; nobody reads them here
		_ = cmd.Wait()                     // how it ended does not matter any more
		_ = out.Close()
	}()
	return err
}

func (b *bench) stopAll() {
	for _, c := range b.running {
		_ = c.cmd.Process.Signal(os.Interrupt)
		select {
		case <-c.done:
		case <-time.After(8 * time.Second):
			_ = c.cmd.Process.Kill()
			<-c.done
		}
	}
	b.running = nil
}

// startAll starts the mock upstream and every server in front of it.
func (b *bench) startAll(ctx context.Context) ([]*server, error) {
	up, err := b.startUpstream(ctx)
	if err != nil {
		return nil, err
	}
	proxy, err := b.startNginx(ctx, up)
	if err != nil {
		return nil, err
	}
	address, pid, err := b.startSelf(ctx, "floor", up)
	if err != nil {
		return nil, err
	}
	gateway, err := b.startGateway(ctx, up, deployment{models: 2, policies: 1})
	if err != nil {
		return nil, err
	}
	time.Sleep(2 * time.Second) // for what they do at first to be over
	return []*server{
		{name: direct, base: "http://" + up + "/v1", model: "auto"},
		proxy,
		{name: floor, base: "http://" + address + "/v1", model: "auto", key: "bench", pid: pid},
		gateway,
	}, nil
}

func (b *bench) startUpstream(ctx context.Context) (string, error) {
	address, pid, err := b.startSelf(ctx, "upstream")
	b.up = &server{name: "upstream", base: "http://" + address, pid: pid}
	return address, err
}

// startSelf runs this program as one of its servers, which prints its address first.
func (b *bench) startSelf(ctx context.Context, args ...string) (address string, pid int, err error) {
	self, err := os.Executable()
	if err != nil {
		return "", 0, err
	}
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Stderr = os.Stderr
	if args[0] == "upstream" {
		cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
	}
	err = b.start(cmd, func(r *bufio.Reader) error {
		line, err := r.ReadString('\n')
		address = strings.TrimSpace(line)
		return err
	})
	if err != nil {
		return "", 0, err
	}
	return address, cmd.Process.Pid, nil
}

const nginxConfig = `worker_processes 2;
daemon off;
pid %[1]s/pid;
error_log %[1]s/error.log;
worker_rlimit_nofile 40000;
events { worker_connections 20000; }
http {
  access_log off;
  client_body_temp_path %[1]s/a; proxy_temp_path %[1]s/b; fastcgi_temp_path %[1]s/c; uwsgi_temp_path %[1]s/d; scgi_temp_path %[1]s/e;
  client_max_body_size 64m;
  client_body_buffer_size 1m;
  keepalive_requests 1000000000;
  upstream mock { server %[2]s; keepalive 512; keepalive_requests 1000000000; }
  server {
    listen %[3]s;
    location / { proxy_pass http://mock; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off; proxy_read_timeout 600s; }
  }
}
`

// startNginx starts the reference with nothing but a pass to the upstream: no key check, no log.
func (b *bench) startNginx(ctx context.Context, up string) (*server, error) {
	dir, err := os.MkdirTemp(b.dir, "nginx-")
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(b.dir, 0o755); err != nil { // its workers are another user
		return nil, err
	}
	address, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(file, fmt.Appendf(nil, nginxConfig, dir, up, address), 0o600); err != nil {
		return nil, err
	}
	path, err := exec.LookPath("nginx")
	if err != nil {
		path = "/usr/sbin/nginx" // not on everybody's path
	}
	cmd := exec.CommandContext(ctx, path, "-c", file)
	if err := b.start(cmd, func(*bufio.Reader) error { return waitFor(ctx, address) }); err != nil {
		return nil, err
	}
	return &server{name: nginx, base: "http://" + address + "/v1", model: "auto", pid: cmd.Process.Pid}, nil
}

func freeAddress(ctx context.Context) (string, error) {
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return ln.Addr().String(), ln.Close()
}

func waitFor(ctx context.Context, address string) error {
	var d net.Dialer
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		conn, err := d.DialContext(ctx, "tcp", address)
		if err == nil {
			return conn.Close()
		}
		if time.Now().After(end) {
			return fmt.Errorf("wait for %s: %w", address, err)
		}
	}
}

// configure tells the upstream how to answer from now on.
func (b *bench) configure(ctx context.Context, c mock.Config) error {
	body, err := json.Marshal(c)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, b.up.base+"/_mock/config", bytes.NewReader(body))
	if err != nil {
		return err
	}
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return errors.New("the upstream refuses its configuration: " + resp.Status)
	}
	return nil
}
