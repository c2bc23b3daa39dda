package sdk

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fairlead.dev/test/harness"
	"fairlead.dev/test/vendormock"
	"fairlead.dev/test/vendormock/anthropic"
	"fairlead.dev/test/vendormock/bedrock"
	"fairlead.dev/test/vendormock/gemini"
)

// reference is an official client of a vendor that runs directly against the vendor's mock, which checks that the mock
// behaves as the client expects.
type reference struct {
	name    string
	vendor  func(vendormock.Options) *vendormock.Server
	dir     string
	command []string
	cases   []string
}

// shared lists the cases that every reference client runs.
var shared = []string{
	"chat", "stream", "tool-loop", "tool-loop-streamed", "tool-choice", "tool-failure", "vision", "json-schema", "reasoning",
	"reasoning-signatures", "cached", "stop-sequence", "max-tokens", "refusal", "error-429", "overloaded", "error-in-stream",
	"cut", "slow", "refused",
}

func references(root string) []reference {
	python := filepath.Join(root, ".cache", "sdk", "python", "bin", "python")
	and := func(more ...string) []string { return slices.Concat(shared, more) }
	return []reference{
		{"anthropic-python", anthropic.New, "python", []string{python, "messages.py"}, and("request-id", "single-calls", "models", "count-tokens")},
		{"anthropic-node", anthropic.New, "node", []string{"node", "messages.js"}, and("request-id", "single-calls", "models", "count-tokens")},
		{"google-genai-python", gemini.New, "python", []string{python, "gemini.py"}, and("blocked", "models", "embeddings")},
		{"boto3", bedrock.New, "python", []string{python, "converse.py"}, and("blocked", "signatures", "embeddings", "nine-signs")},
	}
}

func TestReferenceClients(t *testing.T) {
	root := install(t)
	for _, c := range references(root) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			mock := c.vendor(vendormock.Options{})
			s := suite{name: c.name, dir: c.dir, command: c.command, env: []string{"PYTHONDONTWRITEBYTECODE=1", "OPENAI_PACKAGE=openai"}}
			output := run(t, s, []string{"SDK_NAME=" + c.name, "VENDOR_URL=" + harness.Serve(t, mock), "VENDOR_KEY=test-key", "CASES=" + strings.Join(c.cases, ",")})
			check(t, output, c.cases)
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
