package harness

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
)

// CLI runs another command of the binary with the gateway's data directory, configuration and environment.
func (g *Gateway) CLI(t testing.TB, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	return g.run(t, "", append(args, g.common()...))
}

// CLI runs a command of the binary without a running gateway. It is used for commands that need no gateway, and to check that serve
// fails.
func CLI(t testing.TB, o Options, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	g := prepare(t, o)
	return g.run(t, "", append(args, g.common()...))
}

func (g *Gateway) run(t testing.TB, stdin string, args []string) (stdout, stderr string, code int) {
	t.Helper()
	var out, err bytes.Buffer
	cmd := exec.CommandContext(t.Context(), g.binary, args...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = g.home, g.environment(), &out, &err
	cmd.Stdin = strings.NewReader(stdin)
	failure := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](failure); failure != nil && (!ok || exit.ExitCode() < 0) {
		t.Fatalf("run %q: %v\n%s", args, failure, err.String())
	}
	return out.String(), err.String(), cmd.ProcessState.ExitCode()
}

// Command returns a shell command that runs the binary with the gateway's data directory and configuration.
func (g *Gateway) Command(arguments string) string {
	return strings.Join(append([]string{g.binary, arguments}, g.common()...), " ")
}

// Environment returns the environment variables of the gateway.
func (g *Gateway) Environment() []string { return g.environment() }

// Key is an API key as printed by the command line.
type Key struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Text string `json:"key"`
}

// NewKey creates an API key on the command line. flags are passed to `keys create`.
func (g *Gateway) NewKey(t testing.TB, flags ...string) (k Key) {
	t.Helper()
	args := append([]string{"keys", "create", "--json", "--name", fmt.Sprintf("test-%d", keyNumber.Add(1))}, flags...)
	stdout, stderr, code := g.CLI(t, args...)
	if err := json.Unmarshal([]byte(stdout), &k); code != 0 || err != nil || k.Text == "" {
		t.Fatalf("run %q: exit code %d (%v)\n%s%s", args, code, err, stdout, stderr)
	}
	return k
}

// Key creates an API key like NewKey and returns its text.
func (g *Gateway) Key(t testing.TB, flags ...string) string {
	t.Helper()
	return g.NewKey(t, flags...).Text
}

// CreateAccount creates an account on the command line, without a setup code or an invitation. The first account owns the first
// workspace. Every other account owns a new workspace.
func (g *Gateway) CreateAccount(t testing.TB, email, password string) {
	t.Helper()
	args := append([]string{"admin", "create", "--email", email, "--password-stdin"}, g.common()...)
	if stdout, stderr, code := g.run(t, password+"\n", args); code != 0 {
		t.Fatalf("run %q: exit code %d\n%s%s", args, code, stdout, stderr)
	}
}

// setupLink matches the link to create the first account, which the gateway prints.
var setupLink = regexp.MustCompile(`/welcome#([0-9A-Z-]+)`)

// SetupCode returns the last setup code that the gateway printed.
func (g *Gateway) SetupCode(t testing.TB) string {
	t.Helper()
	var codes [][]string
	Eventually(t, "the setup code is printed", func() bool {
		codes = setupLink.FindAllStringSubmatch(g.Log(), -1)
		return len(codes) > 0
	})
	return codes[len(codes)-1][1]
}

// keyNumber makes the names of keys unique.
var keyNumber atomic.Int64
