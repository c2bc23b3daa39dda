package sdk

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"testing"
)

// sentences contains a part of each error message. The clients must show the message to their users.
var sentences = map[string]string{
	"bad-key":       "This is not an API key of this gateway.",
	"unknown-model": "GET /proxy/v1/models lists the available models.",
	"budget":        "raise the budget in API key settings or use another key.",
	"rate-limit":    "This key may send 1 requests a minute and has sent 1.",
	"invalid-field": "must be",
	"no-target":     "No provider could serve the request: ",
}

// broken is part of the error message for a stream that ends early.
const broken = "The connection to the provider broke before the response was complete."

// TestClientErrorsShowTheMessage causes every class of error in each client. It expects the gateway's message in the text of the
// exception, because users often see only that text.
func TestClientErrorsShowTheMessage(t *testing.T) {
	root := install(t)
	python := []string{filepath.Join(root, ".cache", "sdk", "python", "bin", "python"), "sentences.py"}
	streams := map[string][]string{
		"openai-python": {"chat", "responses"}, "anthropic-python": {"messages"}, "openai-go": {"chat", "responses"}, "ai-sdk": {"chat", "responses", "messages"},
	}
	all := []suite{
		{name: "openai-python", dir: "python", command: python, env: []string{"PYTHONDONTWRITEBYTECODE=1"}},
		{name: "anthropic-python", dir: "python", command: python, env: []string{"PYTHONDONTWRITEBYTECODE=1"}},
		{name: "openai-go", dir: "go", command: []string{"go", "run", "."}, env: []string{"GOWORK=off"}},
		{name: "ai-sdk", dir: "node", command: []string{"node", "sentences.js"}, env: []string{"OPENAI_PACKAGE=openai"}},
	}
	w := newDeployment(t, all)
	for _, s := range all {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			wanted := maps.Clone(sentences)
			for _, api := range streams[s.name] {
				wanted["mid-stream-"+api] = broken
			}
			text, err := json.Marshal(wanted)
			if err != nil {
				t.Fatal(err)
			}
			check(t, run(t, s, append(w.env(t, s), "SENTENCES="+string(text))), slices.Sorted(maps.Keys(wanted)))
		})
	}
}
