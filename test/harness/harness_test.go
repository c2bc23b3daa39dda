package harness

import (
	"net/http"
	"strings"
	"testing"
)

const hello = `{"model":"MODEL","messages":[{"role":"user","content":"Hello"}]}`

func ask(model string) string { return strings.Replace(hello, "MODEL", model, 1) }

func TestGatewayRestartsWithTheSameAddressAndEntries(t *testing.T) {
	t.Parallel()
	g := Start(t, Options{})
	key := g.Key(t)
	address := g.URL()

	first := g.Call(t, Request{Key: key, Body: ask("sim-nano")})
	if first.Status != http.StatusOK {
		t.Fatalf("status %d, want 200\n%s", first.Status, first.Body)
	}
	g.Stop(t)
	g.Restart(t)
	second := g.Call(t, Request{Key: key, Body: ask("sim-nano")})
	g.Kill(t)
	g.Restart(t)

	if g.URL() != address {
		t.Errorf("the address changed from %s to %s", address, g.URL())
	}
	for _, answer := range []Answer{first, second} {
		entry := g.Entry(t, answer.Header.Get("X-Request-Id"))
		if entry.Outcome != "ok" || entry.Model != "sim-nano" || !entry.Simulated || len(entry.Attempts) != 1 {
			t.Errorf("the entry must have the outcome ok and one attempt of the simulated model sim-nano: %s", entry.Raw)
		}
	}
	g.Entries(t, "outcome=ok", 2)
}

func TestGatewayCallsScriptedProvider(t *testing.T) {
	t.Parallel()
	mock, baseURL := Upstream(t)
	g := Start(t, Options{Config: Config(t, []Provider{{
		Name: "mock", BaseURL: baseURL, APIKeys: []string{"upstream-secret"}, Models: []Model{Chat("mine", 1, 2, 0.5)},
	}})})

	answer := g.Call(t, Request{Key: g.Key(t), Body: ask("mine")})

	if answer.Status != http.StatusOK || !strings.Contains(string(answer.Body), "Hello from mine.") {
		t.Errorf("got status %d, want 200 and the text of the mock\n%s", answer.Status, answer.Body)
	}
	if calls := mock.Calls(); len(calls) != 1 || calls[0].Header.Get("Authorization") != "Bearer upstream-secret" {
		t.Errorf("the provider got %d calls, want 1 with its credential", len(calls))
	}
}

func TestGatewayIgnoresTheEnvironmentOfTheMachine(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-of-the-machine")
	t.Setenv("FAIRLEAD_DEFAULT_MODEL", "of-the-machine")
	g := Start(t, Options{})

	stdout, stderr, code := g.CLI(t, "config", "print")

	if code != 0 || strings.Contains(stdout+stderr+g.Log(), "of-the-machine") {
		t.Errorf("config print: exit code %d, want 0 and no value of the machine's environment\n%s\n%s\n%s", code, stdout, stderr, g.Log())
	}
}

func TestTerminalShowsTheBanner(t *testing.T) {
	t.Parallel()
	g := Start(t, Options{Terminal: true})

	if log := g.Log(); !strings.Contains(log, "  API        "+g.URL()+"/proxy/v1") || !strings.Contains(log, "ready in") {
		t.Errorf("the output lacks the API address or the ready line:\n%s", log)
	}
}

func TestEarlyGatewayIsReachableBeforeItIsReady(t *testing.T) {
	t.Parallel()
	g := Start(t, Options{Early: true, Config: "store: postgres://nobody@" + FreeAddress(t) + "/none\n"})

	if answer := g.Call(t, Request{Method: http.MethodGet, Path: "/readyz"}); answer.Status != http.StatusServiceUnavailable {
		t.Errorf("readyz: status %d, want 503\n%s", answer.Status, answer.Body)
	}
}

func TestCLIReportsExitCodes(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		args []string
		want int
	}{
		{"a valid command", []string{"version"}, 0},
		{"an unknown command", []string{"sail"}, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			stdout, stderr, code := CLI(t, Options{}, tt.args...)
			if code != tt.want {
				t.Errorf("exit code %d, want %d\n%s\n%s", code, tt.want, stdout, stderr)
			}
		})
	}
}
