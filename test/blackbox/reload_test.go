package blackbox

import (
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"

	"fairlead.dev/test/faults/scenario"
	"fairlead.dev/test/harness"
)

func TestReloadReplacesProvidersDuringAStream(t *testing.T) {
	t.Parallel()
	for name, wake := range map[string]func(*testing.T, *harness.Gateway){
		"file change": func(*testing.T, *harness.Gateway) {},
		"signal":      func(t *testing.T, g *harness.Gateway) { t.Helper(); g.Signal(t, syscall.SIGHUP) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before, oldURL := harness.Upstream(t)
			after, newURL := harness.Upstream(t)
			provider := func(name, url, model string) []harness.Provider {
				return []harness.Provider{{Name: name, BaseURL: url, Models: []harness.Model{harness.Chat(model, 1, 1, 0.5)}}}
			}
			g := harness.Start(t, harness.Options{Config: harness.Config(t, provider("old", oldURL, "old-model"))})
			k := g.Key(t)
			behaviour, release := pause(t, 2, "one", " two", " three")
			before.Always(behaviour)
			running := open(t, g, harness.Request{Key: k, Body: scenario.Chat("old-model", scenario.Streaming)})
			first := []string{running.next(), running.next()}

			g.SetConfig(t, harness.Config(t, provider("new", newURL, "new-model"), "limits: {body: 2KiB}"))
			wake(t, g)
			harness.Eventually(t, "the new provider serves requests", func() bool {
				return g.Call(t, harness.Request{Key: k, Body: scenario.Chat("new-model")}).Status == http.StatusOK
			})

			wantError(t, g.Call(t, harness.Request{Key: k, Body: scenario.Chat("old-model")}), http.StatusNotFound, "MODEL_NOT_FOUND")
			wantError(t, g.Call(t, harness.Request{Key: k, Body: strings.Repeat(" ", 3000)}), http.StatusRequestEntityTooLarge, "PAYLOAD_TOO_LARGE")
			release()
			events := slices.Concat(first, running.rest())
			if text := (scenario.Events{Data: events}).Text(); text != "one two three" || !slices.Contains(events, "[DONE]") {
				t.Errorf("the running stream has the text %q, want %q and [DONE]: %v", text, "one two three", events)
			}
			if len(after.Calls()) == 0 || len(before.Calls()) != 1 {
				t.Errorf("the new provider got %d calls and the old one %d, want at least 1 and exactly 1",
					len(after.Calls()), len(before.Calls()))
			}
		})
	}
}

func TestPoliciesOfTheFileTakeEffectOnReload(t *testing.T) {
	t.Parallel()
	_, url := harness.Upstream(t)
	good := config(t, url)
	g := harness.Start(t, harness.Options{Config: good})
	k := g.Key(t)
	wantOK(t, g.Call(t, harness.Request{Key: k, Body: scenario.Chat(small)}))

	g.SetConfig(t, good+"policies:\n  - name: closed\n    when: request.model == \""+small+"\"\n    deny: \"Closed for today.\"\n")
	harness.Eventually(t, "the policy rejects the request", func() bool {
		return g.Call(t, harness.Request{Key: k, Body: scenario.Chat(small)}).Status == http.StatusForbidden
	})
	wantError(t, g.Call(t, harness.Request{Key: k, Body: scenario.Chat(small)}), http.StatusForbidden, "POLICY_REJECTED")

	g.SetConfig(t, good)
	harness.Eventually(t, "the policy is removed", func() bool {
		return g.Call(t, harness.Request{Key: k, Body: scenario.Chat(small)}).Status == http.StatusOK
	})
}

func TestSettingsThatNeedARestartAreNotReloaded(t *testing.T) {
	t.Parallel()
	_, url := harness.Upstream(t)
	good := config(t, url)
	g := harness.Start(t, harness.Options{Config: good + "simulator: \"on\"\n"})
	k := g.Key(t)
	for _, reload := range []string{"simulator: \"off\"\n", "simulator: \"off\"\n# the same again\n"} {
		before := strings.Count(g.Log(), `"settings":["simulator"]`)
		g.SetConfig(t, good+reload)
		harness.Eventually(t, "the log says that a restart is needed", func() bool { return strings.Count(g.Log(), `"settings":["simulator"]`) > before })
		wantOK(t, g.Call(t, harness.Request{Key: k, Body: scenario.Chat("sim-nano")}))
	}
	for _, reload := range []string{"simulator: \"on\"\n", "simulator: \"on\"\n# the same again\n"} {
		before := strings.Count(g.Log(), "configuration reloaded")
		g.SetConfig(t, good+reload)
		harness.Eventually(t, "the file is read", func() bool { return strings.Count(g.Log(), "configuration reloaded") > before })
	}
	if n := strings.Count(g.Log(), `"settings":["simulator"]`); n != 2 {
		t.Errorf("the log says %d times that a restart is needed, want 2: only while the file differs from the running settings", n)
	}
}

func TestLogLevelTakesEffectOnReload(t *testing.T) {
	t.Parallel()
	_, url := harness.Upstream(t)
	good := config(t, url)
	g := harness.Start(t, harness.Options{Config: good + "log: {level: info}\n"})
	k := g.Key(t)
	g.SetConfig(t, good+"log: {level: warn, format: text}\n")
	harness.Eventually(t, "the log says that a restart is needed", func() bool { return strings.Contains(g.Log(), `"settings":["log.format"]`) })
	wantOK(t, g.Call(t, harness.Request{Key: k, Body: scenario.Chat(small)}))
	g.SetConfig(t, good+"log: {level: info}\n")
	harness.Eventually(t, "lines of the level info are logged", func() bool { return strings.Contains(g.Log(), "configuration reloaded") })
	if strings.Contains(g.Log(), `"msg":"request"`) {
		t.Errorf("a request was logged with the level warn:\n%s", g.Log())
	}
}
