package blackbox

import (
	"strings"
	"testing"

	"fairlead.dev/test/faults/scenario"
	"fairlead.dev/test/harness"
)

// Request lists contain a request that has just completed, because the gateway waits until its entry is stored. This wait is limited,
// so on a busy machine some requests may be missing. Without the wait, all would be missing.
func TestListsContainTheLatestRequest(t *testing.T) {
	t.Parallel()
	g, _ := serve(t)
	k, reader := g.Key(t), g.Key(t, "--scopes", "read")
	lists := map[string]func() string{
		"API": func() string {
			return string(wantOK(t, g.Call(t, harness.Request{Method: "GET", Path: "/api/v1/requests", Key: reader})).Body)
		},
		"command line": func() string {
			stdout, stderr, code := g.CLI(t, "requests", "list", "--json")
			if code != 0 {
				t.Errorf("requests list: exit code %d: %s", code, stderr)
			}
			return stdout
		},
	}
	for name, list := range lists {
		found := 0
		for range 5 {
			id := wantOK(t, g.Call(t, harness.Request{Key: k, Body: scenario.Chat(small)})).Header.Get("X-Request-Id")
			if strings.Contains(list(), id) {
				found++
			}
		}
		if found == 0 {
			t.Errorf("%s: no list contained the request that was just served", name)
		}
	}
}
