package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// server is one thing to measure.
type server struct {
	name string
	url  string // of the chat endpoint
	key  string
	pid  int // 0 for the direct line
}

// startServers starts the mock upstream, the minimal proxy and Fairlead in front of it. stop ends what was started.
func startServers(ctx context.Context, binary, dir string) (servers []*server, stop func() error, err error) {
	var running []*exec.Cmd
	stop = func() error {
		var errs []error
		for _, cmd := range running {
			errs = append(errs, cmd.Process.Signal(os.Interrupt))
			_ = cmd.Wait() // how it ended does not matter any more
		}
		return errors.Join(errs...)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, stop, err
	}
	upstream, address, err := startSelf(ctx, self, "upstream")
	if err != nil {
		return nil, stop, err
	}
	running = append(running, upstream)
	floor, floorAddress, err := startSelf(ctx, self, "floor", address)
	if err != nil {
		return nil, stop, err
	}
	running = append(running, floor)
	gateway, err := startGateway(ctx, binary, dir, address)
	if err != nil {
		return nil, stop, err
	}
	running = append(running, gateway.cmd)
	return []*server{
		{name: "direct", url: "http://" + address + "/v1/chat/completions"},
		{name: "floor", url: "http://" + floorAddress + "/v1/chat/completions", key: "bench", pid: floor.Process.Pid},
		{name: "fairlead", url: gateway.url + "/chat/completions", key: gateway.key, pid: gateway.cmd.Process.Pid},
	}, stop, nil
}

// startSelf runs this program as one of its servers, which prints its address first.
func startSelf(ctx context.Context, self string, args ...string) (*exec.Cmd, string, error) {
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, "", err
	}
	if err := cmd.Start(); err != nil {
		return nil, "", err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	return cmd, strings.TrimSpace(line), err
}

type gatewayProcess struct {
	cmd      *exec.Cmd
	url, key string
}

// startGateway starts Fairlead with everything at its defaults: authentication, routing, log with bodies, metrics.
func startGateway(ctx context.Context, binary, dir, upstream string) (*gatewayProcess, error) {
	config := filepath.Join(dir, "fairlead.yaml")
	text := fmt.Sprintf(`listen: 127.0.0.1:0
detect: false
providers:
  - name: mock
    base_url: http://%s/v1
    api_keys: [bench]
    models:
      - {name: large, input_per_mtok: 2, output_per_mtok: 8, context: 1000000, quality: 0.9}
      - {name: small, input_per_mtok: 0.1, output_per_mtok: 0.4, context: 1000000, quality: 0.6}
`, upstream)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return nil, err
	}
	data := dataDir(dir)
	key, err := makeKey(ctx, binary, config, data)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, binary, "serve", "--config", config, "--data-dir", data, "--log-level", "info")
	cmd.Env = []string{"HOME=" + dir}
	logs, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	reader := bufio.NewReader(logs)
	url, err := readReady(reader)
	if err != nil {
		return nil, err
	}
	go discard(reader) // its log lines cost it what they cost in production; nobody reads them here
	return &gatewayProcess{cmd: cmd, url: url, key: key}, nil
}

func discard(r *bufio.Reader) {
	for {
		if _, err := r.ReadSlice('\n'); err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}

func makeKey(ctx context.Context, binary, config, data string) (string, error) {
	out, err := exec.CommandContext(ctx, binary, "keys", "create", "--name", "bench", "--json", "--config", config, "--data-dir", data).Output()
	if err != nil {
		return "", fmt.Errorf("make a key: %w", err)
	}
	var made struct {
		Key string `json:"key"`
	}
	return made.Key, json.Unmarshal(out, &made)
}

// readReady waits for the log line that tells where the gateway listens.
func readReady(logs *bufio.Reader) (string, error) {
	for {
		line, err := logs.ReadBytes('\n')
		if err != nil {
			return "", fmt.Errorf("the gateway ended before it was ready: %w", err)
		}
		var ready struct {
			Msg string `json:"msg"`
			API string `json:"api"`
		}
		if json.Unmarshal(line, &ready) == nil && ready.Msg == "ready" {
			return ready.API, nil
		}
	}
}

// cpuTime is what the process has used, in user and system mode.
func cpuTime(pid int) (time.Duration, error) {
	if pid == 0 {
		return 0, nil
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	// The second field is the name in parentheses, which may hold spaces; user and system time are the 14th and 15th.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	user, errUser := strconv.ParseInt(fields[11], 10, 64)
	system, errSystem := strconv.ParseInt(fields[12], 10, 64)
	const tick = 10 * time.Millisecond // Linux reports hundredths of a second, whatever its timer does
	return time.Duration(user+system) * tick, errors.Join(errUser, errSystem)
}
