package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"fairlead.dev/bench/load"
)

// Servers of a comparison.
const (
	direct   = "direct"
	nginx    = "nginx"
	floor    = "floor"
	fairlead = "fairlead"
)

// server is a server to measure.
type server struct {
	name string
	at   load.Target
}

// plain returns a server that forwards every request to the upstream unchanged. Its key is arbitrary, because the upstream accepts any key.
func plain(name, address string, pid int) *server {
	return &server{name, load.Target{Address: address, Path: "/v1/chat/completions", Model: "auto", Key: "bench", PID: pid}}
}

// child is a process that this run has started.
type child struct {
	cmd  *exec.Cmd
	done chan struct{}
}

// start runs a command until stopAll is called. read reads the output of the process and returns when the process is ready.
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
	_ = in.Close() // the process has its own copy
	c := &child{cmd: cmd, done: make(chan struct{})}
	b.running = append(b.running, c)
	reader := bufio.NewReader(out)
	err = read(reader)
	go func() {
		defer close(c.done)
		_, _ = io.Copy(io.Discard, reader) // drain the output, so that the process pays for logging as in production
		_ = cmd.Wait()                     // the exit status is irrelevant
		_ = out.Close()
	}()
	return err
}

func (b *bench) stopAll() {
	for len(b.running) > 0 {
		b.stopLast()
	}
}

// stopLast stops the process that was started last.
func (b *bench) stopLast() {
	last := len(b.running) - 1
	c := b.running[last]
	b.running = b.running[:last]
	_ = c.cmd.Process.Signal(os.Interrupt)
	select {
	case <-c.done:
	case <-time.After(8 * time.Second):
		_ = c.cmd.Process.Kill()
		<-c.done
	}
}

// startAll starts the mock upstream and every server.
func (b *bench) startAll(ctx context.Context, d deployment) ([]*server, error) {
	up, err := b.startSelf(ctx, "upstream")
	if err != nil {
		return nil, err
	}
	up.name = direct
	proxy, err := b.startNginx(ctx, up.at.Address)
	if err != nil {
		return nil, err
	}
	least, err := b.startSelf(ctx, "floor", up.at.Address)
	if err != nil {
		return nil, err
	}
	gateway, err := b.startGateway(ctx, up.at.Address, d)
	if err != nil {
		return nil, err
	}
	time.Sleep(2 * time.Second) // wait until startup is complete
	return []*server{up, proxy, least, gateway}, nil
}

// startSelf runs this program as one of its servers. The server first prints its address.
func (b *bench) startSelf(ctx context.Context, args ...string) (*server, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Stderr = os.Stderr
	if args[0] == "upstream" {
		cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
	}
	var address string
	err = b.start(cmd, func(r *bufio.Reader) error {
		line, err := r.ReadString('\n')
		address = strings.TrimSpace(line)
		return err
	})
	if err != nil {
		return nil, err
	}
	return plain(args[0], address, cmd.Process.Pid), nil
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

// startNginx starts nginx as the reference. It only forwards to the upstream, without a key check or a log.
func (b *bench) startNginx(ctx context.Context, up string) (*server, error) {
	dir, err := os.MkdirTemp(b.dir, "nginx-")
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(b.dir, 0o755); err != nil { // nginx workers run as another user
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
		path = "/usr/sbin/nginx" // the program is often not in PATH
	}
	cmd := exec.CommandContext(ctx, path, "-c", file)
	if err := b.start(cmd, func(*bufio.Reader) error { return waitFor(ctx, address) }); err != nil {
		return nil, err
	}
	return plain(nginx, address, cmd.Process.Pid), nil
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
