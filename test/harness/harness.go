// Package harness runs the built gateway as a separate process, so that tests use it like users: the binary, its flags, its ports
// and its files. It also serves scripted providers that the gateway calls. It does not access the gateway's internal state.
package harness

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// patience is the time limit for events that should happen soon, even on a busy machine.
const patience = 20 * time.Second

// Options are the options of a gateway process. With the zero value, the simulator is the only provider of the gateway.
type Options struct {
	Binary   string   // path of the gateway; default the result of Binary
	Config   string   // text of the configuration file, such as the result of Config; empty for none
	Env      []string // NAME=value, added to a minimal environment; the detection of providers is off unless turned on here
	Args     []string // additional arguments of serve
	DataDir  string   // default a new directory
	Listen   string   // default 127.0.0.1 and a free port
	Terminal bool     // whether standard output is a terminal, so that the log is text instead of JSON lines
	Early    bool     // whether to wait only until the gateway responds, not until it is ready
}

// Gateway is a running gateway process. Its methods fail the test on errors.
type Gateway struct {
	DataDir string

	options Options
	binary  string
	home    string // working directory and home of the process
	config  string // path of the configuration file; empty for none
	log     logBook

	mu      sync.Mutex
	process *process
	address string
	readKey string
}

// Start runs a gateway until the test ends, and returns when it is ready to serve. Its log is shown when the test fails.
func Start(t testing.TB, o Options) *Gateway {
	t.Helper()
	g := prepare(t, o)
	t.Cleanup(func() {
		g.end()
		if t.Failed() {
			t.Logf("log of the gateway:\n%s", g.log.tail(200))
		}
	})
	g.start(t)
	return g
}

// prepare creates the files of a gateway.
func prepare(t testing.TB, o Options) *Gateway {
	t.Helper()
	g := &Gateway{options: o, binary: o.Binary, home: t.TempDir(), DataDir: o.DataDir, address: o.Listen}
	if g.binary == "" {
		g.binary = Binary(t)
	}
	if g.DataDir == "" {
		g.DataDir = filepath.Join(g.home, "data")
	}
	if o.Config != "" {
		g.config = filepath.Join(g.home, "fairlead.yaml")
		g.SetConfig(t, o.Config)
	}
	return g
}

// SetConfig replaces the configuration file in one step. A gateway that was started without a configuration file does not read it.
func (g *Gateway) SetConfig(t testing.TB, text string) {
	t.Helper()
	next := g.config + ".next"
	if err := os.WriteFile(next, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(next, g.config); err != nil {
		t.Fatal(err)
	}
}

// URL returns the URL of the gateway without a path.
func (g *Gateway) URL() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return "http://" + g.address
}

// BaseURL returns the base URL for clients of the model API.
func (g *Gateway) BaseURL() string { return g.URL() + "/proxy/v1" }

// Log returns the output of the process so far, including earlier starts.
func (g *Gateway) Log() string { return g.log.text() }
