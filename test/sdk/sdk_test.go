// Package sdk drives the built gateway with the official clients of Python, Node and Go. Each suite is a program in its
// own language that prints one line per case; the tests here start the gateways, script the provider and read the lines.
package sdk

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fairlead.dev/test/harness"
)

// cases lists the cases that every suite must report. A suite without one of them fails.
var cases = []string{
	"chat", "chat-auto", "headers", "stream-usage", "stream-without-usage", "stream-helper",
	"tool-call", "tool-call-streamed", "tool-calls-parallel", "json-schema-parse", "vision",
	"embeddings", "embeddings-dimensions", "completions", "completions-auto", "completions-streamed", "moderations", "models-list", "models-retrieve", "unicode", "large-prompt",
	"error-401", "error-403-scope", "error-403-model", "error-404", "error-400", "error-413", "error-422", "error-429", "error-502",
	"stream-error-before-first-token", "error-mid-stream", "retry-503", "retry-after", "budget-not-retried", "abort",
}

// suite is one client library and how its program is run.
type suite struct {
	name    string // also the suffix of the model names that are scripted for the suite
	dir     string
	command []string
	env     []string
}

func suites(root string) []suite {
	python := filepath.Join(root, ".cache", "sdk", "python", "bin", "python")
	return []suite{
		{name: "python", dir: "python", command: []string{python, "main.py"}, env: []string{"PYTHONDONTWRITEBYTECODE=1"}},
		{name: "node", dir: "node", command: []string{"node", "main.js"}, env: []string{"OPENAI_PACKAGE=openai"}},
		{name: "node6", dir: "node", command: []string{"node", "main.js"}, env: []string{"OPENAI_PACKAGE=openai6"}},
		{name: "go", dir: "go", command: []string{"go", "run", "."}, env: []string{"GOWORK=off"}},
	}
}

func TestOfficialClients(t *testing.T) {
	root := install(t)
	all := suites(root)
	w := newDeployment(t, all)
	for _, s := range all {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			check(t, run(t, s, w.env(t, s)), cases)
		})
	}
}

// run runs a suite's program and returns its output.
func run(t *testing.T, s suite, env []string) string {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(t.Context(), s.command[0], s.command[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = s.dir, append(append(plainEnv(), s.env...), env...), &out, &errs
	if err := cmd.Run(); err != nil {
		t.Errorf("run %s: %v\n%s", s.name, err, errs.String())
	}
	return out.String()
}

// clientSettings are prefixes of the environment variables that client libraries read.
var clientSettings = []string{"OPENAI_", "ANTHROPIC_", "GOOGLE_", "GEMINI_", "AWS_"}

// plainEnv returns the environment that programs need, without the machine's settings for clients.
func plainEnv() []string {
	var env []string
	for _, pair := range os.Environ() {
		if name, _, _ := strings.Cut(pair, "="); !slices.ContainsFunc(clientSettings, func(prefix string) bool { return strings.HasPrefix(name, prefix) }) && !strings.HasSuffix(strings.ToLower(name), "_proxy") {
			env = append(env, pair)
		}
	}
	return env
}

// check turns the lines of a suite into subtests. A missing line fails.
func check(t *testing.T, output string, cases []string) {
	t.Helper()
	t.Log("\n" + output)
	results := map[string]string{}
	lines := bufio.NewScanner(strings.NewReader(output))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		verdict, rest, _ := strings.Cut(lines.Text(), " ")
		name, _, _ := strings.Cut(rest, " ")
		if verdict == "ok" || verdict == "FAIL" {
			results[strings.TrimSuffix(name, ":")] = lines.Text()
		}
	}
	for _, name := range cases {
		t.Run(name, func(t *testing.T) {
			switch line, ran := results[name]; {
			case !ran:
				t.Error("the suite did not report the case")
			case !strings.HasPrefix(line, "ok "):
				t.Error(line)
			}
		})
	}
}

// install installs missing clients and returns the root of the repository. A client that cannot be installed fails the test.
func install(t *testing.T) string {
	t.Helper()
	root, err := harness.Root()
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "./setup.sh").CombinedOutput(); err != nil {
		t.Fatalf("install the clients: %v\n%s", err, out)
	}
	return root
}
