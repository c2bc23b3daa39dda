package sdk

import (
	"path/filepath"
	"strings"
	"testing"

	"fairlead.dev/test/harness"
	"fairlead.dev/test/vendors"
)

// surface is an API that the gateway offers in addition to chat, with its official client and the vendor that serves it.
type surface struct {
	program []string // command of the program in the folder python or node
	vendor  string   // name in vendorDeployments
	path    string   // path of the URL given to the client
	cases   []string
}

var (
	overAny       = []string{"chat", "request-id", "stream", "tool-loop", "tool-loop-streamed", "tool-choice", "vision", "json-schema", "max-tokens", "models", "count-tokens"}
	overChat      = append([]string{"single-calls"}, overAny...)
	overAnthropic = append([]string{"tool-failure", "reasoning", "reasoning-signatures", "cached", "stop-sequence", "refusal"}, overChat...)
	geminiAny     = []string{"chat", "stream", "tool-loop", "tool-loop-streamed", "tool-choice", "vision", "json-schema", "max-tokens", "models", "count-tokens", "history", "gateway-errors", "auto"}
	geminiGoogle  = append([]string{"tool-failure", "reasoning", "cached", "stop-sequence", "refusal", "blocked"}, geminiAny...)
	responses     = []string{"chat", "stream", "tool-loop", "tool-loop-streamed", "vision", "json-schema", "reasoning", "max-tokens"}
)

// surfaces lists the pairs of API and vendor that have scenarios.
var surfaces = map[string]surface{
	"messages-over-openai":         {program: []string{"python", "messages.py"}, vendor: "openai", path: "/proxy", cases: overChat},
	"messages-over-anthropic":      {program: []string{"python", "messages.py"}, vendor: "anthropic", path: "/proxy", cases: overAnthropic},
	"messages-over-gemini":         {program: []string{"python", "messages.py"}, vendor: "gemini", path: "/proxy", cases: overAny},
	"messages-over-openai-node":    {program: []string{"node", "messages.js"}, vendor: "openai", path: "/proxy", cases: overChat},
	"messages-over-anthropic-node": {program: []string{"node", "messages.js"}, vendor: "anthropic", path: "/proxy", cases: overAnthropic},
	"gemini-over-gemini":           {program: []string{"python", "gemini.py"}, vendor: "gemini", path: "/proxy", cases: geminiGoogle},
	"gemini-over-openai":           {program: []string{"python", "gemini.py"}, vendor: "openai", path: "/proxy", cases: geminiAny},
	"gemini-over-anthropic":        {program: []string{"python", "gemini.py"}, vendor: "anthropic", path: "/proxy", cases: append([]string{"reasoning"}, geminiAny...)},
	"responses-over-openai":        {program: []string{"python", "responses.py"}, vendor: "openai", path: "/proxy/v1", cases: responses},
	"responses-over-anthropic":     {program: []string{"python", "responses.py"}, vendor: "anthropic", path: "/proxy/v1", cases: responses},
}

func TestScenariosOverEverySurface(t *testing.T) {
	root := install(t)
	for name, s := range surfaces {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			deployment := vendorDeployments[s.vendor]
			gateway, _ := deployment.start(t, s.vendor)
			url, key := gateway.URL()+s.path, gateway.Key(t)
			env := append(scenarioEnv(suite{name: name}, url, key, deployment),
				"VENDOR_URL="+url, "VENDOR_KEY="+key, "VENDOR_MODEL="+deployment.model, "CASES="+strings.Join(s.cases, ","))
			check(t, run(t, s.suite(root, name), env), s.cases)
		})
	}
}

func (s surface) suite(root, name string) suite {
	command := s.program
	if s.program[0] == "python" {
		command = []string{filepath.Join(root, ".cache", "sdk", "python", "bin", "python"), s.program[1]}
	}
	return suite{name: name, dir: s.program[0], command: command, env: []string{"PYTHONDONTWRITEBYTECODE=1", "OPENAI_PACKAGE=openai"}}
}

// TestVendorsOwnClients runs the cases that need a model of the catalog with the vendor's own model name. For example, batches need a
// price, and embeddings need dimensions.
func TestVendorsOwnClients(t *testing.T) {
	root := install(t)
	google := []string{"chat", "stream", "tool-call", "embeddings", "models", "count-tokens", "gateway-errors"}
	for name, s := range map[string]struct {
		surface
		vendor    agentVendor
		embedding string
	}{
		"batches-python": {
			surface{program: []string{"python", "batches.py"}, path: "/proxy/v1", cases: []string{"batch", "cancel", "files", "unknown", "refused"}},
			agentVendor{name: "openai", path: "/v1", mock: vendors.OpenAI, model: "gpt-4.1"},
			"text-embedding-3-small",
		},
		"gemini-node-over-gemini": {
			surface{program: []string{"node", "gemini.js"}, path: "/proxy", cases: google},
			agentVendor{name: "gemini", path: "/v1beta", mock: vendors.Gemini, model: "gemini-2.5-flash"},
			"gemini-embedding-001",
		},
		"gemini-node-over-openai": {
			surface{program: []string{"node", "gemini.js"}, path: "/proxy", cases: google},
			agentVendor{name: "openai", path: "/v1", mock: vendors.OpenAI, model: "gpt-4.1"},
			"text-embedding-3-small",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := s.vendor
			v.model += "}, {name: " + s.embedding
			gateway := harness.Start(t, harness.Options{Config: v.config(harness.Serve(t, v.mock()))})
			env := []string{
				"SDK_NAME=" + name, "VENDOR_URL=" + gateway.URL() + s.path, "VENDOR_KEY=" + gateway.Key(t), "VENDOR_MODEL=" + s.vendor.model,
				"VENDOR_EMBEDDING=" + s.embedding, "CASES=" + strings.Join(s.cases, ","),
			}
			check(t, run(t, s.suite(root, name), env), s.cases)
			if log := gateway.Log(); name == "batches-python" && !strings.Contains(log, `"endpoint":"batches","outcome":"ok"`) {
				t.Error("the log has no successful request to batches")
			}
		})
	}
}
