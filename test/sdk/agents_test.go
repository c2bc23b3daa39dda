package sdk

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fairlead/test/harness"
)

// agent is a coding agent, with the settings that docs/guides/agents.md describes.
type agent struct {
	program  string
	args     []string
	env      []string
	settings map[string]string // content of files by path below the home directory
	endpoint string            // route that it calls
	cached   string            // file below the home directory that must list claude-auto afterwards
}

func codingAgents(gateway *harness.Gateway, key string) []agent {
	return []agent{
		{
			program: "claude", args: []string{"--print", "Say hello"}, endpoint: "messages",
			env: []string{
				"ANTHROPIC_BASE_URL=" + gateway.URL() + "/proxy", "ANTHROPIC_AUTH_TOKEN=" + key, "ANTHROPIC_MODEL=claude-auto",
				"ANTHROPIC_DEFAULT_HAIKU_MODEL=claude-auto:cost",
				"CLAUDE_CODE_ENABLE_GATEWAY_MODEL_DISCOVERY=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
			},
			cached: ".claude/cache/gateway-models.json",
		},
		{
			program: "codex", args: []string{"exec", "--skip-git-repo-check", "Say hello"}, endpoint: "responses",
			env: []string{"FAIRLEAD_API_KEY=" + key},
			settings: map[string]string{".codex/config.toml": `
model = "auto"
model_provider = "fairlead"

[model_providers.fairlead]
name = "Fairlead"
base_url = "` + gateway.BaseURL() + `"
env_key = "FAIRLEAD_API_KEY"
wire_api = "responses"
`},
		},
		{
			program: "opencode", args: []string{"run", "Say hello"}, endpoint: "chat/completions",
			env: []string{"FAIRLEAD_API_KEY=" + key, "OPENCODE_DISABLE_AUTOUPDATE=1"},
			settings: map[string]string{".config/opencode/opencode.json": `{
				"model": "fairlead/auto", "small_model": "fairlead/auto:cost",
				"provider": {"fairlead": {
					"npm": "@ai-sdk/openai-compatible", "name": "Fairlead",
					"options": {"baseURL": "` + gateway.BaseURL() + `", "apiKey": "{env:FAIRLEAD_API_KEY}"},
					"models": {"auto": {"name": "Fairlead auto"}, "auto:cost": {"name": "Fairlead auto:cost"}}
				}}
			}`},
		},
	}
}

// TestCodingAgents sends one prompt with each agent that agents.sh has installed. The simulator responds.
func TestCodingAgents(t *testing.T) {
	bin, err := filepath.Abs("../../.cache/sdk/agents/node_modules/.bin")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(bin); err != nil {
		t.Skip("no coding agent is installed: run test/sdk/agents.sh")
	}
	gateway := harness.Start(t, harness.Options{})
	for _, a := range codingAgents(gateway, gateway.Key(t)) {
		t.Run(a.program, func(t *testing.T) {
			program := filepath.Join(bin, a.program)
			if _, err := os.Stat(program); err != nil {
				t.Skipf("%s is not installed", a.program)
			}
			home := t.TempDir()
			for name, text := range a.settings {
				writeFile(t, filepath.Join(home, name), text)
			}
			output := a.run(t, program, home)
			if !strings.Contains(output, "SIMULATED") {
				t.Errorf("the agent does not show the response:\n%s", output)
			}
			if log := gateway.Log(); !strings.Contains(log, `"endpoint":"`+a.endpoint+`","outcome":"ok"`) {
				t.Errorf("the gateway has no successful request to %s", a.endpoint)
			}
			if a.cached != "" {
				if list, err := os.ReadFile(filepath.Join(home, a.cached)); err != nil || !strings.Contains(string(list), `"claude-auto"`) {
					t.Errorf("the agent's list of models: %v, %s", err, list)
				}
			}
		})
	}
}

// run runs the agent in an empty project, with nothing of the machine's settings, and returns its output.
func (a agent) run(t *testing.T, program, home string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, program, a.args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = filepath.Join(home, "project"), &out, &out
	cmd.Env = append([]string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8"}, a.env...)
	if err := os.MkdirAll(cmd.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Run(); err != nil {
		t.Errorf("%s: %v\n%s", a.program, err, out.String())
	}
	return out.String()
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
