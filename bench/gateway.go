package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"fairlead.dev/bench/load"
)

// deployment describes the configuration of a gateway.
type deployment struct {
	models, policies int
	concurrent       int // maximum number of concurrent requests; 0 for the default limits
	tls              bool
	formats          []string // formats of the providers, which are called mock-FORMAT; nil for one provider of the chat format
}

// startGateway starts Fairlead with its default features: authentication, limits and a budget, `auto` with the learned
// predictor, policies, the log with bodies, log lines and metrics.
func (b *bench) startGateway(ctx context.Context, up string, d deployment) (*server, error) {
	dir, err := os.MkdirTemp(b.dir, "fairlead-")
	if err != nil {
		return nil, err
	}
	config, data := filepath.Join(dir, "fairlead.yaml"), filepath.Join(dir, "data")
	text := d.config(up)
	if d.tls {
		cert, key, err := writeCertificate(dir)
		if err != nil {
			return nil, err
		}
		text += fmt.Sprintf("tls: {cert: %q, key: %q}\n", cert, key)
	}
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return nil, err
	}
	key, err := b.makeKey(ctx, config, data, "--rpm", "100000000", "--tpm", "1000000000000", "--budget", "1000000", "--tags", "team=bench")
	if err != nil {
		return nil, err
	}
	return b.serve(ctx, config, data, key)
}

// serve starts Fairlead with the given configuration and data directory.
func (b *bench) serve(ctx context.Context, config, data, key string) (*server, error) {
	cmd := exec.CommandContext(ctx, b.binary, "serve", "--config", config, "--data-dir", data)
	cmd.Env = []string{"HOME=" + filepath.Dir(config)}
	var api string
	err := b.start(cmd, func(r *bufio.Reader) (err error) {
		api, err = readReady(r)
		return err
	})
	if err != nil {
		return nil, err
	}
	base, err := url.Parse(api)
	if err != nil {
		return nil, err
	}
	return &server{fairlead, load.Target{Address: base.Host, Path: base.Path + "/chat/completions", Model: "auto", Key: key, PID: cmd.Process.Pid, TLS: base.Scheme == "https"}}, nil
}

func (d deployment) config(up string) string {
	var s strings.Builder
	s.WriteString("listen: 127.0.0.1:0\ndetect: false\nproviders:\n")
	if len(d.formats) == 0 {
		d.provider(&s, "mock", "chat", up)
	}
	for _, format := range d.formats {
		d.provider(&s, "mock-"+format, format, up)
	}
	if d.concurrent > 0 {
		fmt.Fprintf(&s, "limits: {concurrent: %d, shed_after: 0s}\n", d.concurrent)
	}
	if d.policies > 0 {
		s.WriteString("policies:\n")
	}
	for i := range d.policies {
		fmt.Fprintf(&s, "  - name: rule-%d\n    when: request.task == \"code\" && key.tags[\"team\"] == \"infra-%d\"\n    deny: Not here.\n", i, i)
	}
	return s.String()
}

func (d deployment) provider(s *strings.Builder, name, format, up string) {
	fmt.Fprintf(s, "  - name: %s\n    format: %s\n    base_url: http://%s/v1\n    api_keys: [bench-key]\n    models:\n", name, format, up)
	for i := range d.models {
		fmt.Fprintf(s, "      - {name: model-%d, upstream: %q, input_per_mtok: %.2f, output_per_mtok: %.2f, context: 1000000, quality: %.2f}\n",
			i, "mock", 0.1+float64(i)/10, 0.4+float64(i)/3, 0.5+0.4*float64(i+1)/float64(d.models))
	}
}

func (b *bench) makeKey(ctx context.Context, config, data string, flags ...string) (string, error) {
	args := append([]string{"keys", "create", "--name", "bench", "--json", "--config", config, "--data-dir", data}, flags...)
	out, err := exec.CommandContext(ctx, b.binary, args...).Output()
	if err != nil {
		return "", fmt.Errorf("create key: %w", err)
	}
	var made struct {
		Key string `json:"key"`
	}
	return made.Key, json.Unmarshal(out, &made)
}

// readReady waits for the log line with the gateway's address.
func readReady(logs *bufio.Reader) (string, error) {
	for {
		line, err := logs.ReadBytes('\n')
		if err != nil {
			return "", fmt.Errorf("the gateway exited before it was ready: %w", err)
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
